"""Ratings of the recurring cast, written as a person would note them."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.frameworks.models import Dimension
from apps.measures.scale import Level, Scale
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey
from apps.studies.models import ItemRole, Study

FIVE_POINTS = Scale((1.0, 2.0, 3.0, 4.0, 5.0))
KEY = TableKey("main", "warmth", "empathy")


@pytest.fixture
def rate() -> Callable[..., None]:
    """`rate(study, {"expert1": [1, None, "?"]})`: one value per item in order; None was not rated, "?" cannot tell."""

    def rated(
        study: Study,
        values: Mapping[str, list],
        *,
        dimension: str = "scale_1",
        block: str = "main",
        role: str = ItemRole.MAIN,
    ) -> None:
        items = list(study.blocks.get(slug=block).items.filter(role=role).order_by("position"))
        scale = Dimension.objects.get(slug=dimension, framework__blocks__slug=block, framework__blocks__study=study)
        entries = [
            RatingEntry(
                item.pk,
                study.raters.get(name=name).pk,
                scale.pk,
                None if value == "?" else float(value),
                cannot_tell=value == "?",
            )
            for name, given in values.items()
            for item, value in zip(items, given, strict=True)
            if value is not None
        ]
        record_ratings(entries=entries, origin=Origin.IMPORT)

    return rated


def make_table(
    columns: Mapping[str, list],
    *,
    kinds: Mapping[str, Kind] | None = None,
    aggregates: tuple[str, ...] = (),
    points: tuple[float, ...] = FIVE_POINTS.points,
    level: Level = Level.ORDINAL,
    key: TableKey = KEY,
    repeats: Mapping[str, list] | None = None,
) -> RatingTable:
    """A table from columns by rater; None is missing; everybody is an expert unless `kinds` says otherwise."""
    raters = [RaterKey(name, (kinds or {}).get(name, Kind.EXPERT), name in aggregates) for name in columns]
    values = np.array(list(columns.values()), dtype=np.float64).T
    second = None
    if repeats is not None:
        empty = [None] * len(values)
        second = np.array([repeats.get(name, empty) for name in columns], dtype=np.float64).T
    items = [f"i{number:03d}" for number in range(len(values))]
    return RatingTable.of(key, Scale(points, level), items, raters, values, second)
