"""Which scales have a benchmark to show, and which rows its table shows. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import DEFAULT_STATISTIC, ScaleBenchmark, scale_benchmarks
from apps.reports.contents import ReportContent


def benchmarks_of(content: ReportContent, rows: Iterable[AgreementRow]) -> list[ScaleBenchmark]:
    """Those of scales of which `rows`, all of one convention, hold a pair of experts or a side beside them.

    Sides are those that the rows hold. The experts' own agreement is always whole, also where the rows leave pairs of
    experts out: it is the yardstick, and must not seem to be undefined because other raters were chosen.
    """
    kappas = [row for row in rows if row.statistic == DEFAULT_STATISTIC and row.b]
    chosen = {(_place(row), frozenset((row.a, row.b))) for row in kappas}
    return list(_narrowed(scale_benchmarks(_whole(content, kappas), content.raters), chosen))


Chosen = set[tuple[tuple[str, str, str], frozenset[str]]]


def _narrowed(benchmarks: Iterable[ScaleBenchmark], chosen: Chosen) -> Iterator[ScaleBenchmark]:
    for one in benchmarks:
        sides = tuple(side for side in one.sides if (one.key, frozenset((one.compared_with, side.name))) in chosen)
        if sides or any((one.key, frozenset((pair.a, pair.b))) in chosen for pair in one.expert_pairs):
            yield replace(one, sides=sides)


def _whole(content: ReportContent, kappas: Sequence[AgreementRow]) -> Sequence[AgreementRow]:
    """Every row in the convention of those."""
    if not kappas:
        return ()
    is_chosen = kappas[0].convention == content.settings.convention
    return content.agreement.rows if is_chosen else content.agreement.other_rows


def _place(row: AgreementRow) -> tuple[str, str, str]:
    return row.block, row.framework, row.dimension


def shown_in(benchmarks: Sequence[ScaleBenchmark], rows: Iterable[AgreementRow]) -> list[AgreementRow]:
    """The rows that a table of the benchmarks shows: pairs of experts, and sides with the experts' value."""
    shown = set()
    for one in benchmarks:
        pairs = [(pair.a, pair.b) for pair in one.expert_pairs]
        pairs += [(one.compared_with, side.name) for side in one.sides]
        shown |= {(one.key, frozenset(pair)) for pair in pairs}
    return [row for row in rows if (_place(row), frozenset((row.a, row.b))) in shown]
