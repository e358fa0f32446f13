"""The figures of a report, from its rows: the same builders as on the agreement pages."""

from apps.reliability.benchmarks import frameworks_of, group_alphas
from apps.reports.benchmark_rows import benchmarks_of
from apps.reports.contents import ReportContent
from apps.reports.figures.alphas import alpha_figure
from apps.reports.figures.benchmark import benchmark_figure, framework_figure
from apps.reports.figures.figure import Figure
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import Palette


def figures_of(content: ReportContent, palette: Palette) -> list[Figure]:
    """Only those that have something to show: the benchmark needs experts or their aggregate, alpha needs groups."""
    labels = FigureLabels.of(content.scales, content.raters)
    figures = []
    benchmarks = benchmarks_of(content, content.rows)
    if benchmarks:
        shown = (labels, palette, content.options.threshold)
        convention = content.settings.convention.value
        figures.append(benchmark_figure(benchmarks, *shown, convention=convention))
        if len({(one.key.block, one.key.framework) for one in benchmarks}) > 1:
            figures.append(framework_figure(frameworks_of(benchmarks), *shown, convention=convention))
    for statistic in ("alpha_interval", "alpha_nominal"):
        nominal = statistic == "alpha_nominal"
        wanted = {scale.key for scale in content.scales if (scale.dimension.level == "nominal") is nominal}
        alphas = [one for one in group_alphas(content.rows, statistic) if one.key in wanted]
        if alphas:
            name = "alphas-nominal" if nominal else "alphas"
            figures.append(alpha_figure(alphas, labels, palette, statistic=statistic, name=name))
    return figures
