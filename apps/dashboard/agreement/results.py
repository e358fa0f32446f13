"""Everything a view of the agreement page shows, put together from the rows of a snapshot. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from apps.dashboard.agreement.choosing import Choice
from apps.dashboard.agreement.query import Pairs, Query
from apps.dashboard.agreement.tables import (
    GROUP_COLUMNS,
    RETEST_COLUMNS,
    BenchmarkTable,
    Framework,
    GroupRow,
    PairsTable,
    RetestRow,
    benchmark_table,
    chosen_sides,
    group_rows,
    pages_of_frameworks,
    pairs_tables,
    retest_rows,
)
from apps.measures.pairs import Convention
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import ScaleBenchmark, scale_benchmarks
from apps.reliability.matrix import RaterKey, TableKey
from apps.reliability.notes import Note

# The convention changes nothing else (measures.kappa).
IN_TWO_CONVENTIONS = frozenset({"kappa_linear", "kappa_quadratic"})
RETESTS_ON_A_PAGE = 50

# Rows of a convention, of these statistics, narrowed to the view's block and framework.
ReadRows = Callable[[Convention, Sequence[str]], list[AgreementRow]]


@dataclass(frozen=True, slots=True)
class Results:
    """One page of a view. Of `benchmark` and `pairs` one is None. page_names: the frameworks on each page.

    benchmarks: all scales of the view, the experts' highest first, for figures. rows: the rows behind them.
    n_flagged: figures of this page for which the other convention gives something else.
    """

    benchmark: BenchmarkTable | None
    pairs: PairsTable | None
    groups: tuple[GroupRow, ...]
    retests: tuple[RetestRow, ...]
    n_retests: int
    benchmarks: tuple[ScaleBenchmark, ...]
    rows: tuple[AgreementRow, ...]
    page: int
    page_names: tuple[tuple[Framework, ...], ...]


def results_of(
    query: Query, read: ReadRows, keys: Sequence[TableKey], raters: Sequence[RaterKey], notes: Iterable[Note]
) -> Results:
    """`keys`: the scales of the view in the order of the study; a snapshot may have lost all of them."""
    choice = Choice(query, raters)
    shown = list(dict.fromkeys((query.statistic, *GROUP_COLUMNS, *RETEST_COLUMNS)))
    rows = read(query.convention, shown)
    others = read(other_convention(query.convention), [query.statistic]) if _has_two(query) else []
    benchmarks = chosen_sides(scale_benchmarks(rows, raters, query.statistic), choice.side)
    kept = choice.rows(rows)
    if query.columns is Pairs.ALL:
        tables = pairs_tables(
            kept, choice.rows(others), statistic=query.statistic, threshold=query.threshold, order=keys
        )
        pages: list[list[Framework]] = [[table.of] for table in tables]
        page = min(query.page, max(1, len(pages)))
        benchmark, pairs = None, tables[page - 1] if tables else None
    else:
        pages = pages_of_frameworks(keys)
        page = min(query.page, max(1, len(pages)))
        here = [key for key in keys if pages and Framework(key.block, key.framework) in pages[page - 1]]
        elsewhere = chosen_sides(scale_benchmarks(others, raters, query.statistic), choice.side)
        pairs = None
        benchmark = benchmark_table(
            benchmarks, elsewhere, order=here, statistic=query.statistic, threshold=query.threshold
        )
    on_page = set(pages[page - 1]) if pages else set()
    of_page = [row for row in kept if Framework(row.block, row.framework) in on_page]
    retests = retest_rows(of_page)
    return Results(
        benchmark=benchmark,
        pairs=pairs,
        groups=tuple(group_rows(of_page, notes)),
        retests=tuple(retests[:RETESTS_ON_A_PAGE]),
        n_retests=len(retests),
        benchmarks=tuple(benchmarks),
        rows=tuple(kept),
        page=page,
        page_names=tuple(tuple(page) for page in pages),
    )


def other_convention(convention: Convention) -> Convention:
    return Convention.OBSERVED if convention is Convention.SCALE else Convention.SCALE


def _has_two(query: Query) -> bool:
    return query.statistic in IN_TWO_CONVENTIONS
