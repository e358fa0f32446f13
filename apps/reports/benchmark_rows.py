"""Which scales have a benchmark to show, and which rows its table shows. Pure."""

from collections.abc import Iterable, Sequence

from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import ScaleBenchmark, scale_benchmarks
from apps.reports.contents import ReportContent


def benchmarks_of(content: ReportContent, rows: Iterable[AgreementRow]) -> list[ScaleBenchmark]:
    """Those of scales with a pair of experts, or with a value of the experts to hold others against."""
    return [one for one in scale_benchmarks(rows, content.raters) if one.expert_pairs or one.compared_with]


def shown_in(benchmarks: Sequence[ScaleBenchmark], rows: Iterable[AgreementRow]) -> list[AgreementRow]:
    """The rows that a table of the benchmarks shows: pairs of experts, and sides with the experts' value."""
    shown = set()
    for one in benchmarks:
        pairs = [(pair.a, pair.b) for pair in one.expert_pairs]
        pairs += [(one.compared_with, side.name) for side in one.sides]
        shown |= {(one.key, frozenset(pair)) for pair in pairs}
    return [row for row in rows if ((row.block, row.framework, row.dimension), frozenset((row.a, row.b))) in shown]
