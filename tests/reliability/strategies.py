"""Random tables: several blocks and frameworks, every kind of rater, repeats, half points, nominal scales."""

import numpy as np
from hypothesis import strategies as st

from apps.measures.scale import Level, Scale
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey

RATERS = tuple(
    RaterKey(name, kind, aggregate)
    for name, kind, aggregate in [
        ("expert1", Kind.EXPERT, False),
        ("expert2", Kind.EXPERT, False),
        ("expert3", Kind.EXPERT, False),
        ("experts-imported", Kind.EXPERT, True),
        ("gpt", Kind.LLM, False),
        ("claude", Kind.LLM, False),
        ("crowd001", Kind.CROWD, False),
        ("crowd002", Kind.CROWD, False),
        ("crowd003", Kind.CROWD, False),
        ("crowd", Kind.CROWD, True),
        ("self1", Kind.SELF, False),
        ("gold", Kind.REFERENCE, False),
        ("majority", Kind.BASELINE, False),
    ]
)
SCALES = (
    Scale((1.0, 2.0, 3.0, 4.0, 5.0)),
    Scale((0.0, 1.0, 2.0)),
    Scale((-1.0, 0.0, 0.5, 2.0)),
    Scale((1.0, 2.0, 3.0), Level.NOMINAL),
)


def _values(draw: st.DrawFn, scale: Scale, n_items: int, raters: tuple[RaterKey, ...]) -> np.ndarray:
    between = (scale.minimum + scale.maximum) / 3
    columns = [
        draw(
            st.lists(
                st.sampled_from([np.nan, *scale.points, *([between, -0.0] if rater.is_aggregate else [])]),
                min_size=n_items,
                max_size=n_items,
            )
        )
        for rater in raters
    ]
    values = np.array(columns, dtype=np.float64).T.reshape(n_items, len(raters))
    return np.where(values < scale.minimum, scale.minimum, values)


@st.composite
def studies(draw: st.DrawFn, *, max_items: int = 6) -> list[RatingTable]:
    """Tables of a study in its order: those of one block share items and raters."""
    tables = []
    for block in draw(st.lists(st.sampled_from(["first", "second"]), min_size=1, max_size=2, unique=True)):
        raters = tuple(draw(st.lists(st.sampled_from(RATERS), min_size=1, max_size=5, unique=True)))
        n_items = draw(st.integers(1, max_items))
        items = [f"i{number}-ü" for number in range(n_items)]
        for framework in draw(st.lists(st.sampled_from(["epitome", "warmth"]), min_size=1, max_size=2, unique=True)):
            for dimension in range(draw(st.integers(1, 2))):
                scale = draw(st.sampled_from(SCALES))
                values = _values(draw, scale, n_items, raters)
                repeats = _values(draw, scale, n_items, raters) if draw(st.booleans()) else None
                key = TableKey(block, framework, f"scale_{dimension}")
                tables.append(RatingTable.of(key, scale, items, raters, values, repeats))
    return tables


@st.composite
def files(draw: st.DrawFn) -> list[RatingTable]:
    """Tables of a file of ratings: no blocks, raters without a kind, each dimension with items of its own."""
    tables = []
    for dimension in draw(st.lists(st.sampled_from(["", "empathy", "fluency"]), min_size=1, max_size=3, unique=True)):
        names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True))
        raters = tuple(RaterKey(name, None, name == "f") for name in names)
        items = draw(st.lists(st.text(max_size=5), min_size=1, max_size=5, unique=True))
        scale = draw(st.sampled_from(SCALES))
        values = _values(draw, scale, len(items), raters)
        tables.append(RatingTable.of(TableKey("", "", dimension), scale, items, raters, values))
    return tables
