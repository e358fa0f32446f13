"""How many raters of a kind an item has, and whether there is a place for one more. Reads only.

A place is taken by work handed in, and by an open reservation of a rater who has not left. Where the study gives an
excluded rater's places to others, those do not count. Work that lapsed, was skipped or is surplus takes no place.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from apps.studies.models import (
    FINISHED_STATES,
    Assignment,
    AssignmentState,
    BlockGroup,
    Exclusion,
    Item,
    Rater,
    Study,
)

OPEN_STATES = (AssignmentState.ASSIGNED, AssignmentState.IN_PROGRESS)


def takes_place(study: Study) -> QuerySet[Assignment]:
    """The assignments of the study that take a place."""
    rows = Assignment.objects.filter(
        Q(state=AssignmentState.SUBMITTED) | Q(state__in=OPEN_STATES, rater__left_at=None), rater__study=study
    )
    if study.exclusion_reopens_slots:
        excluded = Exclusion.objects.in_force().filter(Q(item=None) | Q(item=OuterRef("item")), rater=OuterRef("rater"))
        rows = rows.exclude(Exists(excluded))
    return rows


def taken_places(*, study: Study, kind: str, item_ids: Collection[int] | None = None) -> dict[int, int]:
    """item -> places taken by raters of the kind, for the items that have any. One query."""
    rows = takes_place(study).filter(rater__kind=kind)
    if item_ids is not None:
        rows = rows.filter(item__in=item_ids)
    return dict(rows.order_by().values_list("item_id").annotate(Count("pk")))


def has_place(*, assignment: Assignment, overlap: int | None) -> bool:
    """Whether the assignment may take, or keep, a place of its item: others' places are fewer than `overlap`."""
    if overlap is None:
        return True
    rater = assignment.rater
    others = takes_place(rater.study).filter(item=assignment.item_id, rater__kind=rater.kind).exclude(pk=assignment.pk)
    return others.count() < overlap


def full_items(*, rater: Rater, item_ids: Collection[int]) -> set[int]:
    """Those of the items that have no place left for this rater; the rater's own place does not count. Two queries."""
    overlaps = dict(
        BlockGroup.objects.filter(block__study=rater.study_id, kind=rater.kind, block__items__in=item_ids)
        .exclude(overlap=None)
        .values_list("block__items", "overlap")
    )
    others = takes_place(rater.study).filter(rater__kind=rater.kind, item__in=item_ids).exclude(rater=rater)
    taken = dict(others.order_by().values_list("item_id").annotate(Count("pk")))
    return {item for item, overlap in overlaps.items() if taken.get(item, 0) >= overlap}


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """What a rater could still be given. `n_held` items are reserved by others, and may become free again."""

    n_free: int
    n_held: int
    is_asked: bool

    @property
    def is_all_taken(self) -> bool:
        return self.n_free == 0 and self.n_held > 0


def work_left(*, rater: Rater) -> WorkLeft:
    """Counts the items that the rater has not been given. `is_asked`: whether any block is for their kind at all."""
    overlaps = dict(
        BlockGroup.objects.filter(block__study=rater.study_id, kind=rater.kind).values_list("block_id", "overlap")
    )
    items = Item.objects.filter(block__in=overlaps).exclude(assignments__rater=rater)
    excluded = set(Exclusion.objects.in_force().filter(rater=rater).values_list("item_id", flat=True))
    if None in excluded:
        return WorkLeft(0, 0, is_asked=bool(overlaps))
    rows = takes_place(rater.study).filter(rater__kind=rater.kind).order_by().values_list("item_id")
    counts = rows.annotate(n=Count("pk"), n_done=Count("pk", Q(state=AssignmentState.SUBMITTED)))
    taken = {item: (n, n_done) for item, n, n_done in counts}
    n_free = n_held = 0
    for pk, block_id in items.order_by().values_list("pk", "block_id"):
        overlap = overlaps[block_id]
        n, done = taken.get(pk, (0, 0))
        if pk in excluded:
            continue
        if overlap is None or n < overlap:
            n_free += 1
        elif done < overlap:
            n_held += 1
    return WorkLeft(n_free, n_held, is_asked=bool(overlaps))


@dataclass(frozen=True)
class Progress:
    """A rater's own items by state. `total` is None where raters share the items out among them."""

    counts: dict[str, int]
    n_flagged: int
    total: int | None

    @cached_property
    def n_done(self) -> int:
        return sum(self.counts.get(state, 0) for state in FINISHED_STATES)

    @cached_property
    def n_open(self) -> int:
        return sum(self.counts.get(state, 0) for state in OPEN_STATES)

    @cached_property
    def n_skipped(self) -> int:
        return self.counts.get(AssignmentState.SKIPPED, 0)

    @cached_property
    def n_lapsed(self) -> int:
        return self.counts.get(AssignmentState.LAPSED, 0)

    @cached_property
    def n_given(self) -> int:
        return sum(self.counts.values())


def progress_of(*, rater: Rater) -> Progress:
    """How far the rater is, in four queries."""
    counts = dict(rater.assignments.order_by().values_list("state").annotate(Count("pk")))
    overlaps = dict(
        BlockGroup.objects.filter(block__study=rater.study_id, kind=rater.kind).values_list("block_id", "overlap")
    )
    is_shared = any(overlap is not None for overlap in overlaps.values())
    n_items = Item.objects.filter(block__in=overlaps).count()
    return Progress(
        counts=counts,
        n_flagged=rater.assignments.filter(is_flagged=True).count(),
        total=None if is_shared else n_items,
    )
