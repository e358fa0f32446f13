"""One value per item from several raters: medians, means, and groups without one of their raters."""

from enum import StrEnum

import numpy as np
import numpy.typing as npt

from apps.measures.arrays import FloatArray, IntArray


class Aggregate(StrEnum):
    MEDIAN = "median"
    MEAN = "mean"


def group_value(values: npt.ArrayLike, how: Aggregate, *, min_raters: int = 2) -> FloatArray:
    """Median or mean (n,) of ratings (n, m), NaN where fewer than `min_raters` rated the item."""
    if how is Aggregate.MEDIAN:
        return group_median(values, min_raters=min_raters)
    return group_mean(values, min_raters=min_raters)


def group_median(values: npt.ArrayLike, *, min_raters: int = 2) -> FloatArray:
    """Median (n,) of ratings (n, m), NaN for missing; NaN where fewer than `min_raters` rated.

    The median of an even number is the mean of the middle two, so it may lie between points.
    """
    ordered, count = _ordered(values)
    lower = _column(ordered, (count - 1) // 2)
    upper = _column(ordered, count // 2)
    return _enough(lower + (upper - lower) / 2, count, min_raters)


def group_mean(values: npt.ArrayLike, *, min_raters: int = 2) -> FloatArray:
    """Mean (n,) of ratings (n, m), NaN for missing; NaN where fewer than `min_raters` rated."""
    array = _table(values)
    given = ~np.isnan(array)
    count = given.sum(axis=1).astype(np.int64)
    total = np.where(given, array, 0.0).sum(axis=1)
    return _enough(total / np.maximum(count, 1), count, min_raters)


def leave_one_out(values: npt.ArrayLike, column: int, how: Aggregate, *, min_raters: int = 2) -> FloatArray:
    """Aggregate (n,) of ratings (n, m) without rater `column`: the group this rater may be compared with.

    Raises IndexError for a column that does not exist.
    """
    array = _table(values)
    if not 0 <= column < array.shape[1]:
        raise IndexError(f"there is no rater {column} among {array.shape[1]}")
    return group_value(np.delete(array, column, axis=1), how, min_raters=min_raters)


def lower_median(values: npt.ArrayLike) -> FloatArray:
    """Lower median (n,) of ratings (n, m): for an even number the lower of the middle two, always a rating given."""
    ordered, count = _ordered(values)
    return _enough(_column(ordered, (count - 1) // 2), count, 1)


def lowest_mode(values: npt.ArrayLike) -> FloatArray:
    """Most frequent value (n,) of ratings (n, m), the lowest of those that tie; NaN where nobody rated."""
    ordered, count = _ordered(values)
    mode = np.full(ordered.shape[0], np.nan)
    most = np.zeros(ordered.shape[0], dtype=np.int64)
    for column in ordered.T:
        times = (ordered == column[:, None]).sum(axis=1)
        mode = np.where(times > most, column, mode)
        most = np.maximum(times, most)
    return _enough(mode, count, 1)


def _table(values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"ratings must be items x raters, not of {array.ndim} dimensions")
    return array


def _ordered(values: npt.ArrayLike) -> tuple[FloatArray, IntArray]:
    """Each row ascending with missing last (n, m), and how many there are (n,)."""
    ordered = np.sort(_table(values), axis=1)
    return ordered, (~np.isnan(ordered)).sum(axis=1).astype(np.int64)


def _column(ordered: FloatArray, index: IntArray) -> FloatArray:
    """The value at each row's index (n,); NaN for index -1 or a table without columns."""
    if ordered.shape[1] == 0:
        return np.full(ordered.shape[0], np.nan)
    return np.take_along_axis(ordered, np.maximum(index, 0)[:, None], axis=1)[:, 0]


def _enough(values: FloatArray, count: IntArray, min_raters: int) -> FloatArray:
    return np.where(count >= max(1, min_raters), values, np.nan)
