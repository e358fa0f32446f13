"""Everybody with everybody on one scale: a square table of comparisons. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.dashboard.agreement.cells import Cell, cell_of
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import CROWD_MEAN, EXPERTS_MEDIAN, Estimate, estimate_of, turned
from apps.reliability.directions import SIGNED
from apps.reliability.matrix import KIND_ORDER, Kind, RaterKey
from apps.reliability.profiles import rest_name

# It takes one of two as the truth, so that it has one direction only.
ONE_WAY = "f1_weighted"
# Sides that are made of several raters.
SUMMED_UP = {EXPERTS_MEDIAN: Kind.EXPERT, CROWD_MEAN: Kind.CROWD}


@dataclass(frozen=True, slots=True)
class Side:
    """A row and column. `is_summed_up`: a median or mean of several raters."""

    name: str
    kind: Kind
    is_summed_up: bool


@dataclass(frozen=True, slots=True)
class HeatCell:
    """`cell` is None where the two are not compared. `is_self`: on the diagonal."""

    cell: Cell | None
    is_self: bool
    is_without: bool


@dataclass(frozen=True, slots=True)
class HeatRow:
    side: Side
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """sides: k. rows: k, each with k cells. Turned over its diagonal it is the same, but for a bias, which has the
    other sign there (column less row), and F1, which is there only with the row as the truth. n_undefined: pairs
    without a value. has_without: a rater stands with their group without them."""

    sides: tuple[Side, ...]
    rows: tuple[HeatRow, ...]
    n_pairs: int
    n_undefined: int
    has_without: bool


def heat_map(
    rows: Iterable[AgreementRow],
    others: Iterable[AgreementRow],
    raters: Sequence[RaterKey],
    *,
    statistic: str,
    threshold: float,
) -> HeatMap:
    """Of the rows of one scale in one convention; `others` are those in the other one, or empty.

    Everybody whom the rows compare with more than a group stands in it: crowd workers one by one do not, their mean
    does. A rater meets their own group without themselves.
    """
    here, there = _pairs(rows, statistic), _pairs(others, statistic)
    known = {rater.name: rater for rater in raters}
    sides = _sides(here, known)
    table = tuple(
        HeatRow(a, tuple(_cell(a, b, here, there, known, statistic, threshold) for b in sides)) for a in sides
    )
    upper = [cell for place, row in enumerate(table) for cell in row.cells[place + 1 :] if cell.cell is not None]
    return HeatMap(
        sides=sides,
        rows=table,
        n_pairs=len(upper),
        n_undefined=sum(cell.cell is not None and cell.cell.estimate.value is None for cell in upper),
        has_without=any(cell.is_without for cell in upper),
    )


Pairs = Mapping[tuple[str, str], Estimate]


def _pairs(rows: Iterable[AgreementRow], statistic: str) -> Pairs:
    """By row and column."""
    found: dict[tuple[str, str], Estimate] = {}
    for row in rows:
        if row.statistic == statistic and row.b:
            found[row.a, row.b] = estimate = estimate_of(row)
            if statistic != ONE_WAY:
                found[row.b, row.a] = turned(estimate) if statistic == SIGNED else estimate
    return found


def _sides(pairs: Pairs, known: Mapping[str, RaterKey]) -> tuple[Side, ...]:
    present = {name for pair in pairs for name in pair}
    found = [Side(name, kind, is_summed_up=True) for name, kind in SUMMED_UP.items() if name in present - set(known)]
    for name in present & set(known):
        kind = known[name].kind
        if kind is not None and (kind is not Kind.CROWD or known[name].is_aggregate):
            found.append(Side(name, kind, is_summed_up=False))
    return tuple(sorted(found, key=lambda side: (KIND_ORDER[side.kind], not side.is_summed_up, side.name)))


def _cell(
    a: Side,
    b: Side,
    here: Pairs,
    there: Pairs,
    known: Mapping[str, RaterKey],
    statistic: str,
    threshold: float,
) -> HeatCell:
    pair = (a.name, b.name)
    is_without = False
    if pair not in here and a.is_summed_up is not b.is_summed_up and a.kind is b.kind:
        single = b if a.is_summed_up else a
        rest = rest_name(known[single.name])
        pair = (rest, b.name) if a.is_summed_up else (a.name, rest)
        is_without = pair in here
    if a == b or pair not in here:
        return HeatCell(None, a == b, is_without=False)
    return HeatCell(
        cell_of(here[pair], there.get(pair), statistic=statistic, threshold=threshold), False, is_without=is_without
    )
