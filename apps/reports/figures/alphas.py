"""The agreement of each group of raters among themselves, scale by scale."""

from collections.abc import Sequence

from apps.reliability.benchmarks import DEFAULT_GROUP_STATISTIC, GroupAlpha, ScaleBenchmark
from apps.reliability.matrix import ALL_RATERS, GROUP_NAMES, Kind, TableKey
from apps.reports.figures import words
from apps.reports.figures.benchmark import DEFAULT_THRESHOLD, estimate_cell
from apps.reports.figures.figure import Figure
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import Palette
from apps.reports.figures.rows_chart import ChartRow, Mark, RowsChart, RowsDrawing, undefined_remarks
from apps.reports.figures.symbols import symbol_of

EXPERTS = GROUP_NAMES[Kind.EXPERT]
# Scales that a summary names where a group stands apart.
MOST_NAMED = 3


def alpha_figure(
    alphas: Sequence[GroupAlpha],
    labels: FigureLabels,
    palette: Palette,
    *,
    benchmarks: Sequence[ScaleBenchmark] = (),
    threshold: float = DEFAULT_THRESHOLD,
    statistic: str = DEFAULT_GROUP_STATISTIC,
    name: str = "alphas",
    beside: Sequence[GroupAlpha] = (),
    order: Sequence[TableKey] = (),
) -> Figure:
    """Each scale with a symbol and an interval for each group. Scales by the experts' figure, highest first.

    benchmarks: how the members of groups agree with the experts, which the summary needs to say where a group is of one
    mind and not of the experts'. beside: what another picture shows, with which this one shares its axis. order: of
    scales, in place of that by the experts.
    """
    scales = _by_scale(alphas)
    if order:
        scales = {key: scales[key] for key in order if key in scales}
    kinds = {one.group: one.kind for one in alphas}
    groups = sorted(kinds, key=list(words.GROUPS).index)
    title = words.statistic_title(statistic)
    chart = RowsChart(
        axis=title,
        rows=tuple(_row(key, found, labels, groups) for key, found in scales.items()),
        series=tuple((words.group_label(group), symbol_of(kinds[group])) for group in groups),
        beside=tuple(_row(key, found, labels, groups) for key, found in _by_scale(beside).items()),
    )
    defined = [one.estimate for one in alphas if one.estimate.value is not None]
    items = f"{words.range_of_counts(one.n_items for one in defined)} to a figure"
    sure = words.how_sure(any(one.ci_low is not None for one in defined), items, bool(defined))
    by_experts = (
        any(one.group == EXPERTS and one.estimate.value is not None for one in alphas) and len(scales) > 1 and not order
    )
    together = kinds.keys() == {ALL_RATERS}
    return Figure(
        name=name,
        title=f"Agreement {'of all raters' if together else 'within each group of raters'}, by scale",
        caption=f"{title} of the raters{'' if together else ' of each group'} among themselves{sure}."
        f"{' Scales by the figure of the experts.' if by_experts else ''} Where nearly all ratings are the same value, "
        "a figure near zero says that the ratings do not tell items apart, not that raters disagree.",
        summary=" ".join([_summary(scales, labels, groups, title), *_apart(scales, labels, benchmarks, threshold)]),
        columns=("Scale", "Framework", *(words.group_label(group) for group in groups)),
        rows=tuple(_cells(key, found, labels, groups) for key, found in scales.items()),
        numeric_columns=frozenset(range(2, 2 + len(groups))),
        row_links=tuple(labels.link(key) for key in scales),
        spec=RowsDrawing(chart, palette, palette.wide).spec(),
        narrow_spec=RowsDrawing(chart, palette, palette.narrow).spec(),
        physical=palette.physical,
    )


Groups = dict[str, GroupAlpha]


def _by_scale(alphas: Sequence[GroupAlpha]) -> dict[TableKey, Groups]:
    scales: dict[TableKey, Groups] = {}
    for one in alphas:
        scales.setdefault(one.key, {})[one.group] = one
    return dict(sorted(scales.items(), key=lambda entry: _rank(entry[1])))


def _rank(groups: Groups) -> tuple[bool, float]:
    first = groups.get(EXPERTS)
    value = None if first is None else first.estimate.value
    return value is None, -(value or 0.0)


