"""How many raters each item has, block by block and kind by kind. Counts only, never a rating's value."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Count, Q

from apps.studies.models import AssignmentState, Block, Exclusion, Item, Rater, RaterKind, Study
from apps.studies.services.slots import OPEN_STATES, takes_place


@dataclass(slots=True)
class GroupCoverage:
    """The items of one block as the raters of one kind have rated them.

    overlap: raters asked for each item; None: every rater of the kind rates every item.
    n_present: raters of the kind who rate here on the site, have not left, and are neither excluded nor deactivated.
    items_by_raters: number of raters who handed an item in -> number of items. Sums to `n_items`.
    complete: keys of the items that have all that were asked for.
    n_in_hand: items that raters have taken and not handed in, counted once for each rater.
    is_made_here, is_imported: of raters who are nobody on this site, whether there are models that were asked (or
    baselines computed) here, and others.
    """

    block: Block
    kind: RaterKind
    overlap: int | None
    n_items: int
    n_present: int = 0
    n_in_hand: int = 0
    items_by_raters: Counter[int] = field(default_factory=Counter)
    complete: set[int] = field(default_factory=set)
    is_made_here: bool = False
    is_imported: bool = False

    @property
    def n_complete(self) -> int:
        return len(self.complete)

    @property
    def n_asked(self) -> int:
        """Raters that each item is to have."""
        return self.n_present if self.overlap is None else self.overlap

    @property
    def n_lacking(self) -> int:
        return self.n_items - self.n_complete if self.n_asked else 0

    @property
    def distribution(self) -> list[tuple[int, int]]:
        """(raters, items that have so many), from none on."""
        return sorted((raters, items) for raters, items in self.items_by_raters.items() if items)


def coverage_of(*, study: Study) -> list[GroupCoverage]:
    """What the raters of the site have handed in, for every group of every block. Six queries.

    Work that lapsed, was skipped, is surplus, or is of an excluded rater whose places go to others, does not count.
    """
    groups = {
        (block.pk, group.kind): GroupCoverage(block, RaterKind(group.kind), group.overlap, n_items)
        for block, n_items in _blocks(study)
        for group in block.groups.all()
    }
    present = _present_raters(study)
    for group in groups.values():
        group.n_present = sum(kind == group.kind for kind in present.values())
    rows = takes_place(study).order_by().values_list("item__block", "rater__kind")
    for block, kind, n in rows.filter(state__in=OPEN_STATES).annotate(n=Count("pk")):
        if (block, kind) in groups:
            groups[block, kind].n_in_hand = n
    handed_in = rows.filter(state=AssignmentState.SUBMITTED).values_list("item__block", "rater__kind", "item")
    counts = handed_in.annotate(n=Count("pk"), present=Count("pk", Q(rater__in=list(present))))
    for block, kind, item, n, n_present in counts.iterator():
        if (block, kind) in groups:
            group = groups[block, kind]
            group.items_by_raters[n] += 1
            if (n_present if group.overlap is None else n) >= group.n_asked:
                group.complete.add(item)
    _count_untouched(groups.values())
    return list(groups.values())


def imported_coverage_of(*, study: Study) -> list[GroupCoverage]:
    """The same for raters who are nobody on this site: imported, simulated, models. Two queries."""
    blocks = {block.pk: (block, n_items) for block, n_items in _blocks(study)}
    # The reverse relations are those of the app llm.
    behind = Q(ratings__rater__model_rater__isnull=False) | Q(ratings__rater__baseline__isnull=False)
    rows = (
        Item.objects.filter(block__study=study, ratings__isnull=False, ratings__rater__user=None)
        .order_by()
        .values_list("block", "ratings__rater__kind", "pk")
        # The reverse relation is that of annotation.Rating: raters are counted, no value is read.
        .annotate(
            n=Count("ratings__rater", distinct=True), n_here=Count("ratings__rater", filter=behind, distinct=True)
        )
    )
    found: dict[tuple[int, str], GroupCoverage] = {}
    for block_id, kind, _item, n, n_here in rows.iterator():
        block, n_items = blocks[block_id]
        group = found.setdefault((block_id, kind), GroupCoverage(block, RaterKind(kind), None, n_items))
        group.items_by_raters[n] += 1
        group.is_made_here |= n_here > 0
        group.is_imported |= n_here < n
    _count_untouched(found.values())
    return [group for _, group in sorted(found.items(), key=lambda pair: (pair[1].block.position, pair[0][1]))]


def _blocks(study: Study) -> list[tuple[Block, int]]:
    counts = dict(Item.objects.filter(block__study=study).order_by().values_list("block").annotate(Count("pk")))
    return [(block, counts.get(block.pk, 0)) for block in study.blocks.prefetch_related("groups")]


def _present_raters(study: Study) -> dict[int, str]:
    """Raters who are expected to go on: key -> kind."""
    excluded = Exclusion.objects.in_force().filter(rater__study=study, item=None).values("rater")
    raters = Rater.objects.filter(study=study, user__is_active=True, left_at=None).exclude(pk__in=excluded)
    return dict(raters.order_by().values_list("pk", "kind"))


def _count_untouched(groups: Iterable[GroupCoverage]) -> None:
    for group in groups:
        group.items_by_raters[0] += group.n_items - sum(group.items_by_raters.values())
