import numpy as np
import pytest

from apps.measures.pairs import PAIR_STATISTICS
from apps.reliability.agreement import AgreementRow, Settings, analyse
from apps.reliability.benchmarks import (
    NO_EXPERTS_MEDIAN,
    LeaveOneOut,
    framework_benchmarks,
    group_alphas,
    scale_benchmarks,
)
from apps.reliability.comparisons import study_plan
from apps.reliability.directions import Direction, direction_of, is_at_least
from apps.reliability.matrix import Kind, RaterKey, TableKey
from tests.reliability.conftest import make_table

EXPERTS = [RaterKey(f"expert{number}", Kind.EXPERT) for number in (1, 2, 3)]
MODELS = [RaterKey("gemini", Kind.LLM), RaterKey("gpt", Kind.LLM)]
CROWD = RaterKey("crowd", Kind.CROWD, is_aggregate=True)
SELF = RaterKey("self", Kind.SELF)
CAST = [*EXPERTS, SELF, CROWD, *MODELS]


def row(a, b, value, *, dimension="empathy", framework="warmth", statistic="kappa_quadratic", **others) -> AgreementRow:
    fields = {
        "block": "main",
        "framework": framework,
        "dimension": dimension,
        "statistic": statistic,
        "a": a,
        "b": b,
        "convention": "scale",
        "value": value,
        "ci_low": None if value is None else value - 0.1,
        "ci_high": None if value is None else value + 0.1,
        "p_value": None,
        "p_adjusted": None,
        "n_items": 50,
        "n_raters": 2,
        "n_ratings": 100,
        "n_degenerate": 0,
        "reason": "no variation" if value is None else "",
    }
    return AgreementRow(**(fields | others))


def expert_rows(first, second, third, **others):
    return [
        row("expert1", "expert2", first, **others),
        row("expert1", "expert3", second, **others),
        row("expert2", "expert3", third, **others),
    ]


def test_the_benchmark_is_every_pair_of_experts_and_never_an_expert_with_anybody_else():
    rows = [
        *expert_rows(0.2, 0.7, 0.4),
        row("experts-without-expert1:median", "expert1", 0.9),
        row("expert1", "gemini", -0.5),
        row("experts:median", "gemini", 0.6),
    ]
    [benchmark] = scale_benchmarks(rows, CAST)
    assert [(pair.a, pair.b, pair.estimate.value) for pair in benchmark.expert_pairs] == [
        ("expert1", "expert2", 0.2),
        ("expert1", "expert3", 0.7),
        ("expert2", "expert3", 0.4),
    ]
    assert (benchmark.low, benchmark.median, benchmark.high, benchmark.n_undefined) == (0.2, 0.4, 0.7, 0)
    assert benchmark.key == TableKey("main", "warmth", "empathy")


def test_each_side_stands_beside_it_with_the_median_of_the_experts_in_the_order_of_kinds():
    rows = [
        *expert_rows(0.2, 0.7, 0.4),
        row("experts:median", "self", 0.1),
        row("experts:median", "crowd", 0.3, n_items=40),
        row("experts:median", "gpt", 0.5),
        row("experts:median", "gemini", 0.6),
        row("truth", "experts:median", 0.8),
        row("experts:median", "always-3", None),
        row("crowd", "gpt", 0.99),
    ]
    cast = [*CAST, RaterKey("truth", Kind.REFERENCE), RaterKey("always-3", Kind.BASELINE)]
    [benchmark] = scale_benchmarks(rows, cast)
    assert [(side.name, side.kind, side.estimate.value) for side in benchmark.sides] == [
        ("truth", Kind.REFERENCE, 0.8),
        ("self", Kind.SELF, 0.1),
        ("crowd", Kind.CROWD, 0.3),
        ("gemini", Kind.LLM, 0.6),
        ("gpt", Kind.LLM, 0.5),
        ("always-3", Kind.BASELINE, None),
    ]
    assert benchmark.compared_with == "experts:median"
    crowd = benchmark.sides[2].estimate
    assert (crowd.ci_low, crowd.ci_high, crowd.n_items) == (pytest.approx(0.2), pytest.approx(0.4), 40)
    assert benchmark.sides[-1].estimate.reason == "no variation"


