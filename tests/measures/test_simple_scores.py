import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from apps.measures.pairs import pair_statistics
from apps.measures.scale import Level, OffScale, Scale
from apps.measures.simple_scores import binary_f1, f1_with_others, majority_guess

nan = np.nan
FIVE = Scale((1, 2, 3, 4, 5))


@pytest.mark.parametrize("seed", range(10))
def test_the_majority_guess_is_scored_as_scikit_learn_would(seed: int) -> None:
    truth = np.random.default_rng(seed).choice(5, size=30, p=[0.1, 0.1, 0.1, 0.5, 0.2]) + 1.0
    guess = majority_guess(truth, FIVE)
    assert guess.point is not None
    always = np.full(30, guess.point)
    assert guess.accuracy.value == pytest.approx(accuracy_score(truth, always))
    assert guess.f1_weighted.value == pytest.approx(f1_score(truth, always, average="weighted", zero_division=0))
    assert guess.accuracy.value == max(np.mean(truth == point) for point in FIVE.points)


def test_the_majority_guess_of_ties_is_the_lowest_and_missing_truth_does_not_count() -> None:
    guess = majority_guess([5, 2, nan, 5, 2], FIVE)
    assert (guess.point, guess.accuracy.value, guess.accuracy.n_items) == (2.0, 0.5, 4)
    assert guess.f1_weighted.value == pytest.approx(1 / 3)


def test_without_a_truth_on_points_there_is_no_majority() -> None:
    none = majority_guess([nan, nan], FIVE)
    assert (none.point, none.accuracy.reason) == (None, "no ratings")
    between = majority_guess([1.5, 2], FIVE)
    assert (between.point, between.f1_weighted.reason) == (None, "values between points")


@pytest.mark.parametrize("seed", range(10))
def test_binary_f1_at_each_threshold_is_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(1, 6, size=(2, 40)).astype(float)
    found = binary_f1(truth, predicted, FIVE, resamples=50)
    assert list(found) == [2, 3, 4, 5]
    for threshold, result in found.items():
        assert result.value == pytest.approx(f1_score(truth >= threshold, predicted >= threshold))
        assert result.ci_low is not None
        assert result.ci_high is not None
        assert 0 <= result.ci_low <= result.value <= result.ci_high <= 1


def test_binary_f1_takes_values_between_points_and_counts_from_the_threshold() -> None:
    """Truth 3.5 and 4 with predictions 4 and 3.5: at 4, one positive each and no hit; at 3, all."""
    found = binary_f1([3.5, 4], [4, 3.5], FIVE)
    assert (found[3].value, found[4].value) == (1.0, 0.0)
    assert (found[5].value, found[5].reason) == (None, "no ratings at or above the threshold")


def test_binary_f1_needs_order_and_shared_items() -> None:
    names = binary_f1([0, 1], [0, 1], Scale((0, 1, 2), Level.NOMINAL))
    assert {result.reason for result in names.values()} == {"not defined for nominal scales"}
    apart = binary_f1([1, nan], [nan, 2], FIVE)
    assert {result.reason for result in apart.values()} == {"no shared items"}


def test_an_expert_is_scored_against_the_other_experts_one_by_one() -> None:
    rng = np.random.default_rng(2)
    table = rng.choice([nan, 1.0, 2.0, 3.0], size=(50, 3), p=[0.1, 0.3, 0.3, 0.3])
    found = f1_with_others(table, 1, FIVE, resamples=200, seed=1)
    singles = [pair_statistics(table[:, other], table[:, 1], FIVE)["f1_weighted"].value for other in (0, 2)]
    assert found.value == pytest.approx(np.mean([single for single in singles if single is not None]))
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_low < found.value < found.ci_high
    used = ~np.isnan(table[:, 1]) & (~np.isnan(table[:, [0, 2]])).any(axis=1)
    assert (found.n_items, found.n_raters, found.n_ratings) == (used.sum(), 3, (~np.isnan(table[used])).sum())


def test_others_who_share_no_item_are_left_out() -> None:
    table = [[1, 1, nan], [2, 2, nan], [nan, 3, 3]]
    found = f1_with_others(table, 0, FIVE)
    assert (found.value, found.n_raters) == (1.0, 2)
    assert f1_with_others(table, 2, FIVE).n_raters == 2


def test_an_expert_alone_has_no_score() -> None:
    assert f1_with_others([[1, nan], [2, nan]], 0, FIVE).reason == "fewer than two raters"
    assert f1_with_others([[1, nan], [nan, 2]], 0, FIVE).reason == "no shared items"
    assert f1_with_others([[1.5, 2]], 0, FIVE).reason == "values between points"
    with pytest.raises(OffScale):
        f1_with_others([[9, 2]], 0, FIVE)
