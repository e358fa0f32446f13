"""What moves a model's scores besides the conversation: the order of the points, chance, and length. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import numpy as np

from apps.llm.bias_figures import (
    DRAW_STATISTICS,
    FEWEST_ITEMS,
    LENGTH_STATISTICS,
    ORDER_STATISTICS,
    Check,
    Figure,
    Why,
)
from apps.measures.arrays import FloatArray, IntArray
from apps.measures.contingency import share
from apps.measures.corrections import benjamini_hochberg
from apps.measures.estimates import estimate
from apps.measures.pairs import pair_kernels, pair_statistics
from apps.measures.patterns import Patterns
from apps.measures.results import Reason, Result, undefined
from apps.measures.scale import Scale
from apps.measures.sign_flips import NAME, sign_flip_p_value
from apps.measures.slopes import slopes
from apps.measures.within import draw_statistics, score_of_draws

RESAMPLES = 1000
WORDS_IN_A_UNIT = 100
# What a difference of ranks is not defined for.
_NEEDS_ORDER = frozenset({"shift_mean", "share_within_one"})


@dataclass(frozen=True)
class ScaleAnswers:
    """A model's answers on one scale, with what they are held against; NaN for missing.

    scores: (n,) what it rates, made from draws (n, k), the values of its valid answers. original, reversed: (n,) the
    answer to a question with the points as declared, and with the points listed from the last to the first. experts:
    (n,) their lower median. words: (n,) of the supporter's text. The n items are the same, in the same order, on every
    scale of a check.
    """

    framework: str
    dimension: str
    scale: Scale
    scores: FloatArray
    draws: FloatArray
    original: FloatArray
    reversed: FloatArray
    experts: FloatArray
    words: FloatArray


def score_of(draws: FloatArray, cannot_tell: IntArray, scale: Scale) -> FloatArray:
    """The score (n,) of draws (n, k), as ratings are made of them: NaN where more draws cannot tell than give a value.

    cannot_tell: (n,) how many of an item's answers say so; they are no draws.
    """
    given = (~np.isnan(draws)).sum(axis=1)
    return np.where(cannot_tell > given, np.nan, score_of_draws(draws, scale))


def check_figures(scales: Sequence[ScaleAnswers], *, seed: int, resamples: int = RESAMPLES) -> list[Figure]:
    """Every figure of the three checks: scale by scale, then over all scales where that means something.

    Raises OffScale for a value outside its scale.
    """
    return [
        *_order_figures(scales, resamples, seed),
        *_draw_figures(scales, resamples, seed),
        *_length_figures(scales, resamples, seed),
    ]


# --- The order of the points --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moves:
    """What became of the scores of n items, (n,) each: sums over their pairs of an original and a reversed score."""

    pairs: FloatArray
    sums: Mapping[str, FloatArray]

    @classmethod
    def of(cls, answers: ScaleAnswers) -> Self:
        """Of one scale. Steps are counted in points: from one declared point to the next is one."""
        steps = answers.scale.position_of(answers.reversed) - answers.scale.position_of(answers.original)
        both = ~np.isnan(steps)
        found = np.where(both, steps, 0.0)
        sums = {
            "shift_mean": found,
            "share_equal": (both & (found == 0)).astype(np.float64),
            "share_within_one": (both & (np.abs(found) <= 1)).astype(np.float64),
            "share_towards_first": (found > 0).astype(np.float64),
            "share_towards_last": (found < 0).astype(np.float64),
        }
        if answers.scale.is_nominal:
            sums = {name: column for name, column in sums.items() if name not in _NEEDS_ORDER}
        return cls(both.astype(np.float64), sums)

    def results(self, resamples: int, seed: int) -> dict[str, Result]:
        """The mean over all pairs of items drawn with all their pairs; the shift with its test, by item as well."""
        used = self.pairs > 0
        pairs = self.pairs[used]
        items = Patterns(pairs[:, None], np.ones(pairs.size, dtype=np.int64))
        kernels = {name: _mean_kernel(column[used], pairs) for name, column in self.sums.items()}
        found = estimate(
            items,
            kernels,
            reason=Reason.NO_SHARED_ITEMS,
            n_raters=1,
            n_ratings=2 * int(pairs.sum()),
            resamples=resamples,
            seed=seed,
        )
        if "shift_mean" in found and pairs.size >= FEWEST_ITEMS:
            # An item's steps on all scales change sign together: they come of the same two prompts.
            p_value = sign_flip_p_value(self.sums["shift_mean"][used])
            found["shift_mean"] = replace(found["shift_mean"], p_value=p_value)
        return found


def _mean_kernel(sums: FloatArray, pairs: FloatArray) -> Callable[[FloatArray], FloatArray]:
    return lambda weights: share(weights @ sums, weights @ pairs)


_STEPS = f"points, reversed minus original; {NAME}"


def _order_figures(scales: Sequence[ScaleAnswers], resamples: int, seed: int) -> Iterator[Figure]:
    if not any(_has_pairs(one) for one in scales):
        for scale in (*scales, None):
            yield from _without(Check.ORDER, ORDER_STATISTICS, Why.NOT_REVERSED, scale)
        return
    yield from _corrected(list(_order_by_scale(scales, resamples, seed)), ("shift_mean",))
    yield from _order_over_all(scales, resamples, seed)


def _order_by_scale(scales: Sequence[ScaleAnswers], resamples: int, seed: int) -> Iterator[Figure]:
    for one in scales:
        found = dict(_Moves.of(one).results(resamples, seed)) if _has_pairs(one) else {}
        kappa = pair_statistics(
            one.original, one.reversed, one.scale, resamples=resamples, seed=seed, statistics=("kappa_quadratic",)
        )
        if _has_pairs(one):
            found |= {"kappa_quadratic": replace(kappa["kappa_quadratic"], n_raters=1, z=None, p_value=None)}
        for name in ORDER_STATISTICS:
            result = found.get(name) or _no_order(one)
            yield Figure.of(Check.ORDER, name, result, one, convention=_STEPS if name == "shift_mean" else "")


def _has_pairs(answers: ScaleAnswers) -> bool:
    return bool((~np.isnan(answers.original) & ~np.isnan(answers.reversed)).any())


def _no_order(answers: ScaleAnswers) -> Result:
    n = int((~np.isnan(answers.original) & ~np.isnan(answers.reversed)).sum())
    return undefined(Reason.NOT_FOR_NOMINAL if n else Reason.NO_SHARED_ITEMS, n_items=n, n_raters=1, n_ratings=2 * n)


def _order_over_all(scales: Sequence[ScaleAnswers], resamples: int, seed: int) -> Iterator[Figure]:
    """Pairs of all scales together, and the mean kappa; an item is drawn with its pairs on every scale."""
    paired = [one for one in scales if _has_pairs(one)]
    moves = [_Moves.of(one) for one in paired]
    for name in ORDER_STATISTICS:
        if name == "kappa_quadratic":
            yield _mean_kappa(paired, resamples, seed)
            continue
        having = [one for one in moves if name in one.sums]
        if not having:
            yield Figure.of(Check.ORDER, name, undefined(Reason.NOT_FOR_NOMINAL, n_raters=1), n_scales=0)
            continue
        pooled = _Moves(_sum(one.pairs for one in having), {name: _sum(one.sums[name] for one in having)})
        result = pooled.results(resamples, seed)[name]
        convention = _STEPS if name == "shift_mean" else ""
        yield Figure.of(Check.ORDER, name, result, n_scales=len(having), convention=convention)


def _sum(columns: Iterable[FloatArray]) -> FloatArray:
    return np.asarray(np.sum(np.stack(list(columns)), axis=0))


def _mean_kappa(scales: Sequence[ScaleAnswers], resamples: int, seed: int) -> Figure:
    """The mean of the scales' kappas, those that are undefined left out; so in each resample."""
    used = _sum((~np.isnan(one.original) & ~np.isnan(one.reversed)).astype(np.float64) for one in scales) > 0
    n = int(used.sum())
    items = Patterns(np.zeros((n, 1)), np.ones(n, dtype=np.int64))
    kernels = []
    n_ratings = 0
    for one in scales:
        a, b = one.original[used], one.reversed[used]
        kernel = pair_kernels(a, b, one.scale).get("kappa_quadratic")
        shared = int((~np.isnan(a) & ~np.isnan(b)).sum())
        if kernel is not None and shared > 1 and not np.isnan(kernel(items.weights)[0]):
            kernels.append(kernel)
            n_ratings += 2 * shared

    def mean(weights: FloatArray) -> FloatArray:
        found = np.stack([kernel(weights) for kernel in kernels])
        defined = ~np.isnan(found)
        return share(np.where(defined, found, 0.0).sum(axis=0), defined.sum(axis=0).astype(np.float64))

    if not kernels:
        nothing = undefined(Reason.NO_VARIATION, n_items=n, n_raters=1)
        return Figure.of(Check.ORDER, "kappa_quadratic", nothing, n_scales=0, convention="scale")
    result = estimate(
        items,
        {"kappa_quadratic": mean},
        reason=Reason.NO_VARIATION,
        n_raters=1,
        n_ratings=n_ratings,
        resamples=resamples,
        seed=seed,
    )["kappa_quadratic"]
    return Figure.of(Check.ORDER, "kappa_quadratic", result, n_scales=len(kernels), convention="scale, mean of scales")


