"""Two writers at the same moment, on connections of their own."""

import pytest

from apps.annotation.models import Rating, RatingEvent
from apps.annotation.services.recording import (
    Origin,
    RatingConflict,
    RatingEntry,
    record_rating,
    record_ratings,
)
from apps.studies.models import Item
from tests.simultaneous import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rate(grief, framework):
    what = {
        "item": Item.objects.filter(block__study=grief).first(),
        "rater": grief.raters.get(name="expert1"),
        "dimension": framework.dimensions.first(),
        "origin": Origin.SCREEN,
    }
    return lambda value, **more: record_rating(**what, value=value, **more)


def test_two_identical_submissions_make_one_row_and_one_event_case_11(rate):
    results = at_once(*[lambda: rate(4, based_on=0)] * 2)
    assert sorted(result.created for result in results) == [False, True]
    assert Rating.objects.get().value == 4
    assert RatingEvent.objects.count() == 1


def test_of_two_different_submissions_the_first_wins_and_the_other_is_told_case_11(rate):
    results = at_once(lambda: rate(2, based_on=0), lambda: rate(4, based_on=0))
    [told] = [result for result in results if isinstance(result, RatingConflict)]
    [won] = [result for result in results if result is not told]
    stored = Rating.objects.get()
    assert stored.value == won.rating.value == told.rating.value
    assert RatingEvent.objects.get().value == stored.value


def test_of_two_changes_at_once_the_second_sees_the_event_of_the_first(rate):
    """Events counted before the lock was won would let it overwrite what its author has not seen."""
    rate(3)
    for seen, (one, other) in enumerate([(2, 4), (1, 5)] * 3, start=1):
        results = at_once(lambda: rate(one, based_on=seen), lambda: rate(other, based_on=seen))  # noqa: B023
        [told] = [result for result in results if isinstance(result, RatingConflict)]
        [won] = [result for result in results if result is not told]
        assert Rating.objects.get().value == won.rating.value == told.rating.value
        assert RatingEvent.objects.count() == seen + 1


def test_clicks_at_once_on_one_rating_are_all_events_of_one_row(rate):
    rate(1)
    results = at_once(*[lambda value=value: rate(value) for value in (2, 3, 4, 5)])
    assert [result for result in results if isinstance(result, Exception)] == []
    assert sorted(RatingEvent.objects.values_list("value", flat=True)) == [1, 2, 3, 4, 5]
    assert Rating.objects.get().value == RatingEvent.objects.order_by("pk").last().value


def test_two_imports_of_the_same_ratings_store_each_once(grief, framework):
    entries = [
        RatingEntry(item, rater, dimension, 3)
        for item in Item.objects.filter(block__study=grief).values_list("pk", flat=True)
        for rater in grief.raters.values_list("pk", flat=True)
        for dimension in framework.dimensions.values_list("pk", flat=True)
    ]
    results = at_once(
        lambda: record_ratings(entries=entries, origin=Origin.IMPORT),
        lambda: record_ratings(entries=entries[::-1], origin=Origin.IMPORT),
    )
    assert sum(tally.created for tally in results) == len(entries)
    assert Rating.objects.count() == RatingEvent.objects.count() == len(entries)