def test_undefined_pairs_are_left_out_of_the_median_and_counted():
    [benchmark] = scale_benchmarks(expert_rows(None, 0.7, 0.4), CAST)
    assert (benchmark.low, benchmark.median, benchmark.high) == (0.4, pytest.approx(0.55), 0.7)
    assert benchmark.n_undefined == 1
    assert len(benchmark.expert_pairs) == 3

    [nothing] = scale_benchmarks(expert_rows(None, None, None), CAST)
    assert (nothing.low, nothing.median, nothing.high, nothing.n_undefined) == (None, None, None, 3)


def test_scales_come_by_their_experts_undefined_ones_last_and_ties_in_their_order():
    rows = [
        *expert_rows(None, None, None, dimension="undefined"),
        *expert_rows(-0.1, -0.1, -0.1, dimension="negative"),
        *expert_rows(0.5, 0.5, 0.5, dimension="high"),
        *expert_rows(0.0, 0.0, 0.0, dimension="zero"),
        *expert_rows(0.5, 0.5, 0.5, dimension="high too"),
    ]
    found = [benchmark.key.dimension for benchmark in scale_benchmarks(rows, CAST)]
    assert found == ["high", "high too", "zero", "negative", "undefined"]


def test_models_are_never_pooled_and_crowd_workers_stand_as_their_mean():
    rows = [
        *expert_rows(0.2, 0.7, 0.4),
        row("experts:median", "llms:median", 0.9),
        row("experts:median", "crowd:mean", 0.3),
        row("expert1", "worker1", 0.4),
        row("experts:median", "worker1", 0.4),
        row("experts:median", "gemini", 0.6),
    ]
    workers = [RaterKey("worker1", Kind.CROWD), RaterKey("worker2", Kind.CROWD)]
    [benchmark] = scale_benchmarks(rows, [*EXPERTS, *MODELS, *workers])
    assert [side.name for side in benchmark.sides] == ["crowd:mean", "gemini"]
    [without_crowd] = scale_benchmarks(rows, [*EXPERTS, *MODELS])
    assert [side.name for side in without_crowd.sides] == ["gemini"]


def test_one_expert_alone_is_no_benchmark_and_says_so():
    [benchmark] = scale_benchmarks([row("expert1", "gemini", 0.8)], [EXPERTS[0], MODELS[0]])
    assert benchmark.expert_pairs == ()
    assert (benchmark.low, benchmark.median, benchmark.high, benchmark.n_undefined) == (None, None, None, 0)
    [side] = benchmark.sides
    assert (side.name, side.estimate.value, side.estimate.reason) == ("gemini", None, NO_EXPERTS_MEDIAN)
    assert benchmark.compared_with == ""


def test_an_imported_aggregate_of_experts_stands_for_them():
    panel = RaterKey("panel", Kind.EXPERT, is_aggregate=True)
    [benchmark] = scale_benchmarks([row("panel", "gemini", 0.8)], [panel, MODELS[0]])
    assert benchmark.compared_with == "panel"
    assert benchmark.sides[0].estimate.value == 0.8


def test_other_statistics_do_not_enter_and_two_conventions_are_refused():
    rows = [*expert_rows(0.2, 0.7, 0.4), *expert_rows(1.0, 1.0, 1.0, statistic="spearman")]
    assert scale_benchmarks(rows, CAST)[0].high == 0.7
    assert scale_benchmarks(rows, CAST, "spearman")[0].low == 1.0
    both = [*expert_rows(0.2, 0.7, 0.4), *expert_rows(0.3, 0.6, 0.5, convention="observed")]
    with pytest.raises(ValueError, match="kappa_quadratic of expert1 and expert2 occurs twice on empathy"):
        scale_benchmarks(both, CAST)


