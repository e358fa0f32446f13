"""One rater on every scale: the points they use beside those of the others, and how much higher or lower they rate."""

from collections.abc import Sequence
from typing import Any, Protocol

from apps.reliability.benchmarks import Estimate
from apps.reliability.distributions import Distribution
from apps.reliability.matrix import RaterKey, TableKey
from apps.reliability.profiles import Profile
from apps.reports.figures import words
from apps.reports.figures.benchmark import estimate_cell
from apps.reports.figures.canvas import LINES, Canvas, Plane, Text
from apps.reports.figures.figure import Figure, Spec, slug_of
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.legend import MARGIN, Entry, draw_legend
from apps.reports.figures.palettes import Layout, Palette

NOBODY = "nobody to compare with"


class ProfileLine(Protocol):
    """A rater's profile on one scale, and their bias with its interval."""

    @property
    def profile(self) -> Profile: ...

    @property
    def bias(self) -> Estimate: ...


def rater_profile_figure(
    rater: RaterKey, lines: Sequence[ProfileLine], labels: FigureLabels, palette: Palette, *, name: str = ""
) -> Figure:
    """A row for each scale, in the order given."""
    who = words.isolated(rater.name)
    return Figure(
        name=name or slug_of("rater", rater.name),
        title=f"How {who} uses the scales, and how they differ from the others",
        caption=f"Left: share of the ratings at each point, from the lowest to the highest: bars {who}, lines the "
        f"others. Right: bias, the mean of {who} minus that of {_yardsticks(lines, labels)} on the items of both, in "
        "points of the scale, with 95 % intervals over items where they were computed.",
        summary=_summary(lines, labels, who),
        columns=("Scale", "Framework", "Ratings", "Points used", "Compared with", "Bias", "Items"),
        rows=tuple(_cells(line, labels) for line in lines),
        numeric_columns=frozenset({2, 5, 6}),
        row_links=tuple(labels.link(line.profile.key) for line in lines),
        spec=_Profile(rater, lines, labels, palette, palette.wide).spec(),
        narrow_spec=_Profile(rater, lines, labels, palette, palette.narrow).spec(),
        physical=palette.physical,
    )


