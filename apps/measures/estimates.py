"""From kernels to results: the value at the observed counts, and its interval over resamples of items."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from apps.measures.patterns import Patterns
from apps.measures.resampling import Kernel, Key, percentile_interval, resample
from apps.measures.results import Reason, Result, undefined


def estimate(
    patterns: Patterns,
    kernels: Mapping[str, Kernel],
    *,
    reason: Reason,
    n_raters: int,
    n_ratings: int,
    resamples: int = 0,
    seed: int = 0,
) -> dict[str, Result]:
    """A result for each kernel, all over the same resamples; `reason` is why a kernel gives NaN.

    What rests on a single item gets no interval.
    """
    n_items = patterns.n_items
    results = {}
    for name, kernel in kernels.items():
        value = kernel(patterns.weights)[0]
        if np.isnan(value):
            results[name] = undefined(reason, n_items=n_items, n_raters=n_raters, n_ratings=n_ratings)
        else:
            results[name] = Result(float(value), None, n_items, n_raters, n_ratings)
    defined = {name: kernel for name, kernel in kernels.items() if results[name].is_defined and n_items > 1}
    return intervals(results, patterns, defined, resamples, seed)


def intervals(
    results: Mapping[Key, Result], patterns: Patterns, kernels: Mapping[Key, Kernel], resamples: int, seed: int
) -> dict[Key, Result]:
    """The results that have a kernel, with intervals; the kernels share the resamples."""
    if resamples == 0 or not kernels:
        return dict(results)
    with_intervals = dict(results)
    for name, values in resample(patterns, kernels, resamples=resamples, seed=seed).items():
        low, high, degenerate = percentile_interval(values)
        with_intervals[name] = replace(
            results[name], ci_low=low, ci_high=high, n_resamples=resamples, n_degenerate=degenerate
        )
    return with_intervals
