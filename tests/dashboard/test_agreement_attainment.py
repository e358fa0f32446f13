"""On which scales models and the crowd agree with the experts as an expert does."""

import pytest

from apps.dashboard.agreement.attainment import Items, attainments
from apps.reliability.benchmarks import BenchmarkSide, Estimate, ExpertWithOthers, LeaveOneOut, ScaleBenchmark
from apps.reliability.matrix import Kind, TableKey

KEYS = [TableKey("main", "warmth", f"s{number}") for number in range(4)]


def estimate(value: float | None, low: float | None = None, high: float | None = None, n: int = 50) -> Estimate:
    return Estimate(value, low, high, None, None, n, "" if value is not None else "no variation")


def benchmark(key: TableKey, mark: float | None, statistic: str = "kappa_quadratic", **sides) -> ScaleBenchmark:
    kinds = {"gpt": Kind.LLM, "crowd": Kind.CROWD, "words": Kind.BASELINE, "self": Kind.SELF}
    them = tuple(BenchmarkSide(name, kinds[name], found) for name, found in sides.items())
    experts = tuple(ExpertWithOthers(name, estimate(mark, n=24)) for name in ("e1", "e2", "e3"))
    others = LeaveOneOut(experts, median=mark)
    return ScaleBenchmark(key, (), 0.9, 0.9, 0.9, 0, them, "experts:median", others, statistic)


def test_a_side_is_held_against_the_expert_with_the_others_scale_by_scale():
    """The pairs of experts, at 0.9 here, are no mark: a side meets a median."""
    [found] = attainments(
        [
            benchmark(KEYS[0], 0.5, gpt=estimate(0.5, 0.4, 0.6), self=estimate(0.9, 0.8, 1.0)),
            benchmark(KEYS[1], 0.5, gpt=estimate(0.7, 0.5, 0.8)),
            benchmark(KEYS[2], 0.5, gpt=estimate(0.3, 0.2, 0.49)),
            benchmark(KEYS[3], 0.5, gpt=estimate(0.4, 0.2, 0.5)),
        ],
        KEYS,
    )
    [gpt] = found.sides
    assert (gpt.of, gpt.n_scales) == (("gpt", Kind.LLM), 4)
    assert gpt.reached == (KEYS[0], KEYS[1])
    assert gpt.surely == (KEYS[1],)
    assert gpt.missed == (KEYS[2],)


def test_of_a_distance_less_is_better_and_a_bias_has_no_better_end():
    [found] = attainments([benchmark(KEYS[0], 0.5, "mae", crowd=estimate(0.4, 0.3, 0.45))], KEYS)
    assert found.sides[0].surely == (KEYS[0],)
    [found] = attainments([benchmark(KEYS[0], 0.5, "mae", crowd=estimate(0.6, 0.55, 0.7))], KEYS)
    assert (found.sides[0].reached, found.sides[0].missed) == ((), (KEYS[0],))
    assert attainments([benchmark(KEYS[0], 0.5, "bias", gpt=estimate(0.0, 0.0, 0.0))], KEYS) == []


def test_what_has_no_mark_or_no_value_is_left_out_and_counted():
    [found] = attainments(
        [
            benchmark(KEYS[0], None, gpt=estimate(0.9)),
            benchmark(KEYS[1], 0.5, gpt=estimate(None), crowd=estimate(0.6)),
        ],
        KEYS,
    )
    assert found.n_without == 1
    [crowd] = found.sides
    # Without an interval nothing is said of its ends.
    assert (crowd.n_scales, crowd.reached, crowd.surely, crowd.missed) == (1, (KEYS[1],), (), ())


@pytest.mark.parametrize("mark", [None, 0.5])
def test_without_a_mark_or_a_side_nothing_is_told(mark):
    assert attainments([benchmark(KEYS[0], mark)], KEYS) == []


def test_on_how_many_items_a_side_and_the_experts_are_compared():
    [found] = attainments(
        [
            benchmark(KEYS[0], 0.5, gpt=estimate(0.5, n=10), crowd=estimate(0.4, n=24)),
            benchmark(KEYS[1], 0.5, gpt=estimate(0.5, n=12), crowd=estimate(0.4, n=24)),
            benchmark(KEYS[2], 0.5, gpt=estimate(None, n=3)),
        ],
        KEYS,
    )
    gpt, crowd = found.sides
    assert (gpt.compared, gpt.marks, gpt.is_of_other_items, gpt.compared.differ) == (
        Items(10, 12),
        Items(24, 24),
        True,
        True,
    )
    assert (crowd.compared, crowd.is_of_other_items, crowd.compared.differ) == (Items(24, 24), False, False)


def test_baselines_are_held_against_the_experts_and_self_reports_are_not():
    [found] = attainments([benchmark(KEYS[0], 0.5, words=estimate(0.1), self=estimate(0.9))], KEYS)
    assert [side.of.name for side in found.sides] == ["words"]
