"""Agreement of two raters."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from apps.measures import categories, ranks
from apps.measures.arrays import FloatArray
from apps.measures.contingency import PairTable, indicator
from apps.measures.estimates import intervals
from apps.measures.kappa import Convention, Weighting, categories_of, kappa, kappa_test
from apps.measures.patterns import Patterns, patterns_of
from apps.measures.resampling import Kernel, Shared
from apps.measures.results import Reason, Result, undefined
from apps.measures.scale import Scale

__all__ = [
    "PAIR_STATISTICS",
    "Convention",
    "pair_kernels",
    "pair_statistics",
    "pair_statistics_by_convention",
    "shared_patterns",
]

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
    def of(cls, table: PairTable, scale: Scale, convention: Convention) -> "Comparison":
        categories = categories_of(table.values, convention)
        if (np.diff(categories) > 0).all():
            # They differ where the values do, and only their order counts.
            return cls(table, table, scale, convention)
        merged = PairTable(categories_of(table.a, convention), categories_of(table.b, convention))
        return cls(table, merged, scale, convention)

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
        return None if self.on_points else Reason.BETWEEN_POINTS

    @cached_property
    def on_points(self) -> bool:
        """Whether every value is a declared point."""
        return self.scale.on_points(self.table.values)

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
    comparison = Comparison.of(PairTable(rows[:, 0], rows[:, 1]), scale, convention)
    pair_weights = Shared(lambda weights: np.asarray(weights[:, both] @ to_pairs))

    def of_pairs(kernel: Kernel, weights: FloatArray) -> FloatArray:
        if both.size == 0:
            return np.full(weights.shape[0], np.nan)
        return kernel(pair_weights(weights))

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
    wanted = {convention: tuple(statistics)}
    return pair_statistics_by_convention(a, b, scale, wanted=wanted, resamples=resamples, seed=seed)[convention]


def pair_statistics_by_convention(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    scale: Scale,
    *,
    wanted: Mapping[Convention, Iterable[str]],
    resamples: int = 0,
    seed: int = 0,
) -> dict[Convention, dict[str, Result]]:
    """`pair_statistics` in several conventions, each with the statistics `wanted` in it, on the same resamples.

    The figures are those of as many calls of `pair_statistics`; what costs most, the resamples, is shared.
    """
    names = {convention: tuple(statistics) for convention, statistics in wanted.items()}
    patterns = shared_patterns(a, b, scale)
    if isinstance(patterns, Result):
        return {
            convention: {name: replace(patterns, convention=_said(name, convention)) for name in listed}
            for convention, listed in names.items()
        }
    table = PairTable(patterns.values[:, 0], patterns.values[:, 1])
    results: dict[tuple[Convention, str], Result] = {}
    kernels: dict[tuple[Convention, str], Kernel] = {}
    for convention, listed in names.items():
        comparison = Comparison.of(table, scale, convention)
        for name in listed:
            kernel = comparison.kernel(name)
            results[convention, name] = result = _point(comparison, patterns, name, kernel)
            if result.is_defined and patterns.n_items > 1 and comparison.can_resample(name):
                kernels[convention, name] = kernel
    found = intervals(results, patterns, kernels, resamples, seed)
    return {convention: {name: found[convention, name] for name in listed} for convention, listed in names.items()}


def _point(comparison: Comparison, patterns: Patterns, name: str, kernel: Kernel) -> Result:
    """The value at the observed counts with its test, or the reason why there is none."""
    n = patterns.n_items
    convention = _said(name, comparison.convention)
    reason = comparison.blocked(name)
    if reason is None and n < 2 and name in NEED_TWO_ITEMS:
        reason = Reason.TOO_FEW_ITEMS
    if reason is None:
        value, z, p_value = _value_and_test(comparison, patterns, name, kernel)
        if value is not None:
            return Result(value, None, n, 2, 2 * n, z=z, p_value=p_value, convention=convention)
    return undefined(reason or Reason.NO_VARIATION, n_items=n, n_raters=2, n_ratings=2 * n, convention=convention)


def _value_and_test(
    comparison: Comparison, patterns: Patterns, name: str, kernel: Kernel
) -> tuple[float | None, float | None, float | None]:
    """(value, z, p) at the observed counts: None for a value that is undefined, and for what has no test."""
    counts = patterns.weights[0]
    if name == "kendall_tau_b":
        value, p_value = ranks.kendall_point(comparison.table, counts)
        return value, None, p_value
    value = float(kernel(patterns.weights)[0])
    if math.isnan(value):
        return None, None, None
    if name == "spearman":
        return value, None, ranks.spearman_p_value(value, patterns.n_items)
    if name in KAPPAS:
        weighting = Weighting(name)
        test = kappa_test(comparison.table_of(weighting), counts, weighting, comparison.convention)
        return (value, None, None) if test is None else (value, *test)
    return value, None, None


def _said(name: str, convention: Convention) -> str:
    """The convention as results name it: only kappas have one."""
    return convention.value if name in KAPPAS else ""
