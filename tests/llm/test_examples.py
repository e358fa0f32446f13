"""Examples are picked from the experts' medians, the same on every machine, and by hand where somebody says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.examples import ExampleError, PickedExample, pick_examples
from tests.llm.made import property_test

FIVE = (1.0, 2.0, 3.0, 4.0, 5.0)
MEDIANS = {"a": 2.0, "b": 1.0, "c": 3.0, "d": 5.0, "e": 4.0, "f": 4.5}

medians = st.dictionaries(st.text(max_size=3), st.sampled_from([*FIVE, 1.5, 2.5, float("nan"), 9.0]), max_size=12)


def test_the_nearest_to_each_anchor_are_picked():
    assert pick_examples(MEDIANS, FIVE, seed=1) == [
        PickedExample("low", "b", 1.0),
        PickedExample("middle", "c", 3.0),
        PickedExample("high", "d", 5.0),
    ]


def test_a_slot_without_a_conversation_stays_empty():
    # On 1 to 5 the midpoint is 3; 2 and 4 are halfway, and count as the middle.
    assert [picked.slot for picked in pick_examples({"a": 2.0, "e": 4.0}, FIVE, seed=1)] == ["middle"]
    assert pick_examples({"a": 4.0}, FIVE, seed=1) == [PickedExample("middle", "a", 4.0)]
    assert pick_examples({"a": 4.5, "b": float("nan")}, FIVE, seed=1) == []
    assert pick_examples({}, FIVE, seed=1) == []


def test_scales_of_other_shapes():
    assert [picked.slot for picked in pick_examples({"a": 0.0, "b": 1.0}, (0.0, 1.0), seed=1)] == ["low", "high"]
    four = pick_examples({"a": 4.0, "b": 3.0, "c": 1.0}, (1.0, 2.0, 3.0, 4.0), seed=1)
    assert [picked.item for picked in four] == ["c", "b", "a"]
    with pytest.raises(ValueError, match="at least two points"):
        pick_examples({"a": 1.0}, (1.0,), seed=1)


def test_the_seed_decides_among_equals():
    equal = {f"talk-{number}": 1.0 for number in range(20)}
    picked = {pick_examples(equal, FIVE, seed=seed)[0].item for seed in range(20)}
    assert len(picked) > 5
    # Written down once: SHA-256 of "7 talk-0" to "7 talk-19", the smallest.
    assert pick_examples(equal, FIVE, seed=7)[0].item == "talk-12"


def test_a_choice_by_hand_is_kept_and_not_picked_again():
    picked = pick_examples(MEDIANS, FIVE, seed=1, overrides={"low": "c"})
    assert [example.item for example in picked] == ["c", picked[1].item, "d"]
    assert picked[1].item in {"a", "e"}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"low": "z"}, "“z” cannot be the low example"),
        ({"high": "f"}, "“f” cannot be the high example"),
        ({"low": "a", "high": "a"}, "“a” is chosen for two examples"),
        ({"lowest": "a"}, "“lowest” is not one of low, middle and high"),
    ],
)
def test_a_choice_that_cannot_be_followed_is_named(overrides, message):
    with pytest.raises(ExampleError, match=message):
        pick_examples(MEDIANS, FIVE, seed=1, overrides=overrides)


def test_of_equals_a_preferred_one_wins_and_over_no_nearer_one():
    equal = {f"talk-{number}": 1.0 for number in range(20)}
    assert pick_examples(equal, FIVE, seed=7, preferred={"talk-3"})[0].item == "talk-3"
    among = {pick_examples(equal, FIVE, seed=seed, preferred={"talk-3", "talk-4"})[0].item for seed in range(20)}
    assert among == {"talk-3", "talk-4"}
    assert pick_examples({"a": 2.0, "c": 3.0}, FIVE, seed=1, preferred={"a"}) == [PickedExample("middle", "c", 3.0)]
    by_hand = pick_examples(equal, FIVE, seed=7, preferred={"talk-3"}, overrides={"high": "talk-3"})
    assert [picked.item for picked in by_hand] == ["talk-12", "talk-3"]


@property_test
@given(medians, st.integers(), st.sets(st.text(max_size=3), max_size=6))
def test_a_preference_changes_who_is_picked_and_nothing_else(scores, seed, preferred):
    plain, picked = pick_examples(scores, FIVE, seed), pick_examples(scores, FIVE, seed, preferred=preferred)
    anchors = {"low": 1.0, "middle": 3.0, "high": 5.0}
    assert [(one.slot, abs(one.score - anchors[one.slot])) for one in picked] == [
        (one.slot, abs(one.score - anchors[one.slot])) for one in plain
    ]
    shown = {example.item for example in picked}
    assert shown == {one.item for one in plain} or shown & preferred
    assert len(shown & preferred) >= len({one.item for one in plain} & preferred)


@property_test
@given(medians, st.integers(), st.randoms())
def test_what_is_picked_does_not_depend_on_the_order(scores, seed, random):
    shuffled = list(scores.items())
    random.shuffle(shuffled)
    picked = pick_examples(scores, FIVE, seed)
    assert picked == pick_examples(dict(shuffled), FIVE, seed)
    assert len({example.item for example in picked}) == len(picked)
    assert [example.score for example in picked] == sorted(example.score for example in picked)
    assert all(example.score in FIVE for example in picked)
