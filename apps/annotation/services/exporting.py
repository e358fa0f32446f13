"""The ratings of a study, one after the other, under the raters' pseudonyms."""

from collections.abc import Iterator
from itertools import islice

from apps.annotation.models import Evidence, Rating
from apps.annotation.rating_export import ExportedRating, Passage
from apps.studies.models import Exclusion, Study

RATINGS_AT_ONCE = 2_000

Reasons = dict[tuple[int, int | None], str]
"""(rater, item or None for every item) -> why their ratings are left out of statistics."""

FIELDS = (
    "item__block__slug",
    "dimension__framework__slug",
    "dimension__framework__version",
    "dimension__slug",
    "item__conversation__external_id",
    "item__role",
    "rater__name",
    "rater__kind",
    "rater__is_aggregate",
    "rater__is_simulated",
    "value",
    "cannot_tell",
    "comment",
    "created_at",
    "updated_at",
)
ORDER = (
    "item__block__position",
    "item__position",
    "rater__name",
    "dimension__framework__slug",
    "dimension__position",
    "pk",
)


def exported_ratings(*, study: Study, block: str = "") -> Iterator[ExportedRating]:
    """Every finished rating of the study, or of one block: also of raters who left, and excluded ones with the reason.

    Read as a stream, ordered by block, item, rater and scale; memory does not grow with the number of ratings.
    """
    ratings = Rating.objects.finished().filter(rater__study=study)
    if block:
        ratings = ratings.filter(item__block__slug=block)
    reasons = _reasons(study)
    rows = ratings.order_by(*ORDER).values_list("pk", "rater_id", "item_id", *FIELDS)
    stream = rows.iterator(chunk_size=RATINGS_AT_ONCE)
    while chunk := list(islice(stream, RATINGS_AT_ONCE)):
        evidence = _evidence([row[0] for row in chunk])
        for pk, rater_id, item_id, *columns in chunk:
            keys = ((rater_id, None), (rater_id, item_id))
            excluded = "; ".join(reasons[key] for key in keys if key in reasons)
            yield ExportedRating._make([*columns, evidence.get(pk, []), excluded])


def _reasons(study: Study) -> Reasons:
    reasons: Reasons = {}
    for exclusion in Exclusion.objects.in_force().filter(rater__study=study):
        words = f"{exclusion.reason}: {exclusion.explanation}" if exclusion.explanation else str(exclusion.reason)
        reasons[exclusion.rater_id, exclusion.item_id] = words
    return reasons


def _evidence(rating_ids: list[int]) -> dict[int, list[Passage]]:
    passages: dict[int, list[Passage]] = {}
    rows = Evidence.objects.filter(rating__in=rating_ids).order_by("pk")
    for rating_id, quote, turn, start, end in rows.values_list("rating_id", "quote", "turn__index", "start", "end"):
        passages.setdefault(rating_id, []).append(Passage(quote=quote, turn=turn, start=start, end=end))
    return passages
