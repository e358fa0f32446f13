"""Whether models, the crowd and baselines agree with the experts as well as an expert does, scale by scale. Pure.

The mark of a scale is the median expert's agreement with the median of the other experts (`LeaveOneOut`): like with
like, as a side meets a median too. It describes, and tests nothing: the mark is itself an estimate.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from apps.dashboard.agreement.tables import Column, Framework
from apps.reliability.benchmarks import Estimate, ScaleBenchmark
from apps.reliability.directions import Direction, is_at_least
from apps.reliability.matrix import Kind, TableKey

HELD_AGAINST_EXPERTS = frozenset({Kind.LLM, Kind.CROWD, Kind.BASELINE})


@dataclass(frozen=True, slots=True)
class Items:
    """How many items figures of several scales rest on: as few as `least`, as many as `most`."""

    least: int
    most: int

    @classmethod
    def of(cls, counts: Iterable[int]) -> Self:
        """Of no counts at all: 0 and 0."""
        found = list(counts)
        return cls(min(found, default=0), max(found, default=0))

    @property
    def differ(self) -> bool:
        return self.least != self.most


@dataclass(frozen=True, slots=True)
class SideAttainment:
    """A side on the scales of a framework on which it and the mark are defined, `n_scales` of them.

    compared: items that it shares with the experts' median on them. marks: that an expert shares with the others there.

    reached: its figure is at the mark or better. surely: even the worse end of its interval is.
    missed: even the better end of its interval is not.
    """

    of: Column
    n_scales: int
    reached: tuple[TableKey, ...]
    surely: tuple[TableKey, ...]
    missed: tuple[TableKey, ...]
    compared: Items
    marks: Items

    @property
    def is_of_other_items(self) -> bool:
        """Whether side and mark rest on different numbers of items, so that one is less sure than the other."""
        return self.compared != self.marks


@dataclass(frozen=True, slots=True)
class FrameworkAttainment:
    """n_without: scales without a mark, as fewer than three experts rated or none of their figures is defined."""

    of: Framework
    n_without: int
    sides: tuple[SideAttainment, ...]


def attainments(benchmarks: Iterable[ScaleBenchmark], order: Iterable[TableKey]) -> list[FrameworkAttainment]:
    """Frameworks in the order of the scales. Those without a mark or a side are left out, and so is a statistic that
    has no better end."""
    found = {one.key: one for one in benchmarks if one.direction is not Direction.NONE}
    frameworks: dict[Framework, list[ScaleBenchmark]] = {}
    for key in order:
        if key in found:
            frameworks.setdefault(Framework(key.block, key.framework), []).append(found[key])
    told = (_framework(of, scales) for of, scales in frameworks.items())
    return [one for one in told if one.sides]


def _framework(of: Framework, scales: list[ScaleBenchmark]) -> FrameworkAttainment:
    marked = [one for one in scales if one.leave_one_out.median is not None]
    columns = dict.fromkeys(
        Column(side.name, side.kind) for one in marked for side in one.sides if side.kind in HELD_AGAINST_EXPERTS
    )
    sides = (_side(column, marked) for column in columns)
    return FrameworkAttainment(of, len(scales) - len(marked), tuple(side for side in sides if side.n_scales))


def _side(of: Column, scales: list[ScaleBenchmark]) -> SideAttainment:
    marks = [(one, one.leave_one_out.median) for one in scales]
    met = [
        (one, side.estimate, mark, one.direction)
        for one, mark in marks
        for side in one.sides
        if (side.name, side.kind) == of and side.estimate.value is not None and mark is not None
    ]
    experts = (with_others.estimate for one, *_rest in met for with_others in one.leave_one_out.experts)
    return SideAttainment(
        of,
        n_scales=len(met),
        reached=tuple(one.key for one, found, mark, way in met if is_at_least(found.value or 0.0, mark, way)),
        surely=tuple(one.key for one, found, mark, way in met if _ends_reach(found, mark, way) is True),
        missed=tuple(one.key for one, found, mark, way in met if _ends_reach(found, mark, way) is False),
        compared=Items.of(found.n_items for _one, found, _mark, _way in met),
        marks=Items.of(found.n_items for found in experts if isinstance(found, Estimate) and found.value is not None),
    )


def _ends_reach(found: Estimate, mark: float, way: Direction) -> bool | None:
    """Whether both ends of the interval reach the mark or neither does; None where it lies between them."""
    ends = [is_at_least(end, mark, way) for end in (found.ci_low, found.ci_high) if end is not None]
    return ends[0] if ends and len(set(ends)) == 1 else None
