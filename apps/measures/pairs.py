"""Agreement of two raters."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from apps.measures import categories, ranks
from apps.measures.arrays import FloatArray
from apps.measures.contingency import PairTable, indicator
from apps.measures.estimates import estimate, intervals
from apps.measures.kappa import Convention, Weighting, categories_of, kappa, kappa_test
from apps.measures.patterns import Patterns, patterns_of
from apps.measures.resampling import Kernel
from apps.measures.results import Reason, Result, undefined
from apps.measures.scale import Scale

__all__ = ["PAIR_STATISTICS", "Convention", "pair_kernels", "pair_statistics", "shared_patterns"]

PAIR_STATISTICS = (
    "kappa_unweighted",
    "kappa_linear",
    "kappa_quadratic",
    "percent_agreement",
    "within_one",
    "spearman",
    "kendall_tau_b",
    "mae",
    "bias",
    "f1_weighted",
)
# They compare categories, so a value between points has no place in them; the others need numbers.
CATEGORICAL = frozenset({"kappa_unweighted", "percent_agreement", "f1_weighted"})
KAPPAS = frozenset(weighting.value for weighting in Weighting)
# One item cannot tell agreement from chance, nor has it a rank.
NEED_TWO_ITEMS = KAPPAS | {"spearman", "kendall_tau_b"}


@dataclass(frozen=True)
class Comparison:
    """Two raters' table, and the table of the categories that the convention makes of it."""

    table: PairTable
    categories: PairTable
    scale: Scale
    convention: Convention

    @classmethod
    def of(cls, a: FloatArray, b: FloatArray, scale: Scale, convention: Convention) -> "Comparison":
        """From values (P,) without missing ones."""
        table = PairTable(a, b)
        if convention is Convention.SCALE:
            return cls(table, table, scale, convention)
        return cls(table, PairTable(categories_of(a, convention), categories_of(b, convention)), scale, convention)

    def table_of(self, weighting: Weighting) -> PairTable:
        """Unweighted kappa is the same in both conventions: it is always that of the values themselves."""
        return self.table if weighting is Weighting.UNWEIGHTED else self.categories

    def kappa(self, weighting: Weighting, weights: FloatArray) -> FloatArray:
        return kappa(self.table_of(weighting), weights, weighting, self.convention)

    def kernel(self, statistic: str) -> Kernel:
        """The statistic as a function of weights (B, P). Raises ValueError for an unknown name."""
        if statistic in KAPPAS:
            return partial(self.kappa, Weighting(statistic))
        if statistic == "within_one":
            return partial(categories.within_one, self.table, scale=self.scale)
        if statistic not in _KERNELS:
            raise ValueError(f"unknown pair statistic {statistic!r}; known are {', '.join(PAIR_STATISTICS)}")
        return partial(_KERNELS[statistic], self.table)

    def blocked(self, statistic: str) -> Reason | None:
        """Why the statistic makes no sense for this scale and these values, if so."""
        if statistic not in CATEGORICAL:
            return Reason.NOT_FOR_NOMINAL if self.scale.is_nominal else None
        return None if self.scale.on_points(self.table.values) else Reason.BETWEEN_POINTS

    def can_resample(self, statistic: str) -> bool:
        return statistic != "kendall_tau_b" or ranks.kendall_can_resample(self.table)


_KERNELS: Mapping[str, Callable[[PairTable, FloatArray], FloatArray]] = {
    "percent_agreement": categories.percent_agreement,
    "spearman": ranks.spearman,
    "kendall_tau_b": ranks.kendall_tau_b,
    "mae": categories.mean_absolute_error,
    "bias": categories.bias,
    "f1_weighted": categories.f1_weighted,
}


