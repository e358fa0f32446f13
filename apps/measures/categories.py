"""Simple scores of two raters, over many weightings of their table at once: shares, distances and F1."""

import numpy as np

from apps.measures.arrays import BoolArray, FloatArray
from apps.measures.contingency import PairTable, share
from apps.measures.scale import TOLERANCE, Scale


def percent_agreement(table: PairTable, weights: FloatArray) -> FloatArray:
    """Share (B,) of items on which both gave the same value, for weights (B, P)."""
    return share(weights @ (table.a == table.b), table.weighed(weights).n)


def within_one(table: PairTable, weights: FloatArray, scale: Scale) -> FloatArray:
    """Share (B,) of items on which the two are at most one declared point apart.

    Places between points are interpolated, so on a scale of steps of 25 one point is 25.
    """
    apart = np.abs(scale.position_of(table.a) - scale.position_of(table.b))
    return share(weights @ (apart <= 1 + TOLERANCE), table.weighed(weights).n)


def mean_absolute_error(table: PairTable, weights: FloatArray) -> FloatArray:
    """Mean of |b - a| (B,), in units of the scale."""
    return share(weights @ np.abs(table.b - table.a), table.weighed(weights).n)


def bias(table: PairTable, weights: FloatArray) -> FloatArray:
    """Mean of b - a (B,), in units of the scale: positive where b rates higher."""
    return share(weights @ (table.b - table.a), table.weighed(weights).n)


def f1_weighted(table: PairTable, weights: FloatArray) -> FloatArray:
    """F1 of each category with a as truth, averaged by how often a used it (B,).

    F1 of a category is 2 tp / (times a used it + times b used it); categories that a never used have no weight.
    """
    weighed = table.weighed(weights)
    a, b = weighed.margins
    used = a + b
    f1 = np.divide(2 * table.agreements(weights), used, out=np.zeros_like(used), where=used > 0)
    return share((f1 * a).sum(axis=1), weighed.n)


def f1_binary(a_positive: BoolArray, b_positive: BoolArray, weights: FloatArray) -> FloatArray:
    """F1 (B,) of the positive class from memberships (P,); NaN where neither rater has a positive."""
    true_positives = weights @ (a_positive & b_positive)
    return share(2 * true_positives, weights @ a_positive + weights @ b_positive)
