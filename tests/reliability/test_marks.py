"""Every change after which a study's tables may be others is told by its mark."""

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.annotation.models import Rating, RatingEvent
from apps.annotation.services.recording import RatingEntry, record_ratings
from apps.corpus.services.writing import change_conversation, stored_record
from apps.frameworks.models import Framework
from apps.reliability.matrix import table_hash
from apps.reliability.selection import DataSelection
from apps.reliability.services import marks
from apps.reliability.services.loading import load_tables
from apps.reliability.services.marks import Mark, mark_of, still_holds, which_hold
from apps.studies.models import (
    Assignment,
    AssignmentState,
    BlockFramework,
    BlockGroup,
    Exclusion,
    Item,
    ItemRole,
    Rater,
    RaterKind,
    Study,
    StudyStatus,
)
from apps.studies.services.design import add_block
from apps.studies.services.exclusions import ExclusionError, exclude, revert
from apps.studies.services.raters import add_rater
from apps.studies.services.reservations import WorkRefused, hold, lapse_expired, skip, submit, take_next
from apps.studies.services.settings import change_seed, change_settings
from tests.conftest import make_dataset, make_framework

pytestmark = pytest.mark.django_db


@pytest.fixture
def rated(grief, rate) -> Study:
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, "?", 4]})
    return grief


def rating(study: Study) -> Rating:
    return Rating.objects.get(rater__study=study, rater__name="expert1", item__position=0)


def write(study: Study, value: float | None, *, name: str = "expert1", position: int = 0) -> None:
    scale = study.blocks.get(slug="main").frameworks.get().dimensions.get(slug="scale_1")
    item = study.blocks.get(slug="main").items.get(position=position)
    entry = RatingEntry(item.pk, study.raters.get(name=name).pk, scale.pk, value, cannot_tell=value is None)
    record_ratings(entries=[entry], origin="screen")


def work(study: Study, *, state: str = AssignmentState.IN_PROGRESS) -> Assignment:
    item = study.blocks.get(slug="main").items.get(position=0)
    return Assignment.objects.create(rater=study.raters.get(name="expert1"), item=item, position=0, state=state)


def edit_metadata(study: Study) -> None:
    conversation = study.blocks.get(slug="main").dataset.conversations.get(position=0)
    conversation.metadata = {"topic": "loss"}
    conversation.save()


def edit_id(study: Study) -> None:
    conversation = study.blocks.get(slug="main").dataset.conversations.get(position=2)
    conversation.external_id = "letters-000"
    conversation.save()


def another_block(study: Study) -> None:
    owner = study.memberships.get(role="owner").user
    dataset = make_dataset("poems", owner=owner)
    add_block(study=study, slug="poems", title="Poems", dataset=dataset, frameworks=[Framework.objects.get()])


def another_framework(study: Study) -> None:
    BlockFramework.objects.create(block=study.blocks.get(slug="main"), framework=make_framework("other"), position=1)


def another_version(study: Study) -> None:
    old = Framework.objects.get(blocks__study=study)
    new = make_framework("newer")
    Framework.objects.filter(pk=new.pk).update(slug=old.slug, version=2)
    BlockFramework.objects.filter(block__study=study).update(framework=new)


def another_item(study: Study) -> None:
    block = study.blocks.get(slug="main")
    item = block.items.get(position=0)
    Item.objects.create(block=block, conversation=item.conversation, role=ItemRole.REPEAT, position=99)


