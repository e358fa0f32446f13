"""A study's way from draft to closed, its copy, its settings, and its end."""

import pytest

from apps.common.models import AuditEntry
from apps.corpus.models import Conversation, Dataset
from apps.studies.models import (
    Assignment,
    AssignmentState,
    Item,
    MemberRole,
    Membership,
    Study,
    StudyStatus,
)
from apps.studies.services.copying import copy_study
from apps.studies.services.deleting import delete_study
from apps.studies.services.design import DesignError, add_block, create_study
from apps.studies.services.settings import change_seed, change_settings
from apps.studies.services.status import (
    StatusError,
    activate,
    activation_problems,
    close,
    discussion_history,
    open_work,
    reopen,
    return_to_draft,
    set_discussion,
)
from tests.conftest import make_dataset
from tests.studies.test_changing_blocks import rate, take, texts


@pytest.fixture
def plan(rosa):
    return create_study(slug="plan", title="Plan", owner=rosa)


@pytest.fixture
def planned(plan, letters, framework):
    add_block(study=plan, slug="main", title="Main", dataset=letters, frameworks=[framework], groups={"expert": None})
    return plan


def is_frozen(dataset):
    return Dataset.objects.get(pk=dataset.pk).is_frozen


def actions(study):
    return list(AuditEntry.objects.filter(subject=study.slug).order_by("pk").values_list("action", flat=True))


# --- Activation -------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said_in_the_order_in_which_it_is_done(plan, letters, framework, rosa):
    assert activation_problems(plan) == ["Nothing is rated yet: add a block."]
    block = add_block(study=plan, slug="main", title="Letters", dataset=letters, frameworks=[framework])
    assert activation_problems(plan) == [
        "Nobody is asked to rate yet: say for at least one block which raters rate it."
    ]
    block.items.all().delete()
    block.block_frameworks.all().delete()
    assert activation_problems(plan)[:2] == [
        "The block Letters has no items: choose other conversations.",
        "The block Letters has no framework: choose one.",
    ]
    with pytest.raises(StatusError, match="has no items"):
        activate(study=plan, by=rosa)
    assert Study.objects.get(pk=plan.pk).status == StudyStatus.DRAFT
    assert not is_frozen(letters)


def test_activating_freezes_the_datasets(planned, letters, rosa):
    study = activate(study=planned, by=rosa)
    assert study.status == Study.objects.get(pk=planned.pk).status == StudyStatus.ACTIVE
    assert is_frozen(letters)
    entry = AuditEntry.objects.get(action="study.activate")
    assert (entry.actor, entry.details) == (rosa, {"before": "draft", "refreshed_blocks": []})


def test_activating_takes_what_the_dataset_has_become(planned, letters, rosa):
    Conversation.objects.create(dataset=letters, external_id="late", position=9, content_hash="late")
    activate(study=planned, by=rosa)
    assert texts(planned.blocks.get()) == ["letters-001", "letters-002", "letters-003", "late"]
    assert AuditEntry.objects.get(action="study.activate").details["refreshed_blocks"] == ["main"]


def test_activating_leaves_a_block_with_ratings_as_it_is(planned, letters, rosa):
    planned.raters.create(name="expert1", kind="expert")
    rate(planned)
    Conversation.objects.create(dataset=letters, external_id="late", position=9, content_hash="late")
    activate(study=planned, by=rosa)
    assert len(texts(planned.blocks.get())) == 3


def test_a_block_that_can_no_longer_be_laid_out_keeps_the_study_a_draft(plan, framework, rosa):
    notes = make_dataset("notes", conversations=5)
    add_block(
        study=plan,
        slug="main",
        title="Notes",
        dataset=notes,
        frameworks=[framework],
        groups={"expert": 1},
        sample_size=4,
    )
    Conversation.objects.filter(dataset=notes, items=None).delete()
    extra = plan.blocks.get().items.last()
    conversation = extra.conversation
    extra.delete()
    conversation.delete()
    with pytest.raises(StatusError, match="The block Notes: a sample of 4 items was asked for, but there are only 3"):
        activate(study=plan, by=rosa)
    assert not is_frozen(notes)
    assert Study.objects.get(pk=plan.pk).status == StudyStatus.DRAFT


# --- The way on and back ----------------------------------------------------------------------------------------------


def test_a_study_goes_its_way(planned, letters, rosa):
    activate(study=planned, by=rosa)
    return_to_draft(study=planned, by=rosa)
    assert not is_frozen(letters)
    activate(study=planned, by=rosa)
    close(study=planned, by=rosa)
    assert is_frozen(letters)
    reopen(study=planned, by=rosa)
    assert Study.objects.get(pk=planned.pk).status == StudyStatus.ACTIVE
    assert [action for action in actions(planned) if action != "study.create"] == [
        "study.activate",
        "study.draft",
        "study.activate",
        "study.close",
        "study.reopen",
    ]


