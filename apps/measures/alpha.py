"""Krippendorff's alpha for nominal, ordinal, interval and ratio data, with missing ratings.

Over the units u with n_u >= 2 ratings, with n = sum n_u, n_c how often value c occurs and d the metric of the level,

    alpha = 1 - (n - 1) * sum_u [sum_{i != j in u} d(x_i, x_j) / (n_u - 1)] / sum_{c, k} n_c n_k d(c, k)

(Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; Krippendorff 2019, Content Analysis, chapter 12).
It is undefined when all pairable ratings are the same. The numerator is a weighted sum of one number per unit, except
for ordinal data, whose metric follows the values' frequencies and so changes with every resample.
"""

from collections.abc import Callable
from enum import StrEnum

import krippendorff
import numpy as np

from apps.measures.arrays import BoolArray, FloatArray, IntArray
from apps.measures.resampling import Kernel
from apps.measures.units import (
    CHUNK_CELLS,
    DENSE_CELLS,
    Units,
    by_rows,
    dense,
    ratio,
    reciprocal,
    row_squares,
)

# `krippendorff` holds several tables of units x values x values; up to this many cells it is asked at a point.
LIBRARY_CELLS = 1_000_000
# The ratio metric compares every two values anew in each resample: beyond so many values that takes minutes.
RATIO_VALUES = 8_192


class Metric(StrEnum):
    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


def alpha_kernel(metric: Metric, units: Units) -> Kernel:
    """weights (B, P) -> alpha (B,), NaN where the pairable ratings do not vary.

    For ratio data no value may be negative: the metric is only defined from zero up.
    """
    return KERNELS[metric](units)


def alpha_at_point(metric: Metric, units: Units, counts: IntArray) -> float:
    """Alpha of units that occur `counts` (P,) times; NaN without pairable ratings or without variation.

    From the `krippendorff` library where its tables stay small, else from the kernel; they agree to 1e-9.
    """
    pairable = units.pairable & (counts > 0)
    if np.unique(units.values[pairable][units.given[pairable]]).size < 2:
        return float("nan")
    if int(counts.sum()) * len(units.domain) ** 2 > LIBRARY_CELLS:
        return float(alpha_kernel(metric, units)(counts.astype(np.float64)[None, :])[0])
    return float(
        krippendorff.alpha(
            value_counts=np.repeat(dense(units.counts), counts, axis=0),
            value_domain=units.domain,
            level_of_measurement=metric.value,
        )
    )


def can_resample(metric: Metric, units: Units) -> bool:
    """Whether a thousand resamples are a matter of seconds."""
    return metric is not Metric.RATIO or len(units.domain) <= RATIO_VALUES


def nominal(units: Units) -> Kernel:
    """d = 1 for different values."""
    disagreement = (units.sizes**2 - row_squares(units.counts)) * _per_unit(units)

    def kernel(weights: FloatArray) -> FloatArray:
        margins = units.margins(weights)
        n = margins.sum(axis=1)
        expected = n**2 - np.square(margins).sum(axis=1)
        return _alpha(weights @ disagreement, expected, n, _several(margins))

    return by_rows(kernel, len(units.domain))


def interval(units: Units) -> Kernel:
    """d = (c - k)^2, by moments: sum_{i != j} d = 2 (n_u sum x^2 - (sum x)^2), and alike for all ratings together."""
    sizes, used = units.sizes, units.pairable
    # Within a unit counted from its lowest value: equal ratings disagree by exactly 0.
    within = np.where(units.given, units.values - _lowest(units)[:, None], 0.0)
    disagreement = 2 * (sizes * np.square(within).sum(axis=1) - within.sum(axis=1) ** 2) * _per_unit(units)
    # Among units counted from the middle, lest large offsets eat the digits.
    centre = (units.domain[0] + units.domain[-1]) / 2 if len(units.domain) else 0.0
    centred = np.where(units.given, units.values - centre, 0.0)
    moments = np.column_stack([sizes, centred.sum(axis=1), np.square(centred).sum(axis=1)]) * used[:, None]
    features = np.column_stack([disagreement, moments])
    varies = _variation(units)

    def kernel(weights: FloatArray) -> FloatArray:
        observed, n, first, second = (weights @ features).T
        expected = 2 * (n * second - first**2)
        defined = expected > 0
        doubtful = expected <= 1e-9 * n * second  # rounding may hide or fake a variation of 0
        defined[doubtful] = varies(weights[doubtful])
        return _alpha(observed, expected, n, defined)

    return kernel


def ratio_data(units: Units) -> Kernel:
    """d = ((c - k) / (c + k))^2, and 0 between two zeros."""
    disagreement = _unit_disagreement(units, _ratio_distance) * _per_unit(units)
    domain = units.domain

    def kernel(weights: FloatArray) -> FloatArray:
        margins = units.margins(weights)
        expected = np.zeros(len(weights))
        for block in _blocks(len(domain), len(domain)):
            distances = _ratio_distance(domain[:, None], domain[None, block])
            expected += ((margins @ distances) * margins[:, block]).sum(axis=1)
        return _alpha(weights @ disagreement, expected, margins.sum(axis=1), _several(margins))

    return by_rows(kernel, len(domain))


