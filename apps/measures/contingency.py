"""The table of two raters as a list of distinct value pairs, and arithmetic over many weightings of it at once."""

from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from apps.measures.arrays import FloatArray, IntArray
from apps.measures.resampling import Shared

if TYPE_CHECKING:
    SparseMatrix = sparse.csr_array[np.float64, tuple[int, int]]

# Up to this size a dense product is quicker than a sparse one.
DENSE_CELLS = 1024
# Up to so many columns, running sums are quicker as a product with a triangle of ones.
TRIANGLE_COLUMNS = 32


def share(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """numerator / denominator, NaN where the denominator is not positive. Shapes (B,)."""
    quotient = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient


@dataclass(frozen=True)
class PairTable:
    """Value pairs of raters a and b, both (P,) without missing values. Pairs may repeat."""

    a: FloatArray
    b: FloatArray

    @cached_property
    def _coded(self) -> tuple[FloatArray, IntArray]:
        values, codes = np.unique(np.concatenate([self.a, self.b]), return_inverse=True)
        return values, codes.astype(np.int64)

    @property
    def values(self) -> FloatArray:
        """The values that either rater used, ascending (Q,)."""
        return self._coded[0]

    @property
    def a_code(self) -> IntArray:
        """Index (P,) of a's value in `values`."""
        return self._coded[1][: self.a.size]

    @property
    def b_code(self) -> IntArray:
        return self._coded[1][self.a.size :]

    @cached_property
    def _indicators(self) -> "tuple[FloatArray | SparseMatrix, FloatArray | SparseMatrix]":
        return indicator(self.a_code, self.values.size), indicator(self.b_code, self.values.size)

    @cached_property
    def weighed(self) -> "Shared[WeighedTable]":
        """weights (B, P) -> the table as they make it, the same for all statistics that ask in turn."""
        return Shared(partial(WeighedTable, self.a_code, self.b_code, *self._indicators))

    def margins(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How often a, and b, used each value: two arrays (B, Q) from weights (B, P)."""
        return self.weighed(weights).margins

    def agreements(self, weights: FloatArray) -> FloatArray:
        """How often both used each value (B, Q)."""
        equal = np.flatnonzero(self.a_code == self.b_code)
        return np.asarray(weights[:, equal] @ self._indicators[0][equal])


@dataclass(frozen=True, eq=False)
class WeighedTable:
    """A table of two raters under weights (B, P), and what its statistics need of it, each worked out once."""

    a_code: IntArray
    b_code: IntArray
    of_a: "FloatArray | SparseMatrix"
    of_b: "FloatArray | SparseMatrix"
    weights: FloatArray

    @cached_property
    def n(self) -> FloatArray:
        """(B,): the sum of the weights."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def margins(self) -> tuple[FloatArray, FloatArray]:
        """How often a, and b, used each value: (B, Q) each."""
        return np.asarray(self.weights @ self.of_a), np.asarray(self.weights @ self.of_b)

    @cached_property
    def reached(self) -> tuple[FloatArray, FloatArray]:
        """How often a, and b, used each value or a lower one: (B, Q) each."""
        a, b = self.margins
        return running_sums(a), running_sums(b)

    @cached_property
    def crossings(self) -> FloatArray:
        """(B, Q - 1): how many pairs (i, j) have a_i and b_j on different sides of each gap between values."""
        n = self.n[:, None]
        a, b = (reached[:, :-1] for reached in self.reached)
        return np.asarray(a * (n - b) + b * (n - a))

    @cached_property
    def present(self) -> FloatArray:
        """(B, Q): 1 for a value that either rater used, else 0."""
        a, b = self.margins
        return ((a + b) > 0).astype(np.float64)

    @cached_property
    def ranks(self) -> FloatArray:
        """(B, Q): the rank of each value among those that were used."""
        return running_sums(self.present)

    @cached_property
    def rank_distances(self) -> FloatArray:
        """(B, P): how many ranks the two values of each pair are apart."""
        return np.abs(self.ranks[:, self.a_code] - self.ranks[:, self.b_code])


def indicator(codes: IntArray, size: int) -> "FloatArray | SparseMatrix":
    """(P, size) matrix with a one in the column of each code; sparse unless small."""
    if codes.size * size <= DENSE_CELLS:
        return np.asarray(codes[:, None] == np.arange(size), dtype=np.float64)
    rows = np.arange(codes.size + 1)
    return sparse.csr_array((np.ones(codes.size), codes, rows), shape=(codes.size, size))


def running_sums(counts: FloatArray) -> FloatArray:
    """Sums of counts (B, Q) from the first column to each."""
    if len(counts) == 1 or counts.shape[1] > TRIANGLE_COLUMNS:
        return np.cumsum(counts, axis=1)
    return np.asarray(counts @ _triangle(counts.shape[1]))


@lru_cache(maxsize=TRIANGLE_COLUMNS)
def _triangle(width: int) -> FloatArray:
    return np.triu(np.ones((width, width)))


def row_products(first: FloatArray, second: FloatArray) -> FloatArray:
    """(B,): the sum of the products of each row of two tables (B, F)."""
    return np.asarray(np.einsum("ij,ij->i", first, second))
