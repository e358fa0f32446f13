"""Expert agreement as the benchmark: what the experts reach among themselves, and every other side beside it.

The benchmark of a scale is the kappas of all pairs of its experts, each pair by itself: lowest, median, highest. Beside
it stands the agreement of each model, crowd, self-report, reference and baseline with the median of the experts. Models
are never pooled. What is undefined stays out of medians and means and is counted.

A median of several experts is steadier than one of them, so a side is held against something easier than an expert of a
pair is. Like with like is each expert with the median of the other experts (`LeaveOneOut`).

Rows are those of `agreement.analyse`, of one convention; nothing is computed anew but medians and means.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import NamedTuple, Protocol, TypeVar

from apps.measures.aggregates import Aggregate
from apps.reliability.agreement import AgreementRow
from apps.reliability.directions import SIGNED, Direction, direction_of
from apps.reliability.matrix import GROUP_NAMES, KIND_ORDER, Kind, RaterKey, TableKey

DEFAULT_STATISTIC = "kappa_quadratic"
DEFAULT_GROUP_STATISTIC = "alpha_interval"
EXPERTS_MEDIAN = f"{GROUP_NAMES[Kind.EXPERT]}:{Aggregate.MEDIAN}"
CROWD_MEAN = f"{GROUP_NAMES[Kind.CROWD]}:{Aggregate.MEAN}"
# There is a median of the experts only where two of them rated (docs/agreement.md).
NO_EXPERTS_MEDIAN = "fewer than two experts"
# Why a bias has no benchmark.
NO_ORDER = "two experts have no order, so their difference has no sign"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One figure of a row. `value` is None where it is undefined, and `reason` says why; else `reason` is empty."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    p_adjusted: float | None
    n_items: int
    reason: str


class ExpertPair(NamedTuple):
    """Two experts by name, and their agreement."""

    a: str
    b: str
    estimate: Estimate


class ExpertWithOthers(NamedTuple):
    """An expert by name, and their agreement with the median of the other experts."""

    name: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """Each expert with the median of the others: the measure like that of the sides.

    experts: empty where fewer than three rated, since one alone has no median. low, median, high: over the defined
    ones, None where there is none; by framework their means over its scales.
    """

    experts: tuple["ExpertWithOthers | FrameworkExpert", ...] = ()
    low: float | None = None
    median: float | None = None
    high: float | None = None
    n_undefined: int = 0


class BenchmarkSide(NamedTuple):
    """Who is held against the experts: a rater by name, or `crowd:mean`; and the agreement with their median.

    A bias is that of the side: its mean less that of the experts' median, whichever the rows name first.
    """

    name: str
    kind: Kind
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class ScaleBenchmark:
    """One scale.

    expert_pairs: every pair of experts that the rows hold. low, median, high: over the defined ones, None where there
    is none, and of a bias, whose sign depends on which of two experts is named first. n_undefined: pairs of experts
    without a value. sides: in the order of kinds, then by name. compared_with: whom the sides are compared with,
    `experts:median`, or the imported aggregate that stands for the experts; empty where there is neither, and then
    every side is undefined. leave_one_out: each expert with the others, as the sides are with all of them.
    """

    key: TableKey
    expert_pairs: tuple[ExpertPair, ...]
    low: float | None
    median: float | None
    high: float | None
    n_undefined: int
    sides: tuple[BenchmarkSide, ...]
    compared_with: str
    leave_one_out: LeaveOneOut = LeaveOneOut()
    statistic: str = DEFAULT_STATISTIC

    @property
    def direction(self) -> Direction:
        return direction_of(self.statistic)


class MeanOfScales(NamedTuple):
    """The mean over scales; `value` is None where none is defined. n_scales: defined ones, which it was made from."""

    value: float | None
    n_scales: int
    n_undefined: int


class FrameworkPair(NamedTuple):
    """Two experts, and the mean of their agreement over the scales of a framework."""

    a: str
    b: str
    estimate: MeanOfScales


class FrameworkExpert(NamedTuple):
    """An expert, and the mean of their agreement with the others over the scales of a framework."""

    name: str
    estimate: MeanOfScales


class FrameworkSide(NamedTuple):
    """A side, and the mean of its agreement with the experts' median over the scales of a framework."""

    name: str
    kind: Kind
    estimate: MeanOfScales


@dataclass(frozen=True, slots=True)
class FrameworkBenchmark:
    """Means over the scales of one framework in one block, of which there are `n_scales`: as the averages of tables.

    low, median, high: the mean of the scales' lowest, median and highest pair of experts. n_undefined: scales on
    which no pair of experts is defined; they are left out.
    """

    block: str
    framework: str
    expert_pairs: tuple[FrameworkPair, ...]
    low: float | None
    median: float | None
    high: float | None
    n_scales: int
    n_undefined: int
    sides: tuple[FrameworkSide, ...]
    leave_one_out: LeaveOneOut = LeaveOneOut()
    statistic: str = DEFAULT_STATISTIC

    @property
    def direction(self) -> Direction:
        return direction_of(self.statistic)


