"""The tables of the agreement page, from rows of agreement: who is a column, what stands in it, and averages. Pure.

Rows are those of one convention; those of the other are handed in beside them, for what is to be flagged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from apps.dashboard.agreement.cells import Average, Cell, Flip, average_of, cell_of, shade_of
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import (
    NO_EXPERTS_MEDIAN,
    NO_ORDER,
    BenchmarkSide,
    Estimate,
    ScaleBenchmark,
    estimate_of,
)
from apps.reliability.directions import Direction
from apps.reliability.matrix import Kind, TableKey
from apps.reliability.notes import Note

# As many scales stand on a page, unless a single framework has more.
SCALES_ON_A_PAGE = 30
PAIRS_ON_A_PAGE = 60
GROUP_COLUMNS = (
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "alpha_ratio",
    "ac1",
    "ac2_quadratic",
    "fleiss_kappa",
    "icc_2_1",
    "percent_agreement",
)
RETEST_COLUMNS = ("retest_kappa_quadratic", "retest_mae")


class Framework(NamedTuple):
    """A framework in a block, by slugs."""

    block: str
    framework: str


class Column(NamedTuple):
    """Who is compared with the experts' median."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ExpertRange:
    """What the experts reach among each other. other: the same in the other convention, where two decimals differ."""

    low: float | None
    median: float | None
    high: float | None
    n_pairs: int
    n_undefined: int
    reason: str
    shade: int
    other: "ExpertRange | None" = None
    flips: tuple[Flip, ...] = ()


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """A scale. cells: one for each column, None where nobody of that name rated in the block."""

    key: TableKey
    experts: ExpertRange
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkSection:
    """The scales of one framework, and their averages where there are several scales."""

    of: Framework
    rows: tuple[ScaleRow, ...]
    experts_average: Average
    averages: tuple[Average | None, ...]

    @property
    def is_bare(self) -> bool:
        """Whether there are no two experts and nobody else to be held against them."""
        return all(row.experts.n_pairs == 0 and not any(row.cells) for row in self.rows)


@dataclass(frozen=True, slots=True)
class BenchmarkTable:
    """left_out: who is held against nobody on any of the scales, and so is no column."""

    columns: tuple[Column, ...]
    sections: tuple[BenchmarkSection, ...]
    left_out: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two sides. cells: one for each scale of the framework, None where they were not compared."""

    a: str
    b: str
    cells: tuple[Cell | None, ...]
    average: Average


@dataclass(frozen=True, slots=True)
class PairsTable:
    """Pairs on the scales of one framework."""

    of: Framework
    scales: tuple[TableKey, ...]
    rows: tuple[PairRow, ...]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group on one scale: a cell for each of GROUP_COLUMNS. n_raters: of the widest of its statistics."""

    key: TableKey
    group: str
    cells: tuple[Cell | None, ...]
    n_items: int
    n_raters: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetestRow:
    """A rater's first answers with their second ones: a cell for each of RETEST_COLUMNS."""

    key: TableKey
    rater: str
    cells: tuple[Cell | None, ...]


def pages_of_frameworks(keys: Iterable[TableKey]) -> list[list[Framework]]:
    """Whole frameworks in their order, on pages of about SCALES_ON_A_PAGE scales."""
    sizes: dict[Framework, int] = {}
    for key in keys:
        of = Framework(key.block, key.framework)
        sizes[of] = sizes.get(of, 0) + 1
    pages: list[list[Framework]] = []
    room = 0
    for of, size in sizes.items():
        if not pages or size > room:
            pages.append([])
            room = SCALES_ON_A_PAGE
        pages[-1].append(of)
        room -= size
    return pages


