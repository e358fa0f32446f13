"""The door of the group statistics: what is undefined and why, what was used, and the intervals."""

import json
import tracemalloc
from dataclasses import asdict

import numpy as np
import pytest

from apps.measures.groups import FORMS, GROUP_STATISTICS, group_statistics
from apps.measures.scale import Level, OffScale, Scale, point_values

FIVE = Scale((1, 2, 3, 4, 5))
NAMES = Scale((1, 2, 3), Level.NOMINAL)
NAN = np.nan
NEED_ORDER = {"alpha_ordinal", "alpha_interval", "alpha_ratio", "ac2_linear", "ac2_quadratic", *FORMS}
NEED_CATEGORIES = {
    *("alpha_nominal", "fleiss_kappa", "conger_kappa", "ac1", "ac2_linear", "ac2_quadratic"),
    *("brennan_prediger", "percent_agreement"),
}


def noisy(items: int, raters: int, seed: int = 0, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = np.clip(rng.integers(1, 6, size=(items, 1)) + rng.integers(-1, 2, size=(items, raters)), 1, 5).astype(
        float
    )
    values[rng.random(values.shape) < missing] = NAN
    return values


def test_every_statistic_of_the_contract_is_computed_in_its_order():
    found = group_statistics(noisy(30, 3), FIVE)
    assert tuple(found) == GROUP_STATISTICS
    assert all(result.is_defined for result in found.values())
    assert set(GROUP_STATISTICS) == NEED_CATEGORIES | NEED_ORDER


def test_all_raters_at_one_point_case_18():
    """Not defined, with full raw agreement beside it: not 0, 1, NaN or a crash."""
    found = group_statistics(np.full((10, 3), 4.0), FIVE, resamples=50)
    raw = found.pop("percent_agreement")
    assert (raw.value, raw.ci_low, raw.ci_high, raw.n_degenerate) == (1.0, 1.0, 1.0, 0)
    for result in found.values():
        assert (result.value, result.reason) == (None, "no variation")
        assert (result.n_items, result.n_raters, result.n_ratings) == (10, 3, 30)
        assert (result.ci_low, result.n_resamples) == (None, 0)


def test_constant_means_are_no_variation_either():
    found = group_statistics(np.full((7, 3), 10 / 3), FIVE, resamples=50)
    assert {found[name].reason for name in ("alpha_ordinal", "alpha_interval", *FORMS)} == {"no variation"}


def test_perfect_agreement_with_partial_overlap_case_19():
    values = np.array(
        [[1, 1, 1], [5, NAN, 5], [5, 5, 5], [1, 1, NAN], [NAN, 5, 5], [3, 3, 3], [1, NAN, 1], [5, 5, NAN]]
    )
    found = group_statistics(values, FIVE, resamples=100, seed=4)
    for name in GROUP_STATISTICS:
        assert found[name].value == pytest.approx(1, abs=1e-12)
        assert found[name].ci_low == pytest.approx(1, abs=1e-12)
    assert found["alpha_interval"].value == 1.0
    assert (found["alpha_interval"].n_items, found["alpha_interval"].n_ratings) == (8, 19)
    assert (found["icc_2_1"].n_items, found["icc_2_1"].n_ratings) == (3, 9)


def test_raters_without_a_shared_item_case_22():
    values = np.array([[1, NAN], [2, NAN], [NAN, 3], [NAN, 4]])
    for result in group_statistics(values, FIVE, resamples=10).values():
        assert (result.value, result.reason) == (None, "no shared items")
        assert (result.n_items, result.n_raters, result.n_ratings) == (0, 2, 0)


@pytest.mark.parametrize(
    ("values", "raters"),
    [([[1], [2], [3]], 1), ([[1, NAN], [2, NAN], [3, NAN]], 1), ([[NAN, NAN]], 0), (np.empty((0, 2)), 0)],
)
def test_one_rater_or_none_case_22(values, raters):
    for result in group_statistics(np.asarray(values, dtype=float), FIVE, resamples=10).values():
        assert (result.value, result.reason) == (None, "fewer than two raters")
        assert (result.n_items, result.n_raters, result.n_ratings) == (0, raters, 0)


def test_json_never_holds_a_bare_nan_case_22():
    tables = [noisy(4, 3, missing=0.6), np.full((3, 2), 2.0), np.array([[1.0, 2.0]]), np.array([[1, NAN], [NAN, 2]])]
    for values in tables:
        for result in group_statistics(values, FIVE, resamples=20).values():
            json.dumps(asdict(result), allow_nan=False)


def test_labels_keep_their_declared_order_case_23():
    """`low medium high` sorts to high, low, medium; `0 ... 10` as text sorts to 0, 1, 10, 2."""
    words = point_values(["low", "medium", "high"])
    answers = [("low", "medium"), ("medium", "medium"), ("high", "high"), ("low", "low")]
    values = np.array([[words[a], words[b]] for a, b in answers])
    # Margins of low, medium, high: 3, 3, 2 of 8, hence midranks 1.5, 4.5, 7. Observed: 2 x 3^2 from one pair.
    # Expected: 2 (9 x 3^2 + 6 x 5.5^2 + 6 x 2.5^2) = 600.
    found = group_statistics(values, Scale(tuple(words.values())), statistics=["alpha_ordinal"])
    assert found["alpha_ordinal"].value == pytest.approx(1 - 7 * 18 / 600)
    numbers = point_values([str(n) for n in range(11)])
    values = np.array([[numbers[a], numbers[b]] for a, b in [("9", "10"), ("10", "10"), ("2", "2"), ("1", "2")]])
    found = group_statistics(values, Scale(tuple(numbers.values())), statistics=["alpha_interval"])
    # Observed 2 + 2; expected 2 (8 sum x^2 - (sum x)^2) = 2 (8 x 394 - 46^2) = 2072.
    assert found["alpha_interval"].value == pytest.approx(1 - 7 * 4 / 2072)


def test_one_disagreement_in_22_ratings_case_24():
    """Alpha is exactly 0, and that is true; raw agreement and AC1 beside it tell the rest."""
    values = np.full((11, 2), 3.0)
    values[0, 1] = 4
    found = group_statistics(values, FIVE)
    for name in ("alpha_nominal", "alpha_ordinal", "alpha_interval", "alpha_ratio"):
        assert found[name].value == 0.0
        assert found[name].n_ratings == 22
    assert found["percent_agreement"].value == pytest.approx(10 / 11)
    assert found["ac1"].value > 0.9
    assert found["ac2_quadratic"].value > 0.99


def test_half_points_case_25():
    """Numbers are exact between points; categories are not defined there."""
    values = np.array([[1.5, 2], [3.33, 3], [4.5, 5], [2, 1.5], [5, 4.5]])
    found = group_statistics(values, FIVE, resamples=50)
    assert {name for name, result in found.items() if result.reason == "values between points"} == NEED_CATEGORIES
    assert all(found[name].is_defined for name in GROUP_STATISTICS if name not in NEED_CATEGORIES)
    # (n - 1) * observed / expected with n = 10, by hand: pairs differ by .5, .33, .5, .5, .5.
    total, squares = values.sum(), np.square(values).sum()
    expected = 1 - 9 * 2 * (4 * 0.25 + 0.33**2) / (2 * (10 * squares - total**2))
    assert found["alpha_interval"].value == pytest.approx(expected, abs=1e-12)


def test_names_have_no_order():
    found = group_statistics(np.array([[1, 1], [2, 2], [3, 1], [3, 3.0]]), NAMES, resamples=20)
    assert {name for name, result in found.items() if result.value is None} == NEED_ORDER
    assert {found[name].reason for name in NEED_ORDER} == {"not defined for nominal scales"}


def test_ratio_data_have_no_negative_points():
    values = np.array([[-1, -1], [0, 1], [1, 1.0]])
    found = group_statistics(values, Scale((-1, 0, 1)))
    assert found["alpha_ratio"].reason == "not defined for scales with negative points"
    assert found["alpha_interval"].is_defined


def test_two_zeros_agree_on_a_ratio_scale():
    # Pool 0, 0, 0, 2: d(0, 2) = 1, so expected is 2 x 3 x 1 = 6 and observed 2: 1 - 3 x 2 / 6 = 0.
    found = group_statistics(np.array([[0, 0], [0, 2.0]]), Scale((0, 1, 2)), statistics=["alpha_ratio"])
    assert found["alpha_ratio"].value == 0.0


def test_a_value_outside_the_scale_is_refused():
    with pytest.raises(OffScale, match="6 is outside the scale 1 to 5"):
        group_statistics(np.array([[1, 2], [6, 5.0]]), FIVE)


def test_an_unknown_statistic_is_refused():
    with pytest.raises(ValueError, match="kappa_of_everything"):
        group_statistics(noisy(5, 2), FIVE, statistics=["kappa_of_everything"])


def test_one_item_cannot_tell_agreement_from_chance():
    """And its raw agreement has no interval: resamples of a single item are all alike, a width of 0 would boast."""
    found = group_statistics(np.array([[1.0, 2.0], [3.0, NAN]]), FIVE, resamples=100)
    raw = found.pop("percent_agreement")
    assert (raw.value, raw.n_items, raw.ci_low, raw.n_resamples) == (0.0, 1, None, 0)
    assert {result.reason for result in found.values()} == {"too few items"}


def test_counts_leave_out_who_shares_no_item():
    values = np.array([[1, 2, NAN], [3, 3, NAN], [NAN, NAN, 4], [5, 4, NAN]])
    found = group_statistics(values, FIVE)
    assert (found["alpha_nominal"].n_items, found["alpha_nominal"].n_raters, found["alpha_nominal"].n_ratings) == (
        3,
        2,
        6,
    )
    assert (found["ac1"].n_items, found["ac1"].n_raters, found["ac1"].n_ratings) == (4, 3, 7)


def test_degenerate_resamples_are_counted_and_left_out():
    """One item in four varies: a quarter to a third of the resamples miss it, (3/4)^4 = 0.316."""
    values = np.array([[2, 2], [2, 2], [2, 2], [2, 3.0]])
    result = group_statistics(values, FIVE, resamples=2000, seed=9)["alpha_nominal"]
    assert result.n_degenerate == pytest.approx(0.316 * 2000, abs=80)
    assert result.n_resamples == 2000
    assert -1 <= result.ci_low <= result.value <= result.ci_high <= 1


def test_the_seed_decides_the_interval():
    values = noisy(40, 3, missing=0.1)
    first, again, other = (group_statistics(values, FIVE, resamples=200, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first["alpha_interval"].ci_low != other["alpha_interval"].ci_low
    assert first["alpha_interval"].value == other["alpha_interval"].value


def test_a_subset_of_statistics_gives_the_same_numbers():
    values = noisy(40, 3, missing=0.1)
    every = group_statistics(values, FIVE, resamples=100, seed=5)
    for name in GROUP_STATISTICS:
        assert group_statistics(values, FIVE, resamples=100, seed=5, statistics=[name])[name] == every[name]


def test_intervals_keep_whole_items_together_with_multiplicity():
    """Against a plain loop that redraws items: same centre and width."""
    values = noisy(40, 3, seed=3)
    result = group_statistics(values, FIVE, resamples=4000, seed=1)["percent_agreement"]
    rng = np.random.default_rng(2)
    per_item = np.array([[row[0] == row[1], row[0] == row[2], row[1] == row[2]] for row in values]).mean(axis=1)
    redrawn = [per_item[rng.integers(0, 40, 40)].mean() for _ in range(4000)]
    assert result.ci_low == pytest.approx(np.percentile(redrawn, 2.5), abs=0.02)
    assert result.ci_high == pytest.approx(np.percentile(redrawn, 97.5), abs=0.02)


def test_ratio_alpha_on_very_fine_values_has_no_interval(monkeypatch):
    monkeypatch.setattr("apps.measures.alpha.RATIO_VALUES", 30)
    values = np.random.default_rng(2).uniform(1, 5, size=(20, 2))
    found = group_statistics(values, FIVE, resamples=20)
    assert (found["alpha_ratio"].is_defined, found["alpha_ratio"].ci_low, found["alpha_ratio"].n_resamples) == (
        True,
        None,
        0,
    )
    assert found["alpha_ordinal"].n_resamples == 20


def test_many_items_with_values_of_their_own_stay_within_memory():
    """20,000 items, no two alike, and 60,000 distinct values: tables are cut to chunks."""
    values = np.random.default_rng(2).uniform(1, 5, size=(20_000, 3))
    statistics = ["alpha_ordinal", "alpha_interval", "icc_2_1"]
    tracemalloc.start()
    try:
        found = group_statistics(values, FIVE, resamples=150, statistics=statistics)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400 * 2**20
    for name in statistics:
        assert found[name].ci_low < found[name].value < found[name].ci_high
        assert found[name].value == pytest.approx(0, abs=0.02)