def test_a_bias_is_that_of_the_side_whoever_comes_first():
    """A reference stands before the experts in the rows: the same ratings as a model's must not get another sign."""
    kinds = {"gold": Kind.REFERENCE, "gpt": Kind.LLM}
    columns = {"expert1": [1, 2, 3, 4], "expert2": [1, 2, 3, 5], "gold": [2, 3, 4, 5], "gpt": [2, 3, 4, 5]}
    table = make_table(columns, kinds=kinds)
    rows = analyse([table], Settings(resamples=200)).rows
    [benchmark] = scale_benchmarks(rows, table.raters, "bias")
    gold, gpt = (side.estimate for side in benchmark.sides)
    assert gold.value == gpt.value == pytest.approx(0.875)
    assert gold.ci_low is not None
    assert gold.ci_high is not None
    assert gold.ci_low <= gold.value <= gold.ci_high
    [kappas] = scale_benchmarks(rows, table.raters)
    assert kappas.sides[0].estimate.value == kappas.sides[1].estimate.value


def test_a_framework_is_the_mean_of_its_scales_and_counts_what_is_undefined():
    rows = [
        *expert_rows(0.1, 0.2, 0.9, dimension="a"),
        *expert_rows(0.3, 0.4, 0.5, dimension="b"),
        *expert_rows(None, None, None, dimension="c"),
        row("experts:median", "gemini", 0.6, dimension="a"),
        row("experts:median", "gemini", None, dimension="b"),
        row("experts:median", "gemini", 0.2, dimension="c"),
        *expert_rows(0.8, 0.8, 0.8, dimension="d", framework="other"),
    ]
    other, warmth = framework_benchmarks(rows, CAST)
    assert (other.framework, other.n_scales, other.median) == ("other", 1, 0.8)
    assert (warmth.block, warmth.framework, warmth.n_scales, warmth.n_undefined) == ("main", "warmth", 3, 1)
    assert (warmth.low, warmth.median, warmth.high) == pytest.approx((0.2, 0.3, 0.7))
    [gemini] = warmth.sides
    assert gemini.estimate == (pytest.approx(0.4), 2, 1)
    assert [pair.estimate.value for pair in warmth.expert_pairs] == pytest.approx([0.2, 0.3, 0.7])


def test_a_framework_without_any_value_has_none():
    [warmth] = framework_benchmarks(expert_rows(None, None, None), CAST)
    assert (warmth.low, warmth.median, warmth.high, warmth.n_undefined) == (None, None, None, 1)
    assert {pair.estimate for pair in warmth.expert_pairs} == {(None, 0, 1)}


def test_alphas_of_groups_keep_their_order_interval_and_reason():
    rows = [
        row("experts", "", 0.5, statistic="alpha_interval"),
        row("llms", "", None, statistic="alpha_interval", reason="fewer than two raters"),
        row("experts", "", 0.9, statistic="fleiss_kappa"),
        row("all", "", 0.3, statistic="alpha_interval"),
    ]
    found = group_alphas(rows)
    assert [(one.group, one.kind, one.estimate.value) for one in found] == [
        ("experts", Kind.EXPERT, 0.5),
        ("llms", Kind.LLM, None),
        ("all", None, 0.3),
    ]
    assert found[1].estimate.reason == "fewer than two raters"


