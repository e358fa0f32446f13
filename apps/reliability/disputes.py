"""Which items raters disagree on most, on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from apps.measures.aggregates import Aggregate
from apps.measures.arrays import FloatArray
from apps.measures.results import Reason
from apps.reliability.matrix import GROUP_NAMES, MIN_RATERS, Kind, RatingTable, Side

# Sums of thirds differ in the last bits: closer than this, two items are disputed alike.
DECIMALS = 9
# By what a kind's raters are summed up on an item (docs/agreement.md).
HOW = {kind: Aggregate.MEAN if kind is Kind.CROWD else Aggregate.MEDIAN for kind in Kind}


class Measure(StrEnum):
    """How much the ratings of one item differ.

    `mean_difference`: the mean of |x - y| over all pairs of its ratings, in units of the scale (Gini's mean
    difference). On nominal scales the share of pairs that differ. `variance`: the sample variance (n - 1).
    """

    MEAN_DIFFERENCE = "mean_difference"
    VARIANCE = "variance"


@dataclass(frozen=True, slots=True)
class Dispute:
    """One item: its row in the table, how much its ratings differ, and how many ratings that rests on."""

    item: str
    row: int
    value: float
    n_ratings: int


@dataclass(frozen=True, slots=True)
class Gap:
    """One item on which two sides are compared: their values, and b minus a."""

    item: str
    row: int
    a: float
    b: float

    @property
    def difference(self) -> float:
        return self.b - self.a


def most_disputed(
    table: RatingTable, members: Sequence[int], measure: Measure = Measure.MEAN_DIFFERENCE
) -> list[Dispute]:
    """Every item that two raters or more of the columns `members` rated, the most disputed first, ties by item.

    Raises ValueError for the variance of a nominal scale, which has none.
    """
    if table.scale.is_nominal and measure is Measure.VARIANCE:
        raise ValueError(Reason.NOT_FOR_NOMINAL.value)
    values = table.values[:, list(members)]
    counts = (~np.isnan(values)).sum(axis=1)
    rows = np.flatnonzero(counts >= MIN_RATERS)
    if table.scale.is_nominal:
        spread = _share_of_differing_pairs(values[rows])
    elif measure is Measure.VARIANCE:
        spread = np.nanvar(values[rows], axis=1, ddof=1) if rows.size else np.empty(0)
    else:
        spread = mean_difference(values[rows])
    order = np.argsort(-np.round(spread, DECIMALS), kind="stable")
    return [
        Dispute(table.items[rows[place]], int(rows[place]), float(spread[place]), int(counts[rows[place]]))
        for place in order
    ]


def mean_difference(values: FloatArray) -> FloatArray:
    """Mean absolute difference (n,) over the pairs of each item's ratings (n, m), two of them at least; NaN missing.

    Over ascending ratings x_0 ... x_(k-1) the sum over pairs is the sum of (2i - k + 1) x_i, so no pair is formed.
    """
    ordered = np.sort(values, axis=1)
    counts = (~np.isnan(values)).sum(axis=1)[:, None]
    weights = 2 * np.arange(values.shape[1])[None, :] - counts + 1
    sums = np.where(np.isnan(ordered), 0.0, ordered * weights).sum(axis=1)
    pairs = (counts * (counts - 1) / 2)[:, 0]
    return np.asarray(sums / pairs, dtype=np.float64)


def _share_of_differing_pairs(values: FloatArray) -> FloatArray:
    """Share (n,) of the pairs of each item's ratings (n, m) that are not the same."""
    counts = (~np.isnan(values)).sum(axis=1)
    alike = np.zeros(len(values))
    for point in np.unique(values[~np.isnan(values)]):
        times = (values == point).sum(axis=1)
        alike += times * (times - 1)
    return np.asarray(1 - alike / (counts * (counts - 1)), dtype=np.float64)


def side_of_kind(table: RatingTable, kind: Kind) -> Side | Reason:
    """What stands for a kind on each item: the median (crowd: the mean) of two raters or more; else a declared
    aggregate, the first by name, or the kind's only rater. Otherwise the reason why there is nothing."""
    own = [column for column, rater in enumerate(table.raters) if rater.kind is kind]
    members = tuple(column for column in own if not table.raters[column].is_aggregate)
    if len(members) >= MIN_RATERS:
        how = HOW[kind]
        return Reason.NOT_FOR_NOMINAL if table.scale.is_nominal else Side(f"{GROUP_NAMES[kind]}:{how}", members, how)
    alone = [column for column in own if column not in members] or members
    return Side(table.raters[alone[0]].name, (alone[0],)) if alone else Reason.NO_RATINGS


def widest_gaps(table: RatingTable, a: Side, b: Side) -> list[Gap]:
    """Every item that has a value of both sides, by how far they are apart, the widest first, ties by item.

    On nominal scales items on which they differ come first, for names are not far or near.
    """
    first, second = table.column(a), table.column(b)
    rows = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    apart = np.abs(second[rows] - first[rows])
    if table.scale.is_nominal:
        apart = (apart > 0).astype(np.float64)
    order = rows[np.argsort(-np.round(apart, DECIMALS), kind="stable")]
    return [Gap(table.items[row], int(row), float(first[row]), float(second[row])) for row in order]
