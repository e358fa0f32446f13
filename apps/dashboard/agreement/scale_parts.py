"""What stands on the page of one scale, from its rows and its table of ratings. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np

from apps.dashboard.agreement.cells import STEPS, Cell, cell_of
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import ScaleBenchmark, estimate_of
from apps.reliability.confusions import Confusion
from apps.reliability.disputes import Measure, most_disputed, side_of_kind, widest_gaps
from apps.reliability.labels import PointLabel
from apps.reliability.matrix import GROUP_NAMES, MIN_RATERS, Kind, RaterKey, RatingTable, Side
from apps.reliability.notes import Note

# The statistics of a group under what they have in common.
GROUP_SECTIONS = {
    "alphas": ("alpha_interval", "alpha_ordinal", "alpha_ratio", "alpha_nominal"),
    "chance": ("ac1", "ac2_linear", "ac2_quadratic", "fleiss_kappa", "conger_kappa", "brennan_prediger"),
    "icc": ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k"),
    "raw": ("percent_agreement",),
}
# As many raters of a crowd are marked one by one; of more, each point says how many.
MOST_CROWD_MARKS = 12
# Among so many raters the two that share most items are looked for.
MOST_TRIED = 40


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A group with its raters on this scale, and what is easily misread about its figures."""

    name: str
    kind: Kind
    n_raters: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatisticRow:
    statistic: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class GroupTable:
    """sections: (name of GROUP_SECTIONS, its rows); a row has a cell for each column, None where there is no figure."""

    columns: tuple[GroupColumn, ...]
    sections: tuple[tuple[str, tuple[StatisticRow, ...]], ...]


def group_table(rows: Iterable[AgreementRow], notes: Iterable[Note]) -> GroupTable:
    """Of the rows of one scale, groups in the order of kinds."""
    found = {(row.a, row.statistic): row for row in rows if not row.b}
    wanted = [statistic for section in GROUP_SECTIONS.values() for statistic in section]
    said = list(notes)
    columns = tuple(
        GroupColumn(
            name,
            kind,
            max(found[name, statistic].n_raters for statistic in wanted if (name, statistic) in found),
            tuple(note.text for note in said if note.a == name),
        )
        for kind, name in GROUP_NAMES.items()
        if any((name, statistic) in found for statistic in wanted)
    )
    sections = tuple(
        (name, tuple(_statistic_row(statistic, columns, found) for statistic in statistics))
        for name, statistics in GROUP_SECTIONS.items()
    )
    return GroupTable(columns, sections)


def _statistic_row(
    statistic: str, columns: Iterable[GroupColumn], found: Mapping[tuple[str, str], AgreementRow]
) -> StatisticRow:
    rows = [found.get((column.name, statistic)) for column in columns]
    return StatisticRow(
        statistic,
        tuple(
            None if row is None else cell_of(estimate_of(row), None, statistic=statistic, threshold=0) for row in rows
        ),
    )


class Place(StrEnum):
    """Where a side stands against the lowest and highest pair of experts."""

    ABOVE = "above"
    WITHIN = "within"
    BELOW = "below"
    UNKNOWN = ""


def place_in_range(value: float | None, benchmark: ScaleBenchmark) -> Place:
    if value is None or benchmark.low is None or benchmark.high is None:
        return Place.UNKNOWN
    return Place.ABOVE if value > benchmark.high else Place.BELOW if value < benchmark.low else Place.WITHIN


@dataclass(frozen=True, slots=True)
class ConfusionCell:
    """count: items; share: of the row, None where the row is empty. shade: 1 to STEPS by share, 0 for none."""

    count: int
    share: float | None
    shade: int
    is_same: bool


@dataclass(frozen=True, slots=True)
class ConfusionRow:
    point: PointLabel
    cells: tuple[ConfusionCell, ...]
    total: int


def confusion_rows(confusion: Confusion, points: Sequence[PointLabel]) -> list[ConfusionRow]:
    """`points`: the declared ones, ascending, as many as the matrix has."""
    shares = confusion.row_shares()
    return [
        ConfusionRow(
            points[row],
            tuple(
                _confusion_cell(count, None if of_row is None else of_row[column], is_same=row == column)
                for column, count in enumerate(confusion.counts[row])
            ),
            sum(confusion.counts[row]),
        )
        for row, of_row in enumerate(shares)
    ]


def _confusion_cell(count: int, share: float | None, *, is_same: bool) -> ConfusionCell:
    shade = min(STEPS, 1 + int(share * STEPS)) if share else 0
    return ConfusionCell(count, share, shade, is_same)


