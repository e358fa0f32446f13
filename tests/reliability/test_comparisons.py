import pytest

from apps.measures.aggregates import Aggregate
from apps.reliability.comparisons import MAX_RATERS_IN_FILE_PAIRS, file_plan, study_plan
from apps.reliability.matrix import Kind, RaterKey


def raters(**kinds: str) -> list[RaterKey]:
    """`raters(e1="expert", crowd="crowd*")`; a star declares an aggregate. In the order of a table."""
    keys = [RaterKey(name, Kind(kind.rstrip("*")), kind.endswith("*")) for name, kind in kinds.items()]
    return sorted(keys, key=lambda rater: rater.order)


def pairs(keys: list[RaterKey], **options: bool) -> list[tuple[str, str]]:
    return [(pair.a.name, pair.b.name) for pair in study_plan(keys, **options).pairs]


def groups(keys: list[RaterKey]) -> list[str]:
    return [group.name for group in study_plan(keys).groups]


PAPER = raters(e1="expert", e2="expert", e3="expert", gemini="llm", gpt="llm", crowd="crowd*", self="self")


def test_a_study_like_the_published_one():
    assert pairs(PAPER) == [
        ("experts:median", "self"),
        ("experts:median", "crowd"),
        ("experts:median", "gemini"),
        ("experts:median", "gpt"),
        ("experts-without-e1:median", "e1"),
        ("experts-without-e2:median", "e2"),
        ("experts-without-e3:median", "e3"),
        ("e1", "e2"),
        ("e1", "e3"),
        ("e1", "self"),
        ("e1", "crowd"),
        ("e1", "gemini"),
        ("e1", "gpt"),
        ("e2", "e3"),
        ("e2", "self"),
        ("e2", "crowd"),
        ("e2", "gemini"),
        ("e2", "gpt"),
        ("e3", "self"),
        ("e3", "crowd"),
        ("e3", "gemini"),
        ("e3", "gpt"),
        ("self", "crowd"),
        ("self", "gemini"),
        ("self", "gpt"),
        ("crowd", "gemini"),
        ("crowd", "gpt"),
        ("gemini", "gpt"),
    ]


def test_groups_are_described_where_two_raters_that_are_no_aggregates_form_them():
    assert groups(PAPER) == ["experts", "llms"]
    assert groups(raters(a="expert", b="expert*", c="crowd", d="crowd")) == ["crowd"]
    kinds = raters(a="reference", b="reference", c="self", d="self", e="baseline", f="baseline")
    assert groups(kinds) == ["references", "selves", "baselines"]


def test_a_single_rater_keeps_the_group_so_that_the_reason_can_be_told():
    """CASES 22: one rater only."""
    assert groups(raters(a="expert")) == ["experts"]
    assert groups(raters(a="expert", b="llm")) == []


def test_crowd_workers_are_a_group_a_mean_and_each_against_the_others():
    crowd = raters(e1="expert", w1="crowd", w2="crowd", w3="crowd")
    assert pairs(crowd) == [
        ("e1", "crowd:mean"),
        ("crowd-without-w1:mean", "w1"),
        ("crowd-without-w2:mean", "w2"),
        ("crowd-without-w3:mean", "w3"),
    ]
    assert groups(crowd) == ["crowd"]


def test_all_pairs_adds_the_crowd_workers_one_by_one():
    crowd = raters(e1="expert", e2="expert", w1="crowd", w2="crowd", w3="crowd")
    added = set(pairs(crowd, all_pairs=True)) - set(pairs(crowd))
    assert added == {
        ("w1", "w2"),
        ("w1", "w3"),
        ("w2", "w3"),
        *((expert, worker) for expert in ("e1", "e2") for worker in ("w1", "w2", "w3")),
        *(("experts:median", worker) for worker in ("w1", "w2", "w3")),
    }


