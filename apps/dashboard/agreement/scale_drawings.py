"""The pictures of one scale, on the page and as files. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apps.dashboard.agreement.cells import JUDGED
from apps.dashboard.agreement.query import Query
from apps.dashboard.agreement.results import IN_TWO_CONVENTIONS
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import scale_benchmarks
from apps.reliability.confusions import confusion_of
from apps.reliability.distributions import group_distributions
from apps.reliability.matrix import RatingTable
from apps.reports.figures.benchmark import benchmark_figure
from apps.reports.figures.confusion import confusion_figure
from apps.reports.figures.distributions import distribution_figure
from apps.reports.figures.figure import Figure
from apps.reports.figures.heat_maps import SYMMETRIC, heat_map_figure, pair_matrix
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import Palette


@dataclass(frozen=True)
class ScaleDrawings:
    """What can be drawn of one scale. rows: of this scale, in the convention of the view."""

    table: RatingTable
    rows: Sequence[AgreementRow]
    query: Query
    labels: FigureLabels
    palette: Palette
    pair: tuple[str, str] | None = None

    def drawn(self, name: str) -> Figure | None:
        """One of DRAWINGS by name. None where there is nothing to draw."""
        return DRAWINGS[name](self)

    @property
    def convention(self) -> str:
        return self.query.convention.value if self.query.statistic in IN_TWO_CONVENTIONS else ""

    def benchmark(self) -> Figure | None:
        found = scale_benchmarks(self.rows, self.table.raters, self.query.statistic)
        if not any(one.expert_pairs or one.sides for one in found):
            return None
        return benchmark_figure(
            found,
            self.labels,
            self.palette,
            self.query.threshold if self.query.statistic in JUDGED else None,
            statistic=self.query.statistic,
            convention=self.convention,
            name="benchmark",
        )

    def use(self) -> Figure:
        return distribution_figure(
            group_distributions(self.table), self.table.key, self.labels, self.palette, name="use"
        )

    def pairs(self) -> Figure | None:
        """None also for a statistic that depends on which of the two comes first."""
        statistic = self.query.statistic
        if statistic not in SYMMETRIC:
            return None
        matrix = pair_matrix(self.rows, self.table.raters, self.table.key, statistic)
        if not matrix.cells:
            return None
        return heat_map_figure(
            matrix, self.labels, self.palette, statistic=statistic, convention=self.convention, name="pairs"
        )

    def confusion(self) -> Figure | None:
        names = {rater.name for rater in self.table.raters}
        if self.pair is None or self.pair[0] == self.pair[1] or not names.issuperset(self.pair):
            return None
        found = confusion_of(self.table, *self.pair)
        return confusion_figure(found, self.table.key, self.labels, self.palette, name="confusion")


DRAWINGS: dict[str, Callable[[ScaleDrawings], Figure | None]] = {
    "benchmark": ScaleDrawings.benchmark,
    "use": ScaleDrawings.use,
    "pairs": ScaleDrawings.pairs,
    "confusion": ScaleDrawings.confusion,
}
