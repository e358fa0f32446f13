"""Expert agreement as the benchmark, drawn: scale by scale, and framework by framework."""

from collections.abc import Sequence

from apps.reliability.benchmarks import (
    DEFAULT_STATISTIC,
    BenchmarkSide,
    Estimate,
    FrameworkBenchmark,
    FrameworkSide,
    MedianOfScales,
    ScaleBenchmark,
)
from apps.reports.figures import words
from apps.reports.figures.benchmark_words import framework_summary, scale_summary
from apps.reports.figures.figure import Figure
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import Palette
from apps.reports.figures.rows_chart import Band, ChartRow, Mark, RowsChart, RowsDrawing, undefined_remarks
from apps.reports.figures.symbols import Symbol

DEFAULT_THRESHOLD = 0.6
EXPERT_PAIRS = "experts"
NO_PAIRS = "no pair of experts"
EXPERT_COLUMNS = ("Experts: lowest", "Experts: median", "Experts: highest")


def benchmark_figure(
    benchmarks: Sequence[ScaleBenchmark],
    labels: FigureLabels,
    palette: Palette,
    threshold: float | None = DEFAULT_THRESHOLD,
    *,
    statistic: str = DEFAULT_STATISTIC,
    convention: str = "",
    name: str = "benchmark",
) -> Figure:
    """Every scale with the range of its expert pairs and each side's agreement with the experts' median.

    Scales come in the order given: `scale_benchmarks` puts the highest agreement of experts first.
    """
    series = _series([side for one in benchmarks for side in one.sides], labels)
    chart = RowsChart(
        axis=words.statistic_title(statistic, convention),
        rows=tuple(_scale_row(one, labels) for one in benchmarks),
        series=series,
        band="Experts: median pair, each pair, range",
        threshold=threshold,
    )
    items = words.range_of_counts(n for one in benchmarks for n in _counts(one))
    alone = len(benchmarks) == 1
    where = f"on {labels.scale(benchmarks[0].key)}" if alone else "by scale"
    order = "" if alone else " Scales by the median of their pairs of experts."
    return Figure(
        name=name,
        title=f"Agreement of the experts, and of the others with them, {where}",
        caption=f"{words.statistic_title(statistic, convention)} of every pair of experts, and of every other side "
        f"with {_whom(benchmarks)}; 95 % intervals over items; {items} to a comparison. A median of several experts is "
        f"steadier than one of them: the two are not quite the same measure.{order}",
        summary=scale_summary(benchmarks, labels, threshold, statistic),
        columns=("Scale", "Framework", "Items", *EXPERT_COLUMNS, *(label for label, _ in series)),
        rows=tuple(_scale_cells(one, labels, _names(benchmarks)) for one in benchmarks),
        numeric_columns=frozenset(range(2, 6 + len(series))),
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
) -> Figure:
    """The same by framework: medians over its scales, with what was undefined and left out."""
    series = _series([side for one in benchmarks for side in one.sides], labels)
    chart = RowsChart(
        axis=f"{words.statistic_title(statistic, convention)}, median over the scales",
        rows=tuple(_framework_row(one, labels) for one in benchmarks),
        series=series,
        band="Experts: median pair, each pair, range (medians)",
        threshold=threshold,
    )
    return Figure(
        name=name,
        title="Agreement of the experts, and of the others with them, by framework",
        caption="Medians over the scales of a framework of the "
        f"{_lower(words.statistic_title(statistic, convention))}: of each scale's lowest, median and highest pair of "
        "experts (range and circle), of each pair of experts (ticks), and of every other side with the experts' "
        "median. What is undefined is left out of a median and counted. Without intervals: the scales of a framework "
        "share their items and are no sample of scales.",
        summary=framework_summary(benchmarks, labels, threshold, statistic),
        columns=("Framework", "Scales", *EXPERT_COLUMNS, *(label for label, _ in series)),
        rows=tuple(_framework_cells(one, labels, _names(benchmarks)) for one in benchmarks),
        numeric_columns=frozenset(range(1, 5 + len(series))),
        spec=RowsDrawing(chart, palette, palette.wide).spec(),
        narrow_spec=RowsDrawing(chart, palette, palette.narrow).spec(),
        physical=palette.physical,
    )


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


def _whom(benchmarks: Sequence[ScaleBenchmark]) -> str:
    names = sorted({one.compared_with for one in benchmarks if one.compared_with})
    return words.listed([f"the {words.group_label(name).lower()}" if ":" in name else name for name in names]) or (
        "the experts' median"
    )


def _counts(benchmark: ScaleBenchmark) -> list[int]:
    estimates = [pair.estimate for pair in benchmark.expert_pairs] + [side.estimate for side in benchmark.sides]
    return [estimate.n_items for estimate in estimates if estimate.value is not None]


