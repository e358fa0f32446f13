"""Expert agreement as the benchmark, drawn: scale by scale, and framework by framework."""

from collections.abc import Sequence

from apps.reliability.benchmarks import (
    DEFAULT_STATISTIC,
    EXPERTS_MEDIAN,
    BenchmarkSide,
    Estimate,
    ExpertWithOthers,
    FrameworkBenchmark,
    FrameworkSide,
    LeaveOneOut,
    MeanOfScales,
    ScaleBenchmark,
)
from apps.reliability.directions import Direction, direction_of
from apps.reports.figures import words
from apps.reports.figures.benchmark_words import (
    TERMS,
    WITHOUT_ORDER,
    framework_summary,
    has_two_experts,
    scale_summary,
    threshold_for,
    whom,
)
from apps.reports.figures.figure import Figure
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import Palette
from apps.reports.figures.rows_chart import Band, ChartRow, Mark, RowsChart, RowsDrawing, undefined_remarks
from apps.reports.figures.symbols import Symbol

DEFAULT_THRESHOLD = 0.6
EXPERT_PAIRS = "experts"
NO_PAIRS = "no pair of experts"
EXPERT_COLUMNS = ("Experts: lowest", "Experts: median", "Experts: highest")
OTHERS_COLUMN = "Each expert with the others"
PAIRS_LEGEND = "Experts: median pair, each pair, range"
OTHERS_LEGEND = "Each expert with the others: median, range"


def benchmark_figure(
    benchmarks: Sequence[ScaleBenchmark],
    labels: FigureLabels,
    palette: Palette,
    threshold: float | None = DEFAULT_THRESHOLD,
    *,
    statistic: str = DEFAULT_STATISTIC,
    convention: str = "",
    name: str = "benchmark",
    beside: Sequence[ScaleBenchmark] = (),
) -> Figure:
    """Every scale with the range of its expert pairs and each side's agreement with the experts' median.

    Scales come in the order given: `scale_benchmarks` puts the most agreement of experts first. beside: what another
    picture shows, with which this one shares its axis.
    """
    series = _series([side for one in benchmarks for side in one.sides], labels)
    direction = direction_of(statistic)
    chart = RowsChart(
        axis=f"{words.statistic_title(statistic, convention)}{TERMS[direction].axis}",
        rows=tuple(_scale_row(one, labels) for one in benchmarks),
        series=series,
        band=PAIRS_LEGEND,
        others=OTHERS_LEGEND,
        threshold=threshold_for(threshold, direction),
        beside=tuple(_scale_row(one, labels) for one in beside),
    )
    alone = len(benchmarks) == 1
    where = f"on {labels.scale(benchmarks[0].key)}" if alone else "by scale"
    return Figure(
        name=name,
        title=f"{_title(benchmarks)} {where}",
        caption=_caption(benchmarks, labels, words.statistic_title(statistic, convention)),
        summary=scale_summary(benchmarks, labels, threshold, statistic),
        columns=(head := ("Scale", "Framework", "Items", *_expert_columns(direction), *(label for label, _ in series))),
        rows=tuple(_scale_cells(one, labels, _names(benchmarks)) for one in benchmarks),
        numeric_columns=frozenset(range(2, len(head))),
        row_links=tuple(labels.link(one.key) for one in benchmarks),
        spec=RowsDrawing(chart, palette, palette.wide).spec(),
        narrow_spec=RowsDrawing(chart, palette, palette.narrow).spec(),
        physical=palette.physical,
    )


