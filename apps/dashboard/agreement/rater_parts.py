"""What stands on the pages of raters, from rows of agreement and tables of ratings. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.dashboard.agreement.cells import Cell, cell_of
from apps.measures.results import Result
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import EXPERTS_MEDIAN, Estimate, estimate_of, turned
from apps.reliability.directions import SIGNED
from apps.reliability.labels import ScaleLabel
from apps.reliability.matrix import KIND_ORDER, Kind, RaterKey, RatingTable, TableKey
from apps.reliability.profiles import Profile, Standing, profile_of, standings

RETESTS = ("retest_kappa_quadratic", "retest_mae")


@dataclass(frozen=True, slots=True)
class RaterLine:
    """A rater on one scale.

    bias: mean of the rater minus the yardstick, with its interval where the snapshot has the pair. rest: the agreement
    with the yardstick, experts: with the experts' median where that is not the yardstick; None where the snapshot does
    not compare them.
    """

    scale: ScaleLabel
    profile: Profile
    bias: Estimate
    rest: Cell | None
    experts: Cell | None


@dataclass(frozen=True, slots=True)
class RetestLine:
    """A rater's second answers with their first: a cell for each of RETESTS."""

    scale: ScaleLabel
    cells: tuple[Cell | None, ...]


class RaterRows:
    """The rows that name one rater, by scale, statistic and the other side."""

    def __init__(self, name: str, rows: Iterable[AgreementRow]) -> None:
        self._name = name
        self._found: dict[tuple[TableKey, str, str], AgreementRow] = {}
        for row in rows:
            if name in (row.a, row.b):
                other = row.b if row.a == name else row.a
                self._found[TableKey(row.block, row.framework, row.dimension), row.statistic, other] = row

    def estimate(self, key: TableKey, statistic: str, other: str = "") -> Estimate | None:
        """With the other side; without one, the rater with themselves. None where there is no such row.

        A bias is the mean of the rater minus the other side, whichever is the reference side.
        """
        row = self._found.get((key, statistic, other))
        if row is None:
            return None
        is_turned = statistic == SIGNED and row.b != self._name
        return turned(estimate_of(row)) if is_turned else estimate_of(row)


def rater_lines(
    name: str,
    tables: Iterable[RatingTable],
    scales: Mapping[TableKey, ScaleLabel],
    rows: RaterRows,
    others: RaterRows,
    *,
    statistic: str,
    threshold: float,
) -> list[RaterLine]:
    """A line for each table that has the rater. `others`: rows of the other convention."""
    lines = []
    for table in tables:
        column = next((place for place, rater in enumerate(table.raters) if rater.name == name), None)
        if column is not None:
            profile = profile_of(table, column)

            def cell(other: str, key: TableKey = table.key) -> Cell | None:
                here = rows.estimate(key, statistic, other) if other else None
                there = others.estimate(key, statistic, other)
                return None if here is None else cell_of(here, there, statistic=statistic, threshold=threshold)

            bias = rows.estimate(table.key, SIGNED, profile.yardstick) if profile.yardstick else None
            with_experts = EXPERTS_MEDIAN if profile.yardstick != EXPERTS_MEDIAN else ""
            lines.append(
                RaterLine(
                    scales[table.key],
                    profile,
                    bias or _without_interval(profile.bias),
                    cell(profile.yardstick),
                    cell(with_experts),
                )
            )
    return lines


def _without_interval(result: Result) -> Estimate:
    return Estimate(result.value, None, None, None, None, result.n_items, result.reason or "")


def retest_lines(scales: Iterable[ScaleLabel], rows: RaterRows) -> list[RetestLine]:
    """Scales on which the rater repeated anything."""
    lines = []
    for scale in scales:
        found = [rows.estimate(scale.key, statistic) for statistic in RETESTS]
        if any(one is not None for one in found):
            cells = (
                None if one is None else cell_of(one, None, statistic=statistic, threshold=0)
                for statistic, one in zip(RETESTS, found, strict=True)
            )
            lines.append(RetestLine(scale, tuple(cells)))
    return lines


class Sort(StrEnum):
    """By what raters are listed; figures from the highest down, what is undefined last."""

    NAME = "name"
    REST = "rest"
    EXPERTS = "experts"


@dataclass(frozen=True, slots=True)
class RaterStanding:
    rater: RaterKey
    rest: Standing
    experts: Standing


def listed_raters(
    rows: Iterable[AgreementRow], raters: Sequence[RaterKey], sort: Sort, *, lowest_first: bool = False
) -> list[RaterStanding]:
    """Every rater with their agreement over the scales of the rows; ties by kind and name."""
    found = standings(rows, raters)
    lines = sorted((RaterStanding(rater, *found[rater.name]) for rater in raters), key=_by_name)
    if sort is Sort.NAME:
        return lines[::-1] if lowest_first else lines
    return sorted(lines, key=lambda line: _by_figure(line.rest if sort is Sort.REST else line.experts, lowest_first))


def _by_name(line: RaterStanding) -> tuple[int, str]:
    kind = line.rater.kind
    return (len(Kind) if kind is None else KIND_ORDER[kind], line.rater.name)


def _by_figure(standing: Standing, lowest_first: bool) -> tuple[bool, float]:
    value = standing.median
    return (value is None, 0.0 if value is None else value if lowest_first else -value)
