"""The cells and pages of the agreement table, without a page."""

import pytest

from apps.dashboard.agreement.cells import Flip, at_two_decimals, average_of, cell_of, shade_of, stars_of
from apps.dashboard.agreement.choosing import Choice
from apps.dashboard.agreement.query import Query
from apps.dashboard.agreement.tables import SCALES_ON_A_PAGE, ExpertRange, benchmark_table, pages_of_frameworks
from apps.dashboard.templatetags.agreement import pair_range
from apps.reliability.benchmarks import NO_EXPERTS_MEDIAN, BenchmarkSide, Estimate, ScaleBenchmark
from apps.reliability.matrix import Kind, RaterKey, TableKey

RATERS = [
    RaterKey("expert1", Kind.EXPERT),
    RaterKey("expert2", Kind.EXPERT),
    RaterKey("gpt", Kind.LLM),
    RaterKey("w1", Kind.CROWD),
]


def estimate(value: float | None, p_adjusted: float | None = None) -> Estimate:
    return Estimate(value, None, None, p_adjusted, p_adjusted, 10, "" if value is not None else "no variation")


def other(here: Estimate, there: Estimate, statistic: str = "kappa_quadratic"):
    return cell_of(here, there, statistic=statistic, threshold=0.6).other


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.125, "0.12"), (-0.004, "0.00"), (-0.5, "\N{MINUS SIGN}0.50"), (1, "1.00"), (0.0, "0.00")],
)
def test_two_decimals_have_no_minus_before_a_zero(value, text):
    assert at_two_decimals(value) == text


@pytest.mark.parametrize(
    ("p_value", "stars"),
    [(None, ""), (0.05, ""), (0.0499, "*"), (0.01, "*"), (0.0099, "**"), (0.001, "**"), (0.00099, "***")],
)
def test_stars_begin_below_their_limit(p_value, stars):
    assert stars_of(p_value) == stars


@pytest.mark.parametrize(("value", "shade"), [(None, 0), (-0.2, 0), (0, 0), (0.01, 1), (0.2, 2), (0.79, 4), (1, 5)])
def test_a_shade_is_a_fifth(value, shade):
    assert shade_of(value, "kappa_quadratic") == shade


def test_what_is_no_agreement_is_not_shaded():
    assert shade_of(0.9, "mae") == shade_of(0.9, "bias") == 0


@pytest.mark.parametrize(
    ("here", "there", "flips"),
    [
        (estimate(0.62, 0.01), estimate(0.55, 0.01), (Flip.BELOW,)),
        (estimate(0.55, 0.2), estimate(0.65, 0.01), (Flip.SIGNIFICANT, Flip.REACHES)),
        (estimate(0.3, 0.04), estimate(0.3, 0.06), (Flip.NOT_SIGNIFICANT,)),
        (estimate(0.3), estimate(None), (Flip.UNDEFINED,)),
        (estimate(None), estimate(0.3), (Flip.DEFINED,)),
        # At two decimals they are the same, and the threshold lies between them.
        (estimate(0.601), estimate(0.599), (Flip.BELOW,)),
    ],
)
def test_another_conclusion_is_told(here, there, flips):
    found = other(here, there)
    assert (found.value, found.flips) == (there.value, flips)


def test_a_test_that_ends_otherwise_on_the_same_kappa_is_told_from_another_kappa():
    same = other(estimate(0.3, 0.04), estimate(0.3 + 1e-12, 0.06))
    assert (same.is_test_only, same.flips) == (True, (Flip.NOT_SIGNIFICANT,))
    assert other(estimate(0.3, 0.06), estimate(0.3, 0.04)).flips == (Flip.SIGNIFICANT,)
    assert not other(estimate(0.301, 0.04), estimate(0.299, 0.06)).is_test_only
    assert not other(estimate(None), estimate(0.3, 0.04)).is_test_only


