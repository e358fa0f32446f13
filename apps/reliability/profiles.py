"""One rater beside the others on one scale: how severe, how wide, which points, and how far they agree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from apps.measures.aggregates import Aggregate
from apps.measures.arrays import FloatArray
from apps.measures.results import Reason, Result, undefined
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import EXPERTS_MEDIAN
from apps.reliability.directions import SIGNED
from apps.reliability.distributions import Distribution, distribution_of
from apps.reliability.matrix import GROUP_NAMES, MIN_RATERS, Kind, RaterKey, RatingTable, Side, TableKey

# Kinds whose raters are measured by the rest of their own kind; the others by the experts (docs/agreement.md).
HOW = {Kind.EXPERT: Aggregate.MEDIAN, Kind.CROWD: Aggregate.MEAN}


@dataclass(frozen=True, slots=True)
class Profile:
    """One rater on one scale.

    yardstick: with whom they are compared, empty where there is nobody. bias: mean of the rater's value minus the
    yardstick's over the items of both. sd: sample standard deviation (n - 1) of the rater's values on those items;
    others_sd: the same within each of the yardstick's raters on those items, pooled: the root of their summed squared
    deviations from their own means, divided by the sum of (ratings of the rater - 1). All in units of the scale.
    use, others_use: points given, on every item that each of them rated.
    """

    key: TableKey
    rater: RaterKey
    yardstick: str
    n_ratings: int
    bias: Result
    sd: Result
    others_sd: Result
    use: Distribution
    others_use: Distribution | None


def rest_name(rater: RaterKey) -> str:
    """The name of the rest of a rater's kind in a snapshot's rows, empty for kinds that are not summed up."""
    if rater.kind not in HOW or rater.is_aggregate:
        return ""
    return f"{GROUP_NAMES[rater.kind]}-without-{rater.name}:{HOW[rater.kind]}"


def yardstick_of(table: RatingTable, column: int) -> Side | None:
    """With whom the rater of a column is compared.

    Experts and crowd workers: the rest of their kind, summed up where two remain, else the other one; everybody else,
    and who has no rest: the experts, else the crowd. A declared aggregate is never compared with its own kind: it may
    contain any of them. None where nobody is left.
    """
    rater = table.raters[column]
    with_own = [] if rater.is_aggregate else [kind for kind in HOW if kind is rater.kind]
    for kind in with_own + [kind for kind in HOW if kind is not rater.kind]:
        everyone = [place for place, one in enumerate(table.raters) if one.kind is kind and place != column]
        members = tuple(place for place in everyone if not table.raters[place].is_aggregate)
        if len(members) >= MIN_RATERS:
            if kind is rater.kind:
                return Side(rest_name(rater), members, HOW[kind], without=column)
            return Side(f"{GROUP_NAMES[kind]}:{HOW[kind]}", members, HOW[kind])
        alone = members if kind is rater.kind else (*(place for place in everyone if place not in members), *members)
        if alone:
            return Side(table.raters[alone[0]].name, alone[:1])
    return None


def profile_of(table: RatingTable, column: int) -> Profile:
    """The profile of the rater in that column."""
    rater, own = table.raters[column], table.values[:, column]
    side = yardstick_of(table, column)
    theirs = np.full(own.shape, np.nan) if side is None else table.column(side)
    shared = ~np.isnan(own) & ~np.isnan(theirs)
    others = None if side is None else table.values[:, list(side.members)]
    return Profile(
        key=table.key,
        rater=rater,
        yardstick="" if side is None else side.name,
        n_ratings=int((~np.isnan(own)).sum()),
        bias=_bias(table, own[shared], theirs[shared], side),
        sd=_spread(table, own[shared][:, None]),
        others_sd=_spread(table, np.empty((0, 0)) if others is None else others[shared]),
        use=distribution_of(own, table.scale, name=rater.name, kind=rater.kind),
        others_use=_use_of_others(table, side, others),
    )


def _bias(table: RatingTable, own: FloatArray, theirs: FloatArray, side: Side | None) -> Result:
    if table.scale.is_nominal:
        return undefined(Reason.NOT_FOR_NOMINAL)
    if side is None:
        return undefined(Reason.FEWER_THAN_TWO_RATERS, n_raters=1)
    if not own.size:
        return undefined(Reason.NO_SHARED_ITEMS, n_raters=2)
    return Result(float((own - theirs).mean()), None, own.size, 2, 2 * own.size)


def _spread(table: RatingTable, values: FloatArray) -> Result:
    """Standard deviation within raters of ratings (n, m), pooled over those with two ratings or more."""
    if table.scale.is_nominal:
        return undefined(Reason.NOT_FOR_NOMINAL)
    sizes = (~np.isnan(values)).sum(axis=0)
    used = values[:, sizes >= 2]
    if not used.size:
        return undefined(Reason.TOO_FEW_ITEMS, n_items=len(values))
    sizes = sizes[sizes >= 2]
    squares = (np.nanvar(used, axis=0, ddof=1) * (sizes - 1)).sum()
    value = float(np.sqrt(squares / (sizes - 1).sum()))
    return Result(value, None, len(values), used.shape[1], int(sizes.sum()))


def _use_of_others(table: RatingTable, side: Side | None, others: FloatArray | None) -> Distribution | None:
    if side is None or others is None:
        return None
    kind = table.raters[side.members[0]].kind
    return distribution_of(others, table.scale, name=side.name, kind=kind, is_group=side.how is not None)


@dataclass(frozen=True, slots=True)
class Standing:
    """A rater's agreement over scales. `median`, `low` and `high` are over the scales on which it is defined, None
    where it is on none; `n_undefined` counts the others. `n_items` is the sum of what the scales used."""

    median: float | None
    low: float | None
    high: float | None
    n_defined: int
    n_undefined: int
    n_items: int

    @classmethod
    def of(cls, rows: Sequence[AgreementRow]) -> "Standing":
        values = [row.value for row in rows if row.value is not None]
        return cls(
            median(values) if values else None,
            min(values, default=None),
            max(values, default=None),
            len(values),
            len(rows) - len(values),
            sum(row.n_items for row in rows),
        )

    @property
    def n_scales(self) -> int:
        return self.n_defined + self.n_undefined


def rows_with(rows: Iterable[AgreementRow], name: str, other: str) -> list[AgreementRow]:
    """The rows that compare those two, whichever is the reference side."""
    return [row for row in rows if {row.a, row.b} == {name, other}]


def standings(rows: Iterable[AgreementRow], raters: Sequence[RaterKey]) -> Mapping[str, tuple[Standing, Standing]]:
    """For each rater by name: agreement with the rest of their kind, and with `experts:median`.

    `rows` are of one statistic and one convention; a bias is that of the rater, above 0 where they score higher. A
    standing of no scales says that the comparison is not made: the kind is not summed up, or the rater is an expert.
    """
    rests = {rest_name(rater): rater.name for rater in raters if rest_name(rater)}
    with_rest: dict[str, list[AgreementRow]] = {rater.name: [] for rater in raters}
    with_experts: dict[str, list[AgreementRow]] = {rater.name: [] for rater in raters}
    for row in rows:
        for name, other in ((row.a, row.b), (row.b, row.a)):
            if rests.get(other) == name:
                with_rest[name].append(_seen_from(row, name))
            elif other == EXPERTS_MEDIAN and name in with_experts:
                with_experts[name].append(_seen_from(row, name))
    return {rater.name: (Standing.of(with_rest[rater.name]), Standing.of(with_experts[rater.name])) for rater in raters}


def _seen_from(row: AgreementRow, name: str) -> AgreementRow:
    """A bias is the mean of b minus that of a: turned where the rater is a."""
    if row.statistic != SIGNED or row.b == name or row.value is None:
        return row
    return replace(row, value=0.0 - row.value)