@dataclass(frozen=True, slots=True)
class GroupAlpha:
    """The agreement of the raters of one kind among each other, on one scale. `kind`: None for the group of a file."""

    key: TableKey
    group: str
    kind: Kind | None
    estimate: Estimate


class _HasMedian(Protocol):
    @property
    def median(self) -> float | None: ...

    @property
    def direction(self) -> Direction: ...


Ranked = TypeVar("Ranked", bound=_HasMedian)


def scale_benchmarks(
    rows: Iterable[AgreementRow], raters: Sequence[RaterKey], statistic: str = DEFAULT_STATISTIC
) -> list[ScaleBenchmark]:
    """One benchmark for each scale in `rows`, where experts agree most first, undefined ones last.

    Scales with the same median stay in the order of the rows. Raters that `raters` does not name are left out: hand in
    some of them to show only those. Raises ValueError where a comparison occurs twice, as with rows of two conventions.
    """
    known = {rater.name: rater for rater in raters}
    return _by_median(
        _scale_benchmark(key, pairs, known, statistic) for key, pairs in _pairs_by_scale(rows, statistic).items()
    )


def framework_benchmarks(
    rows: Iterable[AgreementRow], raters: Sequence[RaterKey], statistic: str = DEFAULT_STATISTIC
) -> list[FrameworkBenchmark]:
    """The same by framework of each block, in the same order."""
    return frameworks_of(scale_benchmarks(rows, raters, statistic))


def frameworks_of(benchmarks: Iterable[ScaleBenchmark]) -> list[FrameworkBenchmark]:
    """The benchmarks of scales, summed up by framework."""
    together: dict[tuple[str, str], list[ScaleBenchmark]] = {}
    for one in benchmarks:
        together.setdefault((one.key.block, one.key.framework), []).append(one)
    return _by_median(_framework_benchmark(*key, scales) for key, scales in together.items())


def group_alphas(rows: Iterable[AgreementRow], statistic: str = DEFAULT_GROUP_STATISTIC) -> list[GroupAlpha]:
    """The agreement within each group on each scale, in the order of the rows; any statistic of a group will do."""
    kinds = {name: kind for kind, name in GROUP_NAMES.items()}
    return [
        GroupAlpha(_key(row), row.a, kinds.get(row.a), estimate_of(row))
        for row in rows
        if row.statistic == statistic and not row.b
    ]


def estimate_of(row: AgreementRow) -> Estimate:
    """The figure of a row without whose it is."""
    return Estimate(row.value, row.ci_low, row.ci_high, row.p_value, row.p_adjusted, row.n_items, row.reason)


def turned(estimate: Estimate) -> Estimate:
    """The same difference the other way round."""
    value, low, high = (
        None if one is None else 0.0 - one for one in (estimate.value, estimate.ci_high, estimate.ci_low)
    )
    return replace(estimate, value=value, ci_low=low, ci_high=high)


Pairs = Mapping[tuple[str, str], Estimate]


def _pairs_by_scale(rows: Iterable[AgreementRow], statistic: str) -> dict[TableKey, dict[tuple[str, str], Estimate]]:
    scales: dict[TableKey, dict[tuple[str, str], Estimate]] = {}
    for row in rows:
        if row.statistic == statistic and row.b:
            pairs = scales.setdefault(_key(row), {})
            if (row.a, row.b) in pairs:
                raise ValueError(f"{statistic} of {row.a} and {row.b} occurs twice on {row.dimension}")
            pairs[row.a, row.b] = estimate_of(row)
    return scales


def _key(row: AgreementRow) -> TableKey:
    return TableKey(row.block, row.framework, row.dimension)


def _scale_benchmark(key: TableKey, pairs: Pairs, known: Mapping[str, RaterKey], statistic: str) -> ScaleBenchmark:
    experts = {name for name, rater in known.items() if rater.kind is Kind.EXPERT and not rater.is_aggregate}
    expert_pairs = tuple(
        ExpertPair(a, b, estimate) for (a, b), estimate in pairs.items() if a in experts and b in experts
    )
    compared_with = _compared_with(pairs, known)
    low, middle, high, n_undefined = _range_of([pair.estimate.value for pair in expert_pairs], statistic)
    return ScaleBenchmark(
        key=key,
        expert_pairs=expert_pairs,
        low=low,
        median=middle,
        high=high,
        n_undefined=n_undefined,
        sides=tuple(
            BenchmarkSide(name, kind, _agreement_with(pairs, name, compared_with, statistic))
            for name, kind in _others(pairs, known)
        ),
        compared_with=compared_with,
        leave_one_out=_leave_one_out(pairs, sorted(experts), statistic),
        statistic=statistic,
    )


def _leave_one_out(pairs: Pairs, experts: Sequence[str], statistic: str) -> LeaveOneOut:
    found = []
    for name in experts:
        others = f"{GROUP_NAMES[Kind.EXPERT]}-without-{name}:{Aggregate.MEDIAN}"
        estimate = pairs.get((others, name)) or pairs.get((name, others))
        if estimate is not None:
            found.append(ExpertWithOthers(name, estimate))
    return LeaveOneOut(tuple(found), *_range_of([one.estimate.value for one in found], statistic))