def _scale_row(benchmark: ScaleBenchmark, labels: FigureLabels) -> ChartRow:
    undefined = [
        (_pair_name(pair.a, pair.b), pair.estimate.reason)
        for pair in benchmark.expert_pairs
        if pair.estimate.value is None
    ]
    if undefined and len(undefined) == len(benchmark.expert_pairs):
        undefined = [(f"every pair of {EXPERT_PAIRS}", reason) for reason in dict.fromkeys(why for _, why in undefined)]
    undefined += [
        (labels.rater(side.name), side.estimate.reason) for side in benchmark.sides if side.estimate.value is None
    ]
    remarks = undefined_remarks(undefined)
    if not benchmark.expert_pairs:
        remarks = (f"No benchmark: {NO_PAIRS}", *remarks)
    return ChartRow(
        label=words.isolated(labels.scale(benchmark.key)),
        place=words.isolated(labels.place(benchmark.key)),
        band=_band(benchmark, [(_pair_name(pair.a, pair.b), pair.estimate.value) for pair in benchmark.expert_pairs]),
        marks=tuple(
            Mark(side.name, labels.symbol(side.name), side.estimate.value, side.estimate.ci_low, side.estimate.ci_high)
            for side in benchmark.sides
            if side.estimate.value is not None
        ),
        remarks=remarks,
    )


def _framework_row(benchmark: FrameworkBenchmark, labels: FigureLabels) -> ChartRow:
    remarks = [
        f"{words.isolated(name)}: {words.counted(estimate.n_undefined, 'scale')} undefined, left out"
        for name, estimate in _named_medians(benchmark, labels)
        if estimate.n_undefined and estimate.n_scales
    ]
    nowhere = [name for name, estimate in _named_medians(benchmark, labels) if not estimate.n_scales]
    if nowhere:
        remarks.append(f"Undefined on every scale: {words.listed([words.isolated(name) for name in nowhere])}")
    if not benchmark.expert_pairs:
        remarks.insert(0, f"No benchmark: {NO_PAIRS}")
    return ChartRow(
        label=words.isolated(labels.framework(benchmark.block, benchmark.framework)),
        place=words.counted(benchmark.n_scales, "scale"),
        band=_band(benchmark, [(_pair_name(a, b), estimate.value) for a, b, estimate in benchmark.expert_pairs]),
        marks=tuple(
            Mark(side.name, labels.symbol(side.name), side.estimate.value)
            for side in benchmark.sides
            if side.estimate.value is not None
        ),
        remarks=tuple(remarks),
    )


def _named_medians(benchmark: FrameworkBenchmark, labels: FigureLabels) -> list[tuple[str, MedianOfScales]]:
    pairs = [(_pair_name(a, b), estimate) for a, b, estimate in benchmark.expert_pairs]
    return pairs + [(labels.rater(side.name), side.estimate) for side in benchmark.sides]


def _band(benchmark: ScaleBenchmark | FrameworkBenchmark, pairs: Sequence[tuple[str, float | None]]) -> Band | None:
    low, middle, high = benchmark.low, benchmark.median, benchmark.high
    if low is None or middle is None or high is None:
        return None
    return Band(low, middle, high, tuple((pair, value) for pair, value in pairs if value is not None))


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
        *(_median_cell(by_name[name]) if name in by_name else "not in this block" for name in names),
    )


def _expert_cells(benchmark: ScaleBenchmark | FrameworkBenchmark) -> tuple[str, str, str]:
    if benchmark.low is None or benchmark.median is None or benchmark.high is None:
        return (undefined := "not defined" if benchmark.expert_pairs else NO_PAIRS), undefined, undefined
    middle = words.number(benchmark.median)
    if benchmark.n_undefined:
        what = "pair" if isinstance(benchmark, ScaleBenchmark) else "scale"
        middle += f", {words.counted(benchmark.n_undefined, what)} undefined"
    return words.number(benchmark.low), middle, words.number(benchmark.high)


def estimate_cell(estimate: Estimate) -> str:
    """`0.62 (0.41 to 0.75)`, or the reason why there is no value."""
    if estimate.value is None:
        return f"not defined: {estimate.reason}"
    value = words.number(estimate.value)
    if estimate.ci_low is None or estimate.ci_high is None:
        return value
    return f"{value} ({words.interval(estimate.ci_low, estimate.ci_high)})"


def _median_cell(estimate: MedianOfScales) -> str:
    if estimate.value is None:
        return "not defined on any scale"
    left_out = f", {words.counted(estimate.n_undefined, 'scale')} undefined" if estimate.n_undefined else ""
    return f"{words.number(estimate.value)}{left_out}"
