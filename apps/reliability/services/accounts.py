"""What took part in an analysis and what did not, with the reason: raters by name, items and ratings by number."""

from typing import Any

from django.db.models import Count

from apps.annotation.models import Rating
from apps.reliability.selection import DataSelection
from apps.reliability.services.labelling import labels_of
from apps.studies.models import Exclusion, Item, Study


def account_of(*, study: Study, selection: DataSelection) -> dict[str, Any]:
    """`raters_left_out`: [name, kind, reason]; `items`: by block and role how many there are;
    `ratings`: how many are stored, and how many of them are finished. Few queries, whatever the size."""
    ratings = Rating.objects.filter(rater__study=study)
    excluded = Exclusion.objects.in_force().filter(rater__study=study).select_related("rater").order_by("rater__name")
    left_out = [] if selection.with_excluded else [_words(one) for one in excluded if one.item_id is None]
    roles = Item.objects.filter(block__study=study).order_by("block__position", "role")
    return {
        "labels": labels_of(study).as_dict(),
        "raters_left_out": left_out,
        "items": [list(row) for row in roles.values_list("block__slug", "role").annotate(Count("pk"))],
        "ratings": {
            "stored": ratings.count(),
            "finished": Rating.objects.finished().filter(rater__study=study).count(),
        },
    }


def _words(exclusion: Exclusion) -> list[str]:
    reason = f"{exclusion.reason}: {exclusion.explanation}" if exclusion.explanation else str(exclusion.reason)
    return [exclusion.rater.name, exclusion.rater.kind, reason]
