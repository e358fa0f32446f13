"""The figures of each scale and of each rater: which of them there are, and what they are drawn from. Pure.

Tables are read once, for counts that are small; a figure is made when it is drawn. What would be too many, or cannot be
drawn, is left out and said.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

from apps.measures.aggregates import Aggregate
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import DEFAULT_STATISTIC, EXPERTS_MEDIAN, Estimate, estimate_of, turned
from apps.reliability.confusions import confusion_of_sides
from apps.reliability.distributions import Distribution, distribution_of, group_distributions, rater_distributions
from apps.reliability.matrix import ALL_RATERS, GROUP_NAMES, MIN_RATERS, Kind, RaterKey, RatingTable, Side, TableKey
from apps.reliability.profiles import Profile, profile_of
from apps.reports.figures import words
from apps.reports.figures.confusion import confusion_figure
from apps.reports.figures.distributions import distribution_figure
from apps.reports.figures.figure import Figure, slug_of
from apps.reports.figures.heat_maps import heat_map_figure, pair_matrix
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.planned import PlannedFigure
from apps.reports.figures.profiles import rater_profile_figure

SCALES, RATERS = "scales", "raters"
# What a reader can take in, and what an archive of 2,000 members has room for, each figure in two kinds of files.
MOST_PROFILES = 40
MOST_IN_HEAT_MAP = 30
MOST_MATRICES = 8
MOST_PANELS = 12
MOST_FIGURES = 600
NOMINAL_STATISTIC = "kappa_unweighted"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the figures are narrowed to. Empty means all; `pairs`: whether two raters are shown beside each other.

    convention: of the rows, as a slug.
    """

    groups: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    pairs: bool = True
    convention: str = ""

    def has(self, rater: RaterKey) -> bool:
        is_in_group = not self.groups or (rater.kind is not None and GROUP_NAMES[rater.kind] in self.groups)
        return is_in_group and (not self.raters or rater.name in self.raters)


@dataclass(frozen=True, slots=True)
class BiasLine:
    """A profile with its bias; the interval is that of the rows, where they have the pair."""

    profile: Profile
    bias: Estimate


@dataclass(frozen=True)
class SingleFigures:
    """`left_out`: a sentence for each kind of figure that is not drawn, and why."""

    figures: tuple[PlannedFigure, ...] = ()
    left_out: tuple[str, ...] = ()


def single_figures(
    rows: Sequence[AgreementRow], tables: Iterable[RatingTable], labels: FigureLabels, chosen: Chosen
) -> SingleFigures:
    """How each scale is used, its raters two by two, each side with the experts point by point; then each rater.

    `rows` are of one convention, narrowed as `chosen` says. Names are not yet apart.
    """
    work = _Work(labels, chosen, _by_scale(rows), _bias_rows(rows))
    figures = [figure for table in tables for figure in work.of_scale(table)]
    figures += work.of_raters()
    return SingleFigures(tuple(figures[:MOST_FIGURES]), tuple(work.left_out(len(figures) - MOST_FIGURES)))


BiasRows = dict[tuple[TableKey, str, str], Estimate]


