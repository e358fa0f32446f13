"""Agreement within a group of raters on one dimension: every group statistic, with intervals over items.

Krippendorff's alpha is in `alpha`, the coefficients on categories in `chance`, intraclass correlations in `icc`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from apps.measures.alpha import Metric, alpha_at_point, alpha_kernel, can_resample
from apps.measures.arrays import BoolArray, IntArray
from apps.measures.chance import Coefficient, chance_kernel, percent_agreement_kernel
from apps.measures.estimates import intervals
from apps.measures.icc import Form, icc_kernel
from apps.measures.patterns import Patterns, patterns_of
from apps.measures.resampling import Kernel
from apps.measures.results import Reason, Result, undefined
from apps.measures.scale import Scale
from apps.measures.units import Units

ALPHAS = {f"alpha_{metric}": metric for metric in Metric}
COEFFICIENTS = {coefficient.value: coefficient for coefficient in Coefficient}
FORMS = {form.value: form for form in Form}
PERCENT_AGREEMENT = "percent_agreement"

GROUP_STATISTICS = (
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "alpha_ratio",
    "fleiss_kappa",
    "conger_kappa",
    "ac1",
    "ac2_linear",
    "ac2_quadratic",
    "brennan_prediger",
    "icc_1_1",
    "icc_2_1",
    "icc_3_1",
    "icc_1_k",
    "icc_2_k",
    "icc_3_k",
    "percent_agreement",
)

# What needs order or numbers, and what needs categories.
_NUMERIC = {"alpha_ordinal", "alpha_interval", "alpha_ratio", "ac2_linear", "ac2_quadratic", *FORMS}
_CATEGORICAL = {"alpha_nominal", PERCENT_AGREEMENT, *COEFFICIENTS}


def group_statistics(
    values: npt.ArrayLike,
    scale: Scale,
    *,
    resamples: int = 0,
    seed: int = 0,
    statistics: Sequence[str] = GROUP_STATISTICS,
) -> dict[str, Result]:
    """The named statistics of ratings (n items, m raters), NaN for missing, with 95 % percentile intervals.

    Whole items are resampled, and all statistics see the same resamples. The counts of a result are of what it used:
    for alpha and percent agreement the items with two ratings or more, for the coefficients of `chance` all items with
    a rating (they enter the category shares), for the ICCs the items rated by every rater. From a single item only
    percent agreement can be told, and without an interval; nor has alpha_ratio one on more than 8,192 distinct values.

    Raises OffScale for a value outside the scale, ValueError for an unknown statistic.
    """
    patterns = patterns_of(values, scale)
    return pattern_statistics(patterns, scale, resamples=resamples, seed=seed, statistics=statistics)


def pattern_statistics(
    patterns: Patterns,
    scale: Scale,
    *,
    resamples: int = 0,
    seed: int = 0,
    statistics: Sequence[str] = GROUP_STATISTICS,
) -> dict[str, Result]:
    """`group_statistics` of ratings that were collapsed to patterns before."""
    unknown = set(statistics) - set(GROUP_STATISTICS)
    if unknown:
        raise ValueError(f"unknown group statistics {sorted(unknown)}; there are {', '.join(GROUP_STATISTICS)}")
    units = Units.of(patterns.values)
    found: dict[str, Result] = {}
    kernels: dict[str, Kernel] = {}
    for name in statistics:
        reason = _not_computable(name, units, patterns.counts, scale)
        kernel = None if reason else group_kernel(name, units, scale)
        found[name] = _at_point(name, units, patterns, kernel, reason)
        if kernel is not None and found[name].is_defined and found[name].n_items > 1 and _can_resample(name, units):
            kernels[name] = kernel
    return intervals(found, patterns, kernels, resamples, seed)


def group_kernel(name: str, units: Units, scale: Scale) -> Kernel:
    """The kernel of a statistic, weights (B, P) -> (B,), for values that it is suitable for."""
    if name in ALPHAS:
        return alpha_kernel(ALPHAS[name], units)
    if name in COEFFICIENTS:
        return chance_kernel(COEFFICIENTS[name], units, scale)
    if name in FORMS:
        return icc_kernel(FORMS[name], units)
    return percent_agreement_kernel(units)


def _can_resample(name: str, units: Units) -> bool:
    return name not in ALPHAS or can_resample(ALPHAS[name], units)


def _not_computable(name: str, units: Units, counts: IntArray, scale: Scale) -> Reason | None:
    """Why the statistic cannot be had from such values, whatever they are in particular."""
    if units.values.shape[1] < 2:
        return Reason.FEWER_THAN_TWO_RATERS
    if not units.pairable.any():
        return Reason.NO_SHARED_ITEMS
    if name in _NUMERIC and scale.is_nominal:
        return Reason.NOT_FOR_NOMINAL
    if name == "alpha_ratio" and scale.minimum < 0:
        return Reason.NEGATIVE_POINTS
    if name in _CATEGORICAL and not scale.on_points(units.domain):
        return Reason.BETWEEN_POINTS
    comparable = int(counts[units.complete if name in FORMS else units.pairable].sum())
    if name in FORMS and comparable == 0:
        return Reason.NO_COMPLETE_ITEMS
    if name != PERCENT_AGREEMENT and comparable < 2:
        # One item cannot tell agreement from chance: alpha, for one, is 0 whatever the raters gave.
        return Reason.TOO_FEW_ITEMS
    return None


def _at_point(name: str, units: Units, patterns: Patterns, kernel: Kernel | None, reason: Reason | None) -> Result:
    """The statistic of the items as they are."""
    if reason in (Reason.FEWER_THAN_TWO_RATERS, Reason.NO_SHARED_ITEMS, Reason.NO_COMPLETE_ITEMS):
        return undefined(reason, n_raters=units.values.shape[1])
    used = _used(name, units)
    n_items = int(patterns.counts[used].sum())
    n_raters = int(units.given[used].any(axis=0).sum())
    n_ratings = int(units.sizes[used] @ patterns.counts[used])
    value = float("nan")
    if name in ALPHAS and kernel is not None:
        value = alpha_at_point(ALPHAS[name], units, patterns.counts)
    elif kernel is not None:
        value = float(kernel(patterns.weights)[0])
    if np.isnan(value):
        reason = reason or _why_undefined(units, used)
        return undefined(reason, n_items=n_items, n_raters=n_raters, n_ratings=n_ratings)
    return Result(value, None, n_items, n_raters, n_ratings)


def _used(name: str, units: Units) -> BoolArray:
    """(P,): the units that enter the statistic."""
    if name in COEFFICIENTS:
        return np.asarray(units.sizes > 0)
    return units.complete if name in FORMS else units.pairable


def _why_undefined(units: Units, used: BoolArray) -> Reason:
    """Why a kernel had no value: only an ICC can fail where the ratings vary."""
    varies = np.unique(units.values[used][units.given[used]]).size > 1
    return Reason.NO_POSITIVE_VARIANCE if varies else Reason.NO_VARIATION
