"""Every figure that the rows and tables of a snapshot give."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import (
    DEFAULT_GROUP_STATISTIC,
    DEFAULT_STATISTIC,
    Estimate,
    estimate_of,
    frameworks_of,
    group_alphas,
    scale_benchmarks,
)
from apps.reliability.distributions import group_distributions
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey
from apps.reliability.profiles import Profile, profile_of
from apps.reports.figures.alphas import alpha_figure
from apps.reports.figures.benchmark import DEFAULT_THRESHOLD, benchmark_figure, framework_figure
from apps.reports.figures.distributions import distribution_figure
from apps.reports.figures.figure import Figure
from apps.reports.figures.heat_maps import heat_map_figure, pair_matrix
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import Palette
from apps.reports.figures.profiles import rater_profile_figure


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """threshold: where the benchmark has its line, None for none. convention: of `rows`, as a slug."""

    threshold: float | None = DEFAULT_THRESHOLD
    statistic: str = DEFAULT_STATISTIC
    group_statistic: str = DEFAULT_GROUP_STATISTIC
    convention: str = ""


@dataclass(frozen=True, slots=True)
class BiasLine:
    """A profile with its bias; the interval is that of the rows, where they have the pair."""

    profile: Profile
    bias: Estimate


def figures_of(
    rows: Sequence[AgreementRow],
    tables: Iterable[RatingTable],
    raters: Sequence[RaterKey],
    labels: FigureLabels,
    palette: Palette,
    options: FigureOptions | None = None,
) -> Iterator[Figure]:
    """The benchmark by scale and framework, the alphas, and for each scale and each rater their own figures.

    `rows` are of one convention; crowd workers, who are many, have no figure of their own. Tables are read once. No two
    figures have the same name.
    """
    yield from _named_apart(_figures_of(rows, tables, raters, labels, palette, options or FigureOptions()))


def _figures_of(
    rows: Sequence[AgreementRow],
    tables: Iterable[RatingTable],
    raters: Sequence[RaterKey],
    labels: FigureLabels,
    palette: Palette,
    chosen: FigureOptions,
) -> Iterator[Figure]:
    yield from overview_figures(rows, raters, labels, palette, chosen)
    profiles: dict[str, list[BiasLine]] = {}
    bias = _bias_rows(rows)
    by_scale = _by_scale(rows)
    for table in tables:
        yield distribution_figure(group_distributions(table), table.key, labels, palette)
        matrix = pair_matrix(by_scale.get(table.key, ()), table.raters, table.key, chosen.statistic)
        if matrix.cells:
            shown = {"statistic": chosen.statistic, "convention": chosen.convention}
            yield heat_map_figure(matrix, labels, palette, **shown)
        for column, rater in enumerate(table.raters):
            if rater.kind is not Kind.CROWD or rater.is_aggregate:
                profiles.setdefault(rater.name, []).append(_line(profile_of(table, column), bias))
    for rater in raters:
        if rater.name in profiles:
            yield rater_profile_figure(rater, profiles[rater.name], labels, palette)


def _named_apart(figures: Iterable[Figure]) -> Iterator[Figure]:
    """Raters may be called `Jo` and `jo`."""
    counts: Counter[str] = Counter()
    for figure in figures:
        counts[figure.name] += 1
        count = counts[figure.name]
        yield figure if count == 1 else replace(figure, name=f"{figure.name}-{count}")


def overview_figures(
    rows: Sequence[AgreementRow],
    raters: Sequence[RaterKey],
    labels: FigureLabels,
    palette: Palette,
    options: FigureOptions,
) -> Iterator[Figure]:
    """Those of the whole study, which have something to show."""
    shown = {"statistic": options.statistic, "convention": options.convention}
    benchmarks = [one for one in scale_benchmarks(rows, raters, options.statistic) if one.expert_pairs or one.sides]
    if benchmarks:
        yield benchmark_figure(benchmarks, labels, palette, options.threshold, **shown)
        frameworks = frameworks_of(benchmarks)
        if len(frameworks) > 1:
            yield framework_figure(frameworks, labels, palette, options.threshold, **shown)
    alphas = group_alphas(rows, options.group_statistic)
    if alphas:
        yield alpha_figure(alphas, labels, palette, statistic=options.group_statistic)


BiasRows = dict[tuple[TableKey, str, str], Estimate]


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
            low, value, high = (
                None if one is None else 0.0 - one for one in (estimate.ci_high, estimate.value, estimate.ci_low)
            )
            found[key, row.a, row.b] = replace(estimate, ci_low=low, value=value, ci_high=high)
    return found


def _line(profile: Profile, rows: BiasRows) -> BiasLine:
    result = profile.bias
    own = Estimate(result.value, None, None, None, None, result.n_items, result.reason or "")
    return BiasLine(profile, rows.get((profile.key, profile.rater.name, profile.yardstick), own))
