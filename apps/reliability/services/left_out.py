"""Which items and ratings have no part in an analysis, and why. Few queries, whatever the size."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Exists, OuterRef

from apps.annotation.models import Rating
from apps.reliability.selection import DataSelection
from apps.reliability.services.loading import taken_conversations
from apps.studies.models import Exclusion, Item, ItemRole, Study

NOT_CHOSEN = "its conversation is not among those chosen"
NO_MAIN_ITEM = "repeats an item that takes no part"
AS_A_REPEAT = "its ratings are second ratings of the main item"
OTHER_ROLES = {
    ItemRole.PRACTICE: "practice",
    ItemRole.GOLD: "its answer was known beforehand",
    ItemRole.ATTENTION: "checks attention",
}
ANALYSED_ROLES = (ItemRole.MAIN, ItemRole.REPEAT)


def items_beside_the_tables(*, study: Study, selection: DataSelection) -> list[list[Any]]:
    """[block, item, role, whether its ratings were used, reason] of each item that is no row of a table."""
    taken = taken_conversations(study, selection) if selection.metadata else None
    found = Item.objects.filter(block__study=study)
    if taken is None:
        found = found.exclude(role=ItemRole.MAIN)
    rows = found.order_by("block__position", "role", "conversation__external_id").values_list(
        "block__slug", "conversation__external_id", "role", "conversation_id"
    )
    main = _main_items(study) if any(row[2] == ItemRole.REPEAT for row in rows) else set()
    beside = []
    for block, item, role, conversation in rows:
        if role in OTHER_ROLES:
            beside.append([block, item, role, False, OTHER_ROLES[ItemRole(role)]])
        elif taken is not None and conversation not in taken:
            beside.append([block, item, role, False, NOT_CHOSEN])
        elif role == ItemRole.REPEAT:
            used = (block, conversation) in main
            beside.append([block, item, role, used, AS_A_REPEAT if used else NO_MAIN_ITEM])
    return beside


def _main_items(study: Study) -> set[tuple[str, int]]:
    main = Item.objects.filter(block__study=study, role=ItemRole.MAIN)
    return set(main.values_list("block__slug", "conversation_id"))


def ratings_left_out(*, study: Study, selection: DataSelection) -> tuple[int, list[list[Any]]]:
    """How many ratings are finished, and [reason, how many] of those that have no part whatever items are chosen."""
    finished = Rating.objects.finished().filter(rater__study=study).order_by()
    groups = list(finished.values_list("item__role", "rater_id", "cannot_tell").annotate(Count("pk")))
    excluded = set() if selection.with_excluded else _excluded_raters(study)
    analysed = [group for group in groups if group[0] in ANALYSED_ROLES]
    in_part = [group for group in analysed if group[1] not in excluded]
    reasons = {
        "on practice, gold and attention items": _total(groups) - _total(analysed),
        "of raters who are excluded": _total(analysed) - _total(in_part),
        "cannot tell": _total(group for group in in_part if group[2]),
        "single ratings that are excluded": 0 if selection.with_excluded else _excluded_ratings(study, excluded),
    }
    return _total(groups), [[reason, count] for reason, count in reasons.items() if count]


def _total(groups: Iterable[tuple[Any, ...]]) -> int:
    return sum(group[-1] for group in groups)


def _excluded_raters(study: Study) -> set[int]:
    found = Exclusion.objects.in_force().filter(rater__study=study, item=None)
    return set(found.values_list("rater_id", flat=True))


def _excluded_ratings(study: Study, excluded: set[int]) -> int:
    """Of single items, by raters who take part otherwise; those of "cannot tell" are counted as such."""
    single = Exclusion.objects.in_force().filter(rater__study=study, item__isnull=False)
    if not single.exists():
        return 0
    named = Exists(single.filter(rater=OuterRef("rater"), item=OuterRef("item")))
    ratings = Rating.objects.finished().filter(
        named, rater__study=study, cannot_tell=False, item__role__in=ANALYSED_ROLES
    )
    return ratings.exclude(rater_id__in=excluded).count()