def _range_of(values: Sequence[float | None], statistic: str) -> tuple[float | None, float | None, float | None, int]:
    """Lowest, median and highest of the defined values, and how many are undefined. A bias has no order of experts."""
    defined = [value for value in values if value is not None]
    n_undefined = len(values) - len(defined)
    if not defined or direction_of(statistic) is Direction.NONE:
        return None, None, None, n_undefined
    return min(defined), median(defined), max(defined), n_undefined


def _compared_with(pairs: Pairs, known: Mapping[str, RaterKey]) -> str:
    """A single imported aggregate stands for its group under its own name (docs/agreement.md)."""
    present = {name for pair in pairs for name in pair}
    if EXPERTS_MEDIAN in present:
        return EXPERTS_MEDIAN
    aggregates = [name for name in present if name in known and _is_experts_aggregate(known[name])]
    return aggregates[0] if len(aggregates) == 1 else ""


def _is_experts_aggregate(rater: RaterKey) -> bool:
    return rater.kind is Kind.EXPERT and rater.is_aggregate


def _others(pairs: Pairs, known: Mapping[str, RaterKey]) -> list[tuple[str, Kind]]:
    """Everybody but the experts, and crowd workers one by one. A median of models is nobody here."""
    present = {name for pair in pairs for name in pair}
    found = {rater.name: rater.kind for rater in known.values() if rater.name in present and _stands_alone(rater)}
    if CROWD_MEAN in present and any(_is_crowd_worker(rater) for rater in known.values()):
        found[CROWD_MEAN] = Kind.CROWD
    kinds = [(name, kind) for name, kind in found.items() if kind is not None]
    return sorted(kinds, key=lambda entry: (KIND_ORDER[entry[1]], entry[0]))


def _stands_alone(rater: RaterKey) -> bool:
    return rater.kind is not Kind.EXPERT and not _is_crowd_worker(rater)


def _is_crowd_worker(rater: RaterKey) -> bool:
    return rater.kind is Kind.CROWD and not rater.is_aggregate


def _agreement_with(pairs: Pairs, name: str, compared_with: str, statistic: str) -> Estimate:
    if (name, compared_with) in pairs:
        found = pairs[name, compared_with]
        return turned(found) if statistic == SIGNED else found
    missing = Estimate(None, None, None, None, None, 0, NO_EXPERTS_MEDIAN)
    return pairs.get((compared_with, name), missing)


def _framework_benchmark(block: str, framework: str, scales: Sequence[ScaleBenchmark]) -> FrameworkBenchmark:
    pairs: dict[tuple[str, str], list[float | None]] = {}
    sides: dict[tuple[str, Kind], list[float | None]] = {}
    for scale in scales:
        for pair in scale.expert_pairs:
            pairs.setdefault((pair.a, pair.b), []).append(pair.estimate.value)
        for side in scale.sides:
            sides.setdefault((side.name, side.kind), []).append(side.estimate.value)
    middle = _mean_of([scale.median for scale in scales])
    return FrameworkBenchmark(
        block=block,
        framework=framework,
        expert_pairs=tuple(FrameworkPair(*names, _mean_of(values)) for names, values in pairs.items()),
        low=_mean_of([scale.low for scale in scales]).value,
        median=middle.value,
        high=_mean_of([scale.high for scale in scales]).value,
        n_scales=len(scales),
        n_undefined=middle.n_undefined,
        sides=tuple(FrameworkSide(*who, _mean_of(values)) for who, values in _in_order(sides)),
        leave_one_out=_mean_leave_one_out([scale.leave_one_out for scale in scales]),
        statistic=scales[0].statistic,
    )


def _mean_leave_one_out(scales: Sequence[LeaveOneOut]) -> LeaveOneOut:
    experts: dict[str, list[float | None]] = {}
    for scale in scales:
        for expert in scale.experts:
            experts.setdefault(expert.name, []).append(expert.estimate.value)
    middle = _mean_of([scale.median for scale in scales])
    return LeaveOneOut(
        tuple(FrameworkExpert(name, _mean_of(values)) for name, values in experts.items()),
        _mean_of([scale.low for scale in scales]).value,
        middle.value,
        _mean_of([scale.high for scale in scales]).value,
        middle.n_undefined,
    )


def _in_order(
    sides: Mapping[tuple[str, Kind], list[float | None]],
) -> list[tuple[tuple[str, Kind], list[float | None]]]:
    return sorted(sides.items(), key=lambda entry: (KIND_ORDER[entry[0][1]], entry[0][0]))


def _mean_of(values: Sequence[float | None]) -> MeanOfScales:
    defined = [value for value in values if value is not None]
    return MeanOfScales(fmean(defined) if defined else None, len(defined), len(values) - len(defined))


def _by_median(benchmarks: Iterable[Ranked]) -> list[Ranked]:
    """Where experts agree most first."""
    return sorted(benchmarks, key=_rank)


def _rank(one: _HasMedian) -> tuple[bool, float]:
    value = one.median or 0.0
    return one.median is None, value if one.direction is Direction.LESS else -value