def test_models_are_pooled_only_when_asked():
    models = raters(e1="expert", e2="expert", m1="llm", m2="llm", m3="llm")
    assert not any("llms" in a + b for a, b in pairs(models))
    pooled = set(pairs(models, pool_models=True)) - set(pairs(models))
    assert pooled == {
        ("experts:median", "llms:median"),
        ("e1", "llms:median"),
        ("e2", "llms:median"),
        ("llms-without-m1:median", "m1"),
        ("llms-without-m2:median", "m2"),
        ("llms-without-m3:median", "m3"),
    }


@pytest.mark.parametrize("options", [{}, {"all_pairs": True}, {"pool_models": True}])
def test_no_rater_is_compared_with_a_group_that_contains_them(options):
    keys = raters(
        e1="expert", e2="expert", e3="expert", m1="llm", m2="llm", m3="llm", w1="crowd", w2="crowd", w3="crowd"
    )
    for pair in study_plan(keys, **options).pairs:
        assert not set(pair.a.members) & set(pair.b.members)
        if pair.a.without is not None:
            assert pair.b.members == (pair.a.without,)
            assert pair.a.name.split(":")[0].endswith(f"-without-{pair.b.name}")


def test_an_imported_aggregate_is_not_paired_with_raters_it_may_contain():
    keys = raters(crowd="crowd*", w1="crowd", w2="crowd", panel="expert*", e1="expert", e2="expert")
    found = pairs(keys, all_pairs=True)
    assert ("panel", "e1") not in found
    assert ("e1", "panel") not in found
    assert not any({"crowd", "w1"} == {a, b} for a, b in found)
    assert not any({"crowd", "crowd:mean"} == {a, b} for a, b in found)
    assert not any({"panel", "experts:median"} == {a, b} for a, b in found)
    assert ("panel", "crowd") in found
    assert ("experts:median", "crowd:mean") in found


def test_two_aggregates_of_one_kind_are_paired():
    assert pairs(raters(north="crowd*", south="crowd*")) == [("north", "south")]


def test_a_group_needs_two_raters_also_without_the_one_left_out():
    assert pairs(raters(e1="expert", e2="expert", m="llm")) == [
        ("experts:median", "m"),
        ("e1", "e2"),
        ("e1", "m"),
        ("e2", "m"),
    ]
    assert pairs(raters(e1="expert", m="llm")) == [("e1", "m")]


def test_the_reference_side_comes_first():
    """a: reference, expert, self, crowd, model, baseline."""
    keys = raters(b="baseline", m="llm", w="crowd*", s="self", e="expert", r="reference")
    assert pairs(keys)[:5] == [("r", "e"), ("r", "s"), ("r", "w"), ("r", "m"), ("r", "b")]
    assert ("w", "m") in pairs(keys)
    assert ("m", "b") in pairs(keys)


def test_groups_are_medians_of_experts_and_means_of_the_crowd():
    keys = raters(e1="expert", e2="expert", w1="crowd", w2="crowd")
    [pair] = [pair for pair in study_plan(keys).pairs if pair.a.how and pair.b.how]
    assert (pair.a.how, pair.b.how) == (Aggregate.MEDIAN, Aggregate.MEAN)


def test_a_rater_of_no_kind_has_no_place_in_a_study():
    with pytest.raises(ValueError, match="kind of rater x"):
        study_plan([RaterKey("x")])


def test_a_file_has_every_pair_up_to_twenty_raters_and_the_group_of_all():
    few = [RaterKey(f"r{number:02d}") for number in range(MAX_RATERS_IN_FILE_PAIRS)]
    plan = file_plan(few)
    assert len(plan.pairs) == 20 * 19 / 2
    assert [(group.name, len(group.members)) for group in plan.groups] == [("all", 20)]
    many = file_plan([*few, RaterKey("one-more")])
    assert many.pairs == ()
    assert [(group.name, len(group.members)) for group in many.groups] == [("all", 21)]
