"""A small study with ratings that were computed once, for the pages of agreement."""

from collections.abc import Mapping

from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.frameworks.models import Dimension
from apps.reliability.models import Snapshot
from apps.reliability.selection import DataSelection
from apps.reliability.services.snapshots import take_snapshot
from apps.studies.models import Item, ItemRole, Rater, RaterKind, Study

# By scale: five items, experts who mostly agree, and a model that agrees less.
RATINGS: dict[str, dict[str, list]] = {
    "scale_1": {
        "expert1": [1, 2, 3, 4, 5],
        "expert2": [1, 2, 3, 5, 5],
        "expert3": [1, 1, 3, 4, 4],
        "gpt": [2, 1, 4, 4, 3],
    },
    "scale_2": {
        "expert1": [5, 4, 2, 2, 1],
        "expert2": [4, 4, 2, 1, 1],
        "expert3": [5, 3, 3, 2, 2],
        "gpt": [1, 4, 2, 5, 1],
    },
}


def rate(
    study: Study,
    values: Mapping[str, list],
    *,
    dimension: str = "scale_1",
    block: str = "main",
    role: str = ItemRole.MAIN,
) -> None:
    """`rate(study, {"expert1": [1, None]})`: a value for each item in its order; None was not rated."""
    items = Item.objects.filter(block__study=study, block__slug=block, role=role).order_by("position")
    scale = Dimension.objects.get(slug=dimension, framework__blocks__slug=block, framework__blocks__study=study)
    raters = {rater.name: rater.pk for rater in study.raters.all()}
    entries = [
        RatingEntry(item.pk, raters[name], scale.pk, float(value))
        for name, given in values.items()
        for item, value in zip(items, given, strict=True)
        if value is not None
    ]
    # No file may speak for a rater that Accord computes.
    is_computed = study.raters.computed_here().filter(name__in=values).exists()
    record_ratings(entries=entries, origin=Origin.MODEL if is_computed else Origin.IMPORT)


def add(study: Study, name: str, kind: str = RaterKind.LLM, *, is_aggregate: bool = False) -> Rater:
    return Rater.objects.create(study=study, name=name, kind=kind, is_aggregate=is_aggregate)


def compute(study: Study, selection: DataSelection | None = None) -> Snapshot:
    return take_snapshot(study=study, selection=selection)
