"""A cell as an answer on a scale: a point, a value between points from an aggregate, or that nobody can tell."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from apps.corpus.parsing.cells import CellError
from apps.corpus.parsing.mapping import listed
from apps.frameworks.scales import NUMBER, LevelName, PointMatcher, PointSpec

CANNOT_TELL = {"cannot_tell", "cannot tell", "can't tell", "can’t tell"}
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
SHOWN = 40


class Answer(NamedTuple):
    """A value on the scale, or none because the rater cannot tell."""

    value: float | None
    cannot_tell: bool = False


@dataclass(frozen=True, slots=True)
class DimensionScale:
    """A dimension as far as reading its values goes; `points` in ascending order, at least two."""

    framework: str
    slug: str
    points: tuple[PointSpec, ...]
    level: LevelName = "ordinal"
    label: str = ""
    framework_name: str = ""
    _matcher: PointMatcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_matcher", PointMatcher(self.points))

    @property
    def key(self) -> str:
        return f"{self.framework}/{self.slug}"

    def is_called(self, name: str) -> bool:
        """Whether a name is the slug, or the label without regard to case."""
        return name == self.slug or (bool(self.label) and name.strip().casefold() == self.label.casefold())

    @property
    def short_names(self) -> set[str]:
        """The slug and the label, without case, spaces and signs."""
        return {plain(self.slug), plain(self.label)} - {""}

    @property
    def full_names(self) -> set[str]:
        """The same after the framework's slug or name."""
        frameworks = {plain(self.framework), plain(self.framework_name)} - {""}
        return {framework + name for framework in frameworks for name in self.short_names}

    def read(self, text: str, *, from_aggregate: bool = False) -> Answer:
        """What a cell says. "3.0" is the point 3; a label counts as its point.

        Raises CellError, which says what was expected, for anything else, an empty cell included.
        """
        text = text.strip()
        value = self._matcher.match(text)
        if value is None and NUMBER.fullmatch(text) and from_aggregate and self.level == "ordinal":
            number = float(text)
            value = number + 0.0 if self.points[0].value <= number <= self.points[-1].value else None
        if value is not None:
            return Answer(value)
        if text.casefold() in CANNOT_TELL:
            return Answer(None, cannot_tell=True)
        raise CellError(f"{self._fault(text, from_aggregate)}; expected {self.expected(from_aggregate)}")

    def expected(self, from_aggregate: bool = False) -> str:
        if from_aggregate and self.level == "ordinal":
            return f"a number from {self.points[0].value:g} to {self.points[-1].value:g}"
        return "one of " + ", ".join(
            f"{point.value:g} ({point.label})" if point.label else f"{point.value:g}" for point in self.points
        )

    def in_words(self, answer: Answer) -> str:
        """The value with its label, where the point has one."""
        if answer.value is None:
            return "cannot tell"
        label = next((point.label for point in self.points if point.value == answer.value), "")
        return f"{answer.value:g} ({label})" if label else f"{answer.value:g}"

    def _fault(self, text: str, from_aggregate: bool) -> str:
        if not text:
            return "is empty"
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        if DECIMAL_COMMA.fullmatch(text):
            return f"{shown} has a decimal comma, write {text.replace(',', '.')}"
        if not NUMBER.fullmatch(text):
            return f"{shown!r} is no number and no label of the scale"
        if self.points[0].value <= float(text) <= self.points[-1].value:
            hint = "" if from_aggregate or self.level != "ordinal" else " (only a rater declared aggregate may)"
            return f"{shown} lies between the points{hint}"
        return f"{shown} is outside the scale"


class Scales:
    """The dimensions of a block, found by slug or label, or by FRAMEWORK/SLUG where two frameworks share one.

    `by_label`: messages call a dimension by its label, else by its slug, as the command does.
    """

    def __init__(self, dimensions: Iterable[DimensionScale], *, by_label: bool = False) -> None:
        self.all = tuple(dimensions)
        self.by_label = by_label
        self._by_key = {dimension.key: dimension for dimension in self.all}
        self._by_slug: dict[str, list[DimensionScale]] = {}
        for dimension in self.all:
            self._by_slug.setdefault(dimension.slug, []).append(dimension)
        self._labels = dict(zip((one.key for one in self.all), self.labels(), strict=True))

    def find(self, name: str) -> DimensionScale:
        """Raises CellError for a name that belongs to no dimension, or to several."""
        found = self.named(name)
        if not name:
            raise CellError(f"is empty; expected one of {listed(self.shown_names())}")
        if not found:
            raise CellError(f"{name} is no dimension of the block; expected one of {listed(self.shown_names())}")
        if len(found) > 1:
            choices = " or ".join(self.called(one.key) if self.by_label else one.key for one in found)
            what = "in several frameworks" if len({one.framework for one in found}) > 1 else "several dimensions"
            raise CellError(f"{name} is {what}; write {choices}")
        return found[0]

    def named(self, name: str, *others: str) -> list[DimensionScale]:
        """The dimensions a name may mean: what fits it to the letter goes before what is only like it.

        `others` are more forms of the name, compared without case, spaces and signs only.
        """
        if name in self._by_key:
            return [self._by_key[name]]
        forms = {plain(form) for form in (name, *others)} - {""}
        exact = [one for one in self.all if one.is_called(name)]
        return exact or [one for one in self.all if (one.full_names | one.short_names) & forms]

    def knows(self, name: str) -> bool:
        """Whether a name belongs to exactly one dimension."""
        return len(self.named(name)) == 1

    def names(self) -> list[str]:
        """The shortest name of each dimension that belongs to it alone."""
        return [one.slug if len(self._by_slug[one.slug]) == 1 else one.key for one in self.all]

    def labels(self) -> list[str]:
        """What a person calls each dimension: its label, with the framework where the block has several."""
        several = len({one.framework for one in self.all}) > 1
        labels = [
            f"{one.framework_name or one.framework}: {one.label or one.slug}" if several else one.label or one.slug
            for one in self.all
        ]
        times = Counter(labels)
        return [
            label if times[label] == 1 else f"{label} ({one.key if several else one.slug})"
            for one, label in zip(self.all, labels, strict=True)
        ]

    def shown_names(self) -> list[str]:
        return self.labels() if self.by_label else self.names()

    def called(self, key: str) -> str:
        """A dimension as messages call it: by its label, or by its key."""
        return self._labels[key] if self.by_label else key


def plain(name: str) -> str:
    """A name without case, spaces and signs."""
    return re.sub(r"[\W_]", "", name.casefold())
