"""Two raters on one scale, point by point: counts, and the share of each row."""

import math
from typing import Any

from apps.measures.results import Result
from apps.reliability.confusions import Confusion
from apps.reliability.matrix import TableKey
from apps.reports.figures import words
from apps.reports.figures.canvas import Canvas, Text
from apps.reports.figures.figure import Figure, Spec, slug_of
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.legend import MARGIN
from apps.reports.figures.palettes import Layout, Palette
from apps.reports.figures.ramps import fill_of

NEVER = "never given"


def confusion_figure(
    confusion: Confusion, key: TableKey, labels: FigureLabels, palette: Palette, *, name: str = ""
) -> Figure:
    """Rows are the points of `a`, columns those of `b`; colours by the share of the row."""
    a, b = labels.rater(confusion.a), labels.rater(confusion.b)
    one, other = (name if name in labels.kinds else words.in_sentence(name) for name in (confusion.a, confusion.b))
    points = [words.point(point) for point in confusion.points]
    return Figure(
        name=name or slug_of("confusion", *key, confusion.a, confusion.b),
        title=f"{a} and {b} on {labels.scale(key)}, point by point",
        caption=f"Items by the point of {one} (rows) and of {other} (columns), with the share of the row. "
        f"Framed: the same point. {_points_in_words(confusion, key, labels)}".strip(),
        summary=_summary(confusion, one, other),
        columns=(f"{a} gave", *(f"{b} gave {point}" for point in points), "All"),
        rows=tuple(_cells(row, share, point) for row, share, point in zip(*_parts(confusion), strict=True)),
        numeric_columns=frozenset(range(1, len(points) + 2)),
        spec=_Grid(confusion, a, b, palette, palette.wide).spec(),
        narrow_spec=_Grid(confusion, a, b, palette, palette.narrow).spec(),
        physical=palette.physical,
    )


def _parts(
    confusion: Confusion,
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[float, ...] | None, ...], tuple[str, ...]]:
    shares = confusion.row_shares()
    points = tuple(words.point(point) for point in confusion.points) if confusion.counts else ()
    return confusion.counts, shares, points


def _cells(row: tuple[int, ...], shares: tuple[float, ...] | None, point: str) -> tuple[str, ...]:
    if shares is None:
        return point, *([NEVER] * len(row)), "0"
    each = (f"{count} ({words.percent(share)})" for count, share in zip(row, shares, strict=True))
    return point, *each, str(sum(row))


class _Grid:
    def __init__(self, confusion: Confusion, a: str, b: str, palette: Palette, layout: Layout) -> None:
        self.confusion, self.palette, self.layout = confusion, palette, layout
        self.a, self.b = words.isolated(a), words.isolated(b)
        self.font = layout.font
        self.canvas = Canvas(layout.width, palette)
        self.n = len(confusion.points)
        self.left = MARGIN + 3 * self.font
        room = layout.width - self.left - 5 * self.font
        # So many points that the counts could not be read make the picture wider than its place, which scrolls.
        self.cell = max(2.5 * self.font, min(room / self.n, 5 * self.font))
        self.row = min(max(self.cell, 2.4 * self.font), 3.2 * self.font)
        self.size = min(self.font, 0.36 * self.cell)
        needed = self.left + self.n * self.cell + 5 * self.font
        least = layout.width if layout.narrow else 30 * self.font
        self.canvas.width = math.ceil(max(needed, least))

    def spec(self) -> Spec:
        if self.confusion.reason:
            text = f"No matrix: {self.confusion.reason}"
            self.canvas.text(MARGIN, self.font, text, Text(self.font, self.palette.soft))
            return self.canvas.spec(2 * self.font)
        y = self._titles()
        for place, point in enumerate(self.confusion.points):
            middle = self.left + (place + 0.5) * self.cell
            self._word(middle, y, words.point(point), align="center")
        self._word(self.left + self.n * self.cell + 0.6 * self.font, y, "All", soft=True)
        top = y + 0.9 * self.font
        shares = self.confusion.row_shares()
        for place, row in enumerate(self.confusion.counts):
            self._row(place, row, shares[place], top + place * self.row)
        return self.canvas.spec(top + self.n * self.row + 0.4 * self.font)

    def _titles(self) -> float:
        y, room = 0.9 * self.font, self.canvas.width - 2 * MARGIN
        bold = Text(self.font, self.palette.ink, weight="bold", limit=room)
        self.canvas.text(MARGIN, y, f"Rows: {self.a}", bold)
        self.canvas.text(MARGIN, y + 1.35 * self.font, f"Columns: {self.b}", bold)
        return y + 3.1 * self.font

    def _row(self, place: int, row: tuple[int, ...], shares: tuple[float, ...] | None, y: float) -> None:
        middle = y + self.row / 2
        self._word(self.left - 0.8 * self.font, middle, words.point(self.confusion.points[place]), align="right")
        if shares is None:
            self._word(self.left + 0.6 * self.font, middle, NEVER, soft=True)
        else:
            for column, (count, share) in enumerate(zip(row, shares, strict=True)):
                self._cell(self.left + column * self.cell, y, (place, column), count, share)
        self._word(self.left + self.n * self.cell + 0.6 * self.font, middle, str(sum(row)), soft=True)
        x = self.left + place * self.cell
        self.canvas.frame(x, y, x + self.cell - 0.5, y + self.row - 0.5, self.palette.ink, width=0.1 * self.font)

    def _cell(self, x: float, y: float, places: tuple[int, int], count: int, share: float) -> None:
        points = self.confusion.points
        # An empty cell has the colour of the ground, and not of a little.
        fill, ink = fill_of(share, self.palette) if count else (self.palette.wash, self.palette.soft)
        data: dict[str, Any] = {"a": points[places[0]], "b": points[places[1]], "count": count, "share": share}
        self.canvas.rect(x, y, x + self.cell - 0.5, y + self.row - 0.5, fill, **data)
        middle, up = x + self.cell / 2, 0.52 * self.size if count else 0
        self.canvas.text(middle, y + self.row / 2 - up, str(count), Text(self.size, ink, align="center"))
        if count:
            small = Text(0.8 * self.size, ink, align="center")
            self.canvas.text(middle, y + self.row / 2 + 0.62 * self.size, words.percent(share), small)

    def _word(self, x: float, y: float, text: str, *, soft: bool = False, align: str = "left") -> None:
        colour = self.palette.soft if soft else self.palette.ink
        self.canvas.text(x, y, text, Text(self.font, colour, align=align))


def _points_in_words(confusion: Confusion, key: TableKey, labels: FigureLabels) -> str:
    named = [f"{words.point(point)} {text}" for point in confusion.points if (text := labels.point(key, point))]
    return f"Points: {', '.join(named)}." if named else ""


def _summary(confusion: Confusion, a: str, b: str) -> str:
    if confusion.reason:
        return f"There is no matrix of {a} and {b}: {confusion.reason}."
    sentence = (
        f"Of {words.counted(confusion.n_items, 'item')} rated by both, {_share(confusion.exact)} have the same point"
    )
    near = confusion.within_one
    if near.value is not None:
        sentence += f" and {_share(near)} are at most one point apart"
    above = sum(sum(row[:place]) for place, row in enumerate(confusion.counts))
    below = sum(sum(row[place + 1 :]) for place, row in enumerate(confusion.counts))
    if near.value is None or not (above or below):
        return f"{sentence}."
    return f"{sentence}; {b} is higher on {below} and lower on {above}."


def _share(result: Result) -> str:
    return "none" if result.value is None else words.percent(result.value)
