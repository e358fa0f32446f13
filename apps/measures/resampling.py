"""The item bootstrap: an item is drawn with all its raters, with multiplicity, never rater by rater."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np

from apps.measures.arrays import FloatArray, IntArray
from apps.measures.patterns import Patterns

# Cells (resamples x patterns) of weights held at a time: 16 MiB of float64.
CHUNK_CELLS = 1 << 21
# Cells of single draws held at a time: half a MiB.
CACHED_CELLS = 1 << 16
# Drawing an item costs about a twelfth of drawing a binomial count.
ITEMS_PER_PATTERN = 12

# weights (B, P) -> statistic (B,), NaN where it is undefined
Kernel = Callable[[FloatArray], FloatArray]

Answer = TypeVar("Answer")
Key = TypeVar("Key", bound=Hashable)


class Shared(Generic[Answer]):
    """A step that several kernels have in common: weights (B, P) -> whatever they need of them.

    Kernels are asked one after the other about the same array of weights, which nobody changes: the step is taken by
    the first of them, and its answer kept until another array comes.
    """

    def __init__(self, step: Callable[[FloatArray], Answer]) -> None:
        self._step = step
        self._kept: tuple[FloatArray, Answer] | None = None

    def __call__(self, weights: FloatArray) -> Answer:
        if self._kept is None or self._kept[0] is not weights:
            self._kept = None  # its memory is free before the next answer takes some
            self._kept = (weights, self._step(weights))
        return self._kept[1]


def weight_chunks(patterns: Patterns, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Weights (b, P) of the resamples, in chunks that stay under CHUNK_CELLS cells where P allows it.

    A row holds how often each pattern occurs in one resample of n_items items: a multinomial draw with the observed
    shares. Where patterns are nearly as many as items, the items themselves are drawn, which is the same
    distribution. The chunks are one stream of random numbers: their size changes no draw.
    """
    rng = np.random.default_rng(seed)
    n, p = patterns.n_items, patterns.counts.size
    if n == 0 or resamples == 0:
        return
    by_item = n <= ITEMS_PER_PATTERN * p
    rows = max(1, CHUNK_CELLS // max(p, n if by_item else 1))
    owner = np.repeat(np.arange(p, dtype=np.int64), patterns.counts) if by_item else None
    shares = patterns.counts / n
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        if owner is None:
            yield rng.multinomial(n, shares, size=size).astype(np.float64)
        else:
            yield _drawn_items(rng, owner, size, p)


def _drawn_items(rng: np.random.Generator, owner: IntArray, size: int, p: int) -> FloatArray:
    """Weights (size, p) of as many resamples of items, from the pattern of each item (n,)."""
    n = owner.size
    weights = np.empty((size, p))
    # So few at a time that what is drawn stays in the processor's cache.
    rows = max(1, CACHED_CELLS // n)
    for start in range(0, size, rows):
        some = min(rows, size - start)
        drawn = owner[rng.integers(0, n, size=(some, n))]
        drawn += np.arange(some, dtype=np.int64)[:, None] * p
        weights[start : start + some] = np.bincount(drawn.ravel(), minlength=some * p).reshape(some, p)
    return weights


def pattern_weights(patterns: Patterns, resamples: int, seed: int) -> FloatArray:
    """All weights (B, P) at once; for large B x P use `weight_chunks` or `resample`."""
    chunks = list(weight_chunks(patterns, resamples, seed))
    return np.concatenate(chunks) if chunks else np.empty((0, patterns.counts.size))


def resample(patterns: Patterns, kernels: Mapping[Key, Kernel], *, resamples: int, seed: int) -> dict[Key, FloatArray]:
    """Each kernel's values (B,) over the same resamples, so that differences between them are paired."""
    found: dict[Key, list[FloatArray]] = {name: [] for name in kernels}
    for weights in weight_chunks(patterns, resamples, seed):
        for name, kernel in kernels.items():
            found[name].append(kernel(weights))
    return {name: np.concatenate(parts) if parts else np.empty(0) for name, parts in found.items()}


def percentile_interval(values: FloatArray, level: float = 0.95) -> tuple[float | None, float | None, int]:
    """(low, high, number of degenerate resamples) of values (B,), where NaN marks a degenerate resample.

    Percentiles are interpolated linearly, without the degenerate resamples. When these are more than half, what is
    left says little and there is no interval: (None, None, number).
    """
    missing = np.isnan(values)
    degenerate = int(np.count_nonzero(missing))
    defined = values[~missing] if degenerate else values
    if defined.size == 0 or degenerate > defined.size:
        return None, None, degenerate
    places = [(1 - level) / 2 * (defined.size - 1), (1 + level) / 2 * (defined.size - 1)]
    neighbours = [min(math.floor(place) + beside, defined.size - 1) for place in places for beside in (0, 1)]
    ordered = np.partition(defined, neighbours)
    low, high = (
        _between(float(ordered[left]), float(ordered[right]), place - left)
        for place, left, right in zip(places, neighbours[::2], neighbours[1::2], strict=True)
    )
    return low, high, degenerate


def _between(left: float, right: float, share: float) -> float:
    return left if share == 0 else (right - left) * share + left
