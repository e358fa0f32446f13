"""From tables of ratings to the rows of `agreement.csv`: which statistic, between whom, how sure.

Every comparison has its own stream of random numbers, derived from the report's seed and from who is compared on which
scale. So a figure does not change when raters, items or other comparisons are added, removed or come in another order.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from apps.measures.arrays import FloatArray
from apps.measures.corrections import benjamini_hochberg
from apps.measures.groups import GROUP_STATISTICS, group_statistics
from apps.measures.kappa import Weighting
from apps.measures.pairs import PAIR_STATISTICS, Convention, pair_statistics_by_convention
from apps.measures.results import Reason, Result, undefined
from apps.measures.within import retest_statistics
from apps.reliability.comparisons import GroupMembers, Pair, Plan, study_plan
from apps.reliability.matrix import RaterKey, RatingTable, Side, TableKey, content_hash, table_hash
from apps.reliability.notes import Note, notes_on_group

DEFAULT_RESAMPLES = 1000
KAPPAS = tuple(weighting.value for weighting in Weighting)

Planner = Callable[[Sequence[RaterKey]], Plan]


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """One statistic: the columns of `agreement.csv`, in their order (DESIGN.md, 6.3; docs/agreement.md)."""

    block: str
    framework: str
    dimension: str
    statistic: str
    a: str
    b: str
    convention: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    p_adjusted: float | None
    n_items: int
    n_raters: int
    n_ratings: int
    n_degenerate: int
    reason: str


COLUMNS = tuple(field.name for field in fields(AgreementRow))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a report is computed: the convention of weighted kappa, the number of resamples and their seed."""

    convention: Convention = Convention.SCALE
    resamples: int = DEFAULT_RESAMPLES
    seed: int = 2026

    def __post_init__(self) -> None:
        if self.resamples < 0 or self.seed < 0:
            raise ValueError("the number of resamples and the seed must not be negative")


@dataclass(frozen=True, slots=True)
class Agreement:
    """A computed report: its rows in the order of the tables, what a reader should know, and what it was made from.

    `other_rows`: the same rows, in the same order, as the other convention gives them, where both were asked for.
    """

    rows: tuple[AgreementRow, ...]
    notes: tuple[Note, ...]
    settings: Settings
    tables: int
    raters: int
    ratings: int
    data_hash: str
    other_rows: tuple[AgreementRow, ...] = ()

    def undefined_counts(self) -> dict[str, int]:
        """How many rows have no value, by reason, the most frequent first."""
        counts: dict[str, int] = {}
        for row in self.rows:
            if row.value is None:
                counts[row.reason] = counts.get(row.reason, 0) + 1
        return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def analyse(
    tables: Iterable[RatingTable], settings: Settings, *, plan: Planner = study_plan, both_conventions: bool = False
) -> Agreement:
    """Every comparison of `plan` in every table. Tables are taken one at a time and not kept.

    `both_conventions`: `other_rows` as well, of which only the kappas are computed a second time.
    """
    conventions = (settings.convention, _other(settings.convention)) if both_conventions else (settings.convention,)
    rows: dict[Convention, list[AgreementRow]] = {convention: [] for convention in conventions}
    notes: list[Note] = []
    hashes: list[str] = []
    raters: set[str] = set()
    ratings = 0
    for table in tables:
        comparisons = plan(table.raters)
        columns: dict[str, FloatArray] = {}
        for pair in comparisons.pairs:
            for convention, found in _pair_rows(table, pair, settings, conventions, columns).items():
                rows[convention] += found
        for group in comparisons.groups:
            results = _group_results(table, group, settings)
            of_group = _rows(table.key, group.name, "", results)
            for kept in rows.values():
                kept += of_group
            notes += notes_on_group(table, group, results)
        for column in comparisons.repeated:
            for convention, kept in rows.items():
                kept += _retest_rows(table, column, replace(settings, convention=convention))
        hashes.append(table_hash(table))
        raters.update(rater.name for rater in table.raters)
        ratings += int((~np.isnan(table.values)).sum())
    return Agreement(
        rows=tuple(adjusted(rows.pop(settings.convention))),
        other_rows=tuple(row for others in rows.values() for row in adjusted(others)),
        notes=tuple(notes),
        settings=settings,
        tables=len(hashes),
        raters=len(raters),
        ratings=ratings,
        data_hash=content_hash(hashes),
    )


def _other(convention: Convention) -> Convention:
    return Convention.OBSERVED if convention is Convention.SCALE else Convention.SCALE