def usual_pair(table: RatingTable) -> tuple[str, str] | None:
    """The two raters whose matrix is shown first: those who share most items; an expert and a model, where there are.

    Raters with values between points come only where there are no two others. Of many raters the first are looked at.
    None where there are not two raters.
    """
    columns = [column for column in range(len(table.raters)) if not np.isnan(table.values[:, column]).all()]
    whole = [column for column in columns if table.scale.on_points(table.values[:, column])]
    kinds = {column: table.raters[column].kind for column in columns}
    experts = [column for column in whole if kinds[column] is Kind.EXPERT]
    models = [column for column in whole if kinds[column] is Kind.LLM]
    if experts and models:
        pairs = [(a, b) for a in experts[:MOST_TRIED] for b in models[:MOST_TRIED]]
    else:
        pairs = list(combinations((whole if len(whole) >= MIN_RATERS else columns)[:MOST_TRIED], 2))
    if not pairs:
        return None
    rated = ~np.isnan(table.values)
    a, b = max(pairs, key=lambda pair: int((rated[:, pair[0]] & rated[:, pair[1]]).sum()))
    return table.raters[a].name, table.raters[b].name


class Among(StrEnum):
    """Between whom conversations are disputed: raters of a kind, all raters, or two groups."""

    EXPERTS = "experts"
    CROWD = "crowd"
    MODELS = "llms"
    EVERYBODY = "all"
    EXPERTS_MODELS = "experts-llms"
    EXPERTS_CROWD = "experts-crowd"


_KINDS = {Among.EXPERTS: Kind.EXPERT, Among.CROWD: Kind.CROWD, Among.MODELS: Kind.LLM}
_AGAINST = {Among.EXPERTS_MODELS: (Kind.EXPERT, Kind.LLM), Among.EXPERTS_CROWD: (Kind.EXPERT, Kind.CROWD)}


@dataclass(frozen=True, slots=True)
class Disputed:
    """An item with how much its ratings differ. a, b: the values of two sides, None where raters differ one by one;
    then `value` is b minus a, else the mean difference (or the variance) of `n_ratings`."""

    item: str
    row: int
    value: float
    n_ratings: int = 0
    a: float | None = None
    b: float | None = None


@dataclass(frozen=True, slots=True)
class Disputes:
    """items: the most disputed first. sides: the names of two sides, empty where raters differ one by one."""

    among: Among
    items: tuple[Disputed, ...]
    sides: tuple[str, ...] = ()


def choices_of(table: RatingTable) -> list[Among]:
    """What may be asked for on this scale, the usual first."""
    found = [among for among, kind in _KINDS.items() if len(_members(table, kind)) >= MIN_RATERS]
    if len(_members(table, None)) >= MIN_RATERS and len({rater.kind for rater in table.raters}) > 1:
        found.append(Among.EVERYBODY)
    for among, kinds in _AGAINST.items():
        if all(isinstance(side_of_kind(table, kind), Side) for kind in kinds):
            found.append(among)
    return found


def disputes(table: RatingTable, among: Among, measure: Measure = Measure.MEAN_DIFFERENCE) -> Disputes:
    """Every item that two raters, or both sides, rated. Raises ValueError for what `choices_of` does not offer."""
    if among in _AGAINST:
        first, second = (side_of_kind(table, kind) for kind in _AGAINST[among])
        if not isinstance(first, Side) or not isinstance(second, Side):
            raise ValueError(f"there are no two sides for {among}")
        gaps = widest_gaps(table, first, second)
        items = tuple(Disputed(gap.item, gap.row, gap.difference, a=gap.a, b=gap.b) for gap in gaps)
        return Disputes(among, items, (first.name, second.name))
    found = most_disputed(table, _members(table, _KINDS.get(among)), measure)
    return Disputes(among, tuple(Disputed(one.item, one.row, one.value, one.n_ratings) for one in found))


def _members(table: RatingTable, kind: Kind | None) -> list[int]:
    """Columns of the raters of a kind, or of all; declared aggregates are nobody's opinion of an item."""
    return [
        column
        for column, rater in enumerate(table.raters)
        if not rater.is_aggregate and (kind is None or rater.kind is kind)
    ]


@dataclass(frozen=True, slots=True)
class Mark:
    """One rater at a point; `between` is their value where it is none. `n`: so many of a large crowd."""

    rater: RaterKey | None
    between: float | None = None
    n: int = 1


def marks_of(table: RatingTable, row: int) -> tuple[tuple[Mark, ...], ...]:
    """Who gave which point to the item of that row: for each of the q points its marks, in the order of raters.

    Values between points stand at the nearest one, halfway at the higher one.
    """
    values = table.values[row]
    places = table.scale.position_of(values)
    crowd = [
        column
        for column, rater in enumerate(table.raters)
        if rater.kind is Kind.CROWD and not rater.is_aggregate and not np.isnan(values[column])
    ]
    summed = set(crowd) if len(crowd) > MOST_CROWD_MARKS else set()
    marks: list[list[Mark]] = [[] for _ in table.scale.points]
    for column, rater in enumerate(table.raters):
        if not np.isnan(values[column]) and column not in summed:
            place = _nearest(places[column], table.scale.q)
            is_between = not table.scale.on_points(values[column : column + 1])
            marks[place].append(Mark(rater, float(values[column]) if is_between else None))
    for place in range(table.scale.q):
        n = sum(_nearest(places[column], table.scale.q) == place for column in summed)
        if n:
            marks[place].append(Mark(None, n=n))
    return tuple(tuple(one) for one in marks)


def _nearest(position: float, q: int) -> int:
    return min(int(np.floor(position + 0.5)), q - 1)
