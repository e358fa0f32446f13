"""How far each rater is, in all and in each block. Counts of items only, never a rating's value."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Max, Q

from apps.studies.models import FINISHED_STATES, Assignment, AssignmentState, Block, Exclusion, Item, Rater, Study
from apps.studies.services.slots import OPEN_STATES


@dataclass(slots=True)
class Tally:
    """Items by what became of them. `n_asked`: how many the rater is to rate; None: raters share the items out."""

    n_asked: int | None = 0
    n_done: int = 0
    n_open: int = 0
    n_skipped: int = 0
    n_lapsed: int = 0
    n_flagged: int = 0

    def add(self, other: "Tally") -> None:
        both = self.n_asked, other.n_asked
        self.n_asked = None if None in both else sum(n or 0 for n in both)
        self.n_done += other.n_done
        self.n_open += other.n_open
        self.n_skipped += other.n_skipped
        self.n_lapsed += other.n_lapsed
        self.n_flagged += other.n_flagged


@dataclass(slots=True)
class BlockTally:
    """A rater's items of one block. `is_asked`: the block is for raters of that kind, or holds ratings of theirs."""

    block: Block
    is_asked: bool
    tally: Tally


@dataclass(slots=True)
class RaterProgress:
    """`is_present`: the rater is somebody who rates on this site; else the ratings came in finished.

    is_made_here: of those, a model that was asked or a baseline that was computed on this site.
    """

    rater: Rater
    blocks: list[BlockTally]
    all: Tally
    seen_at: datetime | None = None
    is_excluded: bool = False
    n_excluded_items: int = 0
    is_made_here: bool = False

    @property
    def is_present(self) -> bool:
        return self.rater.user_id is not None


@dataclass(slots=True)
class _Counts:
    of_blocks: dict[tuple[int, int], Tally] = field(default_factory=dict)
    seen_at: dict[int, datetime | None] = field(default_factory=dict)


def progress_of_raters(*, study: Study, raters: Sequence[Rater]) -> list[RaterProgress]:
    """A row for each of the raters, all of the study, in their order. Eight queries, however many there are.

    For raters who are nobody on this site, an item they have any rating of counts as done.
    """
    blocks = list(study.blocks.prefetch_related("groups"))
    n_items = dict(Item.objects.filter(block__study=study).order_by().values_list("block").annotate(Count("pk")))
    counts = _assignments(raters)
    finished = _imported([rater.pk for rater in raters if rater.user_id is None])
    excluded = _exclusions(raters)
    made_here = _made_here([rater.pk for rater in raters])
    rows = []
    for rater in raters:
        own = [
            _of_block(rater, block, n_items.get(block.pk, 0), counts.of_blocks, finished.get((rater.pk, block.pk), 0))
            for block in blocks
        ]
        total = Tally()
        for part in own:
            total.add(part.tally)
        whole, n_items_excluded = excluded.get(rater.pk, (0, 0))
        seen_at, is_made_here = counts.seen_at.get(rater.pk), rater.pk in made_here
        rows.append(RaterProgress(rater, own, total, seen_at, whole > 0, n_items_excluded, is_made_here))
    return rows


def _of_block(
    rater: Rater, block: Block, n_items: int, counts: dict[tuple[int, int], Tally], n_finished: int
) -> BlockTally:
    tally = counts.get((rater.pk, block.pk), Tally())
    if rater.user_id is None:
        tally.n_asked, tally.n_done = (n_items if n_finished else 0), n_finished
        return BlockTally(block, bool(n_finished), tally)
    overlaps = [group.overlap for group in block.groups.all() if group.kind == rater.kind]
    if overlaps:
        tally.n_asked = n_items if overlaps[0] is None else None
    return BlockTally(block, bool(overlaps) or tally.n_done + tally.n_open + tally.n_skipped > 0, tally)


def _assignments(raters: Sequence[Rater]) -> _Counts:
    def of(*states: str) -> Count:
        return Count("pk", Q(state__in=states))

    rows = (
        Assignment.objects.filter(rater__in=[rater.pk for rater in raters])
        .order_by()
        .values_list("rater", "item__block")
        .annotate(
            done=of(*FINISHED_STATES),
            open=of(*OPEN_STATES),
            skipped=of(AssignmentState.SKIPPED),
            lapsed=of(AssignmentState.LAPSED),
            flagged=Count("pk", Q(is_flagged=True)),
            seen=Max("seen_at"),
        )
    )
    counts = _Counts()
    for rater, block, done, is_open, skipped, lapsed, flagged, seen in rows:
        counts.of_blocks[rater, block] = Tally(0, done, is_open, skipped, lapsed, flagged)
        known = counts.seen_at.get(rater)
        counts.seen_at[rater] = max(filter(None, (known, seen)), default=None)
    return counts


def _imported(raters: Sequence[int]) -> dict[tuple[int, int], int]:
    """(rater, block) -> items with a rating of theirs. The reverse relation is that of annotation.Rating."""
    rows = (
        Rater.objects.filter(pk__in=raters, ratings__isnull=False)
        .order_by()
        .values_list("pk", "ratings__item__block")
        .annotate(n=Count("ratings__item", distinct=True))
    )
    return {(rater, block): n for rater, block, n in rows}


def _made_here(raters: Sequence[int]) -> set[int]:
    """Those that a model or a rule of this site stands behind. The reverse relations are those of the app llm."""
    behind = Q(model_rater__isnull=False) | Q(baseline__isnull=False)
    return set(Rater.objects.filter(behind, pk__in=raters).order_by().values_list("pk", flat=True))


def _exclusions(raters: Sequence[Rater]) -> dict[int, tuple[int, int]]:
    """rater -> (exclusions of the whole rater, of single items), of those in force."""
    rows = Exclusion.objects.in_force().filter(rater__in=[rater.pk for rater in raters]).order_by().values_list("rater")
    counts = rows.annotate(whole=Count("pk", Q(item=None)), items=Count("pk", Q(item__isnull=False)))
    return {rater: (whole, items) for rater, whole, items in counts}
