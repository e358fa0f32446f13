"""The pair statistics on small ratings whose answers are known, and every way in which they can be undefined."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from apps.measures.contingency import PairTable
from apps.measures.kappa import Weighting, kappa_test
from apps.measures.pairs import (
    KAPPAS,
    PAIR_STATISTICS,
    Convention,
    pair_kernels,
    pair_statistics,
    pair_statistics_by_convention,
)
from apps.measures.patterns import patterns_of
from apps.measures.resampling import resample
from apps.measures.results import Result
from apps.measures.scale import Level, OffScale, Scale, point_values

nan = np.nan
FIVE = Scale((1, 2, 3, 4, 5))
SEVEN = Scale(tuple(range(1, 8)))
CHANCE_CORRECTED = ("kappa_unweighted", "kappa_linear", "kappa_quadratic")
CORRELATIONS = ("spearman", "kendall_tau_b")


def values(results: dict[str, Result]) -> dict[str, float | None]:
    return {name: result.value for name, result in results.items()}


def reasons(results: dict[str, Result]) -> dict[str, str | None]:
    return {name: result.reason for name, result in results.items()}


def test_case_20_in_both_conventions() -> None:
    """CASES 20, derived by hand.

    Squares: sum (a-b)^2 = 37; over all pairs (i, j), n sum a^2 + n sum b^2 - 2 sum a sum b = 6*105 + 6*156 - 2*19*26
    = 578; so kappa = 1 - 6*37/578 = 0.6159. Distances: sum |a-b| = 7, over all pairs 108; 1 - 42/108 = 0.6111.
    Observed categories 1, 2, 7 become ranks 0, 1, 2: squares 5 against 58, 1 - 30/58 = 0.4828; distances 3 against 36,
    1 - 18/36 = 0.5.
    """
    a, b = [1, 1, 7, 7, 1, 2], [1, 7, 7, 7, 2, 2]
    scale = values(pair_statistics(a, b, SEVEN))
    assert scale["kappa_quadratic"] == pytest.approx(1 - 222 / 578, abs=1e-12)
    assert scale["kappa_linear"] == pytest.approx(1 - 42 / 108, abs=1e-12)
    observed = values(pair_statistics(a, b, SEVEN, convention=Convention.OBSERVED))
    assert observed["kappa_quadratic"] == pytest.approx(1 - 30 / 58, abs=1e-12)
    assert observed["kappa_linear"] == pytest.approx(0.5, abs=1e-12)
    assert observed["kappa_unweighted"] == scale["kappa_unweighted"]


def test_psychiatric_diagnoses_by_two_raters() -> None:
    """Fleiss, Levin and Paik 2003, Statistical Methods for Rates and Proportions, chapter 18: 100 subjects called
    psychotic, neurotic or organic. By hand: observed 0.89, chance 0.8*0.8 + 0.1*0.05 + 0.1*0.15 = 0.66,
    kappa = 0.23/0.34 = 0.676. Under the null: sum p_i. p_.i (p_i. + p_.i) = 1.024 + 0.00075 + 0.00375 = 1.0285, so the
    standard error is sqrt(0.66 + 0.66^2 - 1.0285) / (0.34 * sqrt(100)) = 0.076.
    Plain: A = sum p_ii (1 - (p_i. + p_.i)(1 - kappa))^2 = 0.1745 + 0.0362 + 0.0845 = 0.2952, B = (1 - kappa)^2 sum
    p_ij (p_.i + p_j.)^2 = 0.1047 * 0.0769 = 0.0080, C = (kappa - 0.66 (1 - kappa))^2 = 0.2143; sqrt(A + B - C) / 3.4
    = 0.088.
    """
    table = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
    cells = [(i + 1.0, j + 1.0) for i in range(3) for j in range(3) for _ in range(table[i][j])]
    a, b = zip(*cells, strict=True)
    scale = Scale((1, 2, 3), Level.NOMINAL)
    null = pair_statistics(a, b, scale)["kappa_unweighted"]
    plain = pair_statistics(a, b, scale, convention=Convention.OBSERVED)["kappa_unweighted"]
    assert null.value is not None
    assert null.z is not None
    assert plain.z is not None
    assert null.value == pytest.approx(0.23 / 0.34)
    assert null.value / null.z == pytest.approx(np.sqrt(0.66 + 0.66**2 - 1.0285) / 3.4)
    assert round(null.value / null.z, 3) == 0.076
    assert round(null.value / plain.z, 3) == 0.088


def test_quadratic_kappa_is_lins_concordance() -> None:
    """Lin 1989: 2 cov / (var a + var b + (mean a - mean b)^2), with divisor n; exact for values between points."""
    rng = np.random.default_rng(4)
    a = rng.integers(1, 8, size=80).astype(float)
    b = np.clip(a + rng.choice([-1, -1 / 3, 0, 0.5, 2], size=80), 1, 7)
    concordance = 2 * np.cov(a, b, ddof=0)[0, 1] / (a.var() + b.var() + (a.mean() - b.mean()) ** 2)
    assert pair_statistics(a, b, SEVEN)["kappa_quadratic"].value == pytest.approx(concordance, abs=1e-12)


def test_the_null_test_of_quadratic_kappa_is_that_of_pearsons_r() -> None:
    """The null variance is 4 var a var b / (n De^2), and with kappa = 2 cov / De, z = sqrt(n) r."""
    rng = np.random.default_rng(5)
    a = rng.integers(1, 8, size=60).astype(float)
    b = np.clip(a + rng.integers(-2, 3, size=60) + 0.5, 1, 7)
    r = np.corrcoef(a, b)[0, 1]
    assert pair_statistics(a, b, SEVEN)["kappa_quadratic"].z == pytest.approx(np.sqrt(60) * r)


def test_scores_of_a_small_table() -> None:
    """a = 1 1 2 3, b = 1 2 2 5. Agreement 2/4; within one 3/4; distances 0 1 0 2; F1 of 1 is 2/3, of 2 is 2/3, of 3 is
    0, weighted 2/4, 1/4, 1/4: 1/2."""
    found = values(pair_statistics([1, 1, 2, 3], [1, 2, 2, 5], FIVE))
    assert found["percent_agreement"] == 0.5
    assert found["within_one"] == 0.75
    assert found["mae"] == 0.75
    assert found["bias"] == 0.75
    assert found["f1_weighted"] == pytest.approx(0.5)


def test_bias_and_f1_know_which_side_is_the_reference() -> None:
    high_b = pair_statistics([1, 2, 2, 2], [3, 3, 3, 2], FIVE)
    high_a = pair_statistics([3, 3, 3, 2], [1, 2, 2, 2], FIVE)
    assert high_b["bias"].value == 1.0
    assert high_a["bias"].value == -1.0
    assert high_b["f1_weighted"].value != high_a["f1_weighted"].value


def test_one_point_is_one_step_of_the_scale() -> None:
    found = pair_statistics([0, 0, 50, 100], [25, 50, 50, 75], Scale((0, 25, 50, 75, 100)))
    assert found["within_one"].value == 0.75
    uneven = pair_statistics([0, 1], [1, 10], Scale((0, 1, 10)))
    assert uneven["within_one"].value == 1.0


def test_everyone_at_one_point_is_not_defined_but_agrees() -> None:
    """CASES 18: not 0, 1, NaN or a crash; raw agreement stands."""
    for convention in Convention:
        found = pair_statistics([3] * 8, [3] * 8, FIVE, convention=convention, resamples=100)
        for name in (*CHANCE_CORRECTED, *CORRELATIONS):
            assert (found[name].value, found[name].reason) == (None, "no variation")
            assert (found[name].n_items, found[name].n_ratings) == (8, 16)
        assert found["percent_agreement"].value == 1.0
        assert found["f1_weighted"].value == 1.0
        assert (found["mae"].value, found["bias"].value) == (0.0, 0.0)


def test_means_at_one_place_between_points_are_no_variation_either() -> None:
    third = 10 / 3
    for convention in Convention:
        found = pair_statistics([third] * 7, [third] * 7, FIVE, convention=convention)
        assert found["kappa_quadratic"].reason == "no variation"
        assert found["kappa_linear"].reason == "no variation"


def test_one_constant_rater_has_kappa_zero_and_no_correlation() -> None:
    found = pair_statistics([3] * 6, [3, 3, 2, 4, 5, 3], FIVE, resamples=100)
    for name in CHANCE_CORRECTED:
        assert found[name].value == pytest.approx(0, abs=1e-12)
        assert (found[name].z, found[name].p_value) == (None, None)
    for name in CORRELATIONS:
        assert found[name].reason == "no variation"


def test_one_odd_rating_among_a_million_makes_no_test_of_a_constant_rater() -> None:
    """The variance is zero, not the rounding noise of a tiny chance disagreement."""
    a = np.full(1_000_000, 3.0)
    b = a.copy()
    b[0] = 4
    for convention in Convention:
        found = pair_statistics(a, b, FIVE, convention=convention, statistics=CHANCE_CORRECTED)
        assert [result.value for result in found.values()] == pytest.approx([0, 0, 0], abs=1e-6)
        assert [result.z for result in found.values()] == [None, None, None]


def test_perfect_agreement_with_partial_overlap_is_one_for_every_pair() -> None:
    """CASES 19: raters are aligned by item, never by position."""
    table = np.array([[1, 1, 1], [5, nan, 5], [5, 5, 5], [1, 1, nan], [nan, 5, 5], [3, 3, 3], [1, nan, 1], [5, 5, nan]])
    for i, j, shared in ((0, 1, 5), (0, 2, 5), (1, 2, 4)):
        found = pair_statistics(table[:, i], table[:, j], FIVE)
        for name in (*CHANCE_CORRECTED, *CORRELATIONS, "percent_agreement", "f1_weighted"):
            assert found[name].value == pytest.approx(1.0)
            assert (found[name].n_items, found[name].n_raters, found[name].n_ratings) == (shared, 2, 2 * shared)


def test_perfect_agreement_has_no_plain_test_but_one_under_the_null() -> None:
    """The plain variance of a kappa of 1 is zero; under the null it is not."""
    a = [1, 2, 3, 4, 5]
    assert pair_statistics(a, a, FIVE, convention=Convention.OBSERVED)["kappa_quadratic"].z is None
    assert pair_statistics(a, a, FIVE)["kappa_quadratic"].z == pytest.approx(np.sqrt(5))


def test_raters_of_different_items_share_none() -> None:
    """CASES 22."""
    found = pair_statistics([1, 2, nan, nan], [nan, nan, 3, 4], FIVE, resamples=50)
    assert set(reasons(found).values()) == {"no shared items"}
    assert {(result.n_items, result.n_raters) for result in found.values()} == {(0, 2)}


@pytest.mark.parametrize(("b", "n_raters"), [([nan, nan], 1)])
def test_one_rater_is_no_pair(b: list[float], n_raters: int) -> None:
    """CASES 22."""
    found = pair_statistics([1, 2], b, FIVE)
    assert set(reasons(found).values()) == {"fewer than two raters"}
    assert {result.n_raters for result in found.values()} == {n_raters}
    assert {result.n_raters for result in pair_statistics([], [], FIVE).values()} == {0}


def test_one_shared_item_has_scores_but_no_coefficient_and_no_interval() -> None:
    found = pair_statistics([1, nan], [2, 3], FIVE, resamples=100)
    for name in (*CHANCE_CORRECTED, *CORRELATIONS):
        assert found[name].reason == "too few items"
    assert found["mae"].value == 1.0
    assert (found["mae"].ci_low, found["mae"].n_resamples) == (None, 0)


def test_names_have_no_order() -> None:
    found = pair_statistics([1, 2, 3, 1], [1, 2, 1, 1], Scale((1, 2, 3), Level.NOMINAL))
    defined = {name for name, result in found.items() if result.is_defined}
    assert defined == {"kappa_unweighted", "percent_agreement", "f1_weighted"}
    assert {result.reason for name, result in found.items() if name not in defined} == {
        "not defined for nominal scales"
    }


def test_values_between_points_are_numbers_but_no_categories() -> None:
    """CASES 25: the distance of 3.33 and 3 is a third, not a category apart."""
    a, b = [1.5, 10 / 3, 4, 2, 5], [1, 3, 4, 2.5, 5]
    found = pair_statistics(a, b, FIVE, resamples=200)
    for name in ("kappa_unweighted", "percent_agreement", "f1_weighted"):
        assert (found[name].value, found[name].reason) == (None, "values between points")
    assert found["mae"].value == pytest.approx((0.5 + 1 / 3 + 0.5) / 5)
    all_pairs = sum((x - y) ** 2 for x in a for y in b)
    expected = 1 - 5 * (0.25 + 1 / 9 + 0.25) / all_pairs
    assert found["kappa_quadratic"].value == pytest.approx(expected, abs=1e-12)
    for name in ("kappa_linear", "kappa_quadratic", "spearman", "kendall_tau_b", "within_one", "mae", "bias"):
        assert found[name].ci_low is not None


def test_observed_categories_are_hundredths() -> None:
    """1.001 and 1.004 are one category of `observed`, 1 and 1.01 are two."""
    same = pair_statistics([1.001, 3], [1.004, 3], FIVE, convention=Convention.OBSERVED)
    assert same["kappa_quadratic"].value == 1.0
    apart = pair_statistics([1, 3], [1.01, 3], FIVE, convention=Convention.OBSERVED)
    assert apart["kappa_quadratic"].value != 1.0


def test_a_point_nobody_used_counts_on_the_scale_but_not_in_observed() -> None:
    a, b = [1, 1, 5, 5, 4, 1], [1, 5, 5, 4, 4, 4]
    far = Scale((1, 4, 5))
    closed_up = [{1: 1, 4: 2, 5: 3}[x] for x in a], [{1: 1, 4: 2, 5: 3}[x] for x in b]
    observed = pair_statistics(a, b, far, convention=Convention.OBSERVED)
    ranks = pair_statistics(*closed_up, Scale((1, 2, 3)))
    for name in ("kappa_linear", "kappa_quadratic"):
        assert observed[name].value == pytest.approx(ranks[name].value)
        assert observed[name].value != pytest.approx(pair_statistics(a, b, far)[name].value)


def test_declared_order_decides_not_sorting() -> None:
    """CASES 23: by the alphabet, high < low < medium, and kappa would differ."""
    a, b = ["low", "low", "high", "medium", "high"], ["low", "medium", "high", "medium", "medium"]
    by = {}
    for order in (("low", "medium", "high"), ("high", "low", "medium")):
        number = point_values(order)
        scale = Scale(tuple(number.values()))
        by[order] = values(pair_statistics([number[x] for x in a], [number[x] for x in b], scale))
    # ranks 1 1 3 2 3 and 1 2 3 2 2: squares 2; all pairs 5*24 + 5*22 - 2*10*10 = 30; 1 - 5*2/30
    assert by["low", "medium", "high"]["kappa_quadratic"] == pytest.approx(2 / 3)
    assert by["high", "low", "medium"]["kappa_quadratic"] != pytest.approx(2 / 3)
    assert by["low", "medium", "high"]["kappa_unweighted"] == by["high", "low", "medium"]["kappa_unweighted"]


def test_points_0_to_10_given_as_text_keep_their_size() -> None:
    """CASES 23: sorted as text, 10 would stand between 1 and 2."""
    number = point_values([str(point) for point in range(11)])
    scale = Scale(tuple(number.values()))
    found = pair_statistics([number[x] for x in ("10", "2", "1")], [number[x] for x in ("9", "2", "2")], scale)
    assert found["mae"].value == pytest.approx(2 / 3)


def test_kappa_of_zero_stands_beside_high_raw_agreement() -> None:
    """CASES 24: 21 agreements on 1 and one (1, 2): chance expects just as much, so kappa is 0."""
    a, b = [1.0] * 22, [1.0] * 21 + [2.0]
    found = pair_statistics(a, b, Scale((1, 2)))
    assert found["kappa_unweighted"].value == pytest.approx(0, abs=1e-12)
    assert found["percent_agreement"].value == pytest.approx(21 / 22)


@pytest.mark.parametrize("side", [0, 1])
def test_a_value_outside_the_scale_is_refused_even_where_the_other_is_missing(side: int) -> None:
    raters = [[1.0, 2.0, 3.0], [1.0, nan, 3.0]]
    raters[side][1] = 6.0
    raters[1 - side][1] = nan
    with pytest.raises(OffScale, match="6 is outside the scale 1 to 5"):
        pair_statistics(raters[0], raters[1], FIVE)


def test_unaligned_raters_and_unknown_statistics_are_refused() -> None:
    with pytest.raises(ValueError, match="aligned by item"):
        pair_statistics([1, 2, 3], [1, 2], FIVE)
    with pytest.raises(ValueError, match="unknown pair statistic 'kapa'"):
        pair_statistics([1, 2], [1, 2], FIVE, statistics=("kapa",))


def test_kappas_name_their_convention_and_nothing_else_does() -> None:
    for convention in Convention:
        for b in ([1, 2, 3], [nan, nan, nan]):
            found = pair_statistics([1, 2, 2], b, FIVE, convention=convention)
            named = {name for name, result in found.items() if result.convention}
            assert named == set(CHANCE_CORRECTED)
            assert {found[name].convention for name in named} == {convention.value}


def test_results_are_plain_numbers_that_json_can_hold() -> None:
    """CASES 22: no bare NaN."""
    found = pair_statistics([1, 2, 5, 5], [1, 2, 4, 5], FIVE, resamples=50)
    text = json.dumps({name: asdict(result) for name, result in found.items()}, allow_nan=False)
    assert json.loads(text)["mae"]["value"] == 0.25
    assert tuple(found) == PAIR_STATISTICS


def test_the_asked_statistics_come_in_the_asked_order_with_the_same_numbers() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.integers(1, 6, size=(2, 30)).astype(float)
    some = pair_statistics(a, b, FIVE, resamples=100, seed=4, statistics=("mae", "kappa_linear"))
    everything = pair_statistics(a, b, FIVE, resamples=100, seed=4)
    assert tuple(some) == ("mae", "kappa_linear")
    assert some == {name: everything[name] for name in some}


def test_pairs_within_patterns_of_many_raters_are_paired_and_skip_the_missing() -> None:
    rng = np.random.default_rng(10)
    table = rng.choice([nan, 1.0, 2.0, 3.0, 4.0, 5.0], size=(60, 4))
    patterns = patterns_of(table, FIVE)
    for convention in Convention:
        kernels = pair_kernels(
            patterns.values[:, 0], patterns.values[:, 2], FIVE, convention=convention, statistics=PAIR_STATISTICS
        )
        assert tuple(kernels) == PAIR_STATISTICS
        direct = pair_statistics(table[:, 0], table[:, 2], FIVE, convention=convention)
        for name, kernel in kernels.items():
            assert kernel(patterns.weights)[0] == pytest.approx(direct[name].value, abs=1e-12)
    drawn = resample(patterns, {"kappa": kernels["kappa_quadratic"]}, resamples=20, seed=0)["kappa"]
    assert np.isfinite(drawn).all()


def test_pairs_within_patterns_that_never_meet_are_degenerate() -> None:
    patterns = patterns_of([[1, nan, 2], [nan, 3, 2]], FIVE)
    kernel = pair_kernels(patterns.values[:, 0], patterns.values[:, 1], FIVE)["kappa_quadratic"]
    assert np.isnan(kernel(patterns.weights)).all()
    nominal = pair_kernels([1.0, 2.0], [1.0, 1.0], Scale((1, 2), Level.NOMINAL), statistics=PAIR_STATISTICS)
    assert set(nominal) == {"kappa_unweighted", "percent_agreement", "f1_weighted"}


def test_a_table_without_disagreement_has_no_test() -> None:
    table = PairTable(np.array([2.0]), np.array([2.0]))
    assert kappa_test(table, np.array([5.0]), Weighting.QUADRATIC, Convention.SCALE) is None


def test_a_perfect_rank_correlation_has_no_p_value():
    """Its t is infinite: a p of 0 from three items would be certainty from nothing."""
    result = pair_statistics(np.array([1.0, 2, 3]), np.array([2.0, 3, 4]), FIVE)["spearman"]
    assert result.value == 1
    assert result.p_value is None


@pytest.mark.parametrize("step", [1, 0.5, 0.004], ids=["points", "between points", "less than hundredths"])
def test_several_conventions_at_once_give_the_figures_of_each_alone(step: float) -> None:
    rng = np.random.default_rng(7)
    a, b = (np.clip(3.0 + step * rng.integers(-2, 3, size=60), 1, 5) for _ in range(2))
    a[:5] = nan
    asked = {Convention.SCALE: PAIR_STATISTICS, Convention.OBSERVED: sorted(KAPPAS)}
    together = pair_statistics_by_convention(a, b, FIVE, wanted=asked, resamples=200, seed=3)
    for convention, names in asked.items():
        alone = pair_statistics(a, b, FIVE, convention=convention, resamples=200, seed=3, statistics=names)
        assert together[convention] == alone


def test_several_conventions_say_alike_why_there_is_nothing() -> None:
    asked = {Convention.SCALE: ["mae"], Convention.OBSERVED: ["kappa_linear"]}
    found = pair_statistics_by_convention([1, nan], [nan, 2], FIVE, wanted=asked)
    (mae,), (kappa,) = (results.values() for results in found.values())
    assert (mae.reason, mae.convention) == ("no shared items", "")
    assert (kappa.reason, kappa.convention) == ("no shared items", "observed")


@pytest.mark.parametrize("convention", list(Convention))
@pytest.mark.parametrize(
    ("a", "b", "exact"),
    [
        ([2, 4, 4, 5, 4, 4, 4, 3], [2, 3, 5, 5, 5, 3, 3, 4], 0.6),
        ([1, 2, 3, 3, 4], [2, 3, 3, 4, 3], 0.5),
        ([1, 2, 3, 4, 5, 1.5, 2, 3, 4, 5], [2] * 10, 0.0),
    ],
)
def test_a_kappa_that_lies_on_a_threshold_is_not_a_last_bit_below_it(a, b, exact, convention):
    """By moments 3/5 came out as 0.5999999999999999, below a threshold of 0.6, and in the other convention above."""
    found = pair_statistics(a, b, Scale((1.0, 2.0, 3.0, 4.0, 5.0)), convention=convention)["kappa_quadratic"]
    assert found.value == exact
