"""Which figures a report has, from its rows and tables: the same builders as on the agreement pages. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from apps.reliability.benchmarks import frameworks_of, group_alphas
from apps.reports.benchmark_rows import benchmarks_of
from apps.reports.contents import Part, ReportContent
from apps.reports.figures.alphas import alpha_figure
from apps.reports.figures.benchmark import benchmark_figure, framework_figure
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.planned import PlannedFigure, named_apart
from apps.reports.figures.single_figures import Chosen, SingleFigures, single_figures


@dataclass(frozen=True, slots=True)
class FigurePlan:
    """The figures of a report, not yet drawn. overview: those of the whole study. singles: those of each scale, then
    of each rater, where they were asked for. left_out: which of them are missing, in sentences."""

    overview: tuple[PlannedFigure, ...] = ()
    singles: tuple[PlannedFigure, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def figures(self) -> tuple[PlannedFigure, ...]:
        return self.overview + self.singles


def plan_figures(content: ReportContent) -> FigurePlan:
    """Reads the ratings where figures of each scale and rater were asked for. Names are apart."""
    labels = FigureLabels.of(content.scales, content.raters)
    overview = list(_overview(content, labels))
    singles = _singles(content, labels) if content.options.all_figures else SingleFigures()
    apart = tuple(named_apart([*overview, *singles.figures]))
    return FigurePlan(apart[: len(overview)], apart[len(overview) :], singles.left_out)


def _overview(content: ReportContent, labels: FigureLabels) -> Iterator[PlannedFigure]:
    """Only those that have something to show: the benchmark needs experts or their aggregate, alpha needs groups."""
    benchmarks = benchmarks_of(content, content.rows)
    threshold, convention = content.options.threshold, content.settings.convention.value
    if benchmarks:
        make = partial(benchmark_figure, benchmarks, labels, threshold=threshold, convention=convention)
        yield PlannedFigure("benchmark", make)
    if len({(one.key.block, one.key.framework) for one in benchmarks}) > 1:
        frameworks = frameworks_of(benchmarks)
        make = partial(framework_figure, frameworks, labels, threshold=threshold, convention=convention)
        yield PlannedFigure("frameworks", make)
    for statistic in ("alpha_interval", "alpha_nominal"):
        nominal = statistic == "alpha_nominal"
        wanted = {scale.key for scale in content.scales if (scale.dimension.level == "nominal") is nominal}
        alphas = [one for one in group_alphas(content.rows, statistic) if one.key in wanted]
        if alphas:
            name = "alphas-nominal" if nominal else "alphas"
            make = partial(alpha_figure, alphas, labels, statistic=statistic, threshold=threshold)
            yield PlannedFigure(name, make if nominal else partial(make, benchmarks=benchmarks))


def _singles(content: ReportContent, labels: FigureLabels) -> SingleFigures:
    options = content.options
    tables = content.frozen.tables(block=options.block, framework=options.framework)
    convention = content.settings.convention.value
    return single_figures(
        content.rows, tables, labels, Chosen(options.groups, options.raters, Part.PAIRS in options.parts, convention)
    )