def benchmark_table(
    benchmarks: Sequence[ScaleBenchmark],
    others: Sequence[ScaleBenchmark],
    *,
    order: Sequence[TableKey],
    statistic: str,
    threshold: float,
) -> BenchmarkTable:
    """Scales in the given order; `others` are the benchmarks in the other convention, or empty."""
    found = {one.key: one for one in benchmarks}
    elsewhere = {one.key: one for one in others}
    everybody = {Column(side.name, side.kind) for one in benchmarks for side in one.sides}
    compared = {
        Column(side.name, side.kind)
        for key in order
        if key in found
        for side in found[key].sides
        if side.estimate.reason != NO_EXPERTS_MEDIAN
    }
    columns, left_out = (_in_order(sides) for sides in (compared, everybody - compared))
    sections: dict[Framework, list[ScaleRow]] = {}
    for key in order:
        if key in found:
            row = _scale_row(found[key], elsewhere.get(key), columns, statistic, threshold)
            sections.setdefault(Framework(key.block, key.framework), []).append(row)
    return BenchmarkTable(columns, tuple(_section(of, rows, statistic) for of, rows in sections.items()), left_out)


def _in_order(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(sorted(columns, key=lambda column: (list(Kind).index(column.kind), column.name)))


def pairs_tables(
    rows: Iterable[AgreementRow],
    others: Iterable[AgreementRow],
    *,
    order: Sequence[TableKey],
    statistic: str,
    threshold: float,
) -> list[PairsTable]:
    """Every pair of the rows, a table for each framework in the given order, in pieces of PAIRS_ON_A_PAGE pairs."""
    elsewhere = {_place(row): estimate_of(row) for row in others if row.statistic == statistic}
    frameworks: dict[Framework, dict[tuple[str, str], dict[TableKey, Cell]]] = {}
    for row in rows:
        if row.statistic == statistic and row.b:
            cell = cell_of(estimate_of(row), elsewhere.get(_place(row)), statistic=statistic, threshold=threshold)
            pairs = frameworks.setdefault(Framework(row.block, row.framework), {})
            pairs.setdefault((row.a, row.b), {})[_key(row)] = cell
    return [table for of, pairs in frameworks.items() for table in _pieces(of, pairs, order, statistic)]


def group_rows(rows: Iterable[AgreementRow], notes: Iterable[Note]) -> list[GroupRow]:
    """A row for each group on each scale, in the order of the rows."""
    said: dict[tuple[TableKey, str], list[str]] = {}
    for note in notes:
        said.setdefault((TableKey(note.block, note.framework, note.dimension), note.a), []).append(note.text)
    groups = _by_whom(rows, GROUP_COLUMNS)
    return [
        GroupRow(
            key,
            group,
            _cells(found, GROUP_COLUMNS),
            n_items=max(row.n_items for row in found.values()),
            n_raters=max(row.n_raters for row in found.values()),
            notes=tuple(said.get((key, group), ())),
        )
        for (key, group), found in groups.items()
    ]


def retest_rows(rows: Iterable[AgreementRow]) -> list[RetestRow]:
    return [
        RetestRow(key, rater, _cells(found, RETEST_COLUMNS))
        for (key, rater), found in _by_whom(rows, RETEST_COLUMNS).items()
    ]


def chosen_sides(benchmarks: Iterable[ScaleBenchmark], is_chosen: Callable[[str], bool]) -> list[ScaleBenchmark]:
    """The benchmarks with only the sides whose name is chosen; the experts' own agreement stays, as the yardstick."""
    return [replace(one, sides=tuple(side for side in one.sides if is_chosen(side.name))) for one in benchmarks]


def _by_whom(
    rows: Iterable[AgreementRow], statistics: Sequence[str]
) -> dict[tuple[TableKey, str], dict[str, AgreementRow]]:
    found: dict[tuple[TableKey, str], dict[str, AgreementRow]] = {}
    for row in rows:
        if not row.b and row.statistic in statistics:
            found.setdefault((_key(row), row.a), {})[row.statistic] = row
    return found


def _cells(found: Mapping[str, AgreementRow], statistics: Sequence[str]) -> tuple[Cell | None, ...]:
    """Not shaded: chance-corrected and raw agreement stand side by side, and one scale of grey would compare them."""
    return tuple(
        cell_of(estimate_of(found[name]), None, statistic=name, threshold=0) if name in found else None
        for name in statistics
    )


def _scale_row(
    here: ScaleBenchmark,
    there: ScaleBenchmark | None,
    columns: Sequence[Column],
    statistic: str,
    threshold: float,
) -> ScaleRow:
    sides = {Column(side.name, side.kind): side.estimate for side in here.sides}
    others = _estimates(there.sides) if there else {}
    return ScaleRow(
        here.key,
        _experts(here, there, statistic, threshold),
        tuple(
            cell_of(sides[column], others.get(column), statistic=statistic, threshold=threshold)
            if column in sides
            else None
            for column in columns
        ),
    )


def _estimates(sides: Iterable[BenchmarkSide]) -> dict[Column, Estimate]:
    return {Column(side.name, side.kind): side.estimate for side in sides}


def _experts(here: ScaleBenchmark, there: ScaleBenchmark | None, statistic: str, threshold: float) -> ExpertRange:
    shown = _range(here, statistic)
    if there is None:
        return shown
    other = _range(there, statistic)
    middle = cell_of(_bare(here), _bare(there), statistic=statistic, threshold=threshold)
    differs = any(
        cell_of(_bare_of(one), _bare_of(two), statistic=statistic, threshold=0).other is not None
        for one, two in ((shown.low, other.low), (shown.high, other.high))
    )
    if middle.other is None and not differs:
        return shown
    return ExpertRange(
        shown.low,
        shown.median,
        shown.high,
        shown.n_pairs,
        shown.n_undefined,
        shown.reason,
        shown.shade,
        other=other,
        flips=middle.other.flips if middle.other else (),
    )


def _range(one: ScaleBenchmark, statistic: str) -> ExpertRange:
    reasons = sorted({pair.estimate.reason for pair in one.expert_pairs if pair.estimate.reason})
    if one.direction is Direction.NONE:
        reasons = [NO_ORDER]
    return ExpertRange(
        one.low,
        one.median,
        one.high,
        len(one.expert_pairs),
        one.n_undefined,
        ", ".join(reasons),
        shade_of(one.median, statistic),
    )


def _bare(one: ScaleBenchmark) -> Estimate:
    return _bare_of(one.median)


def _bare_of(value: float | None) -> Estimate:
    """A value that has no interval and no test of its own."""
    return Estimate(value, None, None, None, None, 0, "" if value is not None else "undefined")


def _section(of: Framework, rows: list[ScaleRow], statistic: str) -> BenchmarkSection:
    width = len(rows[0].cells)
    columns = [[row.cells[place] for row in rows] for place in range(width)]
    return BenchmarkSection(
        of,
        tuple(rows),
        average_of([row.experts.median for row in rows], statistic),
        tuple(_average(cells, statistic) for cells in columns),
    )


def _average(cells: Sequence[Cell | None], statistic: str) -> Average | None:
    values = [cell.estimate.value for cell in cells if cell is not None]
    return average_of(values, statistic) if values else None


def _pieces(
    of: Framework,
    pairs: Mapping[tuple[str, str], Mapping[TableKey, Cell]],
    order: Sequence[TableKey],
    statistic: str,
) -> list[PairsTable]:
    present = {key for cells in pairs.values() for key in cells}
    keys = tuple(key for key in order if key in present)
    rows = [
        PairRow(
            a,
            b,
            tuple(cells.get(key) for key in keys),
            average_of([cell.estimate.value for cell in cells.values()], statistic),
        )
        for (a, b), cells in pairs.items()
    ]
    starts = range(0, len(rows), PAIRS_ON_A_PAGE)
    return [PairsTable(of, keys, tuple(rows[start : start + PAIRS_ON_A_PAGE])) for start in starts]


def _place(row: AgreementRow) -> tuple[TableKey, str, str]:
    return _key(row), row.a, row.b


def _key(row: AgreementRow) -> TableKey:
    return TableKey(row.block, row.framework, row.dimension)
