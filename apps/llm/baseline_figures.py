"""What a baseline reaches against the experts, beside what guessing alone would reach. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apps.measures.aggregates import lowest_mode
from apps.measures.pairs import pair_statistics
from apps.measures.results import Result
from apps.measures.scale import Scale
from apps.measures.simple_scores import majority_guess
from apps.measures.within import score_of_draws

RESAMPLES = 1000

Figure = dict[str, float | int | str | None]
Experts = Mapping[int, Sequence[float]]  # item -> its experts' values


@dataclass(frozen=True, slots=True)
class MostFrequent:
    """The experts' most frequent point over all their ratings, the lowest of those that tie."""

    point: float
    count: int
    total: int


def most_frequent(experts: Experts) -> MostFrequent:
    """Raises ValueError where there is no rating."""
    given = [value for values in experts.values() for value in values]
    if not given:
        raise ValueError("there is no most frequent point of no ratings")
    point = float(lowest_mode([given])[0])
    return MostFrequent(point, given.count(point), len(given))


def medians(experts: Experts, scale: Scale) -> dict[int, float]:
    """item -> the lower median of its experts (the lowest mode on a nominal scale): always a declared point."""
    items = sorted(item for item, values in experts.items() if values)
    if not items:
        return {}
    table = np.full((len(items), max(len(experts[item]) for item in items)), np.nan)
    for row, item in enumerate(items):
        table[row, : len(experts[item])] = experts[item]
    return dict(zip(items, map(float, score_of_draws(table, scale)), strict=True))


def figures_of(ratings: Mapping[int, float], experts: Experts, scale: Scale, *, seed: int) -> dict[str, Figure]:
    """`kappa` (quadratic; unweighted on a nominal scale), `f1_weighted` and `percent_agreement` of a baseline's ratings
    with the experts' lower median, and `guess_f1_weighted` and `guess_percent_agreement`: what always guessing the most
    frequent median reaches. Over the items that have both, as JSON can hold them; 95 % intervals by resampling items.
    """
    truth = medians(experts, scale)
    items = sorted(truth.keys() & ratings.keys())
    medians_given = np.array([truth[item] for item in items], dtype=np.float64)
    given = np.array([ratings[item] for item in items], dtype=np.float64)
    kappa = "kappa_unweighted" if scale.is_nominal else "kappa_quadratic"
    found = pair_statistics(
        medians_given,
        given,
        scale,
        resamples=RESAMPLES,
        seed=seed,
        statistics=(kappa, "f1_weighted", "percent_agreement"),
    )
    guess = majority_guess(medians_given, scale)
    return {
        "kappa": _as_json(found[kappa]),
        "f1_weighted": _as_json(found["f1_weighted"]),
        "percent_agreement": _as_json(found["percent_agreement"]),
        "guess_f1_weighted": _as_json(guess.f1_weighted),
        "guess_percent_agreement": _as_json(guess.accuracy),
    }


def _as_json(result: Result) -> Figure:
    return {
        "value": result.value,
        "ci_low": result.ci_low,
        "ci_high": result.ci_high,
        "n_items": result.n_items,
        "reason": result.reason or "",
    }
