import numpy as np
import pytest

from apps.measures.groups import group_statistics
from apps.measures.pairs import Convention, pair_statistics
from apps.measures.scale import Level, OffScale, Scale
from apps.measures.within import draw_statistics, retest_statistics, score_of_draws

nan = np.nan
FIVE = Scale((1, 2, 3, 4, 5))
NOMINAL = Scale((0, 1, 2), Level.NOMINAL)


def test_a_retest_is_a_pair_of_one_rater() -> None:
    first, second = [1, 2, 5, 4, nan], [1, 3, 5, 2, 3]
    pair = pair_statistics(first, second, FIVE, resamples=100, seed=2)
    found = retest_statistics(first, second, FIVE, resamples=100, seed=2)
    for name in ("kappa_quadratic", "mae"):
        retest = found[f"retest_{name}"]
        assert (retest.value, retest.ci_low, retest.ci_high) == (
            pair[name].value,
            pair[name].ci_low,
            pair[name].ci_high,
        )
        assert (retest.n_items, retest.n_raters, retest.n_ratings) == (4, 1, 8)
    assert found["retest_mae"].value == 0.75
    observed = retest_statistics([1, 1, 5, 4], [1, 5, 5, 4], FIVE, convention=Convention.OBSERVED)
    assert observed["retest_kappa_quadratic"].convention == "observed"


@pytest.mark.parametrize(("first", "second"), [([], []), ([1, 2], [nan, nan]), ([1, nan], [nan, 2])])
def test_nothing_rated_twice_has_no_retest(first: list[float], second: list[float]) -> None:
    found = retest_statistics(first, second, FIVE)
    assert {result.reason for result in found.values()} == {"no items rated twice"}


def test_a_retest_at_one_point_has_a_distance_but_no_kappa() -> None:
    found = retest_statistics([2, 2, 2], [2, 2, 2], FIVE)
    assert found["retest_kappa_quadratic"].reason == "no variation"
    assert found["retest_mae"].value == 0.0


def test_draws_are_raters_of_alpha_and_their_deviation_is_pooled() -> None:
    """Items 1 3, 2 2 5, 4: squares 2 and 6 over 1 + 2 degrees of freedom: sqrt(8/3). The single draw has no say."""
    draws = [[1, 3, nan], [2, 2, 5], [4, nan, nan]]
    found = draw_statistics(draws, FIVE, resamples=200, seed=1)
    assert found["draws_sd"].value == pytest.approx(np.sqrt(8 / 3))
    assert (found["draws_sd"].n_items, found["draws_sd"].n_raters, found["draws_sd"].n_ratings) == (2, 1, 5)
    # Resamples of the two items hold the first only (sqrt(2/1)), both, or the second only (sqrt(6/2)).
    assert found["draws_sd"].ci_low == pytest.approx(np.sqrt(2))
    assert found["draws_sd"].ci_high == pytest.approx(np.sqrt(3))
    alpha = group_statistics(draws, FIVE, statistics=("alpha_interval",))["alpha_interval"]
    assert (found["draws_alpha"].value, found["draws_alpha"].n_raters) == (alpha.value, 1)


def test_draws_that_never_differ_have_no_deviation() -> None:
    found = draw_statistics([[2, 2], [4, 4]], FIVE)
    assert (found["draws_sd"].value, found["draws_alpha"].value) == (0.0, 1.0)
    assert draw_statistics([[2, 2], [2, 2]], FIVE)["draws_alpha"].reason == "no variation"


def test_single_draws_have_no_steadiness() -> None:
    for draws in ([[2], [3]], [[2, nan], [nan, 3]]):
        found = draw_statistics(draws, FIVE)
        assert {result.reason for result in found.values()} == {"no items rated twice"}
    assert draw_statistics(np.empty((0, 2)), FIVE)["draws_sd"].n_raters == 0


def test_draws_of_names_have_a_nominal_alpha_and_no_deviation() -> None:
    draws = [[0, 2], [1, 1], [2, 2]]
    found = draw_statistics(draws, NOMINAL)
    nominal = group_statistics(draws, NOMINAL, statistics=("alpha_nominal",))["alpha_nominal"]
    assert found["draws_alpha"].value == nominal.value
    assert found["draws_sd"].reason == "not defined for nominal scales"


def test_the_score_of_draws_is_one_of_them() -> None:
    draws = [[1, 4, nan, nan], [5, 2, 3, 4], [3, 1, 1, nan], [nan] * 4]
    np.testing.assert_array_equal(score_of_draws(draws, FIVE), [1, 3, 1, nan])
    named = [[2, 1, nan, nan], [2, 0, 2, 0], [1, 2, 2, nan], [nan] * 4]
    np.testing.assert_array_equal(score_of_draws(named, NOMINAL), [1, 0, 2, nan])


def test_draws_outside_the_scale_are_refused() -> None:
    with pytest.raises(OffScale):
        score_of_draws([[6, 5]], FIVE)
    with pytest.raises(OffScale):
        draw_statistics([[6, 5]], FIVE)
    with pytest.raises(OffScale):
        retest_statistics([6], [5], FIVE)
