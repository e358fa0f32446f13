"""Allocation is arithmetic: these are its laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.studies.allocation import AllocationError, order_for_rater, sample_items

keys = st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=25)
seeds = st.integers(0, 2**32 - 1)


@given(keys, seeds, st.data())
def test_a_sample_has_its_size_no_repeats_and_the_given_order(ids, seed, data):
    size = data.draw(st.integers(0, len(ids)))
    sample = sample_items(ids, size, seed)
    assert len(sample) == size
    assert sample == [item for item in ids if item in set(sample)]


@given(keys, seeds, st.data())
def test_a_sample_does_not_depend_on_the_order_of_arrival(ids, seed, data):
    size = data.draw(st.integers(0, len(ids)))
    shuffled = data.draw(st.permutations(ids))
    assert set(sample_items(ids, size, seed)) == set(sample_items(shuffled, size, seed))


@given(keys.filter(bool), seeds)
def test_a_larger_sample_contains_the_smaller_one(ids, seed):
    assert set(sample_items(ids, len(ids) - 1, seed)) < set(sample_items(ids, len(ids), seed))


@given(keys, seeds, st.text(max_size=5))
def test_an_order_is_a_permutation_and_repeatable(ids, seed, rater):
    order = order_for_rater(ids, rater, seed)
    assert sorted(order) == sorted(ids)
    assert order == order_for_rater(reversed(ids), rater, seed)


def test_seed_and_rater_change_the_order():
    ids = [f"item{number}" for number in range(30)]
    orders = {tuple(order_for_rater(ids, rater, seed)) for rater in ("expert1", "expert2") for seed in (1, 2)}
    assert len(orders) == 4


def test_the_result_is_the_same_on_every_platform():
    """Written down once: a change here would reshuffle studies that are running."""
    ids = ["a", "b", "c", "d", "e", "f"]
    assert sample_items(ids, 3, seed=2026) == ["a", "c", "d"]
    assert order_for_rater(ids, "expert1", seed=2026) == ["d", "f", "a", "b", "c", "e"]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: sample_items(["a"], 2, 1), "a sample of 2 items was asked for, but there are only 1"),
        (lambda: sample_items(["a"], -1, 1), "cannot have -1 items"),
        (lambda: sample_items(["a", "a"], 1, 1), "item 'a' is given twice"),
        (lambda: order_for_rater(["a", "a"], "r", 1), "item 'a' is given twice"),
    ],
)
def test_an_impossible_plan_is_refused_in_words(ask, words):
    with pytest.raises(AllocationError, match=words):
        ask()
