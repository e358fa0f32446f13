"""Items taken, worked on, handed in, skipped and lapsed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.studies.models import (
    Assignment,
    AssignmentState,
    Block,
    BlockFramework,
    BlockGroup,
    Exclusion,
    Item,
    RaterKind,
    Study,
    StudyStatus,
)
from apps.studies.services import reservations
from apps.studies.services.exclusions import exclude, revert
from apps.studies.services.reservations import (
    WorkRefused,
    hold,
    lapse_expired,
    open_assignment,
    set_flag,
    skip,
    submit,
    take_next,
)
from apps.studies.services.slots import full_items, progress_of, taken_places, work_left
from apps.studies.tasks import lapse_reservations
from tests.conftest import make_dataset, make_framework

pytestmark = pytest.mark.django_db

LATER = timedelta(hours=25)


@pytest.fixture
def first(grief):
    return grief.raters.get(name="expert1")


@pytest.fixture
def second(grief):
    return grief.raters.get(name="expert2")


@pytest.fixture
def third(grief):
    return grief.raters.get(name="expert3")


@pytest.fixture
def shared(grief):
    """`shared(n)`: each item is for n experts, and there are `items` items."""

    def set_overlap(overlap, items=3):
        BlockGroup.objects.filter(block__study=grief).update(overlap=overlap)
        Item.objects.filter(block__study=grief, position__gte=items).delete()
        return grief

    return set_overlap


def take(rater):
    """The next item, as a view has it: with all that belongs to it."""
    assignment = take_next(rater=rater)
    return None if assignment is None else again(assignment)


def again(assignment):
    return Assignment.objects.select_related("rater__study", "item__block").get(pk=assignment.pk)


def expire(assignment):
    """As if its rater had been away for longer than the study's hours."""
    Assignment.objects.filter(pk=assignment.pk).update(reserved_until=timezone.now() - timedelta(seconds=1))


def state_of(assignment):
    return Assignment.objects.get(pk=assignment.pk).state


def take_all(rater):
    items = []
    while (assignment := take(rater)) is not None:
        submit(assignment=assignment)
        items.append(assignment.item_id)
    return items


# --- Taking -----------------------------------------------------------------------------------------------------------


def test_a_rater_is_given_every_item_once_in_their_own_order(grief, first, second):
    mine, theirs = take_all(first), take_all(second)
    assert sorted(mine) == sorted(theirs) == sorted(Item.objects.values_list("pk", flat=True))
    assert list(first.assignments.order_by("position").values_list("item_id", "position")) == [
        (item, position) for position, item in enumerate(mine)
    ]


def test_the_order_depends_on_the_rater_and_the_seed_alone(grief, rosa, first, second):
    grief.seed = 1
    grief.save()
    BlockGroup.objects.all().delete()
    block = Block.objects.create(
        study=grief, slug="many", title="Many", position=1, dataset=make_dataset("many", conversations=12)
    )
    BlockGroup.objects.create(block=block, kind=RaterKind.EXPERT)
    for position, conversation in enumerate(block.dataset.conversations.all()):
        Item.objects.create(block=block, conversation=conversation, position=position)
    mine = take_all(first)
    assert mine != take_all(second)
    assert mine != sorted(mine)
    Assignment.objects.all().delete()
    assert take_all(first) == mine
    Assignment.objects.all().delete()
    Study.objects.update(seed=2)
    assert take_all(first) != mine


def test_an_unfinished_item_comes_back_before_a_new_one(grief, first):
    assignment = take(first)
    assert take(first) == assignment
    submit(assignment=assignment)
    assert take(first) != assignment


def test_blocks_come_in_their_order_and_only_those_for_the_kind(grief, first, letters):
    crowd_only = Block.objects.create(study=grief, slug="crowd", title="Crowd", position=1, dataset=letters)
    BlockGroup.objects.create(block=crowd_only, kind=RaterKind.CROWD)
    Item.objects.create(block=crowd_only, conversation=letters.conversations.first(), position=0)
    last = Block.objects.create(study=grief, slug="last", title="Last", position=2, dataset=letters)
    BlockGroup.objects.create(block=last, kind=RaterKind.EXPERT)
    late = Item.objects.create(block=last, conversation=letters.conversations.first(), position=0)
    items = take_all(first)
    assert items[-1] == late.pk
    assert len(items) == 4
    assert not first.assignments.filter(item__block=crowd_only).exists()


