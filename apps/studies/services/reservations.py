"""Items on their way through a rater's hands: taken, worked on, handed in, skipped, lapsed.

Nothing is dealt out ahead of time: a rater asks for the next item and gets a reservation. Where a block asks for n
raters of a kind for each item, open reservations and work handed in are never more than n. Who wants a place first
locks the row of the block and kind (SQLite: its one writer's lock), so the count that decides stays true until the
place is taken. A reservation lapses when its rater gave no sign of life for the study's hours; the state in the row
says so, not the clock: until somebody marks it lapsed, its rater may go on with it.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext

from apps.studies.allocation import order_for_rater
from apps.studies.models import (
    FINISHED_STATES,
    Assignment,
    AssignmentState,
    BlockGroup,
    Exclusion,
    Item,
    Rater,
    Study,
    StudyStatus,
)
from apps.studies.services.slots import OPEN_STATES, has_place, taken_places


class WorkRefused(ValueError):  # noqa: N818 - reads as what happened
    """The rater cannot work on this now; the message says why, to them."""


def check_open(rater: Rater) -> None:
    """Raises WorkRefused unless the rater may give ratings in the study now."""
    study = rater.study
    if study.status == StudyStatus.DRAFT:
        raise WorkRefused(gettext("This study has not begun yet."))
    if study.status == StudyStatus.CLOSED:
        raise WorkRefused(gettext("This study is closed: ratings can no longer be given or changed."))
    if rater.left_at is not None:
        raise WorkRefused(_left())


def take_next(*, rater: Rater) -> Assignment | None:
    """The rater's unfinished item, else one of theirs that lapsed and still has a place, else a new one.

    New items come by blocks, in a block in the rater's own order. None: there is nothing for this rater now. Raises
    WorkRefused while the study is not active. The number of queries is the same however many items and raters.
    """
    rater = Rater.objects.select_related("study").get(pk=rater.pk)
    check_open(rater)
    # Before the lock: which order the items come in for this rater does not depend on what others do.
    is_busy = rater.assignments.filter(state__in=OPEN_STATES).exists()
    candidates = [] if is_busy else _candidates(rater)
    with transaction.atomic():
        # Two requests of one rater: the second finds what the first took. Nothing is taken by who has just left, nor
        # from a study that has just been closed or become a draft again.
        rows = Rater.objects.select_for_update(no_key=True, of=("self",)).select_related("study")
        current = rows.filter(pk=rater.pk).first()
        if current is None:
            raise WorkRefused(_left())
        check_open(current)
        unfinished = rater.assignments.filter(state__in=OPEN_STATES).order_by("position").first()
        if unfinished is not None:
            return unfinished
        return _take(rater, candidates)


def open_assignment(*, assignment: Assignment) -> None:
    """The rater looks at the item: remembers when they began, and that they are there. Only while they may work."""
    now = timezone.now()
    assignment.started_at = assignment.started_at or now
    assignment.seen_at = now
    changes = {"started_at": Coalesce(F("started_at"), now), "seen_at": now}
    rows = Assignment.objects.filter(pk=assignment.pk)
    if not rows.filter(state__in=OPEN_STATES).update(
        **changes, reserved_until=reserved_until(assignment.rater.study, now)
    ):
        rows.update(**changes)


def hold(*, assignment: Assignment) -> None:
    """Before anything is written: makes sure of the rater's place, and lets the reservation run anew.

    A skipped item is taken up again, if it has a place. A lapsed one gets its place back, or is worked on without one:
    handed in, it is surplus. Raises WorkRefused while the study is not active, or where a skipped item is full.
    """
    check_open(assignment.rater)
    if assignment.state in FINISHED_STATES:
        return
    now = timezone.now()
    changes = {
        "state": AssignmentState.IN_PROGRESS,
        "reserved_until": reserved_until(assignment.rater.study, now),
        "started_at": assignment.started_at or now,
    }
    # One that has expired is left to _regain, which locks in the order in which others mark it lapsed.
    unexpired = Assignment.objects.filter(pk=assignment.pk, state__in=OPEN_STATES).exclude(reserved_until__lt=now)
    if not unexpired.update(**changes):
        _regain(assignment, changes, now)
        return
    _set(assignment, changes)


@transaction.atomic
def submit(*, assignment: Assignment) -> Assignment:
    """Hands the item in: submitted where it has a place, else surplus. Again: changes nothing, or surplus to submitted.

    Whether every scale has an answer is for the caller to know. Raises WorkRefused as `hold` does.
    """
    check_open(assignment.rater)
    now = timezone.now()
    overlap, state = _lock(assignment, now)
    if state == AssignmentState.SUBMITTED:
        assignment.state = state
        return assignment
    is_placed = has_place(assignment=assignment, overlap=overlap)
    if state == AssignmentState.SKIPPED and not is_placed:
        raise WorkRefused(_full())
    _change(
        assignment,
        state=AssignmentState.SUBMITTED if is_placed else AssignmentState.SURPLUS,
        started_at=assignment.started_at or now,
        finished_at=assignment.finished_at or now,
        reserved_until=None,
        skip_reason="",
    )
    return assignment


@transaction.atomic
def skip(*, assignment: Assignment, reason: str) -> None:
    """Leaves the item to others, and says why. Raises WorkRefused for work that was handed in."""
    check_open(assignment.rater)
    state = Assignment.objects.select_for_update().values_list("state", flat=True).get(pk=assignment.pk)
    if state in FINISHED_STATES:
        raise WorkRefused(gettext("This conversation was submitted already. You can still change your answers."))
    _change(assignment, state=AssignmentState.SKIPPED, reserved_until=None, skip_reason=reason)


def set_flag(*, assignment: Assignment, is_flagged: bool) -> None:
    """The rater wants to come back to the item, or no longer. Raises WorkRefused while the study is not active."""
    check_open(assignment.rater)
    _change(assignment, is_flagged=is_flagged)


def lapse_expired(*, now: datetime | None = None) -> int:
    """Marks the reservations whose time is over; how many. Where everybody rates everything none lapses."""
    now = now or timezone.now()
    expired = _expired(now).filter(item__block=OuterRef("block"), rater__kind=OuterRef("kind"))
    groups = BlockGroup.objects.filter(Exists(expired), overlap__isnull=False).order_by("pk")
    n_lapsed = 0
    for block_id, kind in groups.values_list("block_id", "kind"):
        with transaction.atomic():
            _locked_overlaps(block_id__in=[block_id], kind=kind)
            n_lapsed += _lapse(now, [block_id], kind)
    return n_lapsed


def reserved_until(study: Study, now: datetime) -> datetime:
    """When a reservation lapses whose rater gave a sign of life now."""
    return now + timedelta(hours=study.reservation_hours)


def _candidates(rater: Rater) -> list[tuple[int, int]]:
    """(item, block) of what the rater was not given yet, in the order in which they are to come. Three queries."""
    excluded = set(Exclusion.objects.in_force().filter(rater=rater).values_list("item_id", flat=True))
    if None in excluded:
        return []
    blocks = list(
        BlockGroup.objects.filter(block__study=rater.study_id, kind=rater.kind)
        .order_by("block__position")
        .values_list("block_id", flat=True)
    )
    keys: dict[int, dict[str, int]] = {block_id: {} for block_id in blocks}
    items = Item.objects.filter(block__in=blocks).exclude(assignments__rater=rater).order_by()
    for pk, block_id, external_id, role in items.values_list("pk", "block_id", "conversation__external_id", "role"):
        if pk not in excluded:
            keys[block_id][f"{external_id}/{role}"] = pk
    return [
        (keys[block_id][key], block_id)
        for block_id in blocks
        for key in order_for_rater(keys[block_id], rater.name, rater.study.seed)
    ]


def _take(rater: Rater, candidates: Iterable[tuple[int, int]]) -> Assignment | None:
    now = timezone.now()
    overlaps = _locked_overlaps(block__study=rater.study_id, kind=rater.kind)
    if overlaps:
        _lapse(now, overlaps, rater.kind)
    taken = taken_places(study=rater.study, kind=rater.kind) if overlaps else {}

    def is_free(item_id: int, block_id: int) -> bool:
        overlap = overlaps.get(block_id)
        return overlap is None or taken.get(item_id, 0) < overlap

    for lapsed in _own_lapsed(rater):
        if is_free(lapsed.item_id, lapsed.item.block_id):
            _change(lapsed, state=AssignmentState.IN_PROGRESS, reserved_until=reserved_until(rater.study, now))
            return lapsed
    positions = dict(rater.assignments.values_list("item_id", "position"))
    free = (item_id for item_id, block_id in candidates if item_id not in positions and is_free(item_id, block_id))
    chosen = next(free, None)
    if chosen is None:
        return None
    return Assignment.objects.create(
        rater=rater,
        item_id=chosen,
        position=max(positions.values(), default=-1) + 1,
        reserved_until=reserved_until(rater.study, now),
    )


def _own_lapsed(rater: Rater) -> Iterable[Assignment]:
    excluded = Exclusion.objects.in_force().filter(rater=rater)
    if excluded.filter(item=None).exists():
        return []
    lapsed = rater.assignments.filter(state=AssignmentState.LAPSED).exclude(item__in=excluded.values("item"))
    return lapsed.select_related("item").order_by("position")


@transaction.atomic
def _regain(assignment: Assignment, changes: dict[str, object], now: datetime) -> None:
    """Takes up again what lapsed or was skipped; not by who has just left, which let it lapse."""
    overlap, state = _lock(assignment, now)
    if Rater.objects.filter(pk=assignment.rater_id, left_at__isnull=False).exists():
        raise WorkRefused(_left())
    if state in FINISHED_STATES:
        assignment.state = state
    elif state in OPEN_STATES or has_place(assignment=assignment, overlap=overlap):
        _change(assignment, **changes, skip_reason="")
    elif state == AssignmentState.SKIPPED:
        raise WorkRefused(_full())
    else:
        assignment.state = state


def _lock(assignment: Assignment, now: datetime) -> tuple[int | None, AssignmentState]:
    """Locks whoever wants a place in the block, then the assignment: (raters for each item, its state now)."""
    block_id, kind = assignment.item.block_id, assignment.rater.kind
    overlaps = _locked_overlaps(block_id__in=[block_id], kind=kind)
    if overlaps:
        _lapse(now, [block_id], kind, but=assignment)
    state = Assignment.objects.select_for_update().values_list("state", flat=True).get(pk=assignment.pk)
    return overlaps.get(block_id), AssignmentState(state)


def _locked_overlaps(**which: object) -> dict[int, int]:
    """block -> raters for each item, of the groups that share items out. Their rows stay locked to the end.

    Always in the same order, so that two who lock several do not wait for each other.
    """
    groups = BlockGroup.objects.select_for_update(no_key=True).filter(overlap__isnull=False, **which).order_by("pk")
    return {group.block_id: group.overlap for group in groups if group.overlap is not None}


def _expired(now: datetime) -> QuerySet[Assignment]:
    return Assignment.objects.filter(state__in=OPEN_STATES, reserved_until__lt=now)


def _lapse(now: datetime, block_ids: Iterable[int], kind: str, *, but: Assignment | None = None) -> int:
    """Marks what expired in the blocks. The caller has locked their groups."""
    rows = _expired(now).filter(item__block__in=list(block_ids), rater__kind=kind)
    if but is not None:
        rows = rows.exclude(pk=but.pk)
    return rows.update(state=AssignmentState.LAPSED, updated_at=now)


def _change(assignment: Assignment, **changes: object) -> None:
    changes["updated_at"] = timezone.now()
    Assignment.objects.filter(pk=assignment.pk).update(**changes)
    _set(assignment, changes)


def _set(assignment: Assignment, changes: dict[str, object]) -> None:
    for name, value in changes.items():
        setattr(assignment, name, value)


def _left() -> str:
    return gettext("You have left this study as a rater.")


def _full() -> str:
    return gettext("Other raters have taken this conversation meanwhile: there is no place left for it.")