def ordinal(units: Units) -> Kernel:
    """d = (r_c - r_k)^2 of midranks: r_c is how many pairable ratings lie below c, plus half of those at c.

    That is Krippendorff's ordinal metric: the ratings from c to k less half of those at either end.
    """
    width = len(units.domain)
    pairs = width * (width - 1) // 2
    if len(units.values) * pairs <= DENSE_CELLS:
        return by_rows(_ordinal_by_coincidences(units), max(pairs, width))
    return by_rows(_ordinal_by_ranks(units), max(len(units.values), width))


KERNELS: dict[Metric, Callable[[Units], Kernel]] = {
    Metric.NOMINAL: nominal,
    Metric.ORDINAL: ordinal,
    Metric.INTERVAL: interval,
    Metric.RATIO: ratio_data,
}


def _ordinal_by_coincidences(units: Units) -> Kernel:
    """For few values: how often each two values meet within a unit is a weighted sum, whatever their distance."""
    counts = dense(units.counts)
    low, high = np.triu_indices(len(units.domain), k=1)
    meetings = 2 * counts[:, low] * counts[:, high] * _per_unit(units)[:, None]

    def kernel(weights: FloatArray) -> FloatArray:
        margins = units.margins(weights)
        ranks = _centred_midranks(margins)
        distances = np.square(ranks[:, low] - ranks[:, high])
        observed = ((weights @ meetings) * distances).sum(axis=1)
        return _ordinal_alpha(observed, margins, ranks)

    return kernel


def _ordinal_by_ranks(units: Units) -> Kernel:
    """For many values: midranks are put in the place of the values, and then as for interval data."""
    counts, sizes, factor = units.counts, units.sizes, _per_unit(units)

    def kernel(weights: FloatArray) -> FloatArray:
        margins = units.margins(weights)
        ranks = _centred_midranks(margins)
        first, second = np.asarray(counts @ ranks.T), np.asarray(counts @ np.square(ranks).T)  # (P, B)
        within = 2 * (sizes[:, None] * second - first**2) * factor[:, None]
        return _ordinal_alpha((weights * within.T).sum(axis=1), margins, ranks)

    return kernel


def _centred_midranks(margins: FloatArray) -> FloatArray:
    """(B, V): midranks less n / 2, so that their weighted sum is 0."""
    reached = margins.cumsum(axis=1)
    return np.asarray(reached - (margins + reached[:, -1:]) / 2)


def _ordinal_alpha(observed: FloatArray, margins: FloatArray, ranks: FloatArray) -> FloatArray:
    n = margins.sum(axis=1)
    expected = 2 * n * (margins * np.square(ranks)).sum(axis=1)
    return _alpha(observed, expected, n, _several(margins))


def _alpha(observed: FloatArray, expected: FloatArray, n: FloatArray, defined: BoolArray) -> FloatArray:
    return 1 - ratio((n - 1) * observed, expected, defined)


def _per_unit(units: Units) -> FloatArray:
    """(P,): 1 / (n_u - 1) of pairable units, else 0."""
    return reciprocal(units.sizes - 1, units.pairable)


def _several(margins: FloatArray) -> BoolArray:
    """(B,): whether more than one value occurs."""
    return np.asarray((margins > 0).sum(axis=1) > 1)


def _lowest(units: Units) -> FloatArray:
    """(P,): the lowest rating of each unit, 0 where there is none."""
    lowest = np.where(units.given, units.values, np.inf).min(axis=1, initial=np.inf)
    return np.where(units.sizes > 0, lowest, 0.0)


def _variation(units: Units) -> Callable[[FloatArray], BoolArray]:
    """weights (B, P) -> (B,): whether the pairable ratings differ at all, without rounding."""
    codes = units.codes[units.pairable]
    highest = codes.max(axis=1, initial=-1)
    lowest = np.where(codes < 0, len(units.domain), codes).min(axis=1, initial=len(units.domain))

    def varies(weights: FloatArray) -> BoolArray:
        present = weights[:, units.pairable] > 0
        top = np.where(present, highest, -1).max(axis=1, initial=-1)
        bottom = np.where(present, lowest, len(units.domain)).min(axis=1, initial=len(units.domain))
        return np.asarray(top > bottom)

    return varies


def _ratio_distance(first: FloatArray, second: FloatArray) -> FloatArray:
    total = first + second
    share = np.divide(first - second, total, out=np.zeros_like(total), where=total != 0)
    return np.square(share)


def _unit_disagreement(units: Units, distance: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
    """(P,): the sum of d over all ordered pairs of ratings of each unit."""
    raters, width = units.values.shape[1], len(units.domain)
    result = np.zeros(len(units.values))
    if raters * (raters - 1) // 2 <= width:
        for first in range(raters):
            for second in range(first + 1, raters):
                both = units.given[:, first] & units.given[:, second]
                result[both] += 2 * distance(units.values[both, first], units.values[both, second])
        return result
    for block in _blocks(width, max(width, len(units.values))):
        reached = np.asarray(units.counts @ distance(units.domain[:, None], units.domain[None, block]))
        result += (reached * dense(units.counts[:, block])).sum(axis=1)
    return result


def _blocks(length: int, width: int) -> list[slice]:
    """`length` columns in slices so narrow that a slice of `width` rows stays within CHUNK_CELLS."""
    step = max(1, CHUNK_CELLS // max(1, width))
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]
