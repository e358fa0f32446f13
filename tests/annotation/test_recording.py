"""The only door through which ratings are written."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.annotation.evidence import Quote
from apps.annotation.models import Draw, Evidence, Rating, RatingEvent
from apps.annotation.services.recording import (
    DrawEntry,
    InvalidRating,
    Origin,
    RatingConflict,
    RatingEntry,
    record_rating,
    record_ratings,
)
from apps.corpus.models import Turn
from apps.frameworks.models import Framework, Level
from apps.studies.models import Item, Rater, RaterKind
from tests.conftest import make_dataset, make_framework, make_study


@pytest.fixture
def item(grief):
    return Item.objects.filter(block__study=grief).first()


@pytest.fixture
def rater(grief):
    return grief.raters.get(name="expert1")


@pytest.fixture
def crowd(grief):
    return Rater.objects.create(study=grief, name="crowd", kind=RaterKind.CROWD, is_aggregate=True)


@pytest.fixture
def dimension(framework):
    return framework.dimensions.first()


@pytest.fixture
def rate(item, rater, dimension):
    def rated(value, **more):
        return record_rating(
            **{"item": item, "rater": rater, "dimension": dimension, "value": value, "origin": Origin.SCREEN} | more
        )

    return rated


# --- Values and events ------------------------------------------------------------------------------------------------


def test_clicks_5_4_5_4_5_leave_one_value_and_five_events_case_10(rate):
    for value in (5, 4, 5, 4, 5):
        rate(value)
    rating = Rating.objects.get()
    assert rating.value == 5
    assert [event.value for event in rating.events.all()] == [5, 4, 5, 4, 5]


def test_a_repeated_identical_value_is_no_event(rate, emil):
    first = rate(3, actor=emil)
    again = rate(3, actor=emil)
    assert (first.created, first.changed) == (True, True)
    assert (again.created, again.changed) == (False, False)
    event = RatingEvent.objects.get()
    assert (event.value, event.actor, event.origin) == (3, emil, "screen")


def test_cannot_tell_is_a_rating_without_a_value(rate):
    rate(4)
    rate(None, cannot_tell=True)
    rating = Rating.objects.get()
    assert (rating.value, rating.cannot_tell) == (None, True)
    assert [(event.value, event.cannot_tell) for event in rating.events.all()] == [(4, False), (None, True)]


def test_a_comment_stays_until_another_is_given_and_its_change_is_an_event(rate):
    rate(4, comment="warm")
    rate(5)
    assert Rating.objects.get().comment == "warm"
    rate(5, comment="")
    assert Rating.objects.get().comment == ""
    assert [event.comment for event in RatingEvent.objects.all()] == ["warm", "warm", ""]


def test_the_time_a_rating_was_given_is_kept_where_it_is_known(rate):
    at = datetime(2024, 12, 22, 0, 43, tzinfo=UTC)
    rate(4, at=at)
    rating = Rating.objects.get()
    assert rating.created_at == rating.events.get().at == at


def test_a_change_moves_the_time_of_the_last_change(rate):
    before = rate(4).rating.updated_at
    rate(5)
    assert Rating.objects.get().updated_at > before


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 6, 2.5, float("nan"), float("inf"), True])
def test_a_value_that_is_no_declared_point_is_refused_with_what_was_expected(rate, value):
    with pytest.raises(InvalidRating, match=r"letters-001, warmth-scales/scale_1: .+ expected one of 1, 2, 3, 4, 5"):
        rate(value)
    assert not Rating.objects.exists()


def test_an_aggregate_may_lie_between_points_but_not_outside_the_scale(rate, crowd):
    assert rate(2.6666666666666665, rater=crowd).rating.value == 2.6666666666666665
    with pytest.raises(InvalidRating, match=r"5\.01 is not allowed; expected a number from 1 to 5"):
        rate(5.01, rater=crowd)
    with pytest.raises(InvalidRating):
        rate(float("nan"), rater=crowd)


def test_an_aggregate_keeps_to_the_points_of_a_nominal_scale(rate, crowd, framework):
    nominal = framework.dimensions.last()
    nominal.level = Level.NOMINAL
    nominal.save()
    with pytest.raises(InvalidRating, match="expected one of 1, 2, 3, 4, 5"):
        rate(2.5, rater=crowd, dimension=nominal)


@pytest.mark.parametrize(("value", "cannot_tell"), [(None, False), (3, True)])
def test_a_rating_is_either_a_value_or_cannot_tell(rate, value, cannot_tell):
    with pytest.raises(InvalidRating, match="either a value or cannot tell"):
        rate(value, cannot_tell=cannot_tell)


def test_a_dimension_of_a_framework_the_block_does_not_use_is_refused(rate):
    other = make_framework("other-scales").dimensions.first()
    with pytest.raises(InvalidRating, match=r"other-scales/scale_1.+a dimension of a framework of the item's block"):
        rate(3, dimension=other)


def test_a_rater_of_another_study_is_refused(rate, strangers):
    with pytest.raises(InvalidRating, match="a rater of the item's study"):
        rate(3, rater=strangers.raters.first())


def test_one_bad_entry_among_many_stores_nothing(grief, rater, dimension):
    items = Item.objects.filter(block__study=grief)
    entries = [
        RatingEntry(item.pk, rater.pk, dimension.pk, value) for item, value in zip(items, (1, 2, 9), strict=True)
    ]
    with pytest.raises(InvalidRating, match="letters-003"):
        record_ratings(entries=entries, origin=Origin.IMPORT)
    assert not Rating.objects.exists()
    assert not Framework.objects.get().is_frozen


# --- Freezing ---------------------------------------------------------------------------------------------------------


def test_the_first_rating_freezes_its_framework_and_no_other(rosa):
    used, unused = make_framework("used"), make_framework("unused")
    study = make_study("two", owner=rosa, dataset=make_dataset("notes", owner=rosa), frameworks=[used, unused])
    record_rating(
        item=Item.objects.get(block__study=study, position=0),
        rater=study.raters.first(),
        dimension=used.dimensions.first(),
        value=1,
        origin=Origin.SCREEN,
    )
    used.refresh_from_db()
    unused.refresh_from_db()
    assert used.is_frozen
    assert not unused.is_frozen


# --- Evidence and draws -----------------------------------------------------------------------------------------------


def test_a_quote_is_tied_to_the_turn_it_stands_in(rate, item):
    rate(4, evidence=[Quote("must be  hard")])
    evidence = Evidence.objects.get()
    assert evidence.turn == Turn.objects.get(conversation=item.conversation, index=1)
    assert evidence.turn.text[evidence.start : evidence.end] == "must be hard"
    assert evidence.quote == "must be  hard"


def test_a_quote_that_is_not_found_is_kept_without_a_turn_and_a_blank_one_dropped(rate):
    rate(4, evidence=[Quote("never said"), Quote("  ")])
    evidence = Evidence.objects.get()
    assert (evidence.quote, evidence.turn, evidence.start, evidence.end) == ("never said", None, None, None)


def test_a_system_turn_holds_no_evidence(rate, item):
    Turn.objects.create(conversation=item.conversation, index=2, role="system", text="Be kind to people.")
    rate(4, evidence=[Quote("Be kind")])
    assert Evidence.objects.get().turn is None


def test_evidence_stays_until_other_is_given(rate):
    rate(4, evidence=[Quote("hard"), Quote("What")])
    kept = list(Evidence.objects.values_list("pk", flat=True))
    rate(5)
    assert not rate(5, evidence=[Quote("hard"), Quote("What")]).changed
    assert list(Evidence.objects.values_list("pk", flat=True)) == kept
    assert rate(5, evidence=[Quote("in it")]).changed
    assert Evidence.objects.get().quote == "in it"
    rate(5, evidence=[])
    assert not Evidence.objects.exists()


def test_other_evidence_is_an_event_and_is_not_overwritten_unseen(rate):
    rate(4, evidence=[Quote("hard")])
    rate(4, evidence=[Quote("What")], based_on=1)
    assert RatingEvent.objects.count() == 2
    with pytest.raises(RatingConflict):
        rate(4, evidence=[Quote("in it")], based_on=1)
    assert Evidence.objects.get().quote == "What"
    rate(4, evidence=[Quote("What")], based_on=1)
    rate(4, based_on=0)
    assert RatingEvent.objects.count() == 2
    rate(5, evidence=[Quote("in it")], based_on=2)
    assert RatingEvent.objects.count() == 3


def test_draws_are_kept_in_order_and_replaced_when_they_differ(rate):
    draws = [DrawEntry(4, rationale="warm"), DrawEntry(None, cannot_tell=True), DrawEntry(5)]
    rate(4, draws=draws)
    assert list(Draw.objects.values_list("index", "value", "cannot_tell", "rationale")) == [
        (0, 4, False, "warm"),
        (1, None, True, ""),
        (2, 5, False, ""),
    ]
    assert not rate(4, draws=draws).changed
    assert rate(4, draws=draws[:1]).changed
    assert Draw.objects.count() == 1


def test_a_draw_off_the_scale_is_refused(rate):
    with pytest.raises(InvalidRating, match="7"):
        rate(4, draws=[DrawEntry(4), DrawEntry(7)])


# --- Who came second --------------------------------------------------------------------------------------------------


def test_who_has_not_seen_the_last_change_is_told_and_changes_nothing_case_11(rate):
    rate(4, based_on=0)
    with pytest.raises(RatingConflict, match="is now 4") as conflict:
        rate(2, based_on=0)
    assert conflict.value.rating.value == 4
    assert Rating.objects.get().value == 4
    rate(2, based_on=1)
    assert Rating.objects.get().value == 2


def test_saying_the_same_as_somebody_else_is_no_conflict_case_11(rate):
    rate(4, based_on=0)
    assert not rate(4, based_on=0).changed


# --- Many at once -----------------------------------------------------------------------------------------------------


def every_rating(study, framework, value=3):
    return [
        RatingEntry(item, rater, dimension, value)
        for item in Item.objects.filter(block__study=study).values_list("pk", flat=True)
        for rater in study.raters.values_list("pk", flat=True)
        for dimension in framework.dimensions.values_list("pk", flat=True)
    ]


def test_recording_the_same_again_changes_nothing(grief, framework):
    entries = every_rating(grief, framework)
    first = record_ratings(entries=entries, origin=Origin.IMPORT)
    again = record_ratings(entries=reversed(entries), origin=Origin.IMPORT)
    assert (first.created, first.changed, first.unchanged) == (18, 0, 0)
    assert (again.created, again.changed, again.unchanged) == (0, 0, 18)
    assert Rating.objects.count() == RatingEvent.objects.count() == 18


def test_entries_for_one_rating_are_successive_changes(item, rater, dimension):
    entries = [RatingEntry(item.pk, rater.pk, dimension.pk, value) for value in (5, 4, 4, 5)]
    tally = record_ratings(entries=entries, origin=Origin.IMPORT)
    assert tally.total == 1
    assert Rating.objects.get().value == 5
    assert [event.value for event in RatingEvent.objects.all()] == [5, 4, 5]


def test_batches_meet_no_seam(grief, framework, monkeypatch):
    monkeypatch.setattr("apps.annotation.services.recording.ENTRIES_IN_ONE_BATCH", 5)
    entries = every_rating(grief, framework, 1) + every_rating(grief, framework, 2)
    record_ratings(entries=entries, origin=Origin.IMPORT)
    assert set(Rating.objects.values_list("value", flat=True)) == {2}
    assert Rating.objects.count() * 2 == RatingEvent.objects.count() == 36


def queries_for(entries) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        record_ratings(entries=entries, origin=Origin.IMPORT)
    return len(queries)


def test_queries_do_not_grow_with_the_number_of_ratings(grief, framework):
    entries = every_rating(grief, framework)
    Framework.objects.update(frozen_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert queries_for(entries[:2]) == queries_for(entries[2:])


def test_saving_one_rating_takes_a_constant_number_of_queries(rate, django_assert_num_queries):
    rate(1)
    with CaptureQueriesContext(connection) as first:
        rate(2)
    with CaptureQueriesContext(connection) as second:
        rate(3)
    assert len(first) == len(second) <= 14
