"""The ratings of a group as counts of values per unit: all that most group statistics need.

A unit is an item with its ratings, or a pattern of ratings that several items share. In array shapes P is the number
of units, m of raters, V of distinct values present, F of features, B of resamples.

A kernel is made once from the units and then asked for as many rows of weights as are needed: `weights` (B, P) say how
often each unit counts, the answer (B,) holds NaN where the statistic is undefined for that row.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from apps.measures.arrays import BoolArray, FloatArray, IntArray
from apps.measures.resampling import Kernel, Shared

Table = sparse.csr_array[np.float64, tuple[int, int]]
Features = FloatArray | Table

# Tables of at most this many cells are kept dense (BLAS is quicker); larger ones, nearly always sparse, are not.
DENSE_CELLS = 2_000_000
# No intermediate table of a kernel has more cells than this (32 MiB); a kernel holds a handful of them.
CHUNK_CELLS = 4_000_000


@dataclass(frozen=True)
class Units:
    """Values (P, m), NaN where a rater gave none; columns without any rating are gone."""

    values: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> "Units":
        rated = ~np.isnan(values).all(axis=0)
        return cls(values if rated.all() else values[:, rated])

    @cached_property
    def given(self) -> BoolArray:
        """(P, m): where there is a rating."""
        return ~np.isnan(self.values)

    @cached_property
    def sizes(self) -> FloatArray:
        """(P,): number of ratings."""
        return np.asarray(self.given.sum(axis=1), dtype=np.float64)

    @cached_property
    def pairable(self) -> BoolArray:
        """(P,): whether there are two ratings or more, so that agreement can be seen."""
        return self.sizes >= 2

    @cached_property
    def domain(self) -> FloatArray:
        """(V,): the values present, ascending."""
        return np.unique(self.values[self.given])

    @cached_property
    def codes(self) -> IntArray:
        """(P, m): position of each value in the domain, -1 where there is none."""
        codes = np.searchsorted(self.domain, self.values).astype(np.int64)
        return np.where(self.given, codes, -1)

    @cached_property
    def counts(self) -> Features:
        """(P, V): how many raters gave each value."""
        rows, columns = np.nonzero(self.given)
        return count_table(rows, self.codes[rows, columns], (len(self.values), len(self.domain)))

    @cached_property
    def counts_by_rater(self) -> Features:
        """(P, m * V): 1 where that rater gave that value."""
        raters, width = self.values.shape[1], len(self.domain)
        rows, columns = np.nonzero(self.given)
        return count_table(rows, columns * width + self.codes[rows, columns], (len(self.values), raters * width))

    @cached_property
    def pairable_counts(self) -> Features:
        """(P, V): counts of values, 0 for units with fewer than two ratings."""
        return scaled_rows(self.counts, self.pairable.astype(np.float64))

    @cached_property
    def complete(self) -> BoolArray:
        """(P,): units rated by every rater who rated at all."""
        return np.asarray(self.given.all(axis=1))

    # What several kernels ask of the same weights.

    @cached_property
    def margins(self) -> Shared[FloatArray]:
        """weights (B, P) -> (B, V): how often each value was given in units with two ratings or more."""
        return Shared(partial(totals, features=self.pairable_counts))

    @cached_property
    def share_sums(self) -> Shared[FloatArray]:
        """weights (B, P) -> (B, V): over the units, the sums of each value's share of the unit's ratings."""
        return Shared(partial(totals, features=scaled_rows(self.counts, reciprocal(self.sizes, self.sizes > 0))))

    @cached_property
    def n_pairable(self) -> Shared[FloatArray]:
        """weights (B, P) -> (B,): how many units have two ratings or more."""
        return Shared(partial(totals, features=self.pairable.astype(np.float64)))

    @cached_property
    def n_rated(self) -> Shared[FloatArray]:
        """weights (B, P) -> (B,): how many units have a rating."""
        return Shared(partial(totals, features=(self.sizes > 0).astype(np.float64)))

    @cached_property
    def complete_moments(self) -> Shared[FloatArray]:
        """weights (B, P) -> (B, 3 + m) over the complete units: how many there are, the squares of their sums, their
        sums of squares, and each rater's sum, all ratings counted from their mean over the units."""
        used = self.complete
        values = np.where(used[:, None], self.values, 0.0)
        centre = values.sum() / max(1, int(used.sum()) * values.shape[1])
        values = np.where(used[:, None], values - centre, 0.0)
        sums, squares = values.sum(axis=1), np.square(values).sum(axis=1)
        return Shared(partial(totals, features=np.column_stack([used.astype(np.float64), sums**2, squares, values])))


def count_table(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Features:
    """How often each (row, column) occurs; dense when small."""
    table: Table = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
    return dense(table) if shape[0] * shape[1] <= DENSE_CELLS else table


def dense(table: Features) -> FloatArray:
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)


def scaled_rows(table: Features, factors: FloatArray) -> Features:
    """Each row of `table` (P, F) times its factor (P,)."""
    if isinstance(table, np.ndarray):
        return table * factors[:, None]
    return sparse.csr_array(table.multiply(factors[:, None]))


def row_squares(table: Features) -> FloatArray:
    """(P,): the sum of squares of each row."""
    if isinstance(table, np.ndarray):
        return np.asarray(np.square(table).sum(axis=1))
    return np.asarray(table.multiply(table).sum(axis=1), dtype=np.float64).ravel()


def totals(weights: FloatArray, features: Features) -> FloatArray:
    """(B, F): the weighted sums over the units of features (P, F)."""
    return np.asarray(weights @ features)


def by_rows(kernel: Kernel, width: int) -> Kernel:
    """The same kernel, given so few rows at a time that rows * width stays within CHUNK_CELLS."""
    step = max(1, CHUNK_CELLS // max(1, width))

    def chunked(weights: FloatArray) -> FloatArray:
        if len(weights) <= step:
            return kernel(weights)
        parts = [kernel(weights[start : start + step]) for start in range(0, len(weights), step)]
        return np.concatenate(parts)

    return chunked


def ratio(numerator: FloatArray, denominator: FloatArray, defined: BoolArray) -> FloatArray:
    """numerator / denominator where `defined`, else NaN; all of shape (B,)."""
    result = np.full(len(numerator), np.nan)
    np.divide(numerator, denominator, out=result, where=defined)
    return result


def reciprocal(values: FloatArray, where: BoolArray) -> FloatArray:
    """1 / values where `where`, else 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=where)
