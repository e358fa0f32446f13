"""The items whose ratings somebody may see: in a list, and one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext

from apps.annotation.models import Rating
from apps.studies.models import Item
from apps.studies.services.blindness import Sight


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item under the name that its reader may know, with how many finished ratings by how many raters."""

    item: Item
    name: str
    n_raters: int
    n_ratings: int


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """Where an item stands among those its reader may see. `number` and `total` are None for a rater: what they have
    not handed in yet leaves gaps."""

    name: str
    number: int | None
    total: int | None
    previous: tuple[int, str] | None
    next: tuple[int, str] | None


def items_in_sight(*, sight: Sight, block: str = "") -> QuerySet[Item]:
    """In their order, of the block of that slug if one is named, each with its block and conversation."""
    items = sight.items().select_related("block", "conversation")
    if not sight.is_whole:
        return items.annotate(own_position=F("assignments__position"))
    return items.filter(block__slug=block) if block else items


def name_of(*, sight: Sight, item: Item) -> str:
    """The conversation's title or id; for a rater, whom these may tell too much, the number on their start page."""
    if sight.is_whole:
        return str(item.conversation)
    return gettext("Conversation %(number)d") % {"number": item.own_position + 1}  # type: ignore[attr-defined]


def rows_of(*, sight: Sight, items: Sequence[Item]) -> list[ItemRow]:
    """A row for each of the items, of `items_in_sight`, in their order. One query, however many there are."""
    ratings = Rating.objects.finished().filter(item__in=[item.pk for item in items], rater__in=sight.raters())
    counts = {
        item: (n_raters, n_ratings)
        for item, n_raters, n_ratings in ratings.order_by()
        .values_list("item")
        .annotate(Count("rater", distinct=True), Count("pk"))
    }
    return [ItemRow(item, name_of(sight=sight, item=item), *counts.get(item.pk, (0, 0))) for item in items]


def place_of(*, sight: Sight, item: Item, block: str = "") -> ItemPlace:
    """Where an item of `items_in_sight` stands there, and its neighbours, with pk and name."""
    items = items_in_sight(sight=sight, block=block)
    if sight.is_whole:
        here = Q(block__position=item.block.position)
        earlier = Q(block__position__lt=item.block.position) | here & Q(position__lt=item.position)
        later = Q(block__position__gt=item.block.position) | here & Q(position__gt=item.position)
    else:
        position = item.own_position  # type: ignore[attr-defined]
        earlier, later = Q(own_position__lt=position), Q(own_position__gt=position)
    before = items.filter(earlier)
    previous, following = before.last(), items.filter(later).first()
    return ItemPlace(
        name=name_of(sight=sight, item=item),
        number=before.count() + 1 if sight.is_whole else None,
        total=items.count() if sight.is_whole else None,
        previous=(previous.pk, name_of(sight=sight, item=previous)) if previous else None,
        next=(following.pk, name_of(sight=sight, item=following)) if following else None,
    )
