"""What must hold of the pair statistics for any ratings."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.measures import resampling
from apps.measures.pairs import PAIR_STATISTICS, Convention, pair_kernels, pair_statistics
from apps.measures.patterns import patterns_of
from apps.measures.scale import Level, Scale
from tests.measures.pair_definitions import all_statistics

FIVE = Scale((1, 2, 3, 4, 5))
POINTS = FIVE.points
BETWEEN = (1, 1.5, 2, 10 / 3, 3, 4.25, 5)
KAPPAS = ("kappa_unweighted", "kappa_linear", "kappa_quadratic")
CATEGORICAL = ("kappa_unweighted", "percent_agreement", "f1_weighted")
conventions = st.sampled_from(Convention)

property_test = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def raters(draw: st.DrawFn, values: tuple[float, ...] = POINTS, missing: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Two raters on 2 to 25 items. Few values are used, so that ties and constant raters occur."""
    used = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4, unique=True))
    rating = st.sampled_from([*used, np.nan] if missing else used)
    items = draw(st.lists(st.tuples(rating, rating), min_size=2, max_size=25))
    table = np.array(items, dtype=float)
    return table[:, 0], table[:, 1]


def values_of(
    a: np.ndarray, b: np.ndarray, scale: Scale = FIVE, convention: Convention = Convention.SCALE
) -> dict[str, float | None]:
    found = pair_statistics(a, b, scale, convention=convention)
    return {name: result.value for name, result in found.items()}


def assert_same(
    found: Mapping[str, float | None], expected: Mapping[str, float | None], names: tuple[str, ...] = PAIR_STATISTICS
) -> None:
    for name in names:
        want = expected[name]
        if want is None or np.isnan(want):
            assert found[name] is None, name
        else:
            assert found[name] == pytest.approx(want, abs=1e-9), name


@property_test
@given(raters(), conventions)
def test_patterns_give_what_the_definition_gives_item_by_item(
    pair: tuple[np.ndarray, np.ndarray], convention: Convention
) -> None:
    a, b = pair
    both = ~np.isnan(a) & ~np.isnan(b)
    if both.sum() < 2:
        return
    expected = all_statistics(a[both], b[both], observed=convention is Convention.OBSERVED)
    assert_same(values_of(a, b, convention=convention), expected)


@property_test
@given(raters(BETWEEN, missing=False), conventions)
def test_values_between_points_give_what_the_definition_gives(
    pair: tuple[np.ndarray, np.ndarray], convention: Convention
) -> None:
    expected: dict[str, float | None] = dict(all_statistics(*pair, observed=convention is Convention.OBSERVED))
    if not FIVE.on_points(np.concatenate(pair)):
        expected |= dict.fromkeys(CATEGORICAL)
    assert_same(values_of(*pair, convention=convention), expected)


