"""Cohen's kappa of two raters, over many weightings of their table at once, and its test.

Kappa is 1 - Do / De: Do is the mean disagreement of the pairs as they are, De that of every value of a with every
value of b. A disagreement is 0 or 1 (unweighted), the distance (linear) or its square (quadratic); its unit cancels.

Two conventions say what a distance is. `scale`: the difference of the values themselves, so that half points of
aggregates are exact and points nobody used still count. `observed` (Kumar et al. 2026): values times 100, rounded;
the categories are those that occur; the distance is the difference of category ranks. In a resample they are the
categories that occur in it.
"""

import math
from enum import StrEnum

import numpy as np

from apps.measures.arrays import FloatArray
from apps.measures.contingency import PairTable, row_products, share

# A mean disagreement (in squared scale widths) or a standardised variance below this is rounding noise around zero.
NOISE = 1e-14
VARIANCE_NOISE = 1e-12
# Beyond these a kappa holds nothing but rounding noise.
DECIMALS = 12


class Convention(StrEnum):
    SCALE = "scale"
    OBSERVED = "observed"


class Weighting(StrEnum):
    UNWEIGHTED = "kappa_unweighted"
    LINEAR = "kappa_linear"
    QUADRATIC = "kappa_quadratic"


def categories_of(values: FloatArray, convention: Convention) -> FloatArray:
    """The values that the convention tells apart."""
    return np.rint(values * 100) if convention is Convention.OBSERVED else values


def kappa(table: PairTable, weights: FloatArray, weighting: Weighting, convention: Convention) -> FloatArray:
    """Kappa (B,) for weights (B, P); NaN where no two values differ. `table` tells apart what `categories_of` does."""
    if weighting is Weighting.UNWEIGHTED:
        observed, expected = _unweighted(table, weights)
    elif convention is Convention.OBSERVED:
        observed, expected = _ranked(table, weights, weighting)
    elif weighting is Weighting.LINEAR:
        observed, expected = _linear(table, weights)
    else:
        observed, expected = _quadratic(table, weights)
    # What is 3/5 must not come out a last bit below it: it is held against thresholds. Adding 0 leaves no minus zero.
    return np.asarray(np.round(1 - share(observed, expected), DECIMALS) + 0.0)


def _unweighted(table: PairTable, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    weighed = table.weighed(weights)
    n, (a, b) = weighed.n, weighed.margins
    return n * (weights @ (table.a_code != table.b_code)), n * n - row_products(a, b)


def _linear(table: PairTable, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """n^2 Do and n^2 De. The sum of |a_i - b_j| is taken gap by gap between neighbouring values: a gap is crossed by
    each a below it with each b above it, and the other way round."""
    weighed = table.weighed(weights)
    return weighed.n * (weights @ np.abs(table.a - table.b)), weighed.crossings @ np.diff(table.values)


def _quadratic(table: PairTable, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """n^2 Do and n^2 De in squared widths of the values, by moments:
    sum over i, j of (a_i - b_j)^2 = n sum a^2 + n sum b^2 - 2 sum a sum b (Cohen 1968; Lin's concordance)."""
    low, high = table.values[0], table.values[-1]
    width = (high - low) or 1.0
    a, b = (table.a - low) / width - 0.5, (table.b - low) / width - 0.5
    n, sum_a, sum_b, squares, differences = (
        weights @ np.stack([np.ones_like(a), a, b, a * a + b * b, (a - b) ** 2], axis=1)
    ).T
    expected = n * squares - 2 * sum_a * sum_b
    expected[expected < NOISE * n * n] = 0.0
    return n * differences, expected


def _ranked(table: PairTable, weights: FloatArray, weighting: Weighting) -> tuple[FloatArray, FloatArray]:
    """n^2 Do and n^2 De with ranks among the categories that carry weight."""
    weighed = table.weighed(weights)
    n, (a, b), ranks, distances = weighed.n, weighed.margins, weighed.ranks, weighed.rank_distances
    if weighting is Weighting.LINEAR:
        return n * row_products(weights, distances), row_products(weighed.crossings, weighed.present[:, :-1])
    expected = n * row_products(a + b, ranks**2) - 2 * row_products(a, ranks) * row_products(b, ranks)
    return n * row_products(weights, distances**2), expected


def kappa_test(
    table: PairTable, counts: FloatArray, weighting: Weighting, convention: Convention
) -> tuple[float, float] | None:
    """(z, two-sided normal p) for kappa = 0, or None where the variance is zero or kappa undefined. counts: (P,).

    `scale` uses the variance under the null hypothesis, `observed` the plain asymptotic one, as published; both from
    Fleiss, Cohen and Everitt 1969. With d the disagreement of a pair, d_a the mean disagreement of a's value with all
    of b's, d_b likewise, their formulas (there in w = 1 - d) reduce to
        null:  var = (E d^2 - E d_a^2 - E d_b^2 + De^2) / (n De^2), the mean E over independent values;
        plain: var = Var(Do (d_a + d_b) - De d) / (n De^4), the variance over the pairs as they are.
    A constant rater has kappa 0 and variance 0 in both.
    """
    values = table.values if convention is Convention.SCALE else np.arange(table.values.size, dtype=np.float64)
    n = counts.sum()
    a, b = (margin[0] / n for margin in table.margins(counts[None, :]))
    if (a == 1).any() or (b == 1).any():
        return None
    from_b, from_a = (_mean_disagreement(values, shares, weighting) for shares in (a, b))
    expected = float(a @ from_a)
    disagreement = _disagreement(values[table.a_code], values[table.b_code], weighting)
    observed = float(counts @ disagreement / n)
    if convention is Convention.OBSERVED:
        influence = observed * (from_a[table.a_code] + from_b[table.b_code]) - expected * disagreement
        relative = _variance(influence, counts / n) / expected**4
    elif weighting is Weighting.QUADRATIC:
        # Here d - d_a - d_b = -2 (a - mean a)(b - mean b) - De, so that z is sqrt(n) times Pearson's r.
        relative = 4 * _variance(values, a) * _variance(values, b) / expected**2
    else:
        squares = expected
        if weighting is Weighting.LINEAR:
            squares = float(_mean_disagreement(values, a, Weighting.QUADRATIC) @ b)
        relative = (squares - float(a @ from_a**2) - float(b @ from_b**2)) / expected**2 + 1
    if relative < VARIANCE_NOISE:
        return None
    z = float((1 - observed / expected) / math.sqrt(relative / n))
    return z, math.erfc(abs(z) / math.sqrt(2))


def _disagreement(a: FloatArray, b: FloatArray, weighting: Weighting) -> FloatArray:
    if weighting is Weighting.UNWEIGHTED:
        return np.not_equal(a, b).astype(np.float64)
    return np.abs(a - b) if weighting is Weighting.LINEAR else np.square(a - b)


def _mean_disagreement(values: FloatArray, shares: FloatArray, weighting: Weighting) -> FloatArray:
    """Mean disagreement (Q,) of each value with a rater who uses the values in these shares (Q,)."""
    if weighting is Weighting.UNWEIGHTED:
        return 1 - shares
    mean = shares @ values
    if weighting is Weighting.QUADRATIC:
        return np.asarray((values - mean) ** 2 + _variance(values, shares))
    # E|v - x| = (mean - v) + 2 E max(v - x, 0), the last by running over the gaps below v.
    below = np.concatenate([[0.0], np.cumsum(np.cumsum(shares)[:-1] * np.diff(values))])
    return np.asarray(mean - values + 2 * below)


def _variance(values: FloatArray, shares: FloatArray) -> float:
    return float(shares @ (values - shares @ values) ** 2)
