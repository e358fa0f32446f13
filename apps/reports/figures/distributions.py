"""How often each group or rater gives each point of a scale: one small chart for each, on one scale of shares."""

from collections.abc import Sequence
from typing import Any

from apps.reliability.distributions import Distribution
from apps.reliability.matrix import TableKey
from apps.reports.figures import words
from apps.reports.figures.canvas import LINES, Canvas, Text
from apps.reports.figures.figure import Figure, Spec, slug_of
from apps.reports.figures.labels import NO_NAME, FigureLabels
from apps.reports.figures.legend import MARGIN
from apps.reports.figures.palettes import Layout, Palette

NO_RATINGS = "no ratings"


def distribution_figure(
    distributions: Sequence[Distribution],
    key: TableKey,
    labels: FigureLabels,
    palette: Palette,
    *,
    name: str = "",
) -> Figure:
    """The distributions of one scale, in the order given. Values between points are counted at the nearest, as said."""
    scale = labels.scale(key)
    points = distributions[0].points if distributions else ()
    return Figure(
        name=name or slug_of("distribution", *key),
        title="How the scale is used" if scale == NO_NAME else f"How the scale {scale} is used",
        caption=f"Share of the ratings at each point. {_points_in_words(key, points, labels)}".strip()
        + _between_in_words(distributions),
        summary=_summary(distributions, labels),
        columns=("Who", "Raters", "Ratings", *(f"Point {words.point(point)}" for point in points)),
        rows=tuple(_cells(one, labels) for one in distributions),
        numeric_columns=frozenset(range(1, 3 + len(points))),
        spec=_Panels(distributions, labels, palette, palette.wide).spec(),
        narrow_spec=_Panels(distributions, labels, palette, palette.narrow).spec(),
        physical=palette.physical,
    )


