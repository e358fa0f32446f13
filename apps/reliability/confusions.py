"""Two raters on one scale, point by point: which values one gives where the other gives which."""

from dataclasses import dataclass

import numpy as np

from apps.measures.results import Reason, Result, undefined
from apps.reliability.matrix import RatingTable, Side


@dataclass(frozen=True, slots=True)
class Confusion:
    """points: q, ascending. counts: (q, q), rows the points that `a` gave, columns those of `b`; empty where `reason`
    says why there is no matrix. exact: share of items with the same point; within_one: at most one point apart."""

    a: str
    b: str
    points: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    n_items: int
    exact: Result
    within_one: Result
    reason: str = ""

    def row_shares(self) -> tuple[tuple[float, ...] | None, ...]:
        """(q, q): of the items to which `a` gave a point, the share of each point of `b`; None where `a` gave none."""
        return tuple(tuple(count / sum(row) for count in row) if sum(row) else None for row in self.counts)


def confusion_of(table: RatingTable, a: str, b: str) -> Confusion:
    """The matrix of two raters of the table, by name, over the items both rated.

    Raises KeyError for a name that is no rater of the table. A rater with values between points has no matrix: such
    values belong to no point.
    """
    columns = {rater.name: column for column, rater in enumerate(table.raters)}
    return confusion_of_sides(table, Side(a, (columns[a],)), Side(b, (columns[b],)))


def confusion_of_sides(table: RatingTable, one: Side, other: Side) -> Confusion:
    """The same of two sides, each a rater or the value of several; a median may lie between points, too."""
    a, b = one.name, other.name
    first, second = table.column(one), table.column(other)
    shared = ~np.isnan(first) & ~np.isnan(second)
    first, second = first[shared], second[shared]
    n_items = int(shared.sum())
    if not n_items:
        return _none(table, a, b, Reason.NO_SHARED_ITEMS, 0)
    if not table.scale.on_points(np.concatenate([first, second])):
        return _none(table, a, b, Reason.BETWEEN_POINTS, n_items)
    rows, places = table.scale.index_of(first), table.scale.index_of(second)
    counts = np.zeros((table.scale.q, table.scale.q), dtype=np.int64)
    np.add.at(counts, (rows, places), 1)
    near = np.abs(rows - places) <= 1
    return Confusion(
        a=a,
        b=b,
        points=table.scale.points,
        counts=tuple(tuple(int(count) for count in row) for row in counts),
        n_items=n_items,
        exact=Result(float((rows == places).mean()), None, n_items, 2, 2 * n_items),
        within_one=_ordered(table, float(near.mean()), n_items),
    )


def _ordered(table: RatingTable, value: float, n_items: int) -> Result:
    if table.scale.is_nominal:
        return undefined(Reason.NOT_FOR_NOMINAL, n_items=n_items, n_raters=2, n_ratings=2 * n_items)
    return Result(value, None, n_items, 2, 2 * n_items)


def _none(table: RatingTable, a: str, b: str, reason: Reason, n_items: int) -> Confusion:
    blank = undefined(reason, n_items=n_items, n_raters=2, n_ratings=2 * n_items)
    return Confusion(a, b, table.scale.points, (), n_items, blank, blank, reason.value)