# --- Repeated draws -----------------------------------------------------------------------------------------------


def _draw_figures(scales: Sequence[ScaleAnswers], resamples: int, seed: int) -> Iterator[Figure]:
    if not any(one.draws.shape[1] > 1 for one in scales):
        for scale in (*scales, None):
            names = DRAW_STATISTICS if scale else ("draws_equal",)
            yield from _without(Check.DRAWS, names, Why.ONE_SAMPLE, scale)
        return
    equal = [_equal_draws(one.draws) for one in scales]
    for one, same in zip(scales, equal, strict=True):
        found = draw_statistics(one.draws, one.scale, resamples=resamples, seed=seed)
        found |= same.results(resamples, seed)
        for name in DRAW_STATISTICS:
            result = found[name]
            if not same.pairs.any():
                result = undefined(Reason.NO_REPEATS, n_raters=result.n_raters)
            yield Figure.of(Check.DRAWS, name, result, one)
    pooled = _Moves(_sum(one.pairs for one in equal), {"draws_equal": _sum(one.sums["draws_equal"] for one in equal)})
    result = pooled.results(resamples, seed)["draws_equal"]
    yield Figure.of(Check.DRAWS, "draws_equal", result, n_scales=sum(bool(one.pairs.any()) for one in equal))


def _equal_draws(draws: FloatArray) -> _Moves:
    """Of the items with two draws or more, those whose draws are all the same; draws (n, k)."""
    repeated = (~np.isnan(draws)).sum(axis=1) > 1
    least, most = np.fmin.reduce(draws, axis=1), np.fmax.reduce(draws, axis=1)
    same = repeated & (least == most)
    return _Moves(repeated.astype(np.float64), {"draws_equal": same.astype(np.float64)})


