"""What a framework says, as plain data: the words and points of its scales, and how a text names one of the points."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

LevelName = Literal["ordinal", "nominal"]
PolarityName = Literal["+", "-", "none"]

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class PointSpec:
    """One point of a scale; the label is empty where the scale gives the point no words."""

    value: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class DimensionSpec:
    """One scale. Its points are strictly increasing, at least two; the first is its minimum, the last its maximum."""

    slug: str
    label: str
    question: str
    guideline: str
    points: tuple[PointSpec, ...]
    level: LevelName = "ordinal"
    polarity: PolarityName = "+"
    example_low: str = ""
    example_middle: str = ""
    example_high: str = ""
    source: str = ""

    @property
    def minimum(self) -> float:
        return self.points[0].value

    @property
    def maximum(self) -> float:
        return self.points[-1].value


@dataclass(frozen=True, slots=True)
class FrameworkSpec:
    """One version of a framework, less its number. Two specs that are equal say the same to a rater."""

    slug: str
    name: str
    citation: str
    dimensions: tuple[DimensionSpec, ...]
    url: str = ""
    description: str = ""
    stem: str = ""
    language: str = "en"

    @property
    def content_hash(self) -> str:
        """SHA-256, in hexadecimal, of everything the framework says, independent of how its file was laid out."""
        canonical = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


class PointMatcher:
    """Reads the text of a cell as one of a scale's declared points.

    A number is matched first, and exactly: "3" and "3.0" are the point 3; "3.2" and "3,5" are no point. Any other text
    is compared with the labels, whatever its case and spacing, and counts if exactly one label is the same.
    """

    def __init__(self, points: Sequence[PointSpec]) -> None:
        self._values = {float(point.value) for point in points}
        self._labels: dict[str, list[float]] = {}
        for point in points:
            if key := folded(point.label):
                self._labels.setdefault(key, []).append(float(point.value))

    def match(self, text: str) -> float | None:
        """The value of the point that the text names, or None."""
        text = text.strip()
        if NUMBER.fullmatch(text) and float(text) in self._values:
            # Adding zero turns -0.0 into 0.0.
            return float(text) + 0.0
        values = self._labels.get(folded(text), [])
        return values[0] if len(values) == 1 else None


def folded(label: str) -> str:
    """A label as labels are compared: whatever its case and spacing."""
    return " ".join(label.casefold().split())
