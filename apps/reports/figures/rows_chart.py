"""Rows of figures on one axis: the range of the experts where there is one, and each side's symbol with its interval.

Every side has a line of its own in a row, so that nothing covers anything. What is undefined is written in the row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.reliability.matrix import Kind
from apps.reports.figures import words
from apps.reports.figures.canvas import LINES, Canvas, Plane, Text
from apps.reports.figures.figure import Spec
from apps.reports.figures.legend import MARGIN, Entry, draw_legend
from apps.reports.figures.palettes import Layout, Palette
from apps.reports.figures.symbols import Fill, Symbol, symbol_of

# The experts one by one, beside the filled circle of their pairs.
OTHERS = replace(symbol_of(Kind.EXPERT), fill=Fill.HOLLOW)


@dataclass(frozen=True, slots=True)
class Band:
    """A range of the experts, of their pairs or of each of them, with each one by name; or without them."""

    low: float
    median: float
    high: float
    singles: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """One side's figure, with its interval if it has one."""

    name: str
    symbol: Symbol
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ChartRow:
    """label, place: what the row is about, and where that belongs. band: the pairs of experts. others: each expert with
    the others. remarks: what is to be said in words."""

    label: str
    place: str
    band: Band | None
    marks: tuple[Mark, ...]
    remarks: tuple[str, ...] = ()
    others: Band | None = None


@dataclass(frozen=True, slots=True)
class RowsChart:
    """series: name and symbol of every side, in the order of the legend. band, others: what the ranges of experts and
    their marks are. threshold: where a line is drawn, or None. beside: rows of another picture on the same axis."""

    axis: str
    rows: tuple[ChartRow, ...]
    series: tuple[tuple[str, Symbol], ...]
    band: str = ""
    others: str = ""
    threshold: float | None = None
    beside: tuple[ChartRow, ...] = ()

    @property
    def domain(self) -> tuple[float, float]:
        """From a round number at or below the lowest figure, 0 at most, to a round one at or above the highest, 1 at
        least."""
        values = [value for row in (*self.rows, *self.beside) for value in _values_of(row)]
        low, high = min([0.0, *values]), max([1.0, *values])
        step = 0.2 if high - low <= 2.4 else 1.0
        return _floor(low, step), -_floor(-high, step)


def _values_of(row: ChartRow) -> list[float]:
    found = [value for mark in row.marks for value in (mark.value, mark.low, mark.high) if value is not None]
    return found + [value for band in (row.band, row.others) if band is not None for value in (band.low, band.high)]