# --- Length -------------------------------------------------------------------------------------------------------


def _length_figures(scales: Sequence[ScaleAnswers], resamples: int, seed: int) -> Iterator[Figure]:
    found = [figure for one in scales for figure in _slopes_of(one, resamples, seed)]
    yield from _corrected(found, LENGTH_STATISTICS)


def _corrected(found: list[Figure], statistics: Sequence[str]) -> Iterator[Figure]:
    """Figures by scale; the p of each of the statistics is corrected over its scales."""
    for name in statistics:
        places = [place for place, figure in enumerate(found) if figure.statistic == name]
        adjusted = benjamini_hochberg([found[place].p_value for place in places])
        for place, p_value in zip(places, adjusted, strict=True):
            found[place] = replace(found[place], p_adjusted=p_value)
    yield from found


def _slopes_of(answers: ScaleAnswers, resamples: int, seed: int) -> Iterator[Figure]:
    """All three on the items that the experts rated as well; where those are too few, the model's on all of its own."""
    scored = ~np.isnan(answers.scores)
    measured = scored & ~np.isnan(answers.words)
    shared = measured & ~np.isnan(answers.experts)
    if answers.scale.is_nominal:
        yield from _without(Check.LENGTH, LENGTH_STATISTICS, Reason.NOT_FOR_NOMINAL, answers)
        return
    if not measured.any():
        why = Why.NO_SUPPORTER if scored.any() else Reason.NO_RATINGS
        yield from _without(Check.LENGTH, LENGTH_STATISTICS, why, answers)
        return
    words = answers.words / WORDS_IN_A_UNIT
    if shared.sum() >= FEWEST_ITEMS:
        columns = {
            "slope_model": answers.scores,
            "slope_experts": answers.experts,
            "slope_difference": answers.scores - answers.experts,
        }
        results = slopes(words, columns, resamples=resamples, seed=seed)
        for name in LENGTH_STATISTICS:
            yield Figure.of(Check.LENGTH, name, results[name], answers)
        return
    if (n := int(measured.sum())) < FEWEST_ITEMS:
        yield from _without(Check.LENGTH, ("slope_model",), Why.FEWER_THAN_TEN, answers, n)
    else:
        result = slopes(words, {"model": answers.scores}, resamples=resamples, seed=seed)["model"]
        yield Figure.of(Check.LENGTH, "slope_model", result, answers)
    n_shared = int(shared.sum())
    why = Why.FEWER_THAN_TEN if n_shared else Why.NO_EXPERTS
    yield from _without(Check.LENGTH, LENGTH_STATISTICS[1:], why, answers, n_shared)


def _without(
    check: Check, names: Iterable[str], why: StrEnum, scale: ScaleAnswers | None, n_items: int = 0
) -> Iterator[Figure]:
    """Figures that are not there, each with the reason."""
    for name in names:
        result = Result(None, why.value, n_items, 1, n_items)
        yield Figure.of(check, name, result, scale, n_scales=1 if scale else 0)