def _row(key: TableKey, found: Groups, labels: FigureLabels, groups: Sequence[str]) -> ChartRow:
    present = [found[group] for group in groups if group in found]
    undefined = [(words.group_label(one.group), one.estimate.reason) for one in present if one.estimate.value is None]
    return ChartRow(
        label=words.isolated(labels.scale(key)),
        place=words.isolated(labels.place(key)),
        band=None,
        marks=tuple(
            Mark(one.group, symbol_of(one.kind), one.estimate.value, one.estimate.ci_low, one.estimate.ci_high)
            for one in present
            if one.estimate.value is not None
        ),
        remarks=undefined_remarks(undefined),
    )


def _cells(key: TableKey, found: Groups, labels: FigureLabels, groups: Sequence[str]) -> tuple[str, ...]:
    return (
        labels.scale(key),
        labels.place(key),
        *(estimate_cell(found[group].estimate) if group in found else "no such group here" for group in groups),
    )


def _summary(scales: dict[TableKey, Groups], labels: FigureLabels, groups: Sequence[str], title: str) -> str:
    if not scales:
        return "There are no groups of raters to show."
    sentences = []
    for group in groups:
        found = [(one.estimate.value, key) for key, each in scales.items() if (one := each.get(group))]
        defined = [(value, key) for value, key in found if value is not None]
        sentences.append(_sentence(words.group_label(group), defined, len(found), labels))
    return f"{title}. {' '.join(sentences)}"


def _apart(
    scales: dict[TableKey, Groups], labels: FigureLabels, benchmarks: Sequence[ScaleBenchmark], threshold: float
) -> list[str]:
    """Where a group is of one mind and not of the experts': its own figure is at or above the threshold, while every
    one of two or more members is below it with the experts' median."""
    found: dict[str, list[tuple[float, float, float, TableKey]]] = {}
    for benchmark in benchmarks:
        for group, alpha in scales.get(benchmark.key, {}).items():
            members = [
                side.estimate.value
                for side in benchmark.sides
                if side.kind is alpha.kind and side.estimate.value is not None
            ]
            own = alpha.estimate.value
            if own is not None and len(members) > 1 and max(members) < threshold <= own:
                found.setdefault(group, []).append((own, min(members), max(members), benchmark.key))
    return [_apart_sentence(group, places, labels, threshold, benchmarks[0]) for group, places in found.items()]


def _apart_sentence(
    group: str,
    places: Sequence[tuple[float, float, float, TableKey]],
    labels: FigureLabels,
    threshold: float,
    benchmark: ScaleBenchmark,
) -> str:
    """The widest gaps by name."""
    widest = sorted(places, key=lambda place: place[2] - place[0])[:MOST_NAMED]
    named = [
        f"{_name(key, labels)} ({words.number_beside(own, threshold)} among themselves, {words.number(low)} to "
        f"{words.number_beside(high, threshold)} with the experts)"
        for own, low, high, key in widest
    ]
    more = f", and {len(places) - len(widest)} more" if len(places) > len(widest) else ""
    where = f"{words.counted(len(places), 'scale')}: {'; '.join(named)}{more}"
    kappa = words.statistic_title(benchmark.statistic)
    return (
        f"{words.group_label(group)} are at or above {words.number(threshold)} among themselves while none of them is "
        f"with the experts' median ({kappa[0].lower()}{kappa[1:]}) on {where}."
    )


def _sentence(group: str, defined: Sequence[tuple[float, TableKey]], total: int, labels: FigureLabels) -> str:
    left_out = total - len(defined)
    rest = f", and not defined on {words.counted(left_out, 'scale')}" if left_out else ""
    if not defined:
        return f"{group}: not defined on {'the one scale' if total == 1 else f'any of {total} scales'}."
    (low, worst), (high, best) = min(defined), max(defined)
    if len(defined) == 1:
        return f"{group}: {words.number(high)} on {_name(best, labels)}{rest}."
    span = f"from {words.number(low)} ({_name(worst, labels)}) to {words.number(high)} ({_name(best, labels)})"
    return f"{group}: {span} on {len(defined)} scales{rest}."


def _name(key: TableKey, labels: FigureLabels) -> str:
    """A scale with its place where another one is called the same."""
    name = labels.scale(key)
    is_shared = sum(label == name for label in labels.scales.values()) > 1
    return f"{name}, {labels.place(key)}" if is_shared else name
