"""Giving items to raters ahead of time, by the block's plan."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Max

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.studies.allocation import order_for_rater, plan_overlap
from apps.studies.models import Assignment, Block, ItemRole, Rater
from apps.studies.services.design import DesignError

ROWS_IN_ONE_INSERT = 5_000


@transaction.atomic
def assign_items(*, block: Block, raters: Sequence[Rater], actor: User | None = None) -> int:
    """Writes the assignments of a block for these raters; the number written.

    Main items go out by the block's overlap (empty: every item to every rater), all others to every rater. A rater's
    assignments of this block come after those of earlier blocks, in the rater's own order.
    Raises DesignError when a rater is of another study or holds items of the block already, or when the block has an
    overlap and was dealt out before (dealing again would give items more raters than asked for);
    AllocationError when there are fewer raters than the overlap.
    """
    # Two plans at once would each believe to be the first.
    block = Block.objects.select_for_update(of=("self",)).select_related("study").get(pk=block.pk)
    _check_raters(block, raters)
    items = {
        f"{external_id}/{role}": (pk, role)
        for pk, role, external_id in block.items.values_list("pk", "role", "conversation__external_id")
    }
    main = [key for key, (_, role) in items.items() if role == ItemRole.MAIN]
    others = [key for key, (_, role) in items.items() if role != ItemRole.MAIN]
    seed = block.study.seed
    plan = plan_overlap(main, [rater.name for rater in raters], block.overlap, seed)
    last = dict(
        Assignment.objects.filter(rater__in=raters).values_list("rater").annotate(Max("position")).order_by("rater")
    )
    rows = [
        Assignment(rater=rater, item_id=items[key][0], position=position)
        for rater in raters
        for position, key in enumerate(
            order_for_rater([*plan[rater.name], *others], rater.name, seed), start=last.get(rater.pk, -1) + 1
        )
    ]
    Assignment.objects.bulk_create(rows, batch_size=ROWS_IN_ONE_INSERT)
    AuditEntry.objects.create(
        actor=actor,
        action="block.assign",
        subject=f"{block.study.slug}/{block.slug}",
        details={"raters": [rater.name for rater in raters], "assignments": len(rows), "seed": seed},
    )
    return len(rows)


def _check_raters(block: Block, raters: Sequence[Rater]) -> None:
    for rater in raters:
        if rater.study_id != block.study_id:
            raise DesignError(f"{rater} is not a rater of {block.study.slug}")
    dealt = Assignment.objects.filter(item__block=block)
    if block.overlap is not None and dealt.exists():
        raise DesignError(f"the items of {block.slug} were given out already")
    holder = dealt.filter(rater__in=raters).select_related("rater").first()
    if holder is not None:
        raise DesignError(f"{holder.rater} has items of {block.slug} already")
