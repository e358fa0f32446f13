"""Agreement of one rater with themselves: repeated items, and several draws of a model."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from apps.measures.aggregates import lower_median, lowest_mode
from apps.measures.arrays import FloatArray
from apps.measures.contingency import share
from apps.measures.estimates import estimate
from apps.measures.groups import group_statistics
from apps.measures.kappa import Convention
from apps.measures.pairs import pair_statistics
from apps.measures.patterns import Patterns, patterns_of
from apps.measures.results import Reason, Result, undefined
from apps.measures.scale import Scale

RETEST_STATISTICS = ("retest_kappa_quadratic", "retest_mae")


def retest_statistics(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    scale: Scale,
    *,
    convention: Convention = Convention.SCALE,
    resamples: int = 0,
    seed: int = 0,
) -> dict[str, Result]:
    """Quadratic kappa and mean absolute difference of a rater's first and second rating (n,) of the same items.

    NaN for missing. Raises OffScale for a value outside the scale.
    """
    found = pair_statistics(
        first,
        second,
        scale,
        convention=convention,
        resamples=resamples,
        seed=seed,
        statistics=("kappa_quadratic", "mae"),
    )
    return {f"retest_{name}": _of_one_rater(result) for name, result in found.items()}


def _of_one_rater(result: Result) -> Result:
    """What compares two ratings of one rater counts one rater; without shared items nothing was repeated."""
    n_raters = min(result.n_raters, 1)
    if result.reason in (Reason.FEWER_THAN_TWO_RATERS, Reason.NO_SHARED_ITEMS):
        return replace(result, reason=Reason.NO_REPEATS.value, n_raters=n_raters)
    return replace(result, n_raters=n_raters)


def draw_statistics(draws: npt.ArrayLike, scale: Scale, *, resamples: int = 0, seed: int = 0) -> dict[str, Result]:
    """Steadiness of a model over its draws (n items, k draws), NaN for missing.

    `draws_alpha`: Krippendorff's alpha with the draws as raters (interval; nominal on nominal scales).
    `draws_sd`: the standard deviation within items, pooled: the root of the squared deviations from the item's mean,
    summed and divided by the sum of (draws of the item - 1) (Bland and Altman 1996), in units of the scale.
    """
    alpha = "alpha_nominal" if scale.is_nominal else "alpha_interval"
    found = group_statistics(draws, scale, resamples=resamples, seed=seed, statistics=(alpha,))[alpha]
    return {
        "draws_alpha": _of_one_rater(found),
        "draws_sd": _deviation(patterns_of(draws, scale), scale, resamples=resamples, seed=seed),
    }


def _deviation(patterns: Patterns, scale: Scale, *, resamples: int, seed: int) -> Result:
    sizes = (~np.isnan(patterns.values)).sum(axis=1)
    repeated = sizes >= 2
    if scale.is_nominal:
        return undefined(Reason.NOT_FOR_NOMINAL, n_raters=1)
    if not repeated.any():
        return undefined(Reason.NO_REPEATS, n_raters=min(1, patterns.counts.size))
    used = Patterns(patterns.values[repeated], patterns.counts[repeated])
    freedom = (sizes[repeated] - 1).astype(np.float64)
    squares = np.nanvar(used.values, axis=1, ddof=1) * freedom

    def deviation(weights: FloatArray) -> FloatArray:
        return np.sqrt(share(weights @ squares, weights @ freedom))

    n_ratings = int(sizes[repeated] @ used.counts)
    return estimate(
        used,
        {"draws_sd": deviation},
        reason=Reason.NO_REPEATS,
        n_raters=1,
        n_ratings=n_ratings,
        resamples=resamples,
        seed=seed,
    )["draws_sd"]


def score_of_draws(draws: npt.ArrayLike, scale: Scale) -> FloatArray:
    """The rating (n,) made of a model's draws (n, k): always one of them, NaN where there is none.

    Ordinal scales take the median, the lower of the middle two for an even number; nominal ones the mode, the lowest
    of those that tie. Raises OffScale for a value outside the scale.
    """
    scale.check(draws)
    return lowest_mode(draws) if scale.is_nominal else lower_median(draws)
