"""The ratings of one scale as a table: items by raters, aligned by key, with the scale's declared points.

Everything the agreement of a study is computed from passes through `RatingTable`. Raters and items are put into one
order when a table is made, whatever order they came in, so that no figure depends on it.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Self

import numpy as np

from apps.measures.aggregates import Aggregate, group_value
from apps.measures.arrays import FloatArray
from apps.measures.scale import Scale

# A group's value needs at least two of its raters on an item (docs/agreement.md).
MIN_RATERS = 2


class Kind(StrEnum):
    """Kinds of raters, the reference side first: of two kinds compared, the earlier one is `a`."""

    REFERENCE = "reference"
    EXPERT = "expert"
    SELF = "self"
    CROWD = "crowd"
    LLM = "llm"
    BASELINE = "baseline"


KIND_ORDER = {kind: position for position, kind in enumerate(Kind)}

GROUP_NAMES = {
    Kind.EXPERT: "experts",
    Kind.CROWD: "crowd",
    Kind.LLM: "llms",
    Kind.SELF: "selves",
    Kind.REFERENCE: "references",
    Kind.BASELINE: "baselines",
}

ALL_RATERS = "all"


class TableKey(NamedTuple):
    """Which scale of which block a table holds, as slugs. Block and framework are empty for a file of ratings."""

    block: str
    framework: str
    dimension: str


@dataclass(frozen=True, slots=True)
class RaterKey:
    """A rater as tables and reports know them. A file of ratings does not tell kinds: there `kind` is None."""

    name: str
    kind: Kind | None = None
    is_aggregate: bool = False

    @property
    def order(self) -> tuple[int, str]:
        return (-1 if self.kind is None else KIND_ORDER[self.kind], self.name)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a rater's column, or a value made of several (`how`).

    `members` are column numbers of the table; a side with `how` None has exactly one. `without` is the column of the
    rater whom a group leaves out because it is compared with them.
    """

    name: str
    members: tuple[int, ...]
    how: Aggregate | None = None
    without: int | None = None


@dataclass(frozen=True, eq=False)
class RatingTable:
    """The ratings of one dimension in one block.

    items: n keys, sorted. raters: m keys in the order of `RaterKey.order`. values: (n, m) float64 in the units of the
    scale, NaN where a rater gave none or could not tell. repeats: (n, m), the second rating of an item that a rater
    saw twice, or None where nothing was repeated. Make one with `of`, which sorts and checks.
    """

    key: TableKey
    scale: Scale
    items: tuple[str, ...]
    raters: tuple[RaterKey, ...]
    values: FloatArray
    repeats: FloatArray | None = None

    @classmethod
    def of(
        cls,
        key: TableKey,
        scale: Scale,
        items: Sequence[str],
        raters: Sequence[RaterKey],
        values: FloatArray,
        repeats: FloatArray | None = None,
    ) -> Self:
        """A table with its items and raters in the canonical order.

        Raises ValueError where a key occurs twice or the shape does not fit, and `measures.scale.OffScale` (also a
        ValueError) for a value outside the scale.
        """
        shape = (len(items), len(raters))
        if values.shape != shape or (repeats is not None and repeats.shape != shape):
            raise ValueError(f"{len(items)} items and {len(raters)} raters need a table of shape {shape}")
        if len(set(items)) != len(items):
            raise ValueError("an item occurs twice")
        if len({rater.name for rater in raters}) != len(raters):
            raise ValueError("a rater's name occurs twice")
        scale.check(values)
        if repeats is not None:
            scale.check(repeats)
        rows = sorted(range(len(items)), key=items.__getitem__)
        columns = sorted(range(len(raters)), key=lambda column: raters[column].order)
        return cls(
            key,
            scale,
            tuple(items[row] for row in rows),
            tuple(raters[column] for column in columns),
            _reordered(values, rows, columns),
            None if repeats is None else _reordered(repeats, rows, columns),
        )

    def column(self, side: Side) -> FloatArray:
        """The side's value for each item, (n,): NaN where there is none.

        A group that leaves out a rater has values only for the items of that rater, the only ones it is needed for:
        a crowd of many hundred workers, each on a few items, would cost too much otherwise.
        """
        if side.how is None:
            return self.values[:, side.members[0]]
        if side.without is None:
            return group_value(self.values[:, list(side.members)], side.how, min_raters=MIN_RATERS)
        needed = ~np.isnan(self.values[:, side.without])
        values = np.full(len(self.items), np.nan)
        values[needed] = group_value(self.values[needed][:, list(side.members)], side.how, min_raters=MIN_RATERS)
        return values


def _reordered(values: FloatArray, rows: list[int], columns: list[int]) -> FloatArray:
    if rows == list(range(len(rows))) and columns == list(range(len(columns))):
        return values
    return values[np.ix_(rows, columns)]


def content_hash(tables: Iterable[str]) -> str:
    """SHA-256 over the hashes of tables: the same data give the same text, in whatever order the tables came."""
    return hashlib.sha256("\n".join(sorted(tables)).encode()).hexdigest()


def table_hash(table: RatingTable) -> str:
    """SHA-256 of what a table says: its key, its scale, its raters, its items and every value."""
    raters = (f"{rater.name}\t{rater.kind or ''}\t{int(rater.is_aggregate)}" for rater in table.raters)
    points = ",".join(repr(point) for point in table.scale.points)
    head = "\n".join(["\t".join(table.key), f"{table.scale.level}\t{points}", *raters, ""])
    digest = hashlib.sha256(head.encode())
    digest.update("\n".join(table.items).encode())
    for values in (table.values, table.repeats):
        if values is not None:
            # One bit pattern for a missing value, and one zero.
            digest.update(np.ascontiguousarray(np.where(np.isnan(values), np.nan, values) + 0.0, dtype="<f8").tobytes())
    return digest.hexdigest()
