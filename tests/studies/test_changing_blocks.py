"""Blocks of a draft are changed, put in order and taken away; what has begun stays."""

import pytest

from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.common.models import AuditEntry
from apps.studies.models import Assignment, Block, Item, StudyStatus
from apps.studies.services.design import (
    DesignError,
    add_block,
    change_block,
    change_who_rates,
    move_block,
    remove_block,
)
from apps.studies.services.exclusions import exclude
from tests.conftest import make_dataset, make_framework


@pytest.fixture
def draft(grief):
    grief.status = StudyStatus.DRAFT
    grief.save()
    return grief


@pytest.fixture
def main(draft):
    return draft.blocks.get()


def plan(block, **changes):
    asked = {
        "slug": block.slug,
        "title": block.title,
        "dataset": block.dataset,
        "frameworks": list(block.frameworks.order_by("block_frameworks__position")),
        "groups": {group.kind: group.overlap for group in block.groups.all()},
        "sample_size": block.sample_size,
        "metadata_filter": block.metadata_filter,
    }
    return asked | changes


def texts(block):
    return list(block.items.order_by("position").values_list("conversation__external_id", flat=True))


def rate(study):
    rater, item = study.raters.first(), Item.objects.filter(block__study=study).first()
    dimension = item.block.frameworks.get().dimensions.first()
    record_ratings(entries=[RatingEntry(item.pk, rater.pk, dimension.pk, 3)], origin=Origin.IMPORT)


def take(study):
    rater, item = study.raters.get(name="expert1"), Item.objects.filter(block__study=study).first()
    Assignment.objects.create(rater=rater, item=item, position=0)


def leave_out(study):
    exclude(rater=study.raters.first(), item=Item.objects.filter(block__study=study).first(), by=None)


# --- Changing ---------------------------------------------------------------------------------------------------------


def test_a_changed_block_is_laid_out_anew(main, rosa):
    diaries, second = make_dataset("diaries", conversations=9), make_framework("second-scales")
    asked = plan(
        main,
        slug="new-name",
        title="New name",
        dataset=diaries,
        frameworks=[second, *main.frameworks.all()],
        groups={"crowd": 3, "self": None},
        sample_size=4,
    )
    change_block(block=main, by=rosa, **asked)
    changed = Block.objects.get(pk=main.pk)
    assert (changed.slug, changed.title, changed.dataset, changed.sample_size) == ("new-name", "New name", diaries, 4)
    assert dict(changed.groups.values_list("kind", "overlap")) == {"crowd": 3, "self": None}
    assert [row.framework.slug for row in changed.block_frameworks.all()] == ["second-scales", "warmth-scales"]
    assert len(texts(changed)) == 4
    assert [item.position for item in changed.items.all()] == [0, 1, 2, 3]
    entry = AuditEntry.objects.get(action="block.change")
    assert (entry.actor, entry.subject, entry.details["items"]) == (rosa, "grief/new-name", 4)


def test_a_choice_is_applied_before_the_sample(main, letters, rosa):
    for number, conversation in enumerate(letters.conversations.all()):
        conversation.metadata = {"topic": "grief" if number else "work"}
        conversation.save()
    change_block(block=main, by=rosa, **plan(main, metadata_filter={"meta.topic": ["grief"]}))
    assert texts(main) == ["letters-002", "letters-003"]
    change_block(block=main, by=rosa, **plan(main, metadata_filter={"meta.topic": ["grief"]}, sample_size=1))
    assert len(texts(main)) == 1
    assert texts(main)[0] in ("letters-002", "letters-003")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frameworks": []}, "at least one framework"),
        ({"sample_size": 4}, "a sample of 4 items was asked for, but there are only 3"),
        ({"metadata_filter": {"meta.topic": ["nothing"]}}, "No conversation of the dataset fits the choice"),
        ({"metadata_filter": {"topic": ["x"]}}, "'topic' is no name to choose by"),
        ({"slug": "other"}, "has a block other already"),
    ],
)
def test_what_cannot_be_laid_out_changes_nothing(main, draft, letters, framework, rosa, changes, words):
    add_block(study=draft, slug="other", title="Other", dataset=letters, frameworks=[framework])
    before = plan(main), texts(main)
    with pytest.raises(DesignError, match=words):
        change_block(block=main, by=rosa, **plan(main, title="Else", **changes))
    main = Block.objects.get(pk=main.pk)
    assert (plan(main), texts(main)) == before


