"""Rank correlations of two raters, over many weightings of their table at once, and their tests."""

import math

import numpy as np
from scipy import special, stats

from apps.measures.arrays import FloatArray, IntArray
from apps.measures.contingency import PairTable, indicator, row_products, share

# Kendall's tau over resamples needs either every two pairs (P x P) or the full table (Q x Q).
MOST_PAIRS = 2048
MOST_CELLS = 1 << 17
# Cells of the full tables held at a time.
CHUNK_CELLS = 1 << 21


def spearman(table: PairTable, weights: FloatArray) -> FloatArray:
    """Spearman's rho (B,) for weights (B, P): Pearson's r of midranks; NaN where a rater is constant.

    A midrank, less the mean rank, is the number of items below plus half those at the value, less n / 2.
    """
    weighed = table.weighed(weights)
    n, (a, b), (reached_a, reached_b) = weighed.n[:, None], weighed.margins, weighed.reached
    rank_a, rank_b = reached_a - a / 2 - n / 2, reached_b - b / 2 - n / 2
    covariance = row_products(weights * rank_a[:, table.a_code], rank_b[:, table.b_code])
    variance_a, variance_b = row_products(a, rank_a**2), row_products(b, rank_b**2)
    return np.clip(share(covariance, np.sqrt(variance_a * variance_b)), -1, 1)


def spearman_p_value(rho: float, n: int) -> float | None:
    """Two-sided p of rho by Student's t with n - 2 degrees of freedom (scipy's approximation).

    None under 3 items, and for a perfect correlation: its t is infinite, and the p of 0 that libraries print would
    claim certainty from three items.
    """
    if n < 3 or abs(rho) >= 1:
        return None
    t = rho * math.sqrt((n - 2) / ((1 + rho) * (1 - rho)))
    return float(2 * special.stdtr(n - 2, -abs(t)))


def fisher_interval(rho: float, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Interval of a correlation by Fisher's z: tanh(atanh(rho) -+ z / sqrt(n - 3)).

    The formula is Pearson's; Kumar et al. 2026 print it for Spearman's rho. None for under 4 items.
    """
    if n < 4:
        return None
    if abs(rho) >= 1:
        return rho, rho
    half = float(special.ndtri((1 + level) / 2)) / math.sqrt(n - 3)
    return math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half)


def kendall_can_resample(table: PairTable) -> bool:
    """Whether `kendall_tau_b` over resamples stays within memory; if not, there is a value but no interval."""
    return table.a.size <= MOST_PAIRS or table.values.size**2 <= MOST_CELLS


def kendall_tau_b(table: PairTable, weights: FloatArray) -> FloatArray:
    """Kendall's tau-b (B,) for weights (B, P); NaN where a rater is constant.

    tau-b = sum over item pairs of sign(a_i - a_j) sign(b_i - b_j), divided by the root of (pairs not tied in a) times
    (pairs not tied in b). Raises ValueError for tables that `kendall_can_resample` refuses.
    """
    weighed = table.weighed(weights)
    n, (a, b) = weighed.n, weighed.margins
    untied_a, untied_b = n * n - row_products(a, a), n * n - row_products(b, b)
    if table.a.size <= MOST_PAIRS:
        order = _signs(table.a_code) * _signs(table.b_code)
        surplus = row_products(weights @ order, weights)
    elif kendall_can_resample(table):
        surplus = 2 * _surplus_by_table(table, weights)
    else:
        raise ValueError("too many distinct pairs for Kendall's tau over resamples")
    return np.clip(share(surplus, np.sqrt(untied_a * untied_b)), -1, 1)


def _signs(codes: IntArray) -> FloatArray:
    return np.asarray(np.sign(codes[:, None] - codes[None, :]), dtype=np.float64)


def _surplus_by_table(table: PairTable, weights: FloatArray) -> FloatArray:
    """Concordant less discordant item pairs (B,), from running sums over the full table (b, Q, Q)."""
    size = table.values.size
    cells = indicator(table.a_code * size + table.b_code, size * size)
    rows = max(1, CHUNK_CELLS // size**2)
    surplus = np.empty(weights.shape[0])
    for start in range(0, weights.shape[0], rows):
        full = np.asarray(weights[start : start + rows] @ cells).reshape(-1, size, size)
        below = np.cumsum(full, axis=1) - full
        left = np.cumsum(below, axis=2)
        right = left[:, :, -1:] - left
        surplus[start : start + rows] = (full * (left - below - right)).sum(axis=(1, 2))
    return surplus


def kendall_point(table: PairTable, counts: FloatArray) -> tuple[float | None, float | None]:
    """(tau-b, two-sided p) of counts (P,), as scipy has them; (None, None) where a rater is constant.

    With ties, p is by the normal approximation with the variance corrected for ties (Kendall 1970); without ties,
    scipy decides between it and the exact distribution.
    """
    a, b = (margin[0] for margin in table.margins(counts[None, :]))
    n = counts.sum()
    if (a == n).any() or (b == n).any():
        return None, None
    tied = a.max() > 1 or b.max() > 1
    if not tied or not kendall_can_resample(table):
        repeats = counts.astype(np.int64)
        found = stats.kendalltau(np.repeat(table.a, repeats), np.repeat(table.b, repeats))
        return float(found.statistic), float(found.pvalue)
    tau = float(kendall_tau_b(table, counts[None, :])[0])
    return tau, _kendall_p_value(tau, a, b)


def _kendall_p_value(tau: float, a: FloatArray, b: FloatArray) -> float:
    """Two-sided p of tau-b by the normal approximation, from the counts a and b (Q,) of three items or more."""
    n = a.sum()
    pairs = n * (n - 1)
    ties_a, ties_b = ((ties * (ties - 1)).sum() for ties in (a, b))
    triples_a, triples_b = ((ties * (ties - 1) * (ties - 2)).sum() for ties in (a, b))
    spread_a, spread_b = ((ties * (ties - 1) * (2 * ties + 5)).sum() for ties in (a, b))
    variance = (
        (pairs * (2 * n + 5) - spread_a - spread_b) / 18
        + ties_a * ties_b / (2 * pairs)
        + triples_a * triples_b / (9 * pairs * (n - 2))
    )
    surplus = tau * math.sqrt((pairs - ties_a) * (pairs - ties_b)) / 2
    return math.erfc(abs(surplus) / math.sqrt(2 * variance))
