"""The table of two raters as a list of distinct value pairs, and arithmetic over many weightings of it at once."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from apps.measures.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    SparseMatrix = sparse.csr_array[np.float64, tuple[int, int]]

# Up to this size a dense product is quicker than a sparse one; above it BLAS also starts threads.
DENSE_CELLS = 512


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

    def margins(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How often a, and b, used each value: two arrays (B, Q) from weights (B, P)."""
        a, b = self._indicators
        return np.asarray(weights @ a), np.asarray(weights @ b)

    def agreements(self, weights: FloatArray) -> FloatArray:
        """How often both used each value (B, Q)."""
        return np.asarray((weights * (self.a_code == self.b_code)) @ self._indicators[0])


def indicator(codes: IntArray, size: int) -> "FloatArray | SparseMatrix":
    """(P, size) matrix with a one in the column of each code; sparse unless small."""
    if codes.size * size <= DENSE_CELLS:
        return np.asarray(codes[:, None] == np.arange(size), dtype=np.float64)
    rows = np.arange(codes.size + 1)
    return sparse.csr_array((np.ones(codes.size), codes, rows), shape=(codes.size, size))