def framework_figure(
    benchmarks: Sequence[FrameworkBenchmark],
    labels: FigureLabels,
    palette: Palette,
    threshold: float | None = DEFAULT_THRESHOLD,
    *,
    statistic: str = DEFAULT_STATISTIC,
    convention: str = "",
    name: str = "frameworks",
    beside: Sequence[FrameworkBenchmark] = (),
) -> Figure:
    """The same by framework: means over its scales, with what was undefined and left out."""
    series = _series([side for one in benchmarks for side in one.sides], labels)
    direction = direction_of(statistic)
    chart = RowsChart(
        axis=f"{words.statistic_title(statistic, convention)}{TERMS[direction].axis}, mean over the scales",
        rows=tuple(_framework_row(one, labels) for one in benchmarks),
        series=series,
        band="Expert pairs: mean lowest, median, highest",
        others="Each expert with the others: likewise",
        threshold=threshold_for(threshold, direction),
        beside=tuple(_framework_row(one, labels) for one in beside),
    )
    return Figure(
        name=name,
        title=f"{_title(benchmarks)} by framework",
        caption="Means over the scales of a framework of the "
        f"{_lower(words.statistic_title(statistic, convention))}: {words.listed(_of_what(benchmarks))}. What is "
        "undefined is left out of a mean and counted. Without intervals: the scales of a framework share their items "
        "and are no sample of scales.",
        summary=framework_summary(benchmarks, labels, threshold, statistic),
        columns=(head := ("Framework", "Scales", *_expert_columns(direction), *(label for label, _ in series))),
        rows=tuple(_framework_cells(one, labels, _names(benchmarks)) for one in benchmarks),
        numeric_columns=frozenset(range(1, len(head))),
        spec=RowsDrawing(chart, palette, palette.wide).spec(),
        narrow_spec=RowsDrawing(chart, palette, palette.narrow).spec(),
        physical=palette.physical,
    )


def _expert_columns(direction: Direction) -> tuple[str, ...]:
    return () if direction is Direction.NONE else (*EXPERT_COLUMNS, OTHERS_COLUMN)


def _lower(title: str) -> str:
    return (
        title
        if title[:4].isupper() or title.startswith(("Krippendorff", "Kendall", "Spearman"))
        else (title[0].lower() + title[1:])
    )


def _names(benchmarks: Sequence[ScaleBenchmark] | Sequence[FrameworkBenchmark]) -> list[str]:
    sides = {side.name: side.kind for one in benchmarks for side in one.sides}
    return list(sides)


def _series(
    sides: Sequence[BenchmarkSide] | Sequence[FrameworkSide], labels: FigureLabels
) -> tuple[tuple[str, Symbol], ...]:
    return tuple((labels.rater(name), labels.symbol(name)) for name in dict.fromkeys(side.name for side in sides))


def _title(benchmarks: Sequence[ScaleBenchmark] | Sequence[FrameworkBenchmark]) -> str:
    """Of the experts, of the others with them, or of both."""
    has_pairs, has_sides = any(one.expert_pairs for one in benchmarks), any(one.sides for one in benchmarks)
    terms = TERMS[benchmarks[0].direction if benchmarks else Direction.MORE]
    if has_pairs and has_sides:
        return terms.title
    return terms.title_of_experts if has_pairs else terms.title_of_others


def _caption(benchmarks: Sequence[ScaleBenchmark], labels: FigureLabels, statistic: str) -> str:
    names = sorted({one.compared_with for one in benchmarks if one.compared_with and one.sides})
    is_signed = any(one.direction is Direction.NONE for one in benchmarks)
    has_pairs = any(one.expert_pairs for one in benchmarks) and not is_signed
    who = ["of every pair of experts"] if has_pairs else []
    if any(one.sides for one in benchmarks):
        other = "every other side" if has_pairs else "every side"
        others = words.listed([whom(name, labels) for name in names] or [whom("", labels)])
        who.append(f"of {other} {'against' if is_signed else 'with'} {others}")
    sentences = [f"{statistic} {', and '.join(who)}{_how_sure(benchmarks)}."]
    if is_signed:
        sentences.append(WITHOUT_ORDER)
    elif has_pairs and EXPERTS_MEDIAN in names:
        sentences.append(_like_with_like(benchmarks))
    if sum(one.median is not None for one in benchmarks) > 1:
        sentences.append("Scales by the median of their pairs of experts.")
    return " ".join(sentences)


def _like_with_like(benchmarks: Sequence[ScaleBenchmark]) -> str:
    steadier = "A median of several experts is steadier than one of them"
    if any(one.leave_one_out.experts for one in benchmarks):
        return (
            f"{steadier}, which favours the other sides over pairs of experts: compare them with the open circle, each "
            "expert with the median of the other experts."
        )
    return f"{steadier}: the two are not quite the same measure."


