"""What took part in an analysis and what did not, with the reason: raters and items by name, ratings by number."""

from typing import Any

from django.db.models import Count

from apps.annotation.models import Rating
from apps.reliability.selection import DataSelection
from apps.reliability.services.labelling import labels_of
from apps.reliability.services.left_out import items_beside_the_tables, ratings_left_out
from apps.studies.models import Exclusion, Item, Study


def account_of(*, study: Study, selection: DataSelection) -> dict[str, Any]:
    """`raters`: [name, kind] of everybody; `raters_left_out`: [name, kind, reason] of those who are excluded.
    `items`: by block and role how many there are; `items_beside`: those that are no row of a table (left_out.py).
    `ratings`: how many are stored, how many of them are finished, and how many of these have no part, by reason.

    Few queries, whatever the size.
    """
    ratings = Rating.objects.filter(rater__study=study)
    excluded = Exclusion.objects.in_force().filter(rater__study=study).select_related("rater").order_by("rater__name")
    left_out = [] if selection.with_excluded else [_words(one) for one in excluded if one.item_id is None]
    roles = Item.objects.filter(block__study=study).order_by("block__position", "role")
    finished, without_part = ratings_left_out(study=study, selection=selection)
    return {
        "labels": labels_of(study).as_dict(),
        "raters": [list(row) for row in study.raters.order_by("name").values_list("name", "kind")],
        "raters_left_out": left_out,
        "items": [list(row) for row in roles.values_list("block__slug", "role").annotate(Count("pk"))],
        "items_beside": items_beside_the_tables(study=study, selection=selection),
        "ratings": {
            "stored": ratings.count(),
            "finished": finished,
            "left_out": without_part,
        },
    }


def _words(exclusion: Exclusion) -> list[str]:
    reason = f"{exclusion.reason}: {exclusion.explanation}" if exclusion.explanation else str(exclusion.reason)
    return [exclusion.rater.name, exclusion.rater.kind, reason]