def seed(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(seed=7)


def rater(**changes: object) -> Callable[[Study], None]:
    return lambda study: Rater.objects.filter(study=study, name="expert1").update(**changes) and None


CHANGES: dict[str, Callable[[Study], object]] = {
    "a first rating": lambda study: write(study, 5, name="expert3"),
    "another value": lambda study: write(study, 5),
    "can tell now": lambda study: write(study, 5, name="expert2", position=1),
    "cannot tell any more": lambda study: write(study, None),
    "an item reserved whose ratings were imported": work,
    "a rater excluded": lambda study: exclude(rater=study.raters.get(name="expert1"), by=None),
    "single ratings excluded": lambda study: exclude(
        rater=study.raters.get(name="expert1"), item=rating(study).item, by=None
    ),
    "a repeat added": another_item,
    "a block added": another_block,
    "a framework added": another_framework,
    "another version of a framework": another_version,
    "a rater added": lambda study: add_rater(study=study, kind=RaterKind.LLM),
    "another name": rater(name="anna"),
    "another kind": rater(kind=RaterKind.LLM),
    "an aggregate": rater(is_aggregate=True),
    "a rater left": rater(left_at=timezone.now()),
    "a simulated rater": rater(is_simulated=True),
    "another seed": seed,
    "another id of a conversation": edit_id,
    "other metadata of a conversation": edit_metadata,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_told(rated, change):
    mark = mark_of(rated)
    assert still_holds(mark, rated)
    change(rated)
    assert not still_holds(mark, rated)
    assert still_holds(mark_of(rated), rated)


def hashes(study: Study, selection: DataSelection | None = None) -> list[str]:
    return [table_hash(table) for table in load_tables(study=study, selection=selection)]


def test_handing_in_is_told(rated):
    assignment = work(rated)
    before, mark = hashes(rated), mark_of(rated)
    submit(assignment=assignment)
    assert hashes(rated) != before
    assert not still_holds(mark, rated)


def test_an_exclusion_taken_back_is_told(rated):
    exclusion = exclude(rater=rated.raters.get(name="expert1"), by=None)
    before, mark = hashes(rated), mark_of(rated)
    revert(exclusion=exclusion, by=None)
    assert hashes(rated) != before
    assert not still_holds(mark, rated)


def test_skipping_is_told(rated):
    assignment = work(rated)
    mark = mark_of(rated)
    skip(assignment=assignment, reason="too sad")
    assert not still_holds(mark, rated)


def test_a_lapse_is_told(rated):
    assignment = work(rated)
    Assignment.objects.filter(pk=assignment.pk).update(reserved_until="2026-01-01T00:00Z")
    BlockGroup.objects.filter(block__study=rated).update(overlap=2)
    mark = mark_of(rated)
    assert lapse_expired() == 1
    assert not still_holds(mark, rated)


def test_handing_in_what_was_taken_days_ago_is_told(rated):
    assignment = work(rated)
    Assignment.objects.update(updated_at=timezone.now() - timedelta(days=2))
    mark = mark_of(rated)
    assert mark.work == []
    submit(assignment=assignment)
    assert not still_holds(mark, rated)


def test_handing_in_that_ends_late_is_told(rated):
    """Written before what was written last, and seen after it."""
    late, last = work(rated), take_next(rater=rated.raters.get(name="expert2"))
    moment = last.updated_at - timedelta(seconds=2)
    Assignment.objects.filter(pk=late.pk).update(updated_at=moment - timedelta(seconds=1))
    mark = mark_of(rated)
    Assignment.objects.filter(pk=late.pk).update(updated_at=moment, state=AssignmentState.SUBMITTED)
    assert not still_holds(mark, rated)


def test_work_in_another_study_is_not_told(rated, strangers):
    mark = mark_of(rated)
    take_next(rater=strangers.raters.get(name="expert1"))
    assert still_holds(mark, rated)


def test_taking_the_next_item_is_told(rated):
    """What stands there already, imported say, becomes a draft by it."""
    mark = mark_of(rated)
    assert take_next(rater=rated.raters.get(name="expert1")) is not None
    assert not still_holds(mark, rated)


def test_an_edited_conversation_of_a_draft_is_told(grief, rate, rosa):
    """Its id orders the items; its metadata choose them."""
    Study.objects.filter(pk=grief.pk).update(status=StudyStatus.DRAFT)
    rate(grief, {"expert1": [1, 2, None]})
    conversation = grief.blocks.get().dataset.conversations.get(position=2)
    for changes in ({"external_id": "letters-000"}, {"metadata": {"topic": "loss"}}):
        before, mark = hashes(grief, DataSelection.of({"meta.topic": [""]})), mark_of(grief)
        record = replace(stored_record(conversation), **changes)
        change_conversation(conversation=conversation, record=record, seen=conversation.revision, actor=rosa)
        conversation.refresh_from_db()
        assert hashes(grief, DataSelection.of({"meta.topic": [""]})) != before
        assert not still_holds(mark, grief)


def test_a_new_seed_is_told_also_to_a_study_that_was_fetched_before(grief, rosa):
    Study.objects.filter(pk=grief.pk).update(status=StudyStatus.DRAFT)
    mark = mark_of(grief)
    change_seed(study=grief, seed=7, by=rosa)
    assert grief.seed == 2026
    assert not still_holds(mark, grief)


def test_what_alters_no_table_is_not_told(rated, strangers, rate, rosa):
    mark = mark_of(rated)
    rate(strangers, {"expert1": [1, 2, 3]})
    exclude(rater=strangers.raters.get(name="expert1"), by=None)
    change_settings(study=rated, by=rosa, description="Letters of grief", reservation_hours=2)
    make_dataset("unrelated")
    assert still_holds(mark, rated)
    write(rated, 1)  # It was 1 before.
    assert still_holds(mark, rated)


def test_a_change_and_its_undoing_are_told(rated):
    """The figures are right then; reading the ratings again finds that out."""
    mark = mark_of(rated)
    write(rated, 5)
    write(rated, 1)
    assert not still_holds(mark, rated)


def test_a_transaction_that_ends_late_is_told(rated):
    """On PostgreSQL an import that began earlier may end after the mark: its events have lower keys than the last."""
    late = RatingEvent.objects.filter(rating=rating(rated)).get()
    RatingEvent.objects.filter(pk=late.pk).delete()
    mark = mark_of(rated)
    assert late.pk < mark.last
    late.save(force_insert=True)
    assert not still_holds(mark, rated)


def test_whose_events_they_are_matters_only_in_the_window(rated, strangers, rate, monkeypatch):
    mark = mark_of(rated)
    rate(strangers, {"expert1": [1, 2, 3]})
    assert still_holds(mark, rated)
    monkeypatch.setattr(marks, "FAR", 2)
    assert not still_holds(mark, rated)
    assert still_holds(mark_of(rated), rated)


def test_a_window_that_begins_amid_the_events(rated, strangers, rate, monkeypatch):
    monkeypatch.setattr(marks, "WINDOW", 3)
    mark = mark_of(rated)
    assert (mark.since, mark.events, mark.own) == (mark.last - 3, 3, 3)
    rate(strangers, {"expert1": [1, 2, 3]})
    assert still_holds(mark, rated)
    write(rated, 5)
    assert not still_holds(mark, rated)


def test_a_mark_is_stored_and_read_again(rated):
    mark = mark_of(rated)
    assert Mark.from_dict(mark.as_dict()) == mark


def test_marks_are_looked_at_together(rated, strangers, rate, django_assert_max_num_queries):
    first = mark_of(rated)
    write(rated, 5)
    second = mark_of(rated)
    rate(strangers, {"expert1": [1, 2, 3]})
    third = mark_of(rated)
    with django_assert_max_num_queries(11):
        assert which_hold([first, second, third] * 20, rated) == [False, True, True] * 20
    assert which_hold([], rated) == []


def test_queries_do_not_grow_with_the_study(rated, rate, django_assert_num_queries):
    with django_assert_num_queries(11):
        mark = mark_of(rated)
    with django_assert_num_queries(10):
        assert still_holds(mark, rated)
    for number in range(4, 12):
        add_rater(study=rated, kind=RaterKind.EXPERT, name=f"expert{number}")
    rate(rated, {f"expert{number}": [1, 2, 3] for number in range(4, 12)})
    with django_assert_num_queries(11):
        mark = mark_of(rated)
    with django_assert_num_queries(10):
        assert still_holds(mark, rated)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_a_mark_that_holds_means_the_same_tables(rated, seed):
    chance = random.Random(seed)

    def anybody() -> Rater:
        return chance.choice(list(rated.raters.order_by("pk")))

    def exclude_somebody() -> None:
        item = chance.choice([None, *rated.blocks.get().items.all()])
        exclude(rater=anybody(), item=item, by=None)

    def take_back() -> None:
        if found := Exclusion.objects.in_force().first():
            revert(exclusion=found, by=None)

    def go_on(act: Callable[..., object], **given: object) -> None:
        if assignment := chance.choice([None, *Assignment.objects.order_by("pk")]):
            act(assignment=assignment, **given)

    acts: list[Callable[[], object]] = [
        lambda: write(rated, chance.choice([None, 1, 2, 3]), name=anybody().name, position=chance.randrange(3)),
        lambda: take_next(rater=anybody()),
        lambda: go_on(submit),
        lambda: go_on(skip, reason="too sad"),
        lambda: go_on(hold),
        lambda: add_rater(study=rated, kind=chance.choice(RaterKind.values)),
        exclude_somebody,
        take_back,
    ]
    n_changes = 0
    for _step in range(60):
        mark, before = mark_of(rated), hashes(rated)
        with contextlib.suppress(ExclusionError, WorkRefused):
            chance.choice(acts)()
        if hashes(rated) != before:
            n_changes += 1
            assert not still_holds(mark, rated)
    assert n_changes > 5