def _how_sure(benchmarks: Sequence[ScaleBenchmark]) -> str:
    """Intervals and items, where there are any."""
    estimates = [estimate for one in benchmarks for estimate in _estimates(one) if estimate.value is not None]
    counts = words.range_of_counts(one.n_items for one in estimates)
    return words.how_sure(
        any(one.ci_low is not None for one in estimates), f"{counts} to a comparison", bool(estimates)
    )


def _of_what(benchmarks: Sequence[FrameworkBenchmark]) -> list[str]:
    is_signed = any(one.direction is Direction.NONE for one in benchmarks)
    found = []
    if any(one.expert_pairs for one in benchmarks) and not is_signed:
        found.append("of each scale's lowest, median and highest pair of experts (range and filled circle)")
    if any(one.leave_one_out.median is not None for one in benchmarks):
        found.append("of its lowest, median and highest expert with the median of the others (line and open circle)")
    if any(one.sides for one in benchmarks):
        found.append(
            f"of every {'other ' if found else ''}side {'against' if is_signed else 'with'} the experts' median"
        )
    return found


def _counts(benchmark: ScaleBenchmark) -> list[int]:
    return [estimate.n_items for estimate in _estimates(benchmark) if estimate.value is not None]


def _estimates(benchmark: ScaleBenchmark) -> list[Estimate]:
    return [pair.estimate for pair in benchmark.expert_pairs] + [side.estimate for side in benchmark.sides]


def _scale_row(benchmark: ScaleBenchmark, labels: FigureLabels) -> ChartRow:
    remarks = undefined_remarks(_undefined(benchmark, labels))
    if not benchmark.expert_pairs and benchmark.direction is not Direction.NONE:
        remarks = (f"No benchmark: {NO_PAIRS}", *remarks)
    others = [(one.name, one.estimate.value) for one in benchmark.leave_one_out.experts]
    return ChartRow(
        label=words.isolated(labels.scale(benchmark.key)),
        place=words.isolated(labels.place(benchmark.key)),
        band=_band(benchmark, [(_pair_name(pair.a, pair.b), pair.estimate.value) for pair in benchmark.expert_pairs]),
        others=_band(benchmark.leave_one_out, others),
        marks=tuple(
            Mark(side.name, labels.symbol(side.name), side.estimate.value, side.estimate.ci_low, side.estimate.ci_high)
            for side in benchmark.sides
            if side.estimate.value is not None
        ),
        remarks=remarks,
    )


def _undefined(benchmark: ScaleBenchmark, labels: FigureLabels) -> list[tuple[str, str]]:
    """Whose figure is not defined, and why."""
    found: list[tuple[str, str]] = []
    if benchmark.direction is not Direction.NONE:
        pairs = [
            (_pair_name(pair.a, pair.b), pair.estimate.reason)
            for pair in benchmark.expert_pairs
            if pair.estimate.value is None
        ]
        if pairs and len(pairs) == len(benchmark.expert_pairs):
            pairs = [(f"every pair of {EXPERT_PAIRS}", why) for why in dict.fromkeys(why for _, why in pairs)]
        found += pairs
        found += [
            (f"{one.name} with the others", one.estimate.reason)
            for one in benchmark.leave_one_out.experts
            if isinstance(one, ExpertWithOthers) and one.estimate.value is None
        ]
    return found + [
        (labels.rater(side.name), side.estimate.reason) for side in benchmark.sides if side.estimate.value is None
    ]


def _framework_row(benchmark: FrameworkBenchmark, labels: FigureLabels) -> ChartRow:
    remarks = [
        f"{words.isolated(name)}: {words.counted(estimate.n_undefined, 'scale')} undefined, left out"
        for name, estimate in _named_means(benchmark, labels)
        if estimate.n_undefined and estimate.n_scales
    ]
    nowhere = [name for name, estimate in _named_means(benchmark, labels) if not estimate.n_scales]
    if nowhere:
        remarks.append(f"Undefined on every scale: {words.listed([words.isolated(name) for name in nowhere])}")
    if not benchmark.expert_pairs and benchmark.direction is not Direction.NONE:
        remarks.insert(0, f"No benchmark: {NO_PAIRS}")
    return ChartRow(
        label=words.isolated(labels.framework(benchmark.block, benchmark.framework)),
        place=words.counted(benchmark.n_scales, "scale"),
        # Without a mark for each pair: the mean of medians need not lie between the means of the pairs.
        band=_band(benchmark),
        others=_band(benchmark.leave_one_out),
        marks=tuple(
            Mark(side.name, labels.symbol(side.name), side.estimate.value)
            for side in benchmark.sides
            if side.estimate.value is not None
        ),
        remarks=tuple(remarks),
    )