def _floor(value: float, step: float) -> float:
    return round((value + 1e-9) // step * step, 10)


def undefined_remarks(undefined: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """`Not defined: gemini and gpt (no variation)`, from names and their reasons; nothing where all are defined."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in undefined:
        by_reason.setdefault(reason, []).append(words.isolated(name))
    parts = [f"{words.listed(names)} ({reason})" for reason, names in by_reason.items()]
    return (f"Not defined: {'; '.join(parts)}",) if parts else ()


@dataclass(frozen=True, slots=True)
class _Room:
    """Of a row: where it begins and ends, where its marks end, and how far its remarks reach to the right."""

    top: float
    bottom: float
    marks_end: float
    remarks_right: float

    def bottom_at(self, x: float, left: float) -> float:
        return self.marks_end if left < x <= self.remarks_right else self.bottom


class RowsDrawing:
    """Draws a chart from top to bottom."""

    def __init__(self, chart: RowsChart, palette: Palette, layout: Layout) -> None:
        self.chart, self.palette, self.layout = chart, palette, layout
        self.font = layout.font
        self.step = layout.font * layout.leading
        self.canvas = Canvas(layout.width, palette)
        self.gutter = MARGIN if layout.narrow else self._widest_label()
        low, high = chart.domain
        self.plane = Plane(low, high, self.gutter + 0.8 * self.font, layout.width - 1.2 * self.font)
        self.y = 0.0

    def spec(self) -> Spec:
        self.y = draw_legend(self.canvas, self.layout, self._legend(), self.y)
        self.y += 1.1 * self.font
        for line in words.wrapped(self.chart.axis, 1.08 * self.font, self.layout.width - self.plane.left):
            self.canvas.text(self.plane.left, self.y, line, self._text(weight="bold"))
            self.y += 1.4 * self.font
        self._tick_labels()
        self.y += 0.9 * self.font
        for row in self.chart.rows:
            self._separator()
            self._grid(self._row(row))
        self._separator(strong=True)
        self.y += 0.9 * self.font
        self._tick_labels()
        return self.canvas.spec(self.y + self.font)

    def _widest_label(self) -> float:
        """Room for the labels beside the rows: what they need, a third of the width at most."""
        own = [words.text_width(row.label, self.font) for row in self.chart.rows]
        places = [words.text_width(row.place, 0.92 * self.font) for row in self.chart.rows]
        return min(max([8 * self.font, *own, *places]), 0.33 * self.layout.width)

    def _legend(self) -> list[Entry]:
        experts = symbol_of(Kind.EXPERT)
        entries = []
        if any(row.band for row in self.chart.rows):
            entries.append(Entry(self.chart.band, experts, band=True))
        if any(row.others for row in self.chart.rows):
            entries.append(Entry(self.chart.others, OTHERS, line="range"))
        entries += [Entry(words.isolated(name), symbol) for name, symbol in self.chart.series]
        if any(mark.low is not None for row in self.chart.rows for mark in row.marks):
            entries.append(Entry("95 % interval", None, line="interval"))
        if self.chart.threshold is not None:
            entries.append(Entry(f"Threshold {words.number(self.chart.threshold)}", None, line="threshold"))
        return entries

    def _row(self, row: ChartRow) -> "_Room":
        """Says where the lines behind the row go."""
        start = self.y
        self.y += 0.5 * self.step
        if self.layout.narrow:
            self._label_above(row)
        top = self.y if self.layout.narrow else start
        if row.band is not None:
            self._band(row.band)
        if row.others is not None:
            self._others(row.others)
        for mark in row.marks:
            self._mark(mark)
        marks_end = self.y + 0.2 * self.step
        remarks_right = self._remarks(row)
        self.y += 0.4 * self.step
        if not self.layout.narrow:
            self._label_beside(row, start)
        return _Room(top, self.y, marks_end, remarks_right)

    def _label_above(self, row: ChartRow) -> None:
        middle, room = self.y + 0.45 * self.font, self.layout.width - 2 * self.gutter
        own = min(words.text_width(row.label, 1.08 * self.font), 0.66 * room if row.place else room)
        self.canvas.text(self.gutter, middle, row.label, self._text(weight="bold", limit=own + self.font))
        rest = room - own - 1.5 * self.font
        if row.place and rest > 3 * self.font:
            right = self._text(soft=True, align="right", limit=rest)
            self.canvas.text(self.layout.width - self.gutter, middle, row.place, right)
        self.y += 1.35 * self.font

    def _label_beside(self, row: ChartRow, start: float) -> None:
        lines = 2 if row.place else 1
        needed = (1.28 * lines + 0.5) * self.font
        self.y = max(self.y, start + needed)
        middle = (start + self.y) / 2
        first = middle - 0.64 * self.font * (lines - 1)
        self.canvas.text(self.gutter, first, row.label, self._text(align="right", limit=self.gutter))
        if row.place:
            soft = self._text(soft=True, align="right", limit=self.gutter)
            self.canvas.text(self.gutter, first + 1.28 * self.font, row.place, soft)

    def _band(self, band: Band) -> None:
        colour, height = self.palette.kind(Kind.EXPERT), 0.62 * self.font
        middle = self.y + 0.5 * self.step
        self.canvas.span(self.plane, middle, band.low, band.high, colour, width=height, opacity=0.22, side="experts")
        for value in () if band.singles else (band.low, band.high):
            self.canvas.tick(self.plane, value, middle, height, colour, width=0.1 * self.font)
        for pair, value in band.singles:
            self.canvas.tick(self.plane, value, middle, height, colour, width=0.1 * self.font, pair=pair)
        self.canvas.symbol(
            self.plane, band.median, middle, symbol_of(Kind.EXPERT), 0.72 * self.font, side="experts: median pair"
        )
        self.y += self.step

    def _others(self, band: Band) -> None:
        """Lighter than the pairs: a line with a stroke for each expert, and an open circle."""
        colour, middle = self.palette.kind(Kind.EXPERT), self.y + 0.34 * self.step
        self.canvas.span(self.plane, middle, band.low, band.high, colour, width=0.09 * self.font, side="others")
        for value in () if band.singles else (band.low, band.high):
            self.canvas.tick(self.plane, value, middle, 0.42 * self.font, colour, width=0.1 * self.font)
        for expert, value in band.singles:
            self.canvas.tick(self.plane, value, middle, 0.42 * self.font, colour, width=0.1 * self.font, expert=expert)
        size = self.layout.symbols * self.font
        self.canvas.symbol(self.plane, band.median, middle, OTHERS, size, side="experts: each with the others")
        self.y += 0.68 * self.step

    def _mark(self, mark: Mark) -> None:
        middle = self.y + 0.34 * self.step
        if mark.low is not None and mark.high is not None:
            colour = self.palette.kind(mark.symbol.kind)
            self.canvas.span(self.plane, middle, mark.low, mark.high, colour, width=0.09 * self.font, side=mark.name)
        self.canvas.symbol(self.plane, mark.value, middle, mark.symbol, self.layout.symbols * self.font, side=mark.name)
        self.y += 0.68 * self.step

    def _remarks(self, row: ChartRow) -> float:
        """Within their row. Says how far they reach to the right."""
        left, size = self.plane.left + 0.3 * self.font, 0.92 * self.font
        room = self.layout.width - left - MARGIN
        lines = [line for remark in row.remarks for line in words.wrapped(remark, size, room)]
        for line in lines:
            style = Text(size, self.palette.soft, limit=words.limit_of(line, room))
            self.canvas.text(left, self.y + 0.6 * self.font, line, style)
            self.y += 1.2 * self.font
        return max((left + min(words.text_width(line, size), room) for line in lines), default=self.plane.left)

    def _separator(self, *, strong: bool = False) -> None:
        left = 0 if self.layout.narrow or not strong else self.plane.left
        colour = self.palette.edge if strong else self.palette.hairline
        self.canvas.line(left, self.y, self.layout.width, self.y, colour, width=0.06 * self.font)

    def _tick_labels(self) -> None:
        for value in words.steps_between(self.plane.low, self.plane.high):
            self.canvas.text(
                self.plane.pixel(value), self.y, words.number(value, 1), self._text(soft=True, align="center")
            )

    def _grid(self, room: "_Room") -> None:
        """Through all of the row, but for lines that would strike through what is written in it."""
        for value in words.steps_between(self.plane.low, self.plane.high):
            colour = self.palette.edge if value == 0 else self.palette.hairline
            bottom = room.bottom_at(self.plane.pixel(value), self.plane.left)
            self.canvas.upright(
                self.plane, value, room.top, bottom, colour, width=(0.09 if value == 0 else 0.06) * self.font
            )
        if self.chart.threshold is not None:
            dash = [0.4 * self.font, 0.3 * self.font]
            self.canvas.upright(
                self.plane,
                self.chart.threshold,
                room.top,
                room.bottom_at(self.plane.pixel(self.chart.threshold), self.plane.left),
                self.palette.ink,
                width=0.1 * self.font,
                dash=dash,
                z=LINES,
            )

    def _text(self, *, soft: bool = False, align: str = "left", weight: str = "normal", limit: float = 0) -> Text:
        colour = self.palette.soft if soft else self.palette.ink
        size = 0.92 * self.font if soft else self.font
        return Text(size, colour, align=align, weight=weight, limit=round(limit, 1))
