"""A cell as an answer on a scale: a point, a value between points from an aggregate, or that nobody can tell."""

import re
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
    _matcher: PointMatcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_matcher", PointMatcher(self.points))

    @property
    def key(self) -> str:
        return f"{self.framework}/{self.slug}"

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
    """The dimensions of a block, found by slug, or by FRAMEWORK/SLUG where two frameworks share one."""

    def __init__(self, dimensions: Iterable[DimensionScale]) -> None:
        self.all = tuple(dimensions)
        self._by_key = {dimension.key: dimension for dimension in self.all}
        self._by_slug: dict[str, list[DimensionScale]] = {}
        for dimension in self.all:
            self._by_slug.setdefault(dimension.slug, []).append(dimension)

    def find(self, name: str) -> DimensionScale:
        """Raises CellError for a name that belongs to no dimension, or to several."""
        found = [self._by_key[name]] if name in self._by_key else self._by_slug.get(name, [])
        if not name:
            raise CellError(f"is empty; expected one of {listed(self.names())}")
        if not found:
            raise CellError(f"{name} is no dimension of the block; expected one of {listed(self.names())}")
        if len(found) > 1:
            raise CellError(f"{name} is in several frameworks; write {' or '.join(one.key for one in found)}")
        return found[0]

    def knows(self, name: str) -> bool:
        """Whether a name belongs to exactly one dimension."""
        return name in self._by_key or len(self._by_slug.get(name, [])) == 1

    def names(self) -> list[str]:
        """The shortest name of each dimension that belongs to it alone."""
        return [one.slug if len(self._by_slug[one.slug]) == 1 else one.key for one in self.all]
