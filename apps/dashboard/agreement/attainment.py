"""Whether models and the crowd agree with the experts as well as an expert does, told scale by scale. Pure.

The mark of a scale is the median expert's agreement with the median of the other experts (`LeaveOneOut`): like with
like, as a side meets a median too. It describes, and tests nothing: the mark is itself an estimate.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.dashboard.agreement.tables import Column, Framework
from apps.reliability.benchmarks import Estimate, ScaleBenchmark
from apps.reliability.directions import Direction, is_at_least
from apps.reliability.matrix import Kind, TableKey

HELD_AGAINST_EXPERTS = frozenset({Kind.LLM, Kind.CROWD})


@dataclass(frozen=True, slots=True)
class SideAttainment:
    """A side on the scales of a framework on which it and the mark are defined, `n_scales` of them.

    reached: its figure is at the mark or better. surely: even the worse end of its interval is.
    missed: even the better end of its interval is not.
    """

    of: Column
    n_scales: int
    reached: tuple[TableKey, ...]
    surely: tuple[TableKey, ...]
    missed: tuple[TableKey, ...]


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
        (one.key, side.estimate, mark, one.direction)
        for one, mark in marks
        for side in one.sides
        if (side.name, side.kind) == of and side.estimate.value is not None and mark is not None
    ]
    return SideAttainment(
        of,
        n_scales=len(met),
        reached=tuple(key for key, found, mark, way in met if is_at_least(found.value or 0.0, mark, way)),
        surely=tuple(key for key, found, mark, way in met if _ends_reach(found, mark, way) is True),
        missed=tuple(key for key, found, mark, way in met if _ends_reach(found, mark, way) is False),
    )


def _ends_reach(found: Estimate, mark: float, way: Direction) -> bool | None:
    """Whether both ends of the interval reach the mark or neither does; None where it lies between them."""
    ends = [is_at_least(end, mark, way) for end in (found.ci_low, found.ci_high) if end is not None]
    return ends[0] if ends and len(set(ends)) == 1 else None
