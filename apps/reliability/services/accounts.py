"""What took part in an analysis and what did not, with the reason. A few queries beside those that read the ratings."""

from collections.abc import Iterator, Sequence

import numpy as np

from apps.annotation.models import Rating, RatingEvent
from apps.measures.arrays import BoolArray
from apps.measures.scale import TOLERANCE
from apps.reliability.accounting import (
    LISTED,
    Account,
    BlockAccount,
    ItemsAccount,
    ItemUse,
    RaterAccount,
    RaterUse,
    RatingCounts,
    SingleExclusion,
)
from apps.reliability.services.loading import StudyTables
from apps.studies.models import Exclusion, Item, ItemRole, Rater, RaterKind, Study

OTHER_ROLES = {
    ItemRole.PRACTICE: ItemUse.PRACTICE,
    ItemRole.GOLD: ItemUse.GOLD,
    ItemRole.ATTENTION: ItemUse.ATTENTION,
}


def account_of(*, study: Study, tables: StudyTables) -> Account:
    """The account of tables that were read whole (without a block, framework or dimension to narrow them)."""
    exclusions = list(
        Exclusion.objects.in_force()
        .filter(rater__study=study)
        .select_related("rater", "item__block", "item__conversation")
        .order_by("rater__name", "item__block__position", "item__conversation__external_id", "pk")
    )
    single = [one for one in exclusions if one.item is not None]
    return Account(
        raters=tuple(_raters(study, tables, exclusions)),
        blocks=tuple(_blocks(study, tables)),
        single=tuple(map(_single, single[:LISTED])),
        n_single=len(single),
        ratings=_counts(Rating.objects.filter(rater__study=study).count(), tables),
    )


# --- Raters -------------------------------------------------------------------------------------------------------


def _raters(study: Study, tables: StudyTables, exclusions: Sequence[Exclusion]) -> Iterator[RaterAccount]:
    excluded = {one.rater_id: one for one in exclusions if one.item is None}
    places = {rater.pk: place for place, rater in enumerate(tables.raters)}
    present = {place for _block_id, place in tables.present}
    origins = _origins(study)
    n_values = np.bincount(tables.ratings.raters[_given(tables)], minlength=len(tables.raters))
    for rater in sorted(study.raters.all(), key=lambda one: one.name):
        place = places.get(rater.pk)
        is_used = place is not None and place in present
        given = int(n_values[place]) if place is not None else None
        yield _rater(rater, excluded.get(rater.pk), given, is_used, origins.get(rater.pk, ()))


def _origins(study: Study) -> dict[int, tuple[str, ...]]:
    """By rater: by which ways their ratings came. What one was created as does not tell: ratings of whoever rates on
    the screen may be imported, too."""
    events = RatingEvent.objects.filter(rating__rater__study=study).order_by()
    found: dict[int, tuple[str, ...]] = {}
    for rater, origin in sorted(events.values_list("rating__rater_id", "origin").distinct()):
        found[rater] = (*found.get(rater, ()), origin)
    return found


def _rater(
    rater: Rater, exclusion: Exclusion | None, n_values: int | None, is_used: bool, origins: tuple[str, ...]
) -> RaterAccount:
    """`n_values` is None for who was not read at all."""
    use = RaterUse.USED if is_used else RaterUse.NOTHING_FINISHED if n_values is not None else RaterUse.EXCLUDED
    return RaterAccount(
        name=rater.name,
        kind=rater.kind,
        use=use,
        n_values=n_values or 0,
        is_aggregate=rater.is_aggregate,
        is_simulated=rater.is_simulated,
        has_left=rater.left_at is not None,
        reason=exclusion.reason if exclusion else "",
        explanation=exclusion.explanation if exclusion else "",
        origins=origins,
        source="" if rater.kind == RaterKind.CROWD and not rater.is_aggregate else rater.source,
    )


def _single(exclusion: Exclusion) -> SingleExclusion:
    item = exclusion.item
    if item is None:
        raise ValueError("the exclusion is of a rater, not of single ratings")
    return SingleExclusion(
        rater=exclusion.rater.name,
        block=item.block.slug,
        item=item.conversation.external_id,
        reason=exclusion.reason,
        explanation=exclusion.explanation,
    )


# --- Items --------------------------------------------------------------------------------------------------------


def _blocks(study: Study, tables: StudyTables) -> Iterator[BlockAccount]:
    others = _other_items(study, tables)
    for block_id, slug in study.blocks.order_by("position").values_list("pk", "slug"):
        keys = tables.items.keys.get(block_id, ())
        rated = _rated(tables, block_id, len(keys))
        uses = {
            **others.get(block_id, {}),
            ItemUse.NOT_CHOSEN: sorted(tables.items.not_chosen.get(block_id, [])),
            ItemUse.NOBODY: [key for key, is_rated in zip(keys, rated, strict=True) if not is_rated],
        }
        beside = tuple(ItemsAccount.of(use, uses[use]) for use in ItemUse if uses.get(use))
        yield BlockAccount(slug, len(keys), int(rated.sum()), beside)


def _other_items(study: Study, tables: StudyTables) -> dict[int, dict[ItemUse, list[str]]]:
    """By block the items that are no main ones, by name."""
    found: dict[int, dict[ItemUse, list[str]]] = {}
    taken = set(tables.items.ids[tables.items.is_repeat].tolist())
    rows = Item.objects.filter(block__study=study).exclude(role=ItemRole.MAIN).order_by("conversation__external_id")
    for pk, block_id, role, name in rows.values_list("pk", "block_id", "role", "conversation__external_id"):
        lone = ItemUse.REPEAT if pk in taken else ItemUse.LONE_REPEAT
        use = OTHER_ROLES.get(ItemRole(role), lone)
        found.setdefault(block_id, {}).setdefault(use, []).append(name)
    return found


def _rated(tables: StudyTables, block_id: int, n_rows: int) -> BoolArray:
    """Which rows of a block's tables have a value on any scale: (n_rows,)."""
    rated = np.zeros(n_rows, dtype=bool)
    items = tables.ratings.items[_given(tables) & ~tables.items.is_repeat[tables.ratings.items]]
    rated[tables.items.rows[items[tables.items.block_ids[items] == block_id]]] = True
    return rated


# --- Ratings ------------------------------------------------------------------------------------------------------


def _counts(stored: int, tables: StudyTables) -> RatingCounts:
    given, tally = _given(tables), tables.tally
    is_repeat = tables.items.is_repeat[tables.ratings.items]
    return RatingCounts(
        stored=stored,
        drafts=stored - tally.read,
        finished=tally.read,
        used=int((given & ~is_repeat).sum()),
        second=int((given & is_repeat).sum()),
        cannot_tell=int((~given).sum()),
        between_points=_between_points(tables),
        of_excluded_raters=tally.of_excluded_raters,
        of_other_items=tally.of_other_items,
        excluded_singly=tally.excluded_singly,
    )


def _between_points(tables: StudyTables) -> int:
    total = 0
    for slot, chosen in tables.parts:
        places = slot.scale.position_of(tables.ratings.values[chosen])
        total += int((np.abs(places - np.rint(places)) > TOLERANCE).sum())
    return total


def _given(tables: StudyTables) -> BoolArray:
    """Which ratings have a value, rather than "cannot tell"."""
    return ~np.isnan(tables.ratings.values)
