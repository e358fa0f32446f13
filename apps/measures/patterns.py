"""Items collapsed to distinct rating patterns: who gave which point, and how often that occurred.

Agreement within one dimension depends on the data only through these counts, so a million items shrink to at most
(q + 1)^m rows, and a resample of items is a multinomial draw over them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from apps.measures.arrays import FloatArray, IntArray
from apps.measures.scale import TOLERANCE, Scale

# Rows encoded at a time: the temporaries stay in the processor's cache.
CHUNK_ROWS = 1 << 14
# The largest table of codes that is counted directly; beyond it the codes are sorted.
LARGEST_TABLE = 1 << 22
# Codes are computed in float64, which is exact up to here; two points and missing make three digits, so that no more
# raters than this fit.
LARGEST_CODE = 2**53
MOST_DIGITS = 33
# Values between points are compared to this many decimals, so that rounding noise of means makes no new pattern.
DECIMALS = 12


@dataclass(frozen=True)
class Patterns:
    """Distinct rows and their counts.

    values: (P, m) float64, NaN for missing, in lexicographic order with missing first; no row is all missing.
    counts: (P,) int64, all positive.
    """

    values: FloatArray
    counts: IntArray

    @cached_property
    def n_items(self) -> int:
        """Items with at least one rating."""
        return int(self.counts.sum())

    @cached_property
    def weights(self) -> FloatArray:
        """The counts as weights (1, P): what a kernel needs for the point estimate."""
        return self.counts.astype(np.float64)[None, :]


def patterns_of(values: npt.ArrayLike, scale: Scale) -> Patterns:
    """Patterns of ratings (n items, m raters), NaN for missing.

    Values within 1e-9 of a declared point become that point. Raises OffScale for a value outside the scale.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"ratings must be items x raters, not of {array.ndim} dimensions")
    codes = _point_codes(array, scale)
    if codes is None:
        rows, counts = _distinct_rows(_snapped(array, scale))
    else:
        rows, counts = _counted(codes, array.shape[1], scale)
    rated = ~np.isnan(rows).all(axis=1)
    return Patterns(rows, counts) if rated.all() else Patterns(rows[rated], counts[rated])


def _point_codes(values: FloatArray, scale: Scale) -> IntArray | None:
    """Mixed-radix code (n,) of each row, missing as digit 0; None when values lie between points or codes overflow."""
    n, m = values.shape
    base = scale.q + 1
    codes = np.empty(n, dtype=np.int64)
    fits = m <= MOST_DIGITS and base**m < LARGEST_CODE
    for start in range(0, n, CHUNK_ROWS):
        chunk = values[start : start + CHUNK_ROWS]
        scale.check(chunk)
        if not fits:
            continue
        code = np.zeros(chunk.shape[0])
        for column in chunk.T:
            position = scale.position_of(column)
            nearest = np.rint(position)
            position -= nearest
            if (np.abs(position) > TOLERANCE).any():
                fits = False
                break
            code *= base
            code += np.fmax(nearest, -1.0)
            code += 1.0
        codes[start : start + CHUNK_ROWS] = code
    return codes if fits else None


def _snapped(values: FloatArray, scale: Scale) -> FloatArray:
    """The values (n, m) without rounding noise: declared points exactly, others to DECIMALS."""
    snapped = np.round(values, DECIMALS)
    points = np.asarray(scale.points, dtype=np.float64)
    for column, given in zip(snapped.T, values.T, strict=True):
        position = scale.position_of(given)
        nearest = np.rint(position)
        near = np.abs(position - nearest) <= TOLERANCE
        column[near] = points[nearest[near].astype(np.int64)]
    return snapped


def _counted(codes: IntArray, m: int, scale: Scale) -> tuple[FloatArray, IntArray]:
    """Distinct rows (P, m) and counts (P,) from mixed-radix codes (n,)."""
    base = scale.q + 1
    if base**m <= min(LARGEST_TABLE, 8 * codes.size + 1024):
        table = np.bincount(codes, minlength=base**m)
        distinct = np.flatnonzero(table)
        counts = table[distinct]
    else:
        distinct, counts = np.unique(codes, return_counts=True)
    digit_values = np.array([np.nan, *scale.points])
    powers = base ** np.arange(m - 1, -1, -1, dtype=np.int64)
    rows = digit_values[(distinct[:, None] // powers) % base]
    return rows, counts.astype(np.int64)


def _distinct_rows(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Distinct rows (P, m) and counts (P,) of any numbers.

    Each column is ranked and the ranks joined into one code; when the code would overflow it is ranked itself, which
    keeps the order of the rows.
    """
    codes = np.zeros(values.shape[0], dtype=np.int64)
    size = 1
    for column in values.T:
        distinct, ranks = np.unique(np.where(np.isnan(column), -np.inf, column), return_inverse=True)
        if size * distinct.size >= 2**62:
            seen, codes = np.unique(codes, return_inverse=True)
            size = seen.size
        codes = codes * distinct.size + ranks
        size *= distinct.size
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    return values[first], counts.astype(np.int64)