@pytest.mark.parametrize(
    ("status", "act", "words"),
    [
        (StudyStatus.ACTIVE, activate, "Only a draft can be activated"),
        (StudyStatus.CLOSED, activate, "Only a draft can be activated"),
        (StudyStatus.DRAFT, close, "Only an active study can be closed"),
        (StudyStatus.CLOSED, close, "Only an active study can be closed"),
        (StudyStatus.DRAFT, return_to_draft, "Only an active study can go back"),
        (StudyStatus.CLOSED, return_to_draft, "Only an active study can go back"),
        (StudyStatus.DRAFT, reopen, "Only a closed study can be reopened"),
        (StudyStatus.ACTIVE, reopen, "Only a closed study can be reopened"),
    ],
)
def test_every_other_way_is_refused(planned, rosa, status, act, words):
    Study.objects.filter(pk=planned.pk).update(status=status)
    with pytest.raises(StatusError, match=words):
        act(study=planned, by=rosa)
    assert Study.objects.get(pk=planned.pk).status == status


@pytest.mark.parametrize("begin", [rate, take])
def test_once_somebody_has_begun_there_is_no_way_back_to_a_draft(grief, rosa, begin):
    begin(grief)
    with pytest.raises(StatusError, match="Raters or models have begun"):
        return_to_draft(study=grief, by=rosa)


def test_a_dataset_that_another_study_uses_stays_frozen(planned, grief, letters, rosa):
    activate(study=planned, by=rosa)
    return_to_draft(study=planned, by=rosa)
    assert is_frozen(letters)


def test_a_closed_study_without_groups_is_not_reopened(grief, rosa):
    close(study=grief, by=rosa)
    grief.blocks.get().groups.all().delete()
    with pytest.raises(StatusError, match="Nobody is asked to rate yet"):
        reopen(study=grief, by=rosa)


def test_closing_says_what_is_left(grief, rosa):
    rater = grief.raters.get(name="expert1")
    first, second, _ = Item.objects.filter(block__study=grief)
    Assignment.objects.create(rater=rater, item=first, position=0, state=AssignmentState.SUBMITTED)
    Assignment.objects.create(rater=rater, item=second, position=1, state=AssignmentState.IN_PROGRESS)
    work = open_work(grief)
    assert (work.n_in_hand, work.n_lacking) == (1, 2)
    close(study=grief, by=rosa)
    assert AuditEntry.objects.get(action="study.close").details == {"before": "active", "in_hand": 1, "lacking": 2}


def test_what_is_left_counts_an_item_once_and_says_which_kinds_it_waits_for(grief, otto):
    """Two kinds rate the three items: one item has all of both, one those of the expert, one nothing."""
    grief.blocks.get().groups.create(kind="crowd", overlap=1)
    expert = grief.raters.get(name="expert1")
    worker = grief.raters.create(name="crowd001", kind="crowd", user=otto)
    first, second, third = Item.objects.filter(block__study=grief)
    for rater, item, state in [
        (expert, first, AssignmentState.SUBMITTED),
        (expert, second, AssignmentState.SUBMITTED),
        (expert, third, AssignmentState.IN_PROGRESS),
        (worker, first, AssignmentState.SUBMITTED),
    ]:
        Assignment.objects.create(rater=rater, item=item, position=item.position, state=state)
    work = open_work(grief)
    assert (work.n_lacking, work.n_in_hand) == (2, 1)
    assert dict(work.lacking_by_kind) == {"expert": 1, "crowd": 2}


def test_a_kind_of_which_nobody_is_here_is_named_and_nothing_is_counted_for_it(grief):
    grief.raters.update(user=None)  # imported: they rate nowhere
    work = open_work(grief)
    assert not work.is_countable
    assert work.unstaffed == [("expert", 3)]
    grief.blocks.get().groups.create(kind="crowd", overlap=2)
    work = open_work(grief)
    assert work.is_countable
    assert (work.n_lacking, dict(work.unstaffed)) == (3, {"expert": 3, "crowd": 3})


# --- Discussion -------------------------------------------------------------------------------------------------------


def test_discussion_is_opened_and_closed_and_its_times_are_kept(grief, rosa, ada):
    set_discussion(study=grief, is_open=True, by=rosa)
    assert Study.objects.get(pk=grief.pk).discussion_open
    with pytest.raises(StatusError, match="open already"):
        set_discussion(study=grief, is_open=True, by=rosa)
    set_discussion(study=grief, is_open=False, by=ada)
    assert not Study.objects.get(pk=grief.pk).discussion_open
    with pytest.raises(StatusError, match="is not open"):
        set_discussion(study=grief, is_open=False, by=rosa)
    assert [(act.action, act.actor) for act in discussion_history(grief)] == [
        ("discussion.close", ada),
        ("discussion.open", rosa),
    ]


# --- Settings ---------------------------------------------------------------------------------------------------------


