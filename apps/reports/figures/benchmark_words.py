"""What the benchmark figures show, in sentences made from their numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from apps.reliability.benchmarks import (
    DEFAULT_STATISTIC,
    EXPERTS_MEDIAN,
    FrameworkBenchmark,
    FrameworkSide,
    ScaleBenchmark,
)
from apps.reliability.directions import Direction, direction_of, is_at_least
from apps.reports.figures import words
from apps.reports.figures.labels import FigureLabels

# Of more sides than that a summary says how many, and not who.
MOST_NAMED = 6
# An expert is held against the median of the others, which takes two of them.
FEWEST_EXPERTS = 3


@dataclass(frozen=True, slots=True)
class Terms:
    """What a figure says of a statistic, by its direction.

    title: what stands before `by scale`. axis: what follows the name of the statistic. counted, often: of sides that
    reach what the median expert reaches.
    """

    title: str
    title_of_experts: str
    title_of_others: str
    axis: str
    most: str
    least: str
    counted: str
    often: str
    one: str


TERMS: Mapping[Direction, Terms] = MappingProxyType(
    {
        Direction.MORE: Terms(
            title="Agreement of the experts, and of the others with them,",
            title_of_experts="Agreement of the experts",
            title_of_others="Agreement of the others with the experts",
            axis="",
            most="agree most",
            least="least",
            counted="Agreeing with the experts' median at least as well as the median expert agrees with the others",
            often="agree with the experts' median at least as well as the median expert agrees with the others",
            one="Like for like, the median expert agrees with the median of the others at",
        ),
        Direction.LESS: Terms(
            title="How far the experts differ, and the others from them,",
            title_of_experts="How far the experts differ",
            title_of_others="How far the others differ from the experts",
            axis=" (less is better)",
            most="differ least",
            least="most",
            counted="Differing from the experts' median at most as much as the median expert differs from the others",
            often="differ from the experts' median at most as much as the median expert differs from the others",
            one="Like for like, the median expert differs from the median of the others by",
        ),
        Direction.NONE: Terms(
            title="How much higher or lower than the experts the others rate,",
            title_of_experts="How much higher or lower than the experts the others rate,",
            title_of_others="How much higher or lower than the experts the others rate,",
            axis=" (rating less the experts' median)",
            most="",
            least="",
            counted="",
            often="",
            one="",
        ),
    }
)
WITHOUT_ORDER = (
    "The experts among each other are left out: two of them have no order, so a difference between them has no sign."
)


def scale_summary(
    benchmarks: Sequence[ScaleBenchmark],
    labels: FigureLabels,
    threshold: float | None,
    statistic: str = DEFAULT_STATISTIC,
) -> str:
    """Where experts agree most and least, how many scales reach the threshold, and how each side stands beside them."""
    if not benchmarks:
        return "There are no scales to show."
    direction = direction_of(statistic)
    limit = threshold_for(threshold, direction)
    if len(benchmarks) == 1:
        return _summary_of_one(benchmarks[0], labels, limit, direction)
    sentences = _sentences(benchmarks, labels, limit, direction)
    undefined = sum(side.estimate.value is None for one in benchmarks for side in one.sides)
    if direction is not Direction.NONE:
        undefined += sum(one.n_undefined + one.leave_one_out.n_undefined for one in benchmarks)
    if undefined:
        sentences.append(f"{words.counted(undefined, 'figure')} cannot be given and {_is(undefined)} named in words.")
    return " ".join(sentences)


def framework_summary(
    benchmarks: Sequence[FrameworkBenchmark],
    labels: FigureLabels,
    threshold: float | None,
    statistic: str = DEFAULT_STATISTIC,
) -> str:
    """The same by framework, from means over scales."""
    if not benchmarks:
        return "There are no frameworks to show."
    direction = direction_of(statistic)
    sentences = _sentences(benchmarks, labels, threshold_for(threshold, direction), direction)
    if direction is not Direction.NONE:
        if any(not is_comparable for *_, is_comparable in _beside(benchmarks)):
            sentences.append(
                "Whoever lacks scales that the experts have, or the other way round, is not counted there."
            )
        undefined = sum(one.n_undefined for one in benchmarks)
        if undefined:
            sentences.append(f"On {words.counted(undefined, 'scale')} no pair of experts is defined.")
    return " ".join(sentences)


def threshold_for(threshold: float | None, direction: Direction) -> float | None:
    """No threshold of agreement is one of a distance or of a bias."""
    return threshold if direction is Direction.MORE else None


def whom(name: str, labels: FigureLabels) -> str:
    """Whom sides are compared with, in a sentence: an imported aggregate by its name."""
    return words.isolated(name) if name in labels.kinds else words.in_sentence(name or EXPERTS_MEDIAN)


Benchmarks = Sequence[ScaleBenchmark] | Sequence[FrameworkBenchmark]


def _summary_of_one(
    benchmark: ScaleBenchmark, labels: FigureLabels, threshold: float | None, direction: Direction
) -> str:
    """The figures themselves, since there are few."""
    sentences = [] if direction is Direction.NONE else [_pairs_of_one(benchmark, labels, threshold)]
    defined = [(side.name, side.estimate.value) for side in benchmark.sides if side.estimate.value is not None]
    if defined:
        figures = words.listed([f"{labels.rater(name)} {words.number(value)}" for name, value in defined])
        sentences.append(
            f"Rating less the experts' median on {labels.scale(benchmark.key)}: {figures}."
            if direction is Direction.NONE
            else f"With {whom(benchmark.compared_with, labels)}: {figures}."
        )
    missing = [labels.rater(side.name) for side in benchmark.sides if side.estimate.value is None]
    if missing:
        sentences.append(f"Not defined for {words.listed(missing)}.")
    if direction is Direction.NONE:
        return " ".join([*sentences, WITHOUT_ORDER])
    if defined and benchmark.expert_pairs:
        sentences.append(_experts_one_by_one(benchmark, direction))
    if benchmark.n_undefined and benchmark.median is not None:
        sentences.append(f"{words.counted(benchmark.n_undefined, 'pair')} of experts cannot be compared.")
    return " ".join(sentences)


def _pairs_of_one(benchmark: ScaleBenchmark, labels: FigureLabels, threshold: float | None) -> str:
    name, pairs = labels.scale(benchmark.key), len(benchmark.expert_pairs) - benchmark.n_undefined
    if benchmark.low is None or benchmark.median is None or benchmark.high is None:
        return f"No pair of experts can be compared on {name}, so there is no benchmark."
    number = words.number if threshold is None else partial(words.number_beside, limit=threshold)
    which = "median" if pairs > 1 else "one"
    sentence = f"On {name} the {which} pair of experts is at {number(benchmark.median)}"
    if pairs > 1:
        sentence += f" ({number(benchmark.low)} to {number(benchmark.high)} over {pairs} pairs)"
    if threshold is not None:
        side = "at or above" if benchmark.median >= threshold else "below"
        sentence += f", {side} {words.number(threshold)}"
    return f"{sentence}."


def _experts_one_by_one(benchmark: ScaleBenchmark, direction: Direction) -> str:
    """Like with like: what an expert reaches with the median of the others."""
    found = benchmark.leave_one_out
    if not found.experts:
        return _without_others(benchmark)
    if found.low is None or found.median is None or found.high is None:
        return "No expert can be compared with the median of the others."
    return (
        f"{TERMS[direction].one} {words.number(found.median)} ({words.number(found.low)} to "
        f"{words.number(found.high)})."
    )


def has_two_experts(benchmark: ScaleBenchmark | FrameworkBenchmark) -> bool:
    """Whether there are not enough experts to hold one against a median of the others."""
    return len({name for pair in benchmark.expert_pairs for name in (pair.a, pair.b)}) < FEWEST_EXPERTS


def _without_others(benchmark: ScaleBenchmark | FrameworkBenchmark) -> str:
    if has_two_experts(benchmark):
        return "With two experts none of them can be compared with a median of the others: nothing is like for like."
    return "How each expert agrees with the median of the others is not given here."


def _sentences(
    benchmarks: Benchmarks, labels: FigureLabels, threshold: float | None, direction: Direction
) -> list[str]:
    if direction is Direction.NONE:
        return [*_signed_sentences(benchmarks, labels), WITHOUT_ORDER]
    return [
        _experts_sentence(benchmarks, labels, threshold, direction),
        *_counts_sentences(benchmarks, labels, direction),
    ]


def _name(benchmark: ScaleBenchmark | FrameworkBenchmark, labels: FigureLabels) -> str:
    if isinstance(benchmark, ScaleBenchmark):
        return f"{labels.scale(benchmark.key)} ({labels.place(benchmark.key)})"
    return labels.framework(benchmark.block, benchmark.framework)


def _noun(benchmarks: Benchmarks) -> str:
    return "scale" if isinstance(benchmarks[0], ScaleBenchmark) else "framework"


def _experts_sentence(
    benchmarks: Benchmarks, labels: FigureLabels, threshold: float | None, direction: Direction
) -> str:
    noun, terms = _noun(benchmarks), TERMS[direction]
    ranked = sorted(
        ((one.median, one) for one in benchmarks if one.median is not None),
        key=lambda entry: entry[0],
        reverse=direction is Direction.MORE,
    )
    if not ranked:
        return f"No pair of experts can be compared on {_the(len(benchmarks), noun)}, so there is no benchmark."
    (first, best), (last, worst) = ranked[0], ranked[-1]
    at_best, at_worst = (
        words.number(value) if threshold is None else words.number_beside(value, threshold) for value in (first, last)
    )
    if len(ranked) == 1:
        sentence = f"On {_name(best, labels)} the median pair of experts is at {at_best}"
    elif first == last:
        sentence = f"The median pair of experts is at {at_best} on each of {len(ranked)} {noun}s"
    else:
        sentence = (
            f"Experts {terms.most} on {_name(best, labels)}, where their median pair is at {at_best}, and "
            f"{terms.least} on {_name(worst, labels)}, at {at_worst}"
        )
    if threshold is not None:
        sentence += _beside_threshold([value for value, _ in ranked], threshold, noun)
    return f"{sentence}."


def _beside_threshold(medians: Sequence[float], threshold: float, noun: str) -> str:
    reached, limit = sum(value >= threshold for value in medians), words.number(threshold)
    if len(medians) == 1:
        return f", {'at or above' if reached else 'below'} {limit}"
    return f"; it is at or above {limit} on {words.part_of(reached, len(medians), noun)}"


def _beside(benchmarks: Benchmarks) -> Iterator[tuple[str, float, float, bool]]:
    """Each side's value by name with that of the median expert and the others, and whether they may be compared.

    Means over other scales may not: a side that has a value on the easier of two scales would seem to agree more.
    """
    for one in benchmarks:
        experts = one.leave_one_out
        for side in one.sides:
            value = side.estimate.value
            if value is None or experts.median is None:
                continue
            is_whole = not isinstance(side, FrameworkSide) or experts.n_undefined == side.estimate.n_undefined == 0
            yield side.name, value, experts.median, is_whole


def _counts_sentences(benchmarks: Benchmarks, labels: FigureLabels, direction: Direction) -> list[str]:
    """How often each side reaches what the median expert reaches with the others."""
    noun, terms = _noun(benchmarks), TERMS[direction]
    standing: dict[str, list[bool]] = {}
    for name, value, expert, is_comparable in _beside(benchmarks):
        if is_comparable:
            standing.setdefault(name, []).append(is_at_least(value, expert, direction))
    sentences = []
    if len(standing) > MOST_NAMED:
        often = sum(2 * sum(where) >= len(where) for where in standing.values())
        which = f"{often or 'none'} {_verb(terms.often, often)}"
        sentences.append(f"Of {len(standing)} others, {which} on half of their {noun}s or more.")
    elif standing:
        ranked = sorted(standing.items(), key=lambda entry: -sum(entry[1]) / len(entry[1]))
        parts = [f"{labels.rater(name)} on {words.part_of(sum(where), len(where), noun)}" for name, where in ranked]
        sentences.append(f"{terms.counted}: {words.listed(parts)}.")
    bare = [one for one in benchmarks if one.sides and one.expert_pairs and not one.leave_one_out.experts]
    if bare and not standing:
        sentences.append(_without_others(bare[0]))
    elif bare:
        sentences.append(f"On {words.counted(len(bare), noun)} no expert can be compared with a median of the others.")
    return sentences


def _signed_sentences(benchmarks: Benchmarks, labels: FigureLabels) -> list[str]:
    """From where to where each side's bias goes; no bias is better than another by being higher."""
    found: dict[str, list[tuple[float, str]]] = {}
    for one in benchmarks:
        for side in one.sides:
            if side.estimate.value is not None:
                found.setdefault(side.name, []).append((side.estimate.value, _name(one, labels)))
    if len(found) > MOST_NAMED:
        values = [entry for entries in found.values() for entry in entries]
        return [f"Rating less the experts' median is {_from_to(values)}, over {len(found)} others."]
    parts = [f"{labels.rater(name)} {_from_to(values)}" for name, values in found.items()]
    return parts and [f"Rating less the experts' median: {'; '.join(parts)}."]


def _from_to(values: Sequence[tuple[float, str]]) -> str:
    (low, lowest), (high, highest) = min(values), max(values)
    if len(values) == 1:
        return f"{words.number(low)} on {lowest}"
    return f"from {words.number(low)} on {lowest} to {words.number(high)} on {highest}"


def _the(count: int, noun: str) -> str:
    return f"the one {noun}" if count == 1 else f"any of the {count} {noun}s"


def _verb(words_of_many: str, count: int) -> str:
    """`agree with ...` of several, `agrees with ...` of one and of none."""
    verb, _, rest = words_of_many.partition(" ")
    return f"{verb}s {rest}" if count < 2 else words_of_many


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