def _named_means(benchmark: FrameworkBenchmark, labels: FigureLabels) -> list[tuple[str, MeanOfScales]]:
    pairs = [(_pair_name(a, b), estimate) for a, b, estimate in benchmark.expert_pairs]
    if benchmark.direction is Direction.NONE:
        pairs = []
    return pairs + [(labels.rater(side.name), side.estimate) for side in benchmark.sides]


def _band(
    experts: ScaleBenchmark | FrameworkBenchmark | LeaveOneOut, singles: Sequence[tuple[str, float | None]] = ()
) -> Band | None:
    low, middle, high = experts.low, experts.median, experts.high
    if low is None or middle is None or high is None:
        return None
    return Band(low, middle, high, tuple((name, value) for name, value in singles if value is not None))


def _pair_name(a: str, b: str) -> str:
    return f"{a} with {b}"


def _scale_cells(benchmark: ScaleBenchmark, labels: FigureLabels, names: Sequence[str]) -> tuple[str, ...]:
    by_name = {side.name: side.estimate for side in benchmark.sides}
    return (
        labels.scale(benchmark.key),
        labels.place(benchmark.key),
        words.range_of_counts(_counts(benchmark)).removesuffix(" items").removesuffix(" item"),
        *_expert_cells(benchmark),
        *(estimate_cell(by_name[name]) if name in by_name else "not in this block" for name in names),
    )


def _framework_cells(benchmark: FrameworkBenchmark, labels: FigureLabels, names: Sequence[str]) -> tuple[str, ...]:
    by_name = {side.name: side.estimate for side in benchmark.sides}
    return (
        labels.framework(benchmark.block, benchmark.framework),
        str(benchmark.n_scales),
        *_expert_cells(benchmark),
        *(_mean_cell(by_name[name]) if name in by_name else "not in this block" for name in names),
    )


def _expert_cells(benchmark: ScaleBenchmark | FrameworkBenchmark) -> tuple[str, ...]:
    """A cell for each of the columns of experts."""
    if benchmark.direction is Direction.NONE:
        return ()
    others = _others_cell(benchmark)
    if benchmark.low is None or benchmark.median is None or benchmark.high is None:
        return (undefined := "not defined" if benchmark.expert_pairs else NO_PAIRS), undefined, undefined, others
    middle = words.number(benchmark.median)
    if benchmark.n_undefined:
        what = "pair" if isinstance(benchmark, ScaleBenchmark) else "scale"
        middle += f", {words.counted(benchmark.n_undefined, what)} undefined"
    return words.number(benchmark.low), middle, words.number(benchmark.high), others


def _others_cell(benchmark: ScaleBenchmark | FrameworkBenchmark) -> str:
    """`0.66, from 0.62 to 0.70`."""
    found = benchmark.leave_one_out
    if not found.experts:
        return "fewer than three experts" if has_two_experts(benchmark) else "not given"
    if found.low is None or found.median is None or found.high is None:
        return "not defined"
    left_out = ""
    if found.n_undefined:
        left_out = f", {found.n_undefined} undefined"
    return f"{words.number(found.median)}, from {words.number(found.low)} to {words.number(found.high)}{left_out}"


def estimate_cell(estimate: Estimate) -> str:
    """`0.62 (0.41 to 0.75)`, or the reason why there is no value."""
    if estimate.value is None:
        return f"not defined: {estimate.reason}"
    value = words.number(estimate.value)
    if estimate.ci_low is None or estimate.ci_high is None:
        return value
    return f"{value} ({words.interval(estimate.ci_low, estimate.ci_high)})"


def _mean_cell(estimate: MeanOfScales) -> str:
    if estimate.value is None:
        return "not defined on any scale"
    left_out = f", {words.counted(estimate.n_undefined, 'scale')} undefined" if estimate.n_undefined else ""
    return f"{words.number(estimate.value)}{left_out}"