def test_a_kind_without_a_group_is_given_nothing(grief, first):
    BlockGroup.objects.update(kind=RaterKind.CROWD)
    assert take_next(rater=first) is None
    assert not work_left(rater=first).is_asked


@pytest.mark.parametrize(("status", "words"), [(StudyStatus.DRAFT, "not begun"), (StudyStatus.CLOSED, "closed")])
def test_outside_an_active_study_nothing_can_be_done_and_it_says_why(grief, first, status, words):
    assignment = take(first)
    Study.objects.update(status=status)
    with pytest.raises(WorkRefused, match=words):
        take_next(rater=first)
    acts = [
        lambda: hold(assignment=again(assignment)),
        lambda: submit(assignment=again(assignment)),
        lambda: skip(assignment=again(assignment), reason="no"),
        lambda: set_flag(assignment=again(assignment), is_flagged=True),
    ]
    for act in acts:
        with pytest.raises(WorkRefused, match=words):
            act()
    assert state_of(assignment) == AssignmentState.ASSIGNED


def test_who_has_left_is_given_nothing(grief, first):
    first.left_at = timezone.now()
    first.save()
    with pytest.raises(WorkRefused, match="left"):
        take_next(rater=first)


# --- Places -----------------------------------------------------------------------------------------------------------


def test_an_item_is_given_to_as_many_raters_as_the_block_asks_for_case_12(shared, first, second):
    shared(1, items=1)
    assert take(first) is not None
    assert take(second) is None
    assert work_left(rater=second).is_all_taken


def test_full_items_are_passed_over(shared, first, second, third):
    shared(1)
    taken = [take(rater).item_id for rater in (first, second, third)]
    assert len(set(taken)) == 3


def test_places_are_counted_for_each_kind_apart(shared, grief, first):
    shared(1, items=1)
    block = grief.blocks.get()
    BlockGroup.objects.create(block=block, kind=RaterKind.CROWD, overlap=1)
    worker = grief.raters.create(name="crowd001", kind=RaterKind.CROWD)
    assert take(first) is not None
    assert take(worker) is not None


def test_handed_in_work_keeps_its_place(shared, first, second):
    shared(1, items=1)
    submit(assignment=take(first))
    assert take(second) is None
    left = work_left(rater=second)
    assert (left.n_free, left.n_held) == (0, 0)


def test_a_skipped_item_goes_to_others_and_not_back_by_itself(shared, first, second):
    shared(1, items=1)
    assignment = take(first)
    skip(assignment=assignment, reason="I know them")
    assert again(assignment).skip_reason == "I know them"
    assert take(first) is None
    assert take(second) is not None


