"""Which conversations a block takes: by metadata, factors and language, whole or sampled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.corpus.models import Conversation
from apps.studies.allocation import AllocationError
from apps.studies.selection import (
    LISTED_VALUES,
    ChoiceError,
    Traits,
    checked_choice,
    is_taken,
    tally_traits,
    value_text,
)
from apps.studies.services.selecting import select_conversations, traits_of
from tests.conftest import make_dataset

VALUES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "b", "é"]))
NAMES = st.sampled_from(["topic", "age", "language"])
CHOSEN_NAMES = st.sampled_from(["meta.topic", "factor.age", "language"])
CHOSEN_VALUES = st.lists(st.sampled_from(["", "a", "1", "en"]), max_size=3)
TRAITS = st.builds(
    Traits,
    metadata=st.dictionaries(NAMES, VALUES, max_size=3),
    factors=st.dictionaries(NAMES, VALUES, max_size=2),
    language=st.sampled_from(["", "en", "de"]),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("3", "3"),
        (3, "3"),
        (None, ""),
        ("", ""),
        (True, "true"),
        (["b", 1], '["b", 1]'),
        ({"b": 1, "a": "é"}, '{"a": "é", "b": 1}'),
    ],
)
def test_values_are_compared_as_they_are_read(value, text):
    assert value_text(value) == text


def test_a_conversation_needs_one_value_under_each_name():
    traits = Traits({"topic": "grief", "age": 7}, {"model": "a"}, "en")
    assert is_taken(traits, {})
    assert is_taken(traits, {"meta.topic": ["grief", "work"], "factor.model": ["a"], "language": ["en"]})
    assert is_taken(traits, {"meta.age": ["7"]})
    assert is_taken(traits, {"meta.topic": []})
    assert not is_taken(traits, {"meta.topic": ["grief"], "factor.model": ["b"]})
    assert not is_taken(traits, {"factor.topic": ["grief"]})


def test_a_missing_value_is_the_empty_one():
    assert is_taken(Traits({}, {}), {"meta.topic": [""]})
    assert is_taken(Traits({"topic": None}, {}), {"meta.topic": [""]})
    assert not is_taken(Traits({"topic": "x"}, {}), {"meta.topic": [""]})


def test_a_choice_is_kept_in_one_form():
    assert checked_choice({"meta.b": ["y", "x", "y"], "language": []}) == {"meta.b": ["x", "y"]}


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"topic": ["x"]}, "'topic' is no name to choose by"),
        ({"meta.a": "x"}, "list of texts"),
        ({"meta.a": [1]}, "list of texts"),
    ],
)
def test_a_choice_that_means_nothing_is_refused(choice, words):
    with pytest.raises(ChoiceError, match=words):
        checked_choice(choice)


@given(st.lists(TRAITS, max_size=8))
def test_every_value_counted_selects_exactly_as_many(conversations):
    for trait in tally_traits(conversations):
        assert sum(n for _, n in trait.values) == len(conversations)
        for value, n in trait.values:
            assert sum(is_taken(one, {trait.name: [value]}) for one in conversations) == n


@given(st.lists(TRAITS, max_size=8), st.dictionaries(CHOSEN_NAMES, CHOSEN_VALUES, max_size=3))
def test_more_names_never_take_more(conversations, choice):
    taken = [one for one in conversations if is_taken(one, choice)]
    for name in choice:
        fewer = {other: values for other, values in choice.items() if other != name}
        assert all(is_taken(one, fewer) for one in taken)


def test_names_with_too_many_or_too_long_values_are_named_without_them():
    many = [Traits({"id": str(number), "text": "x" * 500, "same": "y"}, {}) for number in range(LISTED_VALUES + 1)]
    traits = {trait.name: trait for trait in tally_traits(many)}
    assert [name for name, trait in traits.items() if not trait.is_listed] == ["meta.id", "meta.text"]
    assert traits["meta.same"].values == [("y", LISTED_VALUES + 1)]
    assert not traits["meta.id"].counts


def test_factors_come_first_and_the_frequent_values_before_the_rare():
    traits = tally_traits(
        [Traits({"t": "a"}, {"m": "1"}, "en"), Traits({"t": "b"}, {"m": "1"}), Traits({"t": "b"}, {})]
    )
    assert [trait.name for trait in traits] == ["factor.m", "language", "meta.t"]
    assert [trait.values for trait in traits] == [[("1", 2), ("", 1)], [("", 2), ("en", 1)], [("b", 2), ("a", 1)]]
    assert [trait.label for trait in traits] == ["m", "language", "t"]


# --- In the database --------------------------------------------------------------------------------------------------


@pytest.fixture
def diaries(db):
    dataset = make_dataset("diaries", conversations=20)
    for number, conversation in enumerate(dataset.conversations.all()):
        conversation.metadata = {"topic": "grief" if number % 2 else "work", "year": number}
        conversation.factors = {"model": "a"} if number < 10 else {}
        conversation.save()
    return dataset


def taken(dataset, choice=None, size=None, seed=1):
    selection = select_conversations(dataset=dataset, choice=choice or {}, sample_size=size, seed=seed)
    names = dict(Conversation.objects.values_list("pk", "external_id"))
    return [names[key] for key in selection.keys], selection.n_fitting, selection.n_conversations


def test_everything_is_taken_in_order(diaries):
    names, fitting, total = taken(diaries)
    assert names == [f"diaries-{n:03d}" for n in range(1, 21)]
    assert (fitting, total) == (20, 20)


def test_the_choice_comes_before_the_sample(diaries):
    choice = {"meta.topic": ["grief"], "factor.model": ["a"]}
    names, fitting, total = taken(diaries, choice)
    assert names == [f"diaries-{n:03d}" for n in (2, 4, 6, 8, 10)]
    assert (fitting, total) == (5, 20)
    sample, *_ = taken(diaries, choice, size=3)
    assert len(sample) == 3
    assert set(sample) < set(names)
    assert sample == sorted(sample)
    assert sample == taken(diaries, choice, size=3)[0]
    assert any(taken(diaries, choice, size=3, seed=seed)[0] != sample for seed in range(2, 9))


def test_a_larger_sample_holds_the_smaller(diaries):
    for size in range(1, 10):
        assert set(taken(diaries, size=size)[0]) < set(taken(diaries, size=size + 1)[0])


def test_a_sample_larger_than_what_fits_is_refused(diaries):
    with pytest.raises(AllocationError, match="a sample of 6 items was asked for, but there are only 5"):
        taken(diaries, {"meta.topic": ["grief"], "factor.model": ["a"]}, size=6)


def test_choosing_takes_the_same_queries_for_any_size(diaries, django_assert_num_queries):
    with django_assert_num_queries(2):
        taken_keys = select_conversations(dataset=diaries, choice={"meta.topic": ["work"]}, sample_size=2, seed=1).keys
    with django_assert_num_queries(1):
        select_conversations(dataset=diaries, choice={}, sample_size=None, seed=1)
    with django_assert_num_queries(1):
        traits = traits_of(dataset=diaries)
    assert len(taken_keys) == 2
    assert [(trait.name, trait.values) for trait in traits] == [
        ("factor.model", [("", 10), ("a", 10)]),
        ("meta.topic", [("grief", 10), ("work", 10)]),
        ("meta.year", [(str(n), 1) for n in sorted(range(20), key=str)]),
    ]
