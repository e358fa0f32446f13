"""The declared scale: its points, in order, and whether the order means anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from apps.measures.arrays import FloatArray, IntArray

# Two numbers closer than this share of a step are the same point: means of decimals carry rounding noise.
TOLERANCE = 1e-9


class Level(StrEnum):
    ORDINAL = "ordinal"  # ordered points that are numbers
    NOMINAL = "nominal"  # names; the numbers only tell them apart


class OffScale(ValueError):  # noqa: N818 - reads as what happened
    """A value outside the declared scale."""


@dataclass(frozen=True)
class Scale:
    """At least two finite points, strictly increasing. Raises ValueError otherwise."""

    points: tuple[float, ...]
    level: Level = Level.ORDINAL

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=np.float64)
        if points.size < 2:
            raise ValueError("a scale needs at least two points")
        if not np.isfinite(points).all() or not (np.diff(points) > 0).all():
            raise ValueError("the points of a scale must be finite and strictly increasing")

    @property
    def minimum(self) -> float:
        return float(self.points[0])

    @property
    def maximum(self) -> float:
        return float(self.points[-1])

    @property
    def q(self) -> int:
        """Number of declared points."""
        return len(self.points)

    @cached_property
    def step(self) -> float | None:
        """Distance between neighbouring points, None where the distances differ."""
        step = (self.maximum - self.minimum) / (self.q - 1)
        even = np.allclose(np.diff(self.points), step, rtol=TOLERANCE, atol=0)
        return step if even else None

    @property
    def is_nominal(self) -> bool:
        return self.level is Level.NOMINAL

    def check(self, values: npt.ArrayLike) -> None:
        """Raise OffScale for the first value (in row order) outside [minimum, maximum]; NaN is missing."""
        array = np.asarray(values, dtype=np.float64)
        slack = TOLERANCE * (self.maximum - self.minimum)
        outside = (array < self.minimum - slack) | (array > self.maximum + slack)
        if outside.any():
            offending = array[outside].flat[0]
            raise OffScale(f"{offending:g} is outside the scale {self.minimum:g} to {self.maximum:g}")

    def position_of(self, values: npt.ArrayLike) -> FloatArray:
        """Place of each value among the points, 0 to q - 1; between two points it is interpolated; NaN is missing.

        The values must be on the scale (see `check`).
        """
        array = np.asarray(values, dtype=np.float64)
        if self.step is not None:
            return (array - self.minimum) / self.step
        return np.interp(array, self.points, np.arange(self.q, dtype=np.float64)).astype(np.float64)

    def on_points(self, values: npt.ArrayLike) -> bool:
        """Whether every value present is one of the declared points."""
        position = self.position_of(values)
        return not bool((np.abs(position - np.rint(position)) > TOLERANCE).any())

    def index_of(self, values: npt.ArrayLike) -> IntArray:
        """Index of each value among the points, -1 for missing. Raises ValueError for a value that is no point."""
        self.check(values)
        position = self.position_of(values)
        nearest = np.rint(position)
        if (np.abs(position - nearest) > TOLERANCE).any():
            raise ValueError("values between points have no index")
        return np.fmax(nearest, -1.0).astype(np.int64)


def point_values(labels: Sequence[str]) -> dict[str, float]:
    """Numbers for points that were declared as text, in declared order, never in sorted order.

    Labels that are all numbers stand for themselves and must increase (`0 ... 10`); other labels (`low`, `medium`,
    `high`) become 1, 2, 3 ... as declared. Raises ValueError for fewer than two, repeated or decreasing points.
    """
    texts = [label.strip() for label in labels]
    if len(texts) < 2:
        raise ValueError("a scale needs at least two points")
    if len(set(texts)) < len(texts):
        raise ValueError("the points of a scale must differ")
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return {text: float(rank) for rank, text in enumerate(texts, start=1)}
    Scale(tuple(numbers))
    return dict(zip(texts, numbers, strict=True))
