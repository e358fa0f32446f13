"""The agreement of every pair of raters on one scale, as a triangle of cells with their values."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import CROWD_MEAN, DEFAULT_STATISTIC, Estimate, estimate_of
from apps.reliability.matrix import Kind, RaterKey, TableKey
from apps.reports.figures import words
from apps.reports.figures.benchmark import estimate_cell
from apps.reports.figures.canvas import LINES, Canvas, Text
from apps.reports.figures.figure import Figure, Spec, slug_of
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.legend import MARGIN
from apps.reports.figures.palettes import Layout, Palette
from apps.reports.figures.ramps import WITH_ZERO, fill_of

# Statistics that are the same whoever of the two comes first, and 1 at most.
SYMMETRIC = WITH_ZERO | {"percent_agreement", "within_one"}
NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class PairMatrix:
    """names: raters and, for a crowd, its mean, in the order of kinds. cells: by the two names, the earlier first; a
    pair that was not compared has none."""

    key: TableKey
    names: tuple[str, ...]
    cells: dict[tuple[str, str], Estimate]


def pair_matrix(
    rows: Iterable[AgreementRow], raters: Sequence[RaterKey], key: TableKey, statistic: str = DEFAULT_STATISTIC
) -> PairMatrix:
    """Of the rows of one convention. Raises ValueError for a statistic that depends on who comes first."""
    if statistic not in SYMMETRIC:
        raise ValueError(f"{statistic} depends on which of two raters comes first, or is no share of agreement")
    chosen = [row for row in rows if row.statistic == statistic and row.b and _key(row) == key]
    present = {name for row in chosen for name in (row.a, row.b)}
    names = [rater.name for rater in sorted(raters, key=lambda one: one.order) if _is_listed(rater, present)]
    if CROWD_MEAN in present:
        names.append(CROWD_MEAN)
    places = {name: place for place, name in enumerate(names)}
    cells: dict[tuple[str, str], Estimate] = {}
    for row in chosen:
        if row.a in places and row.b in places:
            first, second = sorted((row.a, row.b), key=places.__getitem__)
            cells[first, second] = estimate_of(row)
    # A crowd of many workers whom only their mean stands for.
    paired = {name for pair in cells for name in pair}
    return PairMatrix(key, tuple(name for name in names if name in paired), cells)


def _key(row: AgreementRow) -> TableKey:
    return TableKey(row.block, row.framework, row.dimension)


def _is_listed(rater: RaterKey, present: set[str]) -> bool:
    return rater.name in present and (rater.kind is not Kind.CROWD or rater.is_aggregate or CROWD_MEAN not in present)


def heat_map_figure(
    matrix: PairMatrix,
    labels: FigureLabels,
    palette: Palette,
    *,
    statistic: str = DEFAULT_STATISTIC,
    convention: str = "",
    name: str = "",
    narrowed: bool = False,
) -> Figure:
    """Each pair of raters in a cell with its value; hatched where it is undefined, empty where it was not compared.

    narrowed: some pairs may be missing because others were chosen.
    """
    title = words.statistic_title(statistic, convention)
    counts = [one.n_items for one in matrix.cells.values() if one.value is not None]
    sure = words.how_sure(False, f"{words.range_of_counts(counts)} to a pair", bool(counts))
    return Figure(
        name=name or slug_of("raters", *matrix.key),
        title=f"Agreement of every two raters on {labels.scale(matrix.key)}",
        caption=f"{title}{sure}.{''.join(_remarks(matrix, narrowed=narrowed))}",
        summary=_summary(matrix, labels),
        columns=("Rater", "With", title, "Items"),
        rows=tuple(
            (labels.rater(a), labels.rater(b), estimate_cell(one), str(one.n_items))
            for (a, b), one in matrix.cells.items()
        ),
        numeric_columns=frozenset({2, 3}),
        spec=_Triangle(matrix, labels, palette, palette.wide).spec(title),
        narrow_spec=_Triangle(matrix, labels, palette, palette.narrow).spec(title),
        physical=palette.physical,
    )


class _Triangle:
    """Rows are all raters but the first, columns all but the last; a column's name stands at its upper end."""

    def __init__(self, matrix: PairMatrix, labels: FigureLabels, palette: Palette, layout: Layout) -> None:
        self.matrix, self.labels, self.palette, self.layout = matrix, labels, palette, layout
        self.font = layout.font
        self.canvas = Canvas(layout.width, palette)
        self.names = [words.isolated(labels.rater(name)) for name in matrix.names]
        widest = max(
            [4 * self.font, *(words.text_width(name, 1.05 * self.font) + 2.6 * self.font for name in self.names)]
        )
        self.left = min(widest, 0.3 * layout.width)
        # The last column's name stands to the right of it.
        tail = min(max([5 * self.font, widest - self.font]), 0.2 * layout.width)
        room = layout.width - self.left - tail
        n_columns = max(1, len(self.names) - 1)
        # So many raters that the values could not be read make the picture wider than its place, which scrolls.
        self.cell = max(2.3 * self.font, min(room / n_columns, 5.2 * self.font))
        self.row = min(self.cell, 2.9 * self.font)
        # A minus and two decimals are two and a half times as wide as the letters are high.
        self.size = min(self.font, 0.37 * self.cell)
        needed = self.left + n_columns * self.cell + tail
        least = layout.width if layout.narrow else 34 * self.font
        self.canvas.width = math.ceil(max(needed, least))

    def spec(self, title: str) -> Spec:
        if len(self.names) < 2:
            text = "There are no two raters to compare."
            self.canvas.text(MARGIN, self.font, text, Text(self.font, self.palette.soft))
            return self.canvas.spec(2 * self.font)
        y = 0.9 * self.font
        for line in words.wrapped(title, 1.08 * self.font, self.canvas.width - 2 * MARGIN):
            self.canvas.text(MARGIN, y, line, Text(self.font, self.palette.ink, weight="bold"))
            y += 1.4 * self.font
        top = y
        for place in range(len(self.names)):
            self._names(place, top + place * self.row)
        for (first, second), estimate in self.matrix.cells.items():
            column, row = self.matrix.names.index(first), self.matrix.names.index(second)
            self._cell(self.left + column * self.cell, top + row * self.row, estimate, f"{first} with {second}")
        return self.canvas.spec(self._remarks(top + len(self.names) * self.row + 0.8 * self.font))

    def _names(self, place: int, y: float) -> None:
        font, middle = self.font, y + self.row / 2
        symbol = self.labels.symbol(self.matrix.names[place])
        if place:
            style = Text(font, self.palette.ink, align="right", limit=round(self.left - 2.2 * font, 1))
            self.canvas.text(self.left - 1.8 * font, middle, self.names[place], style)
            self.canvas.symbol(None, self.left - 0.9 * font, middle, symbol, 0.75 * font)
        if place < len(self.names) - 1:
            x = self.left + place * self.cell
            room = self.canvas.width - MARGIN - x - 1.7 * font
            self.canvas.symbol(None, x + 0.9 * font, middle, symbol, 0.75 * font)
            self.canvas.text(
                x + 1.7 * font, middle, self.names[place], Text(font, self.palette.ink, limit=round(room, 1))
            )

    def _cell(self, x: float, y: float, estimate: Estimate, pair: str) -> None:
        gap = 0.5
        x2, y2 = x + self.cell - gap, y + self.row - gap
        if estimate.value is None:
            self._hatch(x, y, x2, y2)
            return
        fill, ink = fill_of(estimate.value, self.palette)
        data: dict[str, Any] = {"pair": pair, "value": estimate.value, "n_items": estimate.n_items}
        self.canvas.rect(x, y, x2, y2, fill, **data)
        middle = (x + x2) / 2
        with_interval = estimate.ci_low is not None and estimate.ci_high is not None and self._fits_interval()
        up = 0.5 * self.size if with_interval else 0
        style = Text(self.size, ink, align="center")
        self.canvas.text(middle, (y + y2) / 2 - up, words.number(estimate.value), style)
        if with_interval and estimate.ci_low is not None and estimate.ci_high is not None:
            both = f"{words.number(estimate.ci_low)} to {words.number(estimate.ci_high)}"
            small = Text(0.72 * self.size, ink, align="center")
            self.canvas.text(middle, (y + y2) / 2 + 0.62 * self.size, both, small)

    def _fits_interval(self) -> bool:
        return self.cell >= words.text_width("0.00 to 0.00", 0.78 * self.size) and self.row >= 2.2 * self.size

    def _hatch(self, x: float, y: float, x2: float, y2: float) -> None:
        width = 0.07 * self.font
        self.canvas.frame(x, y, x2, y2, self.palette.edge, width=width)
        height, step = y2 - y, 0.6 * self.font
        for place in range(1, int((x2 - x + height) / step) + 1):
            start = x + place * step
            down = max(0.0, start - x2)
            across = min(height, start - x)
            self.canvas.line(
                start - down, y + down, start - across, y + across, self.palette.edge, width=width, z=LINES
            )

    def _remarks(self, y: float) -> float:
        by_reason: dict[str, list[str]] = {}
        for (a, b), one in self.matrix.cells.items():
            if one.value is None:
                pair = f"{words.isolated(self.labels.rater(a))} with {words.isolated(self.labels.rater(b))}"
                by_reason.setdefault(one.reason, []).append(pair)
        for reason, pairs in by_reason.items():
            text = f"Not defined ({reason}): {', '.join(pairs)}"
            for line in words.wrapped(text, 0.92 * self.font, self.canvas.width - 2 * MARGIN):
                limit = words.limit_of(line, self.canvas.width - 2 * MARGIN)
                self.canvas.text(MARGIN, y, line, Text(0.92 * self.font, self.palette.soft, limit=limit))
                y += 1.3 * self.font
        return y