class _Profile:
    def __init__(
        self, rater: RaterKey, lines: Sequence[ProfileLine], labels: FigureLabels, palette: Palette, layout: Layout
    ) -> None:
        self.rater, self.lines, self.labels, self.palette, self.layout = rater, lines, labels, palette, layout
        self.font = layout.font
        self.canvas = Canvas(layout.width, palette)
        self.symbol = labels.symbol(rater.name)
        self.gutter = MARGIN if layout.narrow else self._widest_label()
        start = self.gutter + (0 if layout.narrow else 1.2 * self.font)
        rest = layout.width - start - 1.2 * self.font
        self.use_left, self.use_right = start, start + 0.4 * rest
        self.highest = self._highest_share()
        reach = self._reach()
        self.plane = Plane(-reach, reach, self.use_right + 2 * self.font, layout.width - 1.2 * self.font)
        self.y = 0.0

    def _widest_label(self) -> float:
        labels = [words.text_width(self.labels.scale(line.profile.key), self.font) for line in self.lines]
        places = [words.text_width(self.labels.place(line.profile.key), 0.92 * self.font) for line in self.lines]
        return min(max([8 * self.font, *labels, *places]), 0.33 * self.layout.width)

    def _highest_share(self) -> float:
        uses = [use for line in self.lines for use in (line.profile.use, line.profile.others_use) if use is not None]
        return max([0.1, *(share for use in uses for share in use.shares or ())])

    def _reach(self) -> float:
        """How far the axis goes to either side: a half point more than the largest bias or limit, in halves."""
        values = [
            abs(value)
            for line in self.lines
            for value in (line.bias.value, line.bias.ci_low, line.bias.ci_high)
            if value is not None
        ]
        return max(1.0, -(-max([0.0, *values]) * 2 // 1) / 2)

    def spec(self) -> Spec:
        self.y = draw_legend(self.canvas, self.layout, self._legend(), 0)
        self._heads()
        top = self.y
        for line in self.lines:
            self.canvas.line(0, self.y, self.layout.width, self.y, self.palette.hairline, width=0.06 * self.font)
            start = self._row(line)
            if self.layout.narrow:
                self._grid(start, self.y)
        self.canvas.line(self.use_left, self.y, self.layout.width, self.y, self.palette.edge, width=0.06 * self.font)
        if not self.layout.narrow:
            self._grid(top, self.y)
        self.y += 0.9 * self.font
        self._tick_labels()
        return self.canvas.spec(self.y + self.font)

    def _legend(self) -> list[Entry]:
        entries = [
            Entry(f"{words.isolated(self.rater.name)} (bars)", self.symbol),
            Entry("the others (lines)", None, line="others"),
        ]
        if any(line.bias.ci_low is not None for line in self.lines):
            entries.append(Entry("95 % interval", None, line="interval"))
        return entries

    def _heads(self) -> None:
        bold, start = Text(self.font, self.palette.ink, weight="bold"), self.y + 1.1 * self.font
        for x, right, text in (
            (self.use_left, self.use_right, "Use of points"),
            (self.plane.left, self.layout.width, "Bias, in points of the scale"),
        ):
            y = start
            for part in words.wrapped(text, 1.08 * self.font, right - x):
                self.canvas.text(x, y, part, bold)
                y += 1.3 * self.font
            self.y = max(self.y, y)
        self.y += 0.1 * self.font
        self._tick_labels()
        self.y += 0.9 * self.font

    def _row(self, line: ProfileLine) -> float:
        """Says where the marks begin."""
        font, start = self.font, self.y
        if self.layout.narrow:
            self._label_above(line)
        content = self.y
        height = 2.5 * font
        base = self.y + height + 0.5 * font
        self._use(line.profile, base, height)
        self._bias(line.bias, base - height / 2)
        self.y = base + 1.5 * font
        if not self.layout.narrow:
            self._label_beside(line, (start + self.y) / 2)
        return content

    def _label_above(self, line: ProfileLine) -> None:
        room = self.layout.width - 2 * MARGIN
        own = min(words.text_width(self.labels.scale(line.profile.key), 1.08 * self.font), 0.66 * room)
        middle = self.y + 0.9 * self.font
        bold = Text(self.font, self.palette.ink, weight="bold", limit=round(own + self.font, 1))
        self.canvas.text(MARGIN, middle, words.isolated(self.labels.scale(line.profile.key)), bold)
        rest = round(room - own - 1.5 * self.font, 1)
        soft = Text(0.92 * self.font, self.palette.soft, align="right", limit=rest)
        place = words.isolated(self.labels.place(line.profile.key))
        self.canvas.text(self.layout.width - MARGIN, middle, place, soft)
        self.y += 1.5 * self.font

    def _label_beside(self, line: ProfileLine, middle: float) -> None:
        limit = round(self.gutter, 1)
        ink = Text(self.font, self.palette.ink, align="right", limit=limit)
        soft = Text(0.92 * self.font, self.palette.soft, align="right", limit=limit)
        up = 0.64 * self.font
        self.canvas.text(self.gutter, middle - up, words.isolated(self.labels.scale(line.profile.key)), ink)
        self.canvas.text(self.gutter, middle + up, words.isolated(self.labels.place(line.profile.key)), soft)

    def _use(self, profile: Profile, base: float, height: float) -> None:
        points = profile.use.points
        step = (self.use_right - self.use_left) / len(points)
        self.canvas.line(self.use_left, base, self.use_right, base, self.palette.edge, width=0.08 * self.font, z=LINES)
        for place, value in enumerate(points):
            middle = self.use_left + (place + 0.5) * step
            if len(points) <= 7 or place in (0, len(points) - 1):
                small = Text(0.85 * self.font, self.palette.soft, align="center")
                self.canvas.text(middle, base + 0.8 * self.font, words.point(value), small)
            self._shares(profile.use, place, (middle, 0.3 * step), (base, height), is_own=True)
            if profile.others_use is not None and profile.use.n_ratings:
                self._shares(profile.others_use, place, (middle, 0.42 * step), (base, height), is_own=False)
        if not profile.use.n_ratings:
            soft = Text(self.font, self.palette.soft)
            self.canvas.text(self.use_left, base - height / 2, "no ratings", soft)

    def _shares(
        self, one: Distribution, place: int, across: tuple[float, float], down: tuple[float, float], *, is_own: bool
    ) -> None:
        (middle, half), (base, height) = across, down
        if one.shares is None:
            return
        y = base - one.shares[place] / self.highest * height
        if is_own:
            data: dict[str, Any] = {"who": one.name, "point": one.points[place], "share": one.shares[place]}
            colour = self.palette.kind(self.rater.kind)
            self.canvas.rect(middle - half, y, middle + half, base, colour, z=LINES, opacity=0.85, **data)
        else:
            self.canvas.line(middle - half, y, middle + half, y, self.palette.ink, width=0.11 * self.font, z=LINES)

    def _bias(self, bias: Estimate, y: float) -> None:
        if bias.value is None:
            room = self.plane.right - self.plane.left
            parts = words.wrapped(f"not defined: {bias.reason or NOBODY}", 0.92 * self.font, room)
            for number, part in enumerate(parts):
                style = Text(0.92 * self.font, self.palette.soft, limit=round(room, 1))
                self.canvas.text(self.plane.left, y + (number - (len(parts) - 1) / 2) * 1.2 * self.font, part, style)
            return
        colour = self.palette.kind(self.rater.kind)
        if bias.ci_low is not None and bias.ci_high is not None:
            self.canvas.span(self.plane, y, bias.ci_low, bias.ci_high, colour, width=0.09 * self.font)
        self.canvas.symbol(self.plane, bias.value, y, self.symbol, 0.7 * self.font, side=self.rater.name)

    def _ticks(self) -> list[float]:
        return words.steps_between(self.plane.low, self.plane.high, 3 if self.layout.narrow else 6)

    def _tick_labels(self) -> None:
        decimals = 0 if all(value == round(value) for value in self._ticks()) else 1
        for value in self._ticks():
            sign = "+" if value > 0 else ""
            soft = Text(0.92 * self.font, self.palette.soft, align="center")
            self.canvas.text(self.plane.pixel(value), self.y, f"{sign}{words.number(value, decimals)}", soft)

    def _grid(self, top: float, bottom: float) -> None:
        for value in self._ticks():
            colour = self.palette.edge if value == 0 else self.palette.hairline
            width = (0.09 if value == 0 else 0.06) * self.font
            self.canvas.upright(self.plane, value, top, bottom, colour, width=width)


def _yardsticks(lines: Sequence[ProfileLine], labels: FigureLabels) -> str:
    names = dict.fromkeys(line.profile.yardstick for line in lines if line.profile.yardstick)
    return words.listed([_yardstick(name, labels) for name in names]) or "the others"


def _yardstick(name: str, labels: FigureLabels) -> str:
    """`experts-without-expert1:median` as `the other experts' median`."""
    group, _, how = name.partition("-without-")
    if how and group in words.GROUPS:
        return f"the {how.rpartition(':')[2]} of the other {words.group_label(group).lower()}"
    group, _, how = name.partition(":")
    return f"the {how} of the {words.group_label(group).lower()}" if how else words.isolated(labels.rater(name))


def _cells(line: ProfileLine, labels: FigureLabels) -> tuple[str, ...]:
    profile, bias = line.profile, line.bias
    used = [words.point(value) for value, n in zip(profile.use.points, profile.use.counts, strict=True) if n]
    return (
        labels.scale(profile.key),
        labels.place(profile.key),
        str(profile.use.n_ratings),
        ", ".join(used) or "none",
        _yardstick(profile.yardstick, labels) if profile.yardstick else NOBODY,
        estimate_cell(bias) if bias.value is not None or bias.reason else f"not defined: {NOBODY}",
        str(bias.n_items),
    )


def _summary(lines: Sequence[ProfileLine], labels: FigureLabels, who: str) -> str:
    if not lines:
        return f"{who} has rated on no scale."
    defined = [(line.bias.value, line.profile.key) for line in lines if line.bias.value is not None]
    missing = len(lines) - len(defined)
    if not defined:
        reasons = words.listed(list(dict.fromkeys(line.bias.reason or NOBODY for line in lines)))
        return f"The bias of {who} is not defined on {'the one scale' if missing == 1 else 'any scale'}: {reasons}."
    if len(defined) == 1:
        return " ".join([_sentence_of_one(*defined[0], labels, who), *_missing(missing)])
    (low, lowest), (high, highest) = min(defined), max(defined)
    above, below = sum(value > 0 for value, _ in defined), sum(value < 0 for value, _ in defined)
    sentence = f"On average {who} rates higher than the others on {above} and lower on {below} of "
    sentence += f"{len(defined)} scales; from {_signed(low)} on {labels.scale(lowest)} to {_signed(high)} on "
    return " ".join([f"{sentence}{labels.scale(highest)}.", *_missing(missing)])


def _sentence_of_one(value: float, key: TableKey, labels: FigureLabels, who: str) -> str:
    if words.number(value) == words.number(0):
        return f"On {labels.scale(key)} {who} rates as high as the others on average."
    which = "higher" if value > 0 else "lower"
    return f"On {labels.scale(key)} {who} rates {which} than the others on average, by {words.number(abs(value))}."


def _missing(scales: int) -> list[str]:
    return [f"On {words.counted(scales, 'scale')} the bias is not defined."] if scales else []


def _signed(value: float) -> str:
    text = words.number(value)
    return f"+{text}" if value > 0 and text != "0.00" else text