def test_only_what_changed_is_remembered_and_long_texts_by_their_length(grief, rosa):
    change_settings(study=grief, by=rosa, instructions="Read.", allow_comments=True, reservation_hours=48)
    entry = AuditEntry.objects.get(action="study.change")
    assert entry.details == {"instructions": 5, "reservation_hours": [24, 48]}
    change_settings(study=grief, by=rosa, reservation_hours=48)
    assert AuditEntry.objects.filter(action="study.change").count() == 1


def test_what_has_rules_of_its_own_is_not_a_setting(grief, rosa):
    for name, value in [("status", "closed"), ("slug", "other"), ("seed", 1), ("discussion_open", True)]:
        with pytest.raises(TypeError, match=f"not to be set here: {name}"):
            change_settings(study=grief, by=rosa, **{name: value})


def test_a_new_seed_draws_the_samples_anew(plan, framework, rosa):
    notes = make_dataset("notes", conversations=30)
    block = add_block(study=plan, slug="main", title="Main", dataset=notes, frameworks=[framework], sample_size=5)
    before = texts(block)
    change_seed(study=plan, seed=7, by=rosa)
    assert texts(block) != before
    assert len(texts(block)) == 5
    change_seed(study=plan, seed=2026, by=rosa)
    assert texts(block) == before


@pytest.mark.parametrize("begin", [rate, take, lambda study: study.__class__.objects.update(status="active")])
def test_the_seed_stays_once_it_was_used(grief, rosa, begin):
    Study.objects.filter(pk=grief.pk).update(status=StudyStatus.DRAFT)
    begin(grief)
    with pytest.raises(DesignError, match="The seed stays"):
        change_seed(study=grief, seed=3, by=rosa)


# --- Copying ----------------------------------------------------------------------------------------------------------


def test_a_copy_has_the_design_and_none_of_the_people_or_ratings(grief, rosa, ada, otto):
    rate(grief)
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    Study.objects.filter(pk=grief.pk).update(
        instructions="Read.", discussion_open=True, seed=5, allow_comments=False, reservation_hours=3, status="closed"
    )
    grief.refresh_from_db()
    copied = copy_study(study=grief, slug="again", title="Again", by=rosa)
    copied.refresh_from_db()
    assert (copied.status, copied.discussion_open, copied.seed) == ("draft", False, 5)
    assert (copied.instructions, copied.allow_comments, copied.reservation_hours) == ("Read.", False, 3)
    block, old = copied.blocks.get(), grief.blocks.get()
    assert texts(block) == texts(old)
    assert dict(block.groups.values_list("kind", "overlap")) == {"expert": None}
    assert list(block.frameworks.all()) == list(old.frameworks.all())
    assert not copied.raters.exists()
    assert not copied.has_begun()
    assert [(member.user, member.role) for member in copied.memberships.all()] == [(rosa, "owner")]
    assert AuditEntry.objects.get(action="study.copy").details == {"from": "grief", "with_members": False}


def test_members_who_work_with_the_study_may_come_along_but_never_raters(grief, rosa, ada, otto):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    copied = copy_study(study=grief, slug="again", title="Again", by=ada, with_members=True)
    assert {(member.user, member.role) for member in copied.memberships.all()} == {
        (ada, "owner"),
        (rosa, "owner"),
        (otto, "researcher"),
    }


def test_whoever_may_not_use_a_dataset_cannot_copy_the_study(grief, otto):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    with pytest.raises(DesignError, match="The dataset Letters is not yours to use"):
        copy_study(study=grief, slug="again", title="Again", by=otto)
    assert not Study.objects.filter(slug="again").exists()


# --- Deleting ---------------------------------------------------------------------------------------------------------


def test_a_draft_is_deleted_with_all_that_is_part_of_it(planned, letters, emil, rosa):
    Membership.objects.create(study=planned, user=emil, role=MemberRole.RATER)
    planned.raters.create(name="expert1", kind="expert", user=emil)
    delete_study(study=planned, by=rosa)
    assert not Study.objects.exists()
    assert letters.conversations.count() == 3
    entry = AuditEntry.objects.get(action="study.delete")
    assert (entry.subject, entry.actor, entry.details) == ("plan", rosa, {"title": "Plan"})


@pytest.mark.parametrize("begin", [rate, take])
def test_a_study_with_ratings_is_never_deleted(grief, rosa, begin):
    with pytest.raises(DesignError, match="Only a draft can be deleted"):
        delete_study(study=grief, by=rosa)
    begin(grief)
    Study.objects.filter(pk=grief.pk).update(status=StudyStatus.DRAFT)
    with pytest.raises(DesignError, match="has ratings"):
        delete_study(study=grief, by=rosa)
    assert Study.objects.filter(pk=grief.pk).exists()


# --- Who may change ---------------------------------------------------------------------------------------------------


def test_owners_and_admins_change_and_researchers_only_read(grief, strangers, ada, rosa, emil, otto):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    assert [grief.is_managed_by(user) for user in (ada, rosa, emil, otto)] == [True, True, False, False]
    assert set(Study.objects.managed_by(otto)) == {strangers}
    rosa.is_active = False
    assert not grief.is_managed_by(rosa)
