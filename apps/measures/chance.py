"""Chance-corrected agreement on categories: Fleiss, Conger, Gwet's AC1 and AC2, Brennan-Prediger, percent agreement.

All follow Gwet 2014 (Handbook of Inter-Rater Reliability, 4th edition, chapters 2 to 4) with missing ratings. With
r_u ratings of unit u, r_uk of them in category k, and weights w_kl (1 for k = l; else 0 unless weighted):

    p_a  = mean over units with r_u >= 2 of  sum_k r_uk (sum_l w_kl r_ul - 1) / (r_u (r_u - 1))
    pi_k = mean over units with r_u >= 1 of  r_uk / r_u
    coefficient = (p_a - p_e) / (1 - p_e)

with p_e = sum pi_k^2 (Fleiss 1971); sum w_kl / (q (q - 1)) * sum pi_k (1 - pi_k) (AC1, AC2; Gwet 2008); 1 / q (Brennan
and Prediger 1981). q is the number of declared points, used or not. Every coefficient is undefined when all ratings
fall into one category: AC1 and Brennan-Prediger would then be 1 whatever the raters are worth.
"""

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from apps.measures.arrays import BoolArray, FloatArray
from apps.measures.resampling import Kernel
from apps.measures.scale import Scale
from apps.measures.units import Units, by_rows, dense, ratio, reciprocal, row_squares, totals


class Coefficient(StrEnum):
    FLEISS_KAPPA = "fleiss_kappa"
    CONGER_KAPPA = "conger_kappa"
    AC1 = "ac1"
    AC2_LINEAR = "ac2_linear"
    AC2_QUADRATIC = "ac2_quadratic"
    BRENNAN_PREDIGER = "brennan_prediger"


# How agreement falls with the distance between two points, as a share of the range: 1 - share ** power.
POWERS = {Coefficient.AC2_LINEAR: 1, Coefficient.AC2_QUADRATIC: 2}


def chance_kernel(coefficient: Coefficient, units: Units, scale: Scale) -> Kernel:
    """weights (B, P) -> coefficient (B,), NaN without a unit of two ratings or when all ratings are one category.

    All values must be declared points.
    """
    if coefficient is Coefficient.CONGER_KAPPA:
        return by_rows(_conger(units), units.values.shape[1] * len(units.domain))
    return by_rows(_by_shares(coefficient, units, scale), len(units.domain))


def percent_agreement_kernel(units: Units) -> Kernel:
    """weights (B, P) -> p_a (B,): the chance that two raters of a unit agree; NaN without a unit of two ratings."""
    features = np.column_stack([units.pairable.astype(np.float64), _agreement(units)])

    def kernel(weights: FloatArray) -> FloatArray:
        pairable, agreement = (weights @ features).T
        return ratio(agreement, pairable, pairable > 0)

    return kernel


def agreement_weights(points: FloatArray, scale: Scale, power: int) -> FloatArray:
    """(V, V): 1 - (|x_k - x_l| / (maximum - minimum)) ** power, by the declared values of the points."""
    distance = np.abs(points[:, None] - points[None, :]) / (scale.maximum - scale.minimum)
    return np.asarray(1 - distance**power)


def _by_shares(coefficient: Coefficient, units: Units, scale: Scale) -> Kernel:
    """Coefficients whose p_e follows from the category shares pi."""
    power = POWERS.get(coefficient)
    agreement = _agreement(units, scale, power)
    by_chance = _chance(coefficient, scale)

    def kernel(weights: FloatArray) -> FloatArray:
        pairs, sums, n = units.n_pairable(weights), units.share_sums(weights), units.n_rated(weights)
        defined = (pairs > 0) & ((sums > 0).sum(axis=1) > 1)
        shares = sums / np.where(n > 0, n, 1.0)[:, None]
        return _corrected(ratio(weights @ agreement, pairs, pairs > 0), by_chance(shares), defined)

    return kernel


def _chance(coefficient: Coefficient, scale: Scale) -> Callable[[FloatArray], FloatArray]:
    """shares (B, V) -> p_e (B,)."""
    q = scale.q
    if coefficient is Coefficient.BRENNAN_PREDIGER:
        return lambda shares: np.full(len(shares), 1 / q)
    if coefficient is Coefficient.FLEISS_KAPPA:
        return lambda shares: np.square(shares).sum(axis=1)
    power = POWERS.get(coefficient)
    declared = np.asarray(scale.points, dtype=np.float64)
    total = float(q) if power is None else float(agreement_weights(declared, scale, power).sum())
    return lambda shares: total / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)


def _conger(units: Units) -> Kernel:
    """Conger 1980, with missing ratings as in Gwet 2014 (section 2.5).

    p_gk is the share of category k among the ratings of rater g, and p_e = sum_k (mean_g p_gk)^2 - s_k^2 / r with s_k^2
    the variance of p_gk over the r raters. Written out, r^2 mean^2 = (sum_g p_gk)^2 and s_k^2 (r - 1) = sum_g p_gk^2 -
    r mean^2, so that p_e = sum_k [(sum_g p_gk)^2 - sum_g p_gk^2] / (r (r - 1)): Cohen's chance agreement, averaged over
    the pairs of raters. Raters without a rating (in a resample) do not count.
    """
    raters, width = units.values.shape[1], len(units.domain)
    agreement, by_rater = _agreement(units), units.counts_by_rater

    def kernel(weights: FloatArray) -> FloatArray:
        pairs = units.n_pairable(weights)
        given = totals(weights, by_rater).reshape(-1, raters, width)
        ratings = given.sum(axis=2)
        shares = given * reciprocal(ratings, ratings > 0)[:, :, None]
        summed = shares.sum(axis=1)
        r = (ratings > 0).sum(axis=1).astype(np.float64)
        defined = (pairs > 0) & ((summed > 0).sum(axis=1) > 1)
        chance = ratio(np.square(summed).sum(axis=1) - np.square(shares).sum(axis=(1, 2)), r * (r - 1), r > 1)
        return _corrected(ratio(weights @ agreement, pairs, pairs > 0), chance, defined)

    return kernel


def _agreement(units: Units, scale: Scale | None = None, power: int | None = None) -> FloatArray:
    """(P,): the share of agreeing pairs of ratings of each unit, 0 with fewer than two ratings."""
    pairs = reciprocal(units.sizes * (units.sizes - 1), units.pairable)
    if scale is None or power is None:
        return (row_squares(units.counts) - units.sizes) * pairs
    counts = dense(units.counts)
    weighted = (counts @ agreement_weights(units.domain, scale, power)) * counts
    return np.asarray((weighted.sum(axis=1) - units.sizes) * pairs)


def _corrected(agreement: FloatArray, chance: FloatArray, defined: BoolArray) -> FloatArray:
    return ratio(agreement - chance, 1 - chance, defined)