def test_a_skipped_item_is_taken_up_again_while_it_has_a_place(shared, first, second):
    shared(1, items=1)
    assignment = take(first)
    skip(assignment=assignment, reason="tired")
    assert full_items(rater=first, item_ids=[assignment.item_id]) == set()
    hold(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.IN_PROGRESS
    assert again(assignment).skip_reason == ""
    assert take(second) is None


def test_a_skipped_item_that_others_took_is_refused(shared, first, second):
    shared(1, items=1)
    assignment = take(first)
    skip(assignment=assignment, reason="tired")
    take(second)
    assert full_items(rater=first, item_ids=[assignment.item_id]) == {assignment.item_id}
    for act in (hold, submit):
        with pytest.raises(WorkRefused, match="no place left"):
            act(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.SKIPPED


def test_handed_in_work_cannot_be_skipped(grief, first):
    assignment = take(first)
    submit(assignment=assignment)
    with pytest.raises(WorkRefused, match="submitted already"):
        skip(assignment=again(assignment), reason="late")
    assert state_of(assignment) == AssignmentState.SUBMITTED


def test_the_open_item_of_who_left_goes_to_others_and_their_handed_in_work_stays(shared, first, second):
    shared(1, items=2)
    submit(assignment=take(first))
    take(first)
    first.left_at = timezone.now()
    first.save()
    assert take(second) is not None
    submit(assignment=take(second))
    assert take(second) is None


# --- Lapsing ----------------------------------------------------------------------------------------------------------


def test_a_reservation_lapses_and_its_place_goes_to_another_case_13(shared, first, second):
    shared(1, items=1)
    assignment = take(first)
    hold(assignment=assignment)
    assert take(second) is None
    expire(assignment)
    assert take(second) is not None
    assert state_of(assignment) == AssignmentState.LAPSED
    assert set(taken_places(study=first.study, kind="expert").values()) == {1}


def test_a_reservation_runs_for_the_hours_of_the_study_from_the_last_sign_of_life(shared, grief, first):
    shared(1)
    Study.objects.update(reservation_hours=2)
    assignment = take(first)
    for act in (hold, open_assignment):
        Assignment.objects.update(reserved_until=timezone.now() + timedelta(minutes=1))
        act(assignment=again(assignment))
        left = again(assignment).reserved_until - timezone.now()
        assert timedelta(hours=1, minutes=59) < left <= timedelta(hours=2)


def test_expired_reservations_are_marked_by_the_clock_too(shared, first, second):
    shared(2)
    expired, running, handed_in = take(first), take(second), None
    submit(assignment=running)
    handed_in, running = running, take(second)
    expire(expired)
    assert lapse_expired() == 1
    assert [state_of(one) for one in (expired, running, handed_in)] == ["lapsed", "assigned", "submitted"]
    lapse_reservations.delay()
    assert lapse_expired(now=timezone.now() + LATER) == 1
    assert state_of(running) == AssignmentState.LAPSED


def test_where_everybody_rates_everything_nothing_lapses(grief, first):
    assignment = take(first)
    assert lapse_expired(now=timezone.now() + LATER) == 0
    assert state_of(assignment) == AssignmentState.ASSIGNED


def test_until_somebody_marks_it_an_expired_reservation_goes_on(shared, first, second):
    shared(1, items=1)
    assignment = take(first)
    expire(assignment)
    hold(assignment=again(assignment))
    assert take(second) is None
    assert state_of(assignment) == AssignmentState.IN_PROGRESS


def test_a_lapsed_item_gets_its_place_back_while_there_is_one(shared, first):
    shared(1)
    assignment = take(first)
    expire(assignment)
    lapse_expired()
    hold(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.IN_PROGRESS
    assert again(assignment).reserved_until > timezone.now()


def test_who_asks_for_work_is_given_back_what_lapsed(shared, first):
    shared(1)
    assignment = take(first)
    expire(assignment)
    lapse_expired()
    assert take(first) == assignment
    assert first.assignments.count() == 1


def test_lapsed_work_without_a_place_goes_on_and_is_surplus(shared, first, second):
    shared(1, items=1)
    assignment = take(first)
    expire(assignment)
    take(second)
    hold(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.LAPSED
    submit(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.SURPLUS
    assert again(assignment).finished_at is not None
    assert take(first) is None


def test_lapsed_work_with_a_place_is_submitted(shared, first):
    shared(1)
    assignment = take(first)
    expire(assignment)
    lapse_expired()
    submit(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.SUBMITTED


def test_submitting_twice_changes_nothing(grief, first):
    assignment = take(first)
    submit(assignment=again(assignment))
    finished = again(assignment).finished_at
    submit(assignment=again(assignment))
    hold(assignment=again(assignment))
    assert again(assignment).finished_at == finished
    assert state_of(assignment) == AssignmentState.SUBMITTED


def test_surplus_work_is_counted_once_a_place_is_free(shared, first, second):
    shared(1, items=1)
    assignment = take(first)
    expire(assignment)
    other = take(second)
    submit(assignment=again(assignment))
    skip(assignment=other, reason="no")
    submit(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.SUBMITTED


# --- Exclusions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("reopens", [True, False])
def test_whether_an_excluded_rater_makes_room_is_for_the_study_to_say(shared, rosa, first, second, whole, reopens):
    shared(1, items=1)
    Study.objects.update(exclusion_reopens_slots=reopens)
    assignment = take(first)
    submit(assignment=assignment)
    exclusion = exclude(rater=first, item=None if whole else assignment.item, by=rosa)
    assert (take(second) is not None) == reopens
    if not reopens:
        revert(exclusion=exclusion, by=rosa)
        assert Exclusion.objects.in_force().count() == 0
        assert take(second) is None


def test_an_excluded_rater_is_given_no_more_and_may_finish(shared, rosa, first, second):
    shared(1)
    assignment = take(first)
    exclude(rater=first, by=rosa)
    assert take(first) == assignment
    submit(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.SUBMITTED
    assert take(first) is None
    assert work_left(rater=first).n_free == 0


def test_the_work_of_an_excluded_rater_is_surplus_where_another_has_their_place(shared, rosa, first, second):
    shared(1, items=1)
    assignment = take(first)
    exclude(rater=first, by=rosa)
    take(second)
    submit(assignment=again(assignment))
    assert state_of(assignment) == AssignmentState.SURPLUS


def test_an_item_from_which_a_rater_is_excluded_is_not_offered_to_them(grief, rosa, first):
    item = Item.objects.get(position=1)
    exclude(rater=first, item=item, by=rosa)
    assert item.pk not in take_all(first)
    assert work_left(rater=first).n_free == 0


# --- Counting ---------------------------------------------------------------------------------------------------------


def test_progress_counts_the_raters_own_items(grief, first, second):
    submit(assignment=take(second))
    submit(assignment=take(first))
    skip(assignment=take(first), reason="no")
    set_flag(assignment=take(first), is_flagged=True)
    progress = progress_of(rater=first)
    assert (progress.n_done, progress.n_skipped, progress.n_open, progress.n_flagged) == (1, 1, 1, 1)
    assert (progress.n_given, progress.n_lapsed, progress.total) == (3, 0, 3)


def test_how_many_items_will_be_ones_own_is_unknown_where_they_are_shared_out(shared, first):
    shared(1)
    assert progress_of(rater=first).total is None


def test_an_item_flagged_is_flagged_until_it_is_not(grief, first):
    assignment = take(first)
    set_flag(assignment=assignment, is_flagged=True)
    assert again(assignment).is_flagged
    set_flag(assignment=assignment, is_flagged=False)
    assert not again(assignment).is_flagged


def test_taking_needs_the_same_number_of_queries_however_many_items_and_raters(
    shared, grief, first, second, third, django_assert_num_queries
):
    shared(2)
    take_all(second)
    with django_assert_num_queries(16) as few:
        take_next(rater=first)
    more = make_dataset("more", conversations=40)
    block = Block.objects.create(study=grief, slug="more", title="More", position=1, dataset=more)
    BlockFramework.objects.create(block=block, framework=make_framework("more"), position=0)
    BlockGroup.objects.create(block=block, kind=RaterKind.EXPERT, overlap=2)
    for position, conversation in enumerate(more.conversations.all()):
        Item.objects.create(block=block, conversation=conversation, position=position)
    take_all(second)
    fourth = grief.raters.create(name="expert4", kind=RaterKind.EXPERT)
    for _ in range(20):
        submit(assignment=take(fourth))
    with django_assert_num_queries(len(few)):
        assert take_next(rater=third) is not None


def test_two_requests_of_one_rater_get_one_item(grief, first, monkeypatch):
    """The second comes when the first has looked for open items and not yet taken one."""
    candidates = reservations._candidates
    between = []

    def racing(rater):
        found = candidates(rater)
        if not between:
            between.append(True)
            between.append(take_next(rater=rater))
        return found

    monkeypatch.setattr(reservations, "_candidates", racing)
    assert take_next(rater=first) == between[1]
    assert first.assignments.count() == 1


def test_an_item_handed_in_between_is_not_given_again(grief, first, monkeypatch):
    candidates = reservations._candidates
    done = []

    def racing(rater):
        found = candidates(rater)
        if not done:
            done.append(True)
            submit(assignment=take(rater))
        return found

    monkeypatch.setattr(reservations, "_candidates", racing)
    assert state_of(take_next(rater=first)) == AssignmentState.ASSIGNED
    assert first.assignments.count() == 2


@pytest.mark.parametrize("gone", ["left", "deleted"])
def test_who_leaves_while_asking_for_an_item_gets_none(first, monkeypatch, gone):
    given = reservations._candidates

    def leave_meanwhile(rater):
        rows = type(rater).objects.filter(pk=rater.pk)
        rows.delete() if gone == "deleted" else rows.update(left_at=timezone.now())
        return given(rater)

    monkeypatch.setattr(reservations, "_candidates", leave_meanwhile)
    with pytest.raises(WorkRefused, match="left this study"):
        take_next(rater=first)
    assert not Assignment.objects.exists()


@pytest.mark.parametrize("state", [AssignmentState.ASSIGNED, AssignmentState.IN_PROGRESS, AssignmentState.SKIPPED])
def test_an_answer_that_comes_after_its_rater_has_left_takes_nothing_up_again(first, state):
    assignment = take_next(rater=first)
    Assignment.objects.update(state=state)
    late = Assignment.objects.select_related("rater__study", "item").get(pk=assignment.pk)
    type(first).objects.filter(pk=first.pk).update(left_at=timezone.now())
    first.assignments.exclude(state=AssignmentState.SKIPPED).update(state=AssignmentState.LAPSED)
    with pytest.raises(WorkRefused, match="left this study"):
        hold(assignment=late)
    assert Assignment.objects.get().state in (AssignmentState.LAPSED, AssignmentState.SKIPPED)
