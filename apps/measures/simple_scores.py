"""Why simple scores mislead: accuracy and F1 beside what guessing alone would reach, and F1 at every threshold."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from apps.measures.arrays import FloatArray
from apps.measures.categories import f1_binary
from apps.measures.estimates import estimate
from apps.measures.pairs import pair_kernels, shared_patterns
from apps.measures.patterns import Patterns, patterns_of
from apps.measures.results import Reason, Result, undefined
from apps.measures.scale import TOLERANCE, Scale


@dataclass(frozen=True, slots=True)
class MajorityGuess:
    """What one reaches by always guessing the most frequent point of the truth; None where there is no such point."""

    point: float | None
    accuracy: Result
    f1_weighted: Result


def majority_guess(truth: npt.ArrayLike, scale: Scale) -> MajorityGuess:
    """The baseline for accuracy (percent agreement) and weighted F1 against `truth` (n,), NaN for missing.

    With p the share of the most frequent point (the lowest of those that tie), accuracy is p. F1 of that point is
    2p / (1 + p), that of the others is 0, so weighted F1 is 2p^2 / (1 + p).
    Raises OffScale for a value outside the scale.
    """
    patterns = patterns_of(np.asarray(truth, dtype=np.float64)[:, None], scale)
    n = patterns.n_items
    points = patterns.values[:, 0]
    if n == 0 or not scale.on_points(points):
        reason = Reason.NO_RATINGS if n == 0 else Reason.BETWEEN_POINTS
        nothing = undefined(reason, n_items=n, n_raters=min(n, 1), n_ratings=n)
        return MajorityGuess(None, nothing, nothing)
    most = int(np.argmax(patterns.counts))
    share = float(patterns.counts[most] / n)
    return MajorityGuess(
        float(points[most]),
        Result(share, None, n, 1, n),
        Result(2 * share**2 / (1 + share), None, n, 1, n),
    )


def binary_f1(
    a: npt.ArrayLike, b: npt.ArrayLike, scale: Scale, *, resamples: int = 0, seed: int = 0
) -> dict[float, Result]:
    """F1 of "at or above the threshold", for each declared point but the lowest, with a (n,) as truth.

    NaN for missing. F1 is 2 tp / (positives of a + positives of b), the same whichever is truth. Raises OffScale for a
    value outside the scale.
    """
    thresholds = scale.points[1:]
    patterns = shared_patterns(a, b, scale)
    if isinstance(patterns, Result):
        return dict.fromkeys(thresholds, patterns)
    n = patterns.n_items
    if scale.is_nominal:
        nothing = undefined(Reason.NOT_FOR_NOMINAL, n_items=n, n_raters=2, n_ratings=2 * n)
        return dict.fromkeys(thresholds, nothing)
    place = scale.position_of(patterns.values)
    kernels = {}
    for index, threshold in enumerate(thresholds, start=1):
        positive = place > index - TOLERANCE
        kernels[f"{threshold}"] = partial(f1_binary, positive[:, 0], positive[:, 1])
    found = estimate(
        patterns,
        kernels,
        reason=Reason.NO_POSITIVES,
        n_raters=2,
        n_ratings=2 * n,
        resamples=resamples,
        seed=seed,
    )
    return {threshold: found[f"{threshold}"] for threshold in thresholds}


def f1_with_others(values: npt.ArrayLike, column: int, scale: Scale, *, resamples: int = 0, seed: int = 0) -> Result:
    """Mean weighted F1 of rater `column` with each other rater of the group (n, m) as truth.

    This is how an expert is set beside a model: against the other experts one by one, never against a median that
    contains the expert. Raters who share no item with this one are left out of the mean.
    """
    patterns = patterns_of(values, scale)
    own = ~np.isnan(patterns.values[:, column])
    others = np.delete(patterns.values, column, axis=1)
    used = own & (~np.isnan(others)).any(axis=1)
    if not used.any():
        alone = not own.any() or bool(np.isnan(others).all())
        return undefined(Reason.FEWER_THAN_TWO_RATERS if alone else Reason.NO_SHARED_ITEMS)
    shared = Patterns(patterns.values[used], patterns.counts[used])
    truths = [truth for truth in others[used].T if not np.isnan(truth).all()]
    n_items, n_raters = shared.n_items, 1 + len(truths)
    n_ratings = int((~np.isnan(shared.values)).sum(axis=1) @ shared.counts)
    if not scale.on_points(shared.values):
        return undefined(Reason.BETWEEN_POINTS, n_items=n_items, n_raters=n_raters, n_ratings=n_ratings)
    own_values = shared.values[:, column]
    kernels = [pair_kernels(truth, own_values, scale, statistics=("f1_weighted",))["f1_weighted"] for truth in truths]

    def mean_f1(weights: FloatArray) -> FloatArray:
        return np.asarray(np.mean([kernel(weights) for kernel in kernels], axis=0))

    return estimate(
        shared,
        {"f1_weighted": mean_f1},
        reason=Reason.NO_SHARED_ITEMS,
        n_raters=n_raters,
        n_ratings=n_ratings,
        resamples=resamples,
        seed=seed,
    )["f1_weighted"]