@property_test
@given(raters(BETWEEN), conventions, st.integers(0, 2**32 - 1))
def test_the_order_of_items_changes_no_value_and_no_interval(
    pair: tuple[np.ndarray, np.ndarray], convention: Convention, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(pair[0].size)
    a, b = pair
    one = pair_statistics(a, b, FIVE, convention=convention, resamples=30, seed=seed)
    other = pair_statistics(a[order], b[order], FIVE, convention=convention, resamples=30, seed=seed)
    assert one == other


@property_test
@given(raters(BETWEEN), conventions)
def test_swapping_the_raters_changes_only_the_sign_of_the_bias_and_f1(
    pair: tuple[np.ndarray, np.ndarray], convention: Convention
) -> None:
    a, b = pair
    one, other = values_of(a, b, convention=convention), values_of(b, a, convention=convention)
    assert_same(one, other, tuple(name for name in PAIR_STATISTICS if name not in ("bias", "f1_weighted")))
    if one["bias"] is not None:
        assert other["bias"] == pytest.approx(-one["bias"], abs=1e-12)
    for weighting in KAPPAS:
        tests = [pair_statistics(*pair, FIVE, convention=convention)[weighting].z for pair in ((a, b), (b, a))]
        assert tests[0] == pytest.approx(tests[1], abs=1e-9)


@property_test
@given(raters(), st.permutations(POINTS))
def test_renaming_the_points_of_a_nominal_scale_changes_nothing(
    pair: tuple[np.ndarray, np.ndarray], names: list[float]
) -> None:
    nominal = Scale(POINTS, Level.NOMINAL)
    renamed = [np.array([names[int(x) - 1] if x == x else np.nan for x in side]) for side in pair]
    assert_same(values_of(*renamed, nominal), values_of(*pair, nominal))


@property_test
@given(raters(BETWEEN), st.sampled_from([0.25, 1.0, 7.0, 1000.0]), st.integers(-50, 1000))
def test_an_affine_change_of_the_scale_changes_no_coefficient(
    pair: tuple[np.ndarray, np.ndarray], factor: float, shift: int
) -> None:
    changed = [side * factor + shift for side in pair]
    scale = Scale(tuple(point * factor + shift for point in POINTS))
    before, after = values_of(*pair), values_of(*changed, scale)
    assert_same(after, before, tuple(name for name in PAIR_STATISTICS if name not in ("mae", "bias")))
    for name in ("mae", "bias"):
        if before[name] is not None:
            assert after[name] == pytest.approx(before[name] * factor, abs=1e-6)  # type: ignore[operator]


@property_test
@given(raters())
def test_a_monotone_change_of_the_points_changes_no_rank_correlation_and_no_observed_kappa(
    pair: tuple[np.ndarray, np.ndarray],
) -> None:
    stretched = Scale(tuple(point**3 for point in POINTS))
    one = values_of(*pair, convention=Convention.OBSERVED)
    other = values_of(*(side**3 for side in pair), stretched, Convention.OBSERVED)
    assert_same(other, one, ("spearman", "kendall_tau_b", *KAPPAS, "percent_agreement", "f1_weighted"))


@property_test
@given(raters(BETWEEN), conventions, st.integers(2, 5))
def test_the_same_items_again_change_no_value(
    pair: tuple[np.ndarray, np.ndarray], convention: Convention, times: int
) -> None:
    shared = int((~np.isnan(pair[0]) & ~np.isnan(pair[1])).sum())
    if shared < 2:
        return
    again = [np.tile(side, times) for side in pair]
    assert_same(values_of(*again, convention=convention), values_of(*pair, convention=convention))


@property_test
@given(raters(BETWEEN), conventions)
def test_every_value_stays_in_its_range(pair: tuple[np.ndarray, np.ndarray], convention: Convention) -> None:
    found = values_of(*pair, convention=convention)
    for name, value in found.items():
        if value is None:
            continue
        low = {"mae": 0, "bias": -4, "percent_agreement": 0, "within_one": 0, "f1_weighted": 0}.get(name, -1)
        high = {"mae": 4, "bias": 4}.get(name, 1)
        # Kappa may fall below -1 only through rounding: its least value is -1, at equal and opposite margins.
        assert low - 1e-9 <= value <= high + 1e-9, name


@property_test
@given(raters(BETWEEN), conventions, st.integers(0, 2**32 - 1))
def test_a_resample_by_weights_is_the_resample_item_by_item(
    pair: tuple[np.ndarray, np.ndarray], convention: Convention, seed: int
) -> None:
    """The same draws of items: once as repeated items, once as weights of patterns."""
    both = ~np.isnan(pair[0]) & ~np.isnan(pair[1])
    a, b = pair[0][both], pair[1][both]
    if a.size < 2:
        return
    patterns = patterns_of(np.stack([a, b], axis=1), FIVE)
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, a.size, size=(8, a.size))
    rounded = np.round(np.stack([a, b], axis=1), 12)
    owner = [int(np.flatnonzero((patterns.values == np.round(row, 12)).all(axis=1))[0]) for row in rounded]
    weights = np.array([np.bincount(np.take(owner, draw), minlength=patterns.counts.size) for draw in draws])
    names = tuple(name for name in PAIR_STATISTICS if name not in CATEGORICAL) + ("kappa_unweighted",) * bool(
        FIVE.on_points(patterns.values)
    )
    kernels = pair_kernels(*patterns.values.T, FIVE, convention=convention, statistics=names)
    for row, draw in enumerate(draws):
        long = all_statistics(a[draw], b[draw], observed=convention is Convention.OBSERVED)
        for name, kernel in kernels.items():
            assert kernel(weights.astype(float))[row] == pytest.approx(long[name], abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("convention", Convention)
def test_the_interval_is_that_of_a_loop_over_resampled_items(convention: Convention) -> None:
    """Two bootstraps of 1,500 resamples by different draws: limits within their Monte Carlo error, about a twelfth of
    the spread, and within one step of a share of 40 items."""
    rng = np.random.default_rng(21)
    a = rng.integers(1, 6, size=40).astype(float)
    b = np.where(rng.random(40) < 0.6, a, rng.integers(1, 6, size=40))
    names = ("kappa_quadratic", "percent_agreement")
    found = pair_statistics(a, b, FIVE, convention=convention, resamples=1500, seed=1, statistics=names)
    looped = [
        pair_statistics(a[draw], b[draw], FIVE, convention=convention, statistics=names)
        for draw in rng.integers(0, 40, size=(1500, 40))
    ]
    for name in names:
        values = [result[name].value for result in looped]
        tolerance = 0.25 * np.std(values) + 1 / 40
        low, high = np.percentile(values, [2.5, 97.5])
        assert found[name].ci_low == pytest.approx(low, abs=tolerance), name
        assert found[name].ci_high == pytest.approx(high, abs=tolerance), name


def test_chunks_of_resamples_change_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(22)
    a, b = rng.integers(1, 6, size=(2, 300)).astype(float)
    whole = pair_statistics(a, b, FIVE, resamples=200, seed=3)
    monkeypatch.setattr(resampling, "CHUNK_CELLS", 2000)
    chunked = pair_statistics(a, b, FIVE, resamples=200, seed=3)
    for name, result in whole.items():
        assert chunked[name].ci_low == pytest.approx(result.ci_low, abs=1e-12)
        assert chunked[name].ci_high == pytest.approx(result.ci_high, abs=1e-12)


def test_the_seed_decides_the_interval() -> None:
    rng = np.random.default_rng(23)
    a, b = rng.integers(1, 6, size=(2, 60)).astype(float)
    one, same, other = (pair_statistics(a, b, FIVE, resamples=200, seed=seed)["spearman"] for seed in (3, 3, 4))
    assert one == same
    assert one != other


def test_degenerate_resamples_are_counted_and_left_out() -> None:
    """One item of four differs: a resample misses it with probability (3/4)^4 = 0.316."""
    found = pair_statistics([2, 2, 2, 4], [2, 2, 2, 4], FIVE, resamples=2000)["kappa_quadratic"]
    assert found.n_degenerate / 2000 == pytest.approx(0.316, abs=0.05)
    assert (found.ci_low, found.ci_high) == (1.0, 1.0)