def test_what_is_shown_is_what_was_analysed():
    rng = np.random.default_rng(3)
    table = make_table(
        {name: list(rng.integers(1, 6, 30)) for name in ("expert1", "expert2", "expert3", "gemini", "w1", "w2")},
        kinds={"gemini": Kind.LLM, "w1": Kind.CROWD, "w2": Kind.CROWD},
    )
    rows = analyse([table], Settings(resamples=20), plan=study_plan).rows
    [benchmark] = scale_benchmarks(rows, table.raters)
    by_pair = {(one.a, one.b): one.value for one in rows if one.statistic == "kappa_quadratic"}
    assert {(pair.a, pair.b): pair.estimate.value for pair in benchmark.expert_pairs} == {
        pair: by_pair[pair] for pair in [("expert1", "expert2"), ("expert1", "expert3"), ("expert2", "expert3")]
    }
    assert [(side.name, side.estimate.value) for side in benchmark.sides] == [
        ("crowd:mean", by_pair["experts:median", "crowd:mean"]),
        ("gemini", by_pair["experts:median", "gemini"]),
    ]


def others_rows(*values, **others):
    return [
        row(f"experts-without-expert{number}:median", f"expert{number}", value, **others)
        for number, value in enumerate(values, 1)
    ]


def test_each_expert_stands_with_the_median_of_the_others():
    rows = [*expert_rows(0.2, 0.7, 0.4), *others_rows(0.3, None, 0.8)]
    [benchmark] = scale_benchmarks(rows, CAST)
    found = benchmark.leave_one_out
    assert [(one.name, one.estimate.value) for one in found.experts] == [
        ("expert1", 0.3),
        ("expert2", None),
        ("expert3", 0.8),
    ]
    assert (found.low, found.median, found.high, found.n_undefined) == (0.3, pytest.approx(0.55), 0.8, 1)


def test_two_experts_have_no_others():
    [benchmark] = scale_benchmarks([row("expert1", "expert2", 0.5), row("experts:median", "gpt", 0.6)], CAST)
    assert benchmark.leave_one_out == LeaveOneOut()


def test_a_framework_has_the_mean_of_each_expert_with_the_others():
    rows = [
        *expert_rows(0.1, 0.2, 0.9, dimension="a"),
        *others_rows(0.1, 0.2, 0.6, dimension="a"),
        *expert_rows(0.1, 0.2, 0.9, dimension="b"),
        *others_rows(0.7, 0.4, 0.2, dimension="b"),
        *expert_rows(0.1, 0.2, 0.9, dimension="c"),
    ]
    [warmth] = framework_benchmarks(rows, CAST)
    found = warmth.leave_one_out
    assert (found.low, found.median, found.high, found.n_undefined) == (*map(pytest.approx, (0.15, 0.3, 0.65)), 1)
    assert [one.estimate for one in found.experts] == [
        (pytest.approx(0.4), 2, 0),
        (pytest.approx(0.3), 2, 0),
        (pytest.approx(0.4), 2, 0),
    ]


def test_of_a_distance_the_smallest_comes_first_and_a_bias_has_no_benchmark():
    rows = [
        *(expert_rows(1.0, 1.2, 1.4, dimension="far", statistic=one) for one in ("mae", "bias")),
        *(expert_rows(0.1, 0.2, 0.3, dimension="near", statistic=one) for one in ("mae", "bias")),
    ]
    rows = [one for some in rows for one in some]
    assert [one.key.dimension for one in scale_benchmarks(rows, CAST, "mae")] == ["near", "far"]
    signed = scale_benchmarks(rows, CAST, "bias")
    assert [(one.key.dimension, one.low, one.median, one.high) for one in signed] == [
        ("far", None, None, None),
        ("near", None, None, None),
    ]


def test_every_statistic_of_two_raters_has_a_direction():
    directions = {statistic: direction_of(statistic) for statistic in PAIR_STATISTICS}
    assert directions.pop("mae") is Direction.LESS
    assert directions.pop("bias") is Direction.NONE
    assert set(directions.values()) == {Direction.MORE}


@pytest.mark.parametrize(
    ("direction", "expected"),
    [(Direction.MORE, (False, True, True)), (Direction.LESS, (True, True, False)), (Direction.NONE, (False,) * 3)],
)
def test_as_much_agreement_or_more(direction, expected):
    assert tuple(is_at_least(value, 0.5, direction) for value in (0.4, 0.5, 0.6)) == expected