def _remarks(matrix: PairMatrix, *, narrowed: bool) -> list[str]:
    """How to read what is special in this matrix."""
    values = [one.value for one in matrix.cells.values()]
    remarks = []
    if any(value is not None and value < 0 for value in values):
        remarks.append(" Values below zero, where agreement is worse than chance, have a colour of their own.")
    if None in values:
        remarks.append(" Hatched: not defined, for the reason below the cells.")
    if len(values) < len(matrix.names) * (len(matrix.names) - 1) // 2:
        why = "or not chosen for this report" if narrowed else "since one of the two may contain the other"
        remarks.append(f" Empty: not compared, {why}.")
    return remarks


def _summary(matrix: PairMatrix, labels: FigureLabels) -> str:
    defined = [(one.value, pair) for pair, one in matrix.cells.items() if one.value is not None]
    missing = len(matrix.cells) - len(defined)
    if not matrix.cells:
        return "No two raters are compared."
    if not defined:
        reasons = words.listed(sorted({one.reason for one in matrix.cells.values()}))
        which = "the one pair" if missing == 1 else f"any of {missing} pairs"
        return f"No figure is defined for {which} of raters ({reasons})."
    (low, worst), (high, best) = min(defined), max(defined)
    left_out = f" For {words.counted(missing, 'pair')} it is not defined." if missing else ""
    if len(defined) == 1:
        return f"{_pair(best, labels)}: {words.number(high)}.{left_out}"
    return (
        f"Of {len(defined)} pairs of raters, {_pair(best, labels)} agree most ({words.number(high)}) and "
        f"{_pair(worst, labels)} least ({words.number(low)}).{left_out}"
    )


def _pair(pair: tuple[str, str], labels: FigureLabels) -> str:
    return f"{labels.rater(pair[0])} and {labels.rater(pair[1])}"
