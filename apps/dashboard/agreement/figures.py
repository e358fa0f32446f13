"""The figures of a view: the benchmark by scale and by framework, and the agreement within each group. Pure."""

from collections.abc import Mapping, Sequence

from apps.dashboard.agreement.cells import JUDGED
from apps.dashboard.agreement.query import Query
from apps.dashboard.agreement.results import IN_TWO_CONVENTIONS, Results
from apps.reliability.benchmarks import DEFAULT_GROUP_STATISTIC, frameworks_of, group_alphas
from apps.reliability.labels import ScaleLabel
from apps.reliability.matrix import RaterKey, TableKey
from apps.reports.figures.alphas import alpha_figure
from apps.reports.figures.benchmark import benchmark_figure, framework_figure
from apps.reports.figures.figure import Figure
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import Palette

NAMES = ("benchmark", "frameworks", "alphas")


def figures_of(
    query: Query,
    results: Results,
    palette: Palette,
    *,
    scales: Sequence[ScaleLabel],
    raters: Sequence[RaterKey],
    links: Mapping[TableKey, str] | None = None,
) -> list[Figure]:
    """Those that have something to show, in the order of NAMES.

    `raters`: everybody in the study, so that a symbol stays the same in every view. links: addresses of scales.
    """
    labels = FigureLabels.of(scales, raters, links)
    # A block in which nobody is held against experts has no benchmark to draw.
    shown = [one for one in results.benchmarks if one.expert_pairs or one.sides]
    alphas = group_alphas(results.rows)
    convention = query.convention.value if query.statistic in IN_TWO_CONVENTIONS else ""
    threshold = query.threshold if query.statistic in JUDGED else None
    figures = []
    if shown:
        figures.append(
            benchmark_figure(
                shown, labels, palette, threshold, statistic=query.statistic, convention=convention, name=NAMES[0]
            )
        )
        frameworks = frameworks_of(shown)
        if len(frameworks) > 1:
            figures.append(
                framework_figure(
                    frameworks,
                    labels,
                    palette,
                    threshold,
                    statistic=query.statistic,
                    convention=convention,
                    name=NAMES[1],
                )
            )
    if alphas:
        figures.append(
            alpha_figure(
                alphas,
                labels,
                palette,
                benchmarks=shown if threshold is not None else (),
                threshold=query.threshold,
                statistic=DEFAULT_GROUP_STATISTIC,
                name=NAMES[2],
            )
        )
    return figures