@pytest.mark.parametrize(
    ("low", "p_adjusted", "is_at_odds"),
    [(-0.07, 0.03, True), (0.0, 0.03, True), (0.01, 0.03, False), (-0.07, 0.3, False), (None, 0.03, False)],
)
def test_stars_at_odds_with_their_interval_are_told(low, p_adjusted, is_at_odds):
    here = Estimate(0.23, low, None if low is None else 0.5, p_adjusted, p_adjusted, 50, "")
    assert cell_of(here, None, statistic="kappa_quadratic", threshold=0.6).is_at_odds is is_at_odds


def test_who_is_compared_on_no_scale_shown_is_no_column():
    shown, elsewhere = TableKey("main", "a", "s1"), TableKey("more", "b", "s1")

    def benchmark(key: TableKey, **sides: Estimate) -> ScaleBenchmark:
        them = tuple(BenchmarkSide(name, Kind.LLM, found) for name, found in sides.items())
        return ScaleBenchmark(key, (), None, None, None, 0, them, "experts:median")

    alone = Estimate(None, None, None, None, None, 0, NO_EXPERTS_MEDIAN)
    found = benchmark_table(
        [
            benchmark(shown, gpt=estimate(0.4), lone=alone, still=estimate(None)),
            benchmark(elsewhere, claude=estimate(0.5)),
        ],
        [],
        order=[shown],
        statistic="kappa_quadratic",
        threshold=0.6,
    )
    assert [column.name for column in found.columns] == ["gpt", "still"]
    assert [column.name for column in found.left_out] == ["claude", "lone"]
    [[row]] = [section.rows for section in found.sections]
    assert [cell.estimate.value for cell in row.cells] == [0.4, None]


@pytest.mark.parametrize(("low", "shown"), [(0.51, "0.51–0.62"), (-0.07, "−0.07 to 0.62")])
def test_a_range_of_pairs_has_a_dash_where_no_minus_stands(low, shown):
    assert pair_range(ExpertRange(low, 0.56, 0.62, 3, 0, "", 3)) == shown


def test_another_value_is_told_where_two_decimals_differ():
    assert other(estimate(0.304, 0.01), estimate(0.296, 0.01)) is None
    assert other(estimate(0.304, 0.01), estimate(0.294, 0.01)).flips == ()
    assert other(estimate(None), estimate(None)) is None


def test_only_kappas_have_a_threshold():
    assert other(estimate(0.601), estimate(0.599), statistic="spearman") is None


def test_an_average_leaves_out_and_counts_what_is_not_defined():
    found = average_of([0.2, None, 0.4], "kappa_quadratic")
    assert (found.value, found.n_scales, found.n_undefined) == (pytest.approx(0.3), 2, 1)
    nothing = average_of([None, None], "kappa_quadratic")
    assert (nothing.value, nothing.n_undefined, nothing.shade) == (None, 2, 0)


def test_pages_hold_whole_frameworks():
    sizes = {"a": 20, "b": 10, "c": 1, "d": SCALES_ON_A_PAGE + 5, "e": 1}
    keys = [TableKey("main", name, f"s{number}") for name, size in sizes.items() for number in range(size)]
    pages = pages_of_frameworks(keys)
    assert [[of.framework for of in page] for page in pages] == [["a", "b"], ["c"], ["d"], ["e"]]
    assert pages_of_frameworks([]) == []


def test_without_a_filter_everybody_is_chosen():
    choice = Choice(Query(), RATERS)
    assert choice.pair("expert1", "gpt")
    assert choice.side("crowd:mean")
    assert choice.group("crowd")


def test_both_sides_belong_to_the_groups_and_the_experts_median_to_all_of_them():
    choice = Choice(Query(groups=("llms",)), RATERS)
    assert choice.pair("experts:median", "gpt")
    assert not choice.pair("expert1", "gpt")
    assert not choice.pair("experts-without-expert1:median", "expert1")
    assert not choice.side("crowd:mean")
    assert choice.group("llms")
    assert not choice.group("experts")


def test_a_rater_takes_part_in_the_pair():
    choice = Choice(Query(raters=("w1",)), RATERS)
    assert choice.pair("crowd-without-w1:mean", "w1")
    assert not choice.pair("expert1", "gpt")
    assert choice.side("crowd:mean")
    assert not choice.side("gpt")
    assert choice.group("crowd")
    assert not choice.group("experts")
