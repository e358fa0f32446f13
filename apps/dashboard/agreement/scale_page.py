"""The figures of one scale, put together from its rows and its table. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from apps.dashboard.agreement.cells import Cell, cell_of
from apps.dashboard.agreement.heat_map import HeatMap, heat_map
from apps.dashboard.agreement.query import Query
from apps.dashboard.agreement.scale_parts import GroupTable, Place, group_table, place_in_range
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import BenchmarkSide, ScaleBenchmark, scale_benchmarks
from apps.reliability.distributions import Distribution, group_distributions
from apps.reliability.matrix import RatingTable
from apps.reliability.notes import Note


@dataclass(frozen=True, slots=True)
class SideLine:
    """Who is held against the experts, with where they stand against the range of the experts."""

    side: BenchmarkSide
    cell: Cell
    place: Place


@dataclass(frozen=True, slots=True)
class ExpertPairLine:
    a: str
    b: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class ScaleFigures:
    """benchmark: None where nobody is compared with anybody. n_raters, n_ratings: what the table holds."""

    n_items: int
    n_raters: int
    n_ratings: int
    groups: GroupTable
    benchmark: ScaleBenchmark | None
    expert_pairs: tuple[ExpertPairLine, ...]
    sides: tuple[SideLine, ...]
    distributions: tuple[Distribution, ...]
    heat: HeatMap


def scale_figures(
    table: RatingTable,
    rows: Sequence[AgreementRow],
    others: Sequence[AgreementRow],
    notes: Iterable[Note],
    query: Query,
) -> ScaleFigures:
    """`rows` of this scale in the convention of the view, `others` in the other one, or empty."""
    benchmark = next(iter(scale_benchmarks(rows, table.raters, query.statistic)), None)
    elsewhere = next(iter(scale_benchmarks(others, table.raters, query.statistic)), None)
    rated = ~np.isnan(table.values)
    return ScaleFigures(
        n_items=int(rated.any(axis=1).sum()),
        n_raters=int(rated.any(axis=0).sum()),
        n_ratings=int(rated.sum()),
        groups=group_table(rows, (note for note in notes if _is_of(note, table))),
        benchmark=benchmark,
        expert_pairs=_expert_pairs(benchmark, elsewhere, query),
        sides=_sides(benchmark, elsewhere, query),
        distributions=tuple(group_distributions(table)),
        heat=heat_map(rows, others, table.raters, statistic=query.statistic, threshold=query.threshold),
    )


def _is_of(note: Note, table: RatingTable) -> bool:
    return (note.block, note.framework, note.dimension) == tuple(table.key)


def _expert_pairs(
    here: ScaleBenchmark | None, there: ScaleBenchmark | None, query: Query
) -> tuple[ExpertPairLine, ...]:
    if here is None:
        return ()
    others = {(pair.a, pair.b): pair.estimate for pair in there.expert_pairs} if there else {}
    return tuple(
        ExpertPairLine(
            pair.a,
            pair.b,
            cell_of(pair.estimate, others.get((pair.a, pair.b)), statistic=query.statistic, threshold=query.threshold),
        )
        for pair in here.expert_pairs
    )


def _sides(here: ScaleBenchmark | None, there: ScaleBenchmark | None, query: Query) -> tuple[SideLine, ...]:
    if here is None:
        return ()
    others = {side.name: side.estimate for side in there.sides} if there else {}
    return tuple(
        SideLine(
            side,
            cell_of(side.estimate, others.get(side.name), statistic=query.statistic, threshold=query.threshold),
            place_in_range(side.estimate.value, here),
        )
        for side in here.sides
    )