@pytest.mark.parametrize("begin", [rate, take, leave_out])
def test_the_items_of_a_block_that_has_begun_stay(main, draft, rosa, begin):
    begin(draft)
    with pytest.raises(DesignError, match="has ratings already"):
        change_block(block=main, by=rosa, **plan(main, sample_size=1))
    with pytest.raises(DesignError, match="has ratings already"):
        remove_block(block=main, by=rosa)
    assert len(texts(main)) == 3


@pytest.mark.parametrize("status", [StudyStatus.ACTIVE, StudyStatus.CLOSED])
def test_only_a_drafts_blocks_change(main, draft, rosa, status):
    draft.status = status
    draft.save()
    for change in (
        lambda: change_block(block=main, by=rosa, **plan(main)),
        lambda: remove_block(block=main, by=rosa),
        lambda: move_block(block=main, step=1, by=rosa),
    ):
        with pytest.raises(DesignError, match="while the study is a draft"):
            change()


def test_changing_takes_the_same_number_of_queries_for_any_size(main, rosa, django_assert_num_queries):
    small, large = make_dataset("small", conversations=2), make_dataset("large", conversations=60)
    asked = plan(main)
    with django_assert_num_queries(15):
        change_block(block=main, by=rosa, **asked | {"dataset": small})
    with django_assert_num_queries(15):
        change_block(block=main, by=rosa, **asked | {"dataset": large})


# --- Who rates --------------------------------------------------------------------------------------------------------


def test_who_rates_changes_in_an_active_study_and_rows_that_stay_are_kept(grief, rosa):
    main = grief.blocks.get()
    take(grief)
    kept = main.groups.get(kind="expert").pk
    change_who_rates(block=main, title="Renamed", groups={"expert": 2, "crowd": None}, by=rosa)
    assert dict(main.groups.values_list("kind", "overlap")) == {"expert": 2, "crowd": None}
    assert main.groups.get(kind="expert").pk == kept
    change_who_rates(block=main, title="Renamed", groups={"crowd": None}, by=rosa)
    assert list(main.groups.values_list("kind", flat=True)) == ["crowd"]
    assert Block.objects.get(pk=main.pk).title == "Renamed"
    assert len(texts(main)) == 3


def test_who_rates_stays_in_a_closed_study(grief, rosa):
    grief.status = StudyStatus.CLOSED
    grief.save()
    with pytest.raises(DesignError, match="Reopen it to change who rates"):
        change_who_rates(block=grief.blocks.get(), title="X", groups={}, by=rosa)


# --- Order and removal ------------------------------------------------------------------------------------------------


def test_blocks_change_places(draft, letters, framework, rosa):
    for slug in ("two", "three"):
        add_block(study=draft, slug=slug, title=slug, dataset=letters, frameworks=[framework])

    def order():
        return list(draft.blocks.values_list("slug", flat=True))

    move_block(block=draft.blocks.get(slug="three"), step=-1, by=rosa)
    assert order() == ["main", "three", "two"]
    move_block(block=draft.blocks.get(slug="main"), step=1, by=rosa)
    assert order() == ["three", "main", "two"]
    move_block(block=draft.blocks.get(slug="three"), step=-1, by=rosa)
    move_block(block=draft.blocks.get(slug="two"), step=1, by=rosa)
    assert order() == ["three", "main", "two"]
    assert AuditEntry.objects.filter(action="block.move").count() == 2


def test_a_removed_block_leaves_the_dataset_and_the_others(draft, main, letters, framework, rosa):
    add_block(study=draft, slug="two", title="Two", dataset=letters, frameworks=[framework], groups={"crowd": 1})
    remove_block(block=main, by=rosa)
    assert [block.slug for block in draft.blocks.all()] == ["two"]
    assert letters.conversations.count() == 3
    assert AuditEntry.objects.get(action="block.remove").subject == "grief/main"
    add_block(study=draft, slug="main", title="Main", dataset=letters, frameworks=[framework])
    assert list(draft.blocks.values_list("slug", "position")) == [("two", 1), ("main", 2)]


def test_a_block_of_an_active_study_freezes_its_dataset(grief, draft, framework):
    diaries, notes = make_dataset("diaries"), make_dataset("notes")
    add_block(study=draft, slug="draft", title="Draft", dataset=diaries, frameworks=[framework])
    diaries.refresh_from_db()
    assert not diaries.is_frozen
    draft.status = StudyStatus.ACTIVE
    draft.save()
    add_block(study=draft, slug="active", title="Active", dataset=notes, frameworks=[framework])
    notes.refresh_from_db()
    assert notes.is_frozen