def pair_kernels(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    scale: Scale,
    *,
    convention: Convention = Convention.SCALE,
    statistics: Iterable[str] = ("kappa_quadratic",),
) -> dict[str, Kernel]:
    """Kernels of two raters within patterns of many raters: for statistics that compare agreements on the same
    resamples (give them to `resampling.resample`).

    a, b: (P,) columns of `Patterns.values`, NaN where that rater is missing; such patterns do not count for the pair.
    A statistic that the scale or the values rule out is left out of the answer.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    both = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    rows, codes = np.unique(np.stack([first[both], second[both]], axis=1), axis=0, return_inverse=True)
    to_pairs = indicator(codes.ravel(), rows.shape[0])
    comparison = Comparison.of(rows[:, 0], rows[:, 1], scale, convention)

    def of_pairs(kernel: Kernel, weights: FloatArray) -> FloatArray:
        if both.size == 0:
            return np.full(weights.shape[0], np.nan)
        return kernel(np.asarray(weights[:, both] @ to_pairs))

    return {
        statistic: partial(of_pairs, comparison.kernel(statistic))
        for statistic in statistics
        if comparison.blocked(statistic) is None and comparison.can_resample(statistic)
    }


def shared_patterns(a: npt.ArrayLike, b: npt.ArrayLike, scale: Scale) -> Patterns | Result:
    """Patterns (P, 2) of the items both rated, or the result that says why there are none.

    a, b: (n,) aligned by item, NaN for missing. Raises OffScale for a value outside the scale, ValueError when the
    lengths differ.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"the raters must be aligned by item; got shapes {first.shape} and {second.shape}")
    patterns = patterns_of(np.stack([first, second], axis=1), scale)
    rated = ~np.isnan(patterns.values)
    n_raters = int(rated.any(axis=0).sum())
    if n_raters < 2:
        return undefined(Reason.FEWER_THAN_TWO_RATERS, n_raters=n_raters)
    both = rated.all(axis=1)
    if not both.any():
        return undefined(Reason.NO_SHARED_ITEMS, n_raters=2)
    return Patterns(patterns.values[both], patterns.counts[both])


def pair_statistics(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    scale: Scale,
    *,
    convention: Convention = Convention.SCALE,
    resamples: int = 0,
    seed: int = 0,
    statistics: Iterable[str] = PAIR_STATISTICS,
) -> dict[str, Result]:
    """Every named statistic of raters a and b (n,), NaN for missing; used are the items that both rated.

    a is the reference side: the truth of F1, and bias is the mean of b minus that of a. Kappas carry z and p of
    kappa = 0 (see `kappa_test`), rank correlations p. All statistics share the resamples. Kendall's tau of more than
    2,048 distinct pairs on more than 362 distinct values has a value but no interval (`n_resamples` 0); nor
    has anything that rests on a single item.

    Raises OffScale for a value outside the scale, ValueError for unequal lengths or an unknown statistic.
    """
    names = tuple(statistics)
    patterns = shared_patterns(a, b, scale)
    if isinstance(patterns, Result):
        return {name: _with_convention(name, patterns, convention) for name in names}
    comparison = Comparison.of(patterns.values[:, 0], patterns.values[:, 1], scale, convention)
    results: dict[str, Result] = {}
    kernels: dict[str, Kernel] = {}
    for name in names:
        kernel = comparison.kernel(name)
        result = _point(comparison, patterns, name, kernel)
        results[name] = _with_convention(name, result, convention)
        if result.is_defined and patterns.n_items > 1 and comparison.can_resample(name):
            kernels[name] = kernel
    return intervals(results, patterns, kernels, resamples, seed)


def _point(comparison: Comparison, patterns: Patterns, name: str, kernel: Kernel) -> Result:
    """The value at the observed counts with its test, or the reason why there is none."""
    n = patterns.n_items
    blocked = comparison.blocked(name)
    if blocked is None and n < 2 and name in NEED_TWO_ITEMS:
        blocked = Reason.TOO_FEW_ITEMS
    if blocked is not None:
        return undefined(blocked, n_items=n, n_raters=2, n_ratings=2 * n)
    counts = patterns.weights[0]
    if name == "kendall_tau_b":
        value, p_value = ranks.kendall_point(comparison.table, counts)
        if value is None:
            return undefined(Reason.NO_VARIATION, n_items=n, n_raters=2, n_ratings=2 * n)
        return Result(value, None, n, 2, 2 * n, p_value=p_value)
    result = estimate(patterns, {name: kernel}, reason=Reason.NO_VARIATION, n_raters=2, n_ratings=2 * n)[name]
    if result.value is None:
        return result
    if name == "spearman":
        return replace(result, p_value=ranks.spearman_p_value(result.value, n))
    if name in KAPPAS:
        weighting = Weighting(name)
        test = kappa_test(comparison.table_of(weighting), counts, weighting, comparison.convention)
        return result if test is None else replace(result, z=test[0], p_value=test[1])
    return result


def _with_convention(name: str, result: Result, convention: Convention) -> Result:
    return replace(result, convention=convention.value) if name in KAPPAS else result