class _Panels:
    """Panels from left to right, then from top to bottom."""

    def __init__(
        self, distributions: Sequence[Distribution], labels: FigureLabels, palette: Palette, layout: Layout
    ) -> None:
        self.distributions, self.labels, self.palette, self.layout = distributions, labels, palette, layout
        self.font = layout.font
        self.canvas = Canvas(layout.width, palette)
        shares = [share for one in distributions for share in one.shares or ()]
        # Room for a label above the highest bar, whatever its share is.
        self.highest = max([0.2, *shares])
        self.n_points = max([2, *(len(one.points) for one in distributions)])
        least = max(2.4 * self.n_points, 11) * self.font
        room = layout.width - 2 * MARGIN
        fitting = max(1, int((room + 1.5 * self.font) // (least + 1.5 * self.font)))
        self.n_columns = max(1, min(fitting, len(distributions)))
        # A last line of one or two panels looks left over: spread them evenly.
        lines = -(-len(distributions) // self.n_columns) or 1
        self.n_columns = max(1, -(-len(distributions) // lines))
        width = (room - (self.n_columns - 1) * 1.5 * self.font) / self.n_columns
        self.panel = min(width, max(4 * self.n_points, 16) * self.font)

    def spec(self) -> Spec:
        height = 13 * self.font if self.layout.narrow else 14 * self.font
        if not self.distributions:
            self.canvas.text(MARGIN, self.font, NO_RATINGS, Text(self.font, self.palette.soft))
            return self.canvas.spec(2 * self.font)
        for number, one in enumerate(self.distributions):
            line, column = divmod(number, self.n_columns)
            left = MARGIN + column * (self.panel + 1.5 * self.font)
            self._panel(one, left, line * (height + self.font), height)
        lines = -(-len(self.distributions) // self.n_columns)
        return self.canvas.spec(lines * (height + self.font) - 0.5 * self.font)

    def _panel(self, one: Distribution, left: float, top: float, height: float) -> None:
        font, right = self.font, left + self.panel
        self.canvas.symbol(None, left + 0.45 * font, top + 0.8 * font, self.labels.symbol(one.name), 0.75 * font)
        name = Text(font, self.palette.ink, weight="bold", limit=round(self.panel - 1.2 * font, 1))
        self.canvas.text(left + 1.2 * font, top + 0.8 * font, words.isolated(self.labels.rater(one.name)), name)
        soft = Text(0.92 * font, self.palette.soft, limit=round(self.panel, 1))
        if one.n_ratings:
            self.canvas.text(left, top + 2.1 * font, _counts_in_words(one), soft)
        base, ceiling = top + height - 1.5 * font, top + 4.2 * font
        self.canvas.line(left, base, right, base, self.palette.edge, width=0.08 * font, z=LINES)
        shares = one.shares
        if shares is None:
            centred = Text(font, self.palette.soft, align="center")
            self.canvas.text((left + right) / 2, (base + ceiling) / 2, NO_RATINGS, centred)
        for place, value in enumerate(one.points):
            step = self.panel / len(one.points)
            middle = left + (place + 0.5) * step
            self.canvas.text(
                middle, base + 0.9 * font, words.point(value), Text(font, self.palette.ink, align="center")
            )
            if shares is not None:
                self._bar(one, place, shares[place], (middle, 0.36 * step), (base, ceiling))

    def _bar(
        self, one: Distribution, place: int, share: float, across: tuple[float, float], down: tuple[float, float]
    ) -> None:
        (middle, half), (base, ceiling) = across, down
        y = base - share / self.highest * (base - ceiling)
        data: dict[str, Any] = {"who": one.name, "point": one.points[place], "share": share, "count": one.counts[place]}
        colour = self.palette.kind(one.kind)
        self.canvas.rect(middle - half, y, middle + half, base, colour, z=LINES, opacity=0.85, **data)
        text = words.percent(share) if one.counts[place] else "0"
        if words.text_width(text, 0.92 * self.font) <= half / 0.36:
            style = Text(0.92 * self.font, self.palette.soft, align="center")
            self.canvas.text(middle, y - 0.75 * self.font, text, style)


def _counts_in_words(one: Distribution) -> str:
    raters = f" of {words.counted(one.n_raters, 'rater')}" if one.is_group else ""
    return f"{words.counted(one.n_ratings, 'rating')}{raters}"


def _points_in_words(key: TableKey, points: Sequence[float], labels: FigureLabels) -> str:
    named = [f"{words.point(point)} {text}" for point in points if (text := labels.point(key, point))]
    return f"Points: {', '.join(named)}." if named else ""


def _between_in_words(distributions: Sequence[Distribution]) -> str:
    parts = [
        f"{one.n_between} of {words.in_sentence(one.name) if one.is_group else words.isolated(one.name)}"
        for one in distributions
        if one.n_between
    ]
    if not parts:
        return ""
    return f" Ratings between two points are counted at the nearest, halfway at the higher one: {words.listed(parts)}."


def _cells(one: Distribution, labels: FigureLabels) -> tuple[str, ...]:
    shares = one.shares
    each = [NO_RATINGS] * len(one.points)
    if shares is not None:
        each = [f"{count} ({words.percent(share)})" for count, share in zip(one.counts, shares, strict=True)]
    return labels.rater(one.name), str(one.n_raters), str(one.n_ratings), *each


def _summary(distributions: Sequence[Distribution], labels: FigureLabels) -> str:
    sentences = []
    for one in distributions:
        name, shares = labels.rater(one.name), one.shares
        if shares is None:
            sentences.append(f"{name}: {NO_RATINGS}.")
            continue
        most = max(shares)
        often = [words.point(point) for point, share in zip(one.points, shares, strict=True) if share == most]
        each = " each" if len(often) > 1 else ""
        sentence = f"{name}: most often {words.listed(often)} ({words.percent(most)}{each})"
        unused = [words.point(point) for point, count in zip(one.points, one.counts, strict=True) if not count]
        sentences.append(f"{sentence}, never {words.listed(unused)}." if unused else f"{sentence}.")
    return " ".join(sentences) or "There are no ratings to show."