@dataclass
class _Work:
    """Scale after scale; what concerns raters is gathered on the way."""

    labels: FigureLabels
    chosen: Chosen
    rows: dict[TableKey, list[AgreementRow]]
    bias: BiasRows
    lines: dict[RaterKey, list[BiasLine]] = field(default_factory=dict)
    workers: set[str] = field(default_factory=set)
    strangers: set[str] = field(default_factory=set)
    wide: list[str] = field(default_factory=list)
    crowded: list[str] = field(default_factory=list)
    no_matrix: Counter[str] = field(default_factory=Counter)

    def of_scale(self, table: RatingTable) -> Iterator[PlannedFigure]:
        planned = partial(PlannedFigure, folder=SCALES, of=table.key, heading=self.labels.scale(table.key))
        shown = _distributions(table, self.chosen)
        if any(one.n_ratings for one in shown):
            make: Callable[..., Figure] = partial(distribution_figure, shown, table.key, self.labels)
            yield planned(name=slug_of("distribution", *table.key), make=make)
        if not self.chosen.pairs:
            return
        if heat_map := self._heat_map(table):
            yield planned(name=slug_of("raters", *table.key), make=heat_map)
        for a, b in self._sides(table):
            confusion = confusion_of_sides(table, a, b)
            if confusion.reason:
                self.no_matrix[confusion.reason] += 1
                continue
            make = partial(confusion_figure, confusion, table.key, self.labels)
            yield planned(name=slug_of("confusion", *table.key, a.name, b.name), make=make)
        self._gather(table)

    def of_raters(self) -> list[PlannedFigure]:
        """In the order of kinds and names."""
        raters = sorted(self.lines, key=lambda rater: rater.order)[:MOST_PROFILES]
        return [
            PlannedFigure(
                name=slug_of("rater", rater.name),
                folder=RATERS,
                of=(rater.name,),
                heading=rater.name,
                make=partial(rater_profile_figure, rater, self.lines[rater], self.labels),
            )
            for rater in raters
        ]

    def left_out(self, too_many: int) -> Iterator[str]:
        if self.workers:
            count = words.counted(len(self.workers), "crowd worker")
            yield f"Profiles of {count}: a crowd is shown as a group, not worker by worker."
        if self.strangers:
            yield "Profiles of raters: a file of ratings does not say who is an expert, so there is no yardstick."
        if (rest := len(self.lines) - MOST_PROFILES) > 0:
            yield f"Profiles of {words.counted(rest, 'more rater')}: the first {MOST_PROFILES} are drawn."
        if self.wide:
            scales = words.counted(len(self.wide), "scale")
            yield f"Heat maps of {scales} with more than {MOST_IN_HEAT_MAP} raters to compare: they could not be read."
        if self.crowded:
            scales = words.counted(len(self.crowded), "scale")
            yield f"Some matrices, point by point, of {scales}: at most {MOST_MATRICES} are drawn of one scale."
        for reason, pairs in self.no_matrix.items():
            yield f"Matrices, point by point, of {words.counted(pairs, 'pair')}: {reason}."
        if too_many > 0:
            yield f"{words.counted(too_many, 'more figure')}: a report has {MOST_FIGURES} of them at most."

    def _heat_map(self, table: RatingTable) -> Callable[..., Figure] | None:
        statistic = NOMINAL_STATISTIC if table.scale.is_nominal else DEFAULT_STATISTIC
        matrix = pair_matrix(self.rows.get(table.key, ()), table.raters, table.key, statistic)
        if len(matrix.names) > MOST_IN_HEAT_MAP:
            self.wide.append(self.labels.scale(table.key))
            return None
        if not matrix.cells:
            return None
        return partial(
            heat_map_figure,
            matrix,
            self.labels,
            statistic=statistic,
            convention=self.chosen.convention,
            narrowed=bool(self.chosen.raters),
        )

    def _sides(self, table: RatingTable) -> list[tuple[Side, Side]]:
        """The experts with everybody who is shown one by one; every two raters where there are no experts."""
        experts = _experts(table) if not self.chosen.groups or "experts" in self.chosen.groups else None
        single = [column for column, rater in enumerate(table.raters) if _is_shown(rater)]
        if experts is None:
            pairs = [(_side(table, a), _side(table, b)) for a, b in combinations(single, 2)]
        else:
            others = [column for column in single if table.raters[column].kind is not Kind.EXPERT]
            pairs = [(experts, _side(table, column)) for column in others]
        wanted = {rater.name for rater in table.raters if self.chosen.has(rater)}
        pairs = [(a, b) for a, b in pairs if b.name in wanted and (a is experts or a.name in wanted)]
        if len(pairs) > MOST_MATRICES:
            self.crowded.append(self.labels.scale(table.key))
        return pairs[:MOST_MATRICES]

    def _gather(self, table: RatingTable) -> None:
        for column, rater in enumerate(table.raters):
            if not self.chosen.has(rater):
                continue
            if rater.kind is None:
                self.strangers.add(rater.name)
            elif not _is_shown(rater):
                self.workers.add(rater.name)
            elif (line := _line(profile_of(table, column), self.bias)).profile.n_ratings:
                self.lines.setdefault(rater, []).append(line)


def _is_shown(rater: RaterKey) -> bool:
    """Crowd workers, who are many, are not shown one by one."""
    return rater.kind is not Kind.CROWD or rater.is_aggregate


def _side(table: RatingTable, column: int) -> Side:
    return Side(table.raters[column].name, (column,))


def _experts(table: RatingTable) -> Side | None:
    """The experts' median; of a single expert, and of an imported aggregate, their own values.

    Points without an order have no median.
    """
    everyone = [column for column, rater in enumerate(table.raters) if rater.kind is Kind.EXPERT]
    members = tuple(column for column in everyone if not table.raters[column].is_aggregate)
    if len(members) >= MIN_RATERS and table.scale.is_nominal:
        return None
    if len(members) >= MIN_RATERS:
        return Side(EXPERTS_MEDIAN, members, Aggregate.MEDIAN)
    alone = [column for column in everyone if column not in members] or list(members)
    return _side(table, alone[0]) if alone else None


def _distributions(table: RatingTable, chosen: Chosen) -> list[Distribution]:
    """Of groups; of raters where those were chosen, and of the few raters of a file, which has no groups."""
    if not chosen.raters and any(rater.kind is not None for rater in table.raters):
        groups = chosen.groups or tuple(GROUP_NAMES.values())
        return [one for one in group_distributions(table) if one.kind and GROUP_NAMES[one.kind] in groups]
    columns = [column for column, rater in enumerate(table.raters) if chosen.has(rater)]
    if len(columns) <= MOST_PANELS:
        return rater_distributions(table, columns)
    return [distribution_of(table.values[:, columns], table.scale, name=ALL_RATERS, is_group=True)]


def _by_scale(rows: Iterable[AgreementRow]) -> dict[TableKey, list[AgreementRow]]:
    scales: dict[TableKey, list[AgreementRow]] = {}
    for row in rows:
        scales.setdefault(TableKey(row.block, row.framework, row.dimension), []).append(row)
    return scales


def _bias_rows(rows: Iterable[AgreementRow]) -> BiasRows:
    """By scale, rater and yardstick: the mean of the rater minus the yardstick, either way round."""
    found: BiasRows = {}
    for row in rows:
        if row.statistic == "bias" and row.b:
            key, estimate = TableKey(row.block, row.framework, row.dimension), estimate_of(row)
            found[key, row.b, row.a] = estimate
            found[key, row.a, row.b] = turned(estimate)
    return found


def _line(profile: Profile, rows: BiasRows) -> BiasLine:
    result = profile.bias
    own = Estimate(result.value, None, None, None, None, result.n_items, result.reason or "")
    return BiasLine(profile, rows.get((profile.key, profile.rater.name, profile.yardstick), own))
