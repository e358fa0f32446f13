"""What the benchmark figures show, in sentences made from their numbers."""

from collections.abc import Sequence
from functools import partial

from apps.reliability.benchmarks import (
    DEFAULT_STATISTIC,
    SIGNED,
    BenchmarkSide,
    FrameworkBenchmark,
    FrameworkSide,
    ScaleBenchmark,
)
from apps.reports.figures import words
from apps.reports.figures.labels import FigureLabels

# Of more sides than that a summary says how many, and not who.
MOST_NAMED = 6
# Where more is less agreement.
DISTANCE = "mae"


def scale_summary(
    benchmarks: Sequence[ScaleBenchmark],
    labels: FigureLabels,
    threshold: float | None,
    statistic: str = DEFAULT_STATISTIC,
) -> str:
    """Where experts agree most and least, how many scales reach the threshold, and how each side stands beside them."""
    if not benchmarks:
        return "There are no scales to show."
    if len(benchmarks) == 1:
        return _summary_of_one(benchmarks[0], labels, threshold)
    sentences = [_experts_sentence(benchmarks, labels, threshold, statistic)]
    sentences += _sides_sentences(benchmarks, labels, "scale", statistic)
    undefined = sum(one.n_undefined + sum(side.estimate.value is None for side in one.sides) for one in benchmarks)
    if undefined:
        sentences.append(f"{words.counted(undefined, 'figure')} cannot be given and {_is(undefined)} named in words.")
    return " ".join(sentences)


def _summary_of_one(benchmark: ScaleBenchmark, labels: FigureLabels, threshold: float | None) -> str:
    """The figures themselves, since there are few."""
    name, pairs = labels.scale(benchmark.key), len(benchmark.expert_pairs) - benchmark.n_undefined
    if benchmark.low is None or benchmark.median is None or benchmark.high is None:
        sentences = [f"No pair of experts can be compared on {name}, so there is no benchmark."]
    else:
        number = words.number if threshold is None else partial(words.number_beside, limit=threshold)
        sentence = f"On {name} the median pair of experts is at {number(benchmark.median)}"
        if pairs > 1:
            sentence += f" ({number(benchmark.low)} to {number(benchmark.high)} over {pairs} pairs)"
        if threshold is not None:
            side = "at or above" if benchmark.median >= threshold else "below"
            sentence += f", {side} {words.number(threshold)}"
        sentences = [f"{sentence}."]
    defined = [(side.name, side.estimate.value) for side in benchmark.sides if side.estimate.value is not None]
    if defined:
        figures = [f"{labels.rater(name)} {words.number(value)}" for name, value in defined]
        sentences.append(f"With the experts' median: {words.listed(figures)}.")
    missing = [labels.rater(side.name) for side in benchmark.sides if side.estimate.value is None]
    if missing:
        sentences.append(f"Not defined for {words.listed(missing)}.")
    if benchmark.n_undefined and pairs:
        sentences.append(f"{words.counted(benchmark.n_undefined, 'pair')} of experts cannot be compared.")
    return " ".join(sentences)


def framework_summary(
    benchmarks: Sequence[FrameworkBenchmark],
    labels: FigureLabels,
    threshold: float | None,
    statistic: str = DEFAULT_STATISTIC,
) -> str:
    if not benchmarks:
        return "There are no frameworks to show."
    sentences = [_experts_sentence(benchmarks, labels, threshold, statistic)]
    sentences += _sides_sentences(benchmarks, labels, "framework", statistic)
    if any(not _is_on_the_same_scales(one, side) for one in benchmarks for side in one.sides if side.estimate.n_scales):
        sentences.append("Whoever lacks scales that the experts have, or the other way round, is not counted there.")
    undefined = sum(one.n_undefined for one in benchmarks)
    if undefined:
        sentences.append(f"On {words.counted(undefined, 'scale')} no pair of experts is defined.")
    return " ".join(sentences)


Benchmarks = Sequence[ScaleBenchmark] | Sequence[FrameworkBenchmark]


