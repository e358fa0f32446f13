import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from apps.measures.results import Result
from apps.measures.slopes import CONVENTION, slopes

nan = np.nan


def slope(x: list[float] | np.ndarray, y: list[float] | np.ndarray, **options: int) -> Result:
    return slopes(x, {"y": y}, **options)["y"]


def test_a_slope_by_hand() -> None:
    """x 1 2 3 4, y 2 2 3 5: sum of products of deviations 5, of squares of x 5. The item without y has no say."""
    found = slope([1, 2, 3, 4, 9], [2, 2, 3, 5, nan])
    assert found.value == pytest.approx(1.0)
    assert (found.n_items, found.n_raters, found.n_ratings) == (4, 1, 4)
    assert found.convention == CONVENTION
    assert (found.ci_low, found.n_resamples) == (None, 0)


@pytest.mark.parametrize("seed", range(5))
def test_the_slope_and_its_p_are_those_of_the_libraries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(5, 400, size=40).astype(float)
    y = np.clip(np.rint(2 + x / 200 + rng.normal(size=40) * x / 150), 1, 5)
    found = slope(x, y)
    fitted = sm.OLS(y, sm.add_constant(x)).fit(cov_type="HC3", use_t=True)
    assert found.value == pytest.approx(stats.linregress(x, y).slope, abs=1e-12)
    assert found.value == pytest.approx(fitted.params[1], abs=1e-12)
    assert found.p_value == pytest.approx(fitted.pvalues[1], rel=1e-8)


def test_the_interval_is_that_of_fits_to_the_same_resamples() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=25), rng.normal(size=25)
    found = slope(x, y, resamples=300, seed=11)
    draws = np.random.default_rng(11).integers(0, 25, size=(300, 25))
    refits = [stats.linregress(x[drawn], y[drawn]).slope for drawn in draws]
    assert [found.ci_low, found.ci_high] == pytest.approx(list(np.quantile(refits, [0.025, 0.975])), abs=1e-9)
    assert (found.n_resamples, found.n_degenerate) == (300, 0)


def test_the_slope_of_a_difference_is_the_difference_of_slopes() -> None:
    rng = np.random.default_rng(5)
    x, a, b = rng.normal(size=(3, 30))
    a[3], b[7] = nan, nan
    found = slopes(x, {"a": a, "b": b, "difference": a - b}, resamples=50, seed=1)
    assert {result.n_items for result in found.values()} == {28}
    values = {name: result.value for name, result in found.items()}
    assert values["difference"] == pytest.approx(values["a"] - values["b"])


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], "too few items"),
        ([1, 2], [1, 2], "too few items"),
        ([1, 2, nan], [1, 2, 3], "too few items"),
        ([2, 2, 2], [1, 2, 3], "no variation"),
        ([1, 2, 3], [4, 4, 4], "no variation"),
        # As 0.3 - 0.1 and 0.2 - 0 differ in the last bit.
        ([1, 2, 3], [0.3 - 0.1, 0.2, 0.1 + 0.1], "no variation"),
    ],
)
def test_what_does_not_vary_has_no_slope(x: list[float], y: list[float], reason: str) -> None:
    found = slope(x, y, resamples=10)
    assert (found.value, found.reason, found.p_value, found.ci_low) == (None, reason, None, None)


def test_one_rater_may_vary_where_the_other_does_not() -> None:
    found = slopes([1, 2, 3], {"a": [1, 2, 3], "b": [2, 2, 2], "difference": [-1, 0, 1]}, resamples=20)
    assert found["b"].reason == "no variation"
    assert found["difference"].value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1, 1, 1, 5], [1, 2, 3, 4]),  # one item holds the line by itself
        ([1, 2, 3, 4], [1.1, 2.1, 3.1, 4.1]),  # none lies beside it
    ],
)
def test_a_slope_without_a_test(x: list[float], y: list[float]) -> None:
    found = slope(x, y)
    assert found.value is not None
    assert found.p_value is None


def test_resamples_at_one_length_are_degenerate() -> None:
    found = slope([1, 1, 5], [1, 2, 4], resamples=400, seed=2)
    # One of the three is drawn thrice, or the two alike only: 8 / 27 without the third, 1 / 27 with it alone.
    assert 70 < found.n_degenerate < 200


def test_lengths_must_be_the_same() -> None:
    with pytest.raises(ValueError, match="aligned"):
        slopes([1, 2], {"y": [1]})
    with pytest.raises(ValueError, match="aligned"):
        slopes([[1, 2]], {"y": [[1, 2]]})


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 900), st.integers(1, 5)), min_size=3, max_size=30),
    st.floats(-50, 50),
    st.floats(0.1, 10),
)
def test_a_slope_moves_with_its_units_and_nothing_else(
    pairs: list[tuple[int, int]], shift: float, factor: float
) -> None:
    x, y = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    plain, moved = slope(x, y, resamples=20, seed=4), slope(x + shift, y * factor - shift, resamples=20, seed=4)
    assert plain.reason == moved.reason
    if plain.value is None:
        return
    assert moved.value == pytest.approx(plain.value * factor, abs=1e-9)
    if plain.ci_low is not None and moved.ci_low is not None:
        assert moved.ci_low == pytest.approx(plain.ci_low * factor, abs=1e-8)
    if plain.p_value is not None and moved.p_value is not None:
        assert moved.p_value == pytest.approx(plain.p_value, abs=1e-7)