def comparison_seed(seed: int, key: TableKey, a: str, b: str) -> int:
    """The seed of one comparison: the report's seed with a SHA-256 of who is compared on what, by SeedSequence."""
    digest = hashlib.sha256("\x1f".join([*key, a, b]).encode()).digest()
    words = [int(word) for word in np.frombuffer(digest, dtype="<u4")]
    return int(np.random.SeedSequence([seed, *words]).generate_state(1, np.uint64)[0])


def adjusted(rows: Sequence[AgreementRow]) -> list[AgreementRow]:
    """The rows with `p_adjusted` by Benjamini and Hochberg (1995).

    A family is one statistic in one framework of one block: all its dimensions and all its pairs.
    """
    families: dict[tuple[str, str, str], list[int]] = {}
    for position, row in enumerate(rows):
        if row.p_value is not None:
            families.setdefault((row.block, row.framework, row.statistic), []).append(position)
    answer = list(rows)
    for positions in families.values():
        p_values = benjamini_hochberg([rows[position].p_value for position in positions])
        for position, p_adjusted in zip(positions, p_values, strict=True):
            answer[position] = replace(rows[position], p_adjusted=p_adjusted)
    return answer


def _pair_rows(
    table: RatingTable,
    pair: Pair,
    settings: Settings,
    conventions: Sequence[Convention],
    columns: dict[str, FloatArray],
) -> dict[Convention, list[AgreementRow]]:
    """Rows of one pair in each convention. `columns` keeps the values of groups that several pairs share."""
    if table.scale.is_nominal and (pair.a.how or pair.b.how):
        # Names have no median and no mean: there is nothing to compare with.
        blank = dict.fromkeys(PAIR_STATISTICS, undefined(Reason.NOT_FOR_NOMINAL, n_raters=2))
        return {convention: _rows(table.key, pair.a.name, pair.b.name, blank) for convention in conventions}
    first, *others = conventions
    results = pair_statistics_by_convention(
        _column(table, pair.a, columns),
        _column(table, pair.b, columns),
        table.scale,
        wanted={first: PAIR_STATISTICS} | dict.fromkeys(others, KAPPAS),
        resamples=settings.resamples,
        seed=comparison_seed(settings.seed, table.key, pair.a.name, pair.b.name),
    )
    found = {}
    for convention in conventions:
        of_pair = {name: _of_two(result) for name, result in (results[first] | results[convention]).items()}
        found[convention] = _rows(table.key, pair.a.name, pair.b.name, of_pair)
    return found


def _of_two(result: Result) -> Result:
    """A rater who used this scale nowhere is a rater of the block all the same: what is lacking are shared items."""
    if result.reason == Reason.FEWER_THAN_TWO_RATERS:
        return replace(result, reason=Reason.NO_SHARED_ITEMS.value)
    return result


def _column(table: RatingTable, side: Side, columns: dict[str, FloatArray]) -> FloatArray:
    if side.how is None or side.without is not None:
        return table.column(side)
    if side.name not in columns:
        columns[side.name] = table.column(side)
    return columns[side.name]


def _group_results(table: RatingTable, group: GroupMembers, settings: Settings) -> dict[str, Result]:
    everyone = group.members == tuple(range(len(table.raters)))
    results = group_statistics(
        table.values if everyone else table.values[:, list(group.members)],
        table.scale,
        resamples=settings.resamples,
        seed=comparison_seed(settings.seed, table.key, group.name, ""),
    )
    return {name: results[name] for name in GROUP_STATISTICS}


def _retest_rows(table: RatingTable, column: int, settings: Settings) -> list[AgreementRow]:
    """A rater's first rating of an item with their second. No rows for a rater who repeated nothing."""
    if table.repeats is None or np.isnan(table.repeats[:, column]).all():
        return []
    name = table.raters[column].name
    results = retest_statistics(
        table.values[:, column],
        table.repeats[:, column],
        table.scale,
        convention=settings.convention,
        resamples=settings.resamples,
        seed=comparison_seed(settings.seed, table.key, name, ""),
    )
    return _rows(table.key, name, "", results)


def _rows(key: TableKey, a: str, b: str, results: Mapping[str, Result]) -> list[AgreementRow]:
    return [
        AgreementRow(
            block=key.block,
            framework=key.framework,
            dimension=key.dimension,
            statistic=statistic,
            a=a,
            b=b,
            convention=result.convention,
            value=result.value,
            ci_low=result.ci_low,
            ci_high=result.ci_high,
            p_value=result.p_value,
            p_adjusted=None,
            n_items=result.n_items,
            n_raters=result.n_raters,
            n_ratings=result.n_ratings,
            n_degenerate=result.n_degenerate,
            reason=result.reason or "",
        )
        for statistic, result in results.items()
    ]