def _name(benchmark: ScaleBenchmark | FrameworkBenchmark, labels: FigureLabels) -> str:
    if isinstance(benchmark, ScaleBenchmark):
        return f"{labels.scale(benchmark.key)} ({labels.place(benchmark.key)})"
    return labels.framework(benchmark.block, benchmark.framework)


def _experts_sentence(benchmarks: Benchmarks, labels: FigureLabels, threshold: float | None, statistic: str) -> str:
    noun = "scale" if isinstance(benchmarks[0], ScaleBenchmark) else "framework"
    ranked = sorted(
        ((one.median, one) for one in benchmarks if one.median is not None), key=lambda entry: entry[0], reverse=True
    )
    if not ranked:
        return f"No pair of experts can be compared on {_the(len(benchmarks), noun)}, so there is no benchmark."
    (high, best), (low, worst) = ranked[0], ranked[-1]
    at_best, at_worst = (
        words.number(value) if threshold is None else words.number_beside(value, threshold) for value in (high, low)
    )
    if len(ranked) == 1:
        sentence = f"On {_name(best, labels)} the median pair of experts is at {at_best}"
    elif high == low:
        sentence = f"The median pair of experts is at {at_best} on each of {len(ranked)} {noun}s"
    elif statistic == SIGNED:
        # Which of two experts is named first says nothing of how far they agree.
        sentence = (
            f"The median over pairs of experts, of the second less the first by name, is highest on "
            f"{_name(best, labels)}, at {at_best}, and lowest on {_name(worst, labels)}, at {at_worst}"
        )
    elif statistic == DISTANCE:
        sentence = (
            f"Experts differ most on {_name(best, labels)}, where their median pair is at {at_best}, and least on "
            f"{_name(worst, labels)}, at {at_worst}"
        )
    else:
        sentence = (
            f"Experts agree most on {_name(best, labels)}, where their median pair is at {at_best}, and least on "
            f"{_name(worst, labels)}, at {at_worst}"
        )
    if threshold is not None:
        reached = sum(value >= threshold for value, _ in ranked)
        sentence += f"; it is at or above {words.number(threshold)} on {reached} of {words.counted(len(ranked), noun)}"
    return f"{sentence}."


def _is_on_the_same_scales(benchmark: ScaleBenchmark | FrameworkBenchmark, side: BenchmarkSide | FrameworkSide) -> bool:
    """Whether a side's median over scales is over the very scales of the experts'."""
    if not isinstance(benchmark, FrameworkBenchmark) or not isinstance(side, FrameworkSide):
        return True
    return side.estimate.n_undefined == benchmark.n_undefined == 0


def _sides_sentences(benchmarks: Benchmarks, labels: FigureLabels, noun: str, statistic: str) -> list[str]:
    if statistic == SIGNED:
        return []
    reached: dict[str, list[bool]] = {side.name: [] for one in benchmarks for side in one.sides}
    for one in benchmarks:
        for side in one.sides:
            value = side.estimate.value
            if value is not None and one.median is not None and _is_on_the_same_scales(one, side):
                reached[side.name].append(value <= one.median if statistic == DISTANCE else value >= one.median)
    standing = {name: where for name, where in reached.items() if where}
    if len(standing) > MOST_NAMED:
        often = sum(2 * sum(where) >= len(where) for where in standing.values())
        how = (
            "differ from the experts' median at most"
            if statistic == DISTANCE
            else "agree with the experts' median at least"
        )
        return [
            f"Of {len(standing)} others, {often} {how} as much as the median pair of experts on half of their {noun}s "
            "or more."
        ]
    parts = [
        f"{labels.rater(name)} on {sum(where)} of {words.counted(len(where), noun)}" for name, where in standing.items()
    ]
    what = "The difference from the experts' median is at most"
    if statistic != DISTANCE:
        what = "Agreement with the experts' median is at least"
    return parts and [f"{what} that of their median pair for {words.listed(parts)}."]


def _the(count: int, noun: str) -> str:
    return f"the one {noun}" if count == 1 else f"any of the {count} {noun}s"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
