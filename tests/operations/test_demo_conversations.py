"""The conversations of the demo: enough of them, of every quality, and well-formed."""

from collections import Counter

from apps.operations.demo.conversations import demo_conversations

ENTRIES = list(demo_conversations())


def test_there_are_24_with_different_ids_and_as_many_good_as_mixed_and_poor():
    assert len({entry.record.external_id for entry in ENTRIES}) == 24
    assert Counter(entry.quality for entry in ENTRIES) == {"good": 8, "mixed": 8, "poor": 8}


def test_they_have_2_to_30_turns_on_many_topics_some_with_a_title():
    lengths = [len(entry.record.turns) for entry in ENTRIES]
    assert (min(lengths), max(lengths)) == (2, 30)
    assert len({entry.record.metadata["topic"] for entry in ENTRIES}) >= 12
    assert 0 < sum(bool(entry.record.title) for entry in ENTRIES) < 24


def test_the_seeker_begins_and_the_two_take_turns():
    for entry in ENTRIES:
        roles = [turn.role for turn in entry.record.turns]
        assert roles == [("seeker", "supporter")[index % 2] for index in range(len(roles))]


def test_no_turn_is_empty_or_used_twice():
    texts = [turn.text for entry in ENTRIES for turn in entry.record.turns]
    assert all(text.strip() == text and text for text in texts)
    assert len(set(texts)) == len(texts)
