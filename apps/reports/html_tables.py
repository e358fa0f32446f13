"""The tables of the HTML report as texts, before any markup. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from apps.measures.kappa import Convention
from apps.reliability.accounting import ItemUse
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import ScaleBenchmark
from apps.reliability.matrix import TableKey
from apps.reports.benchmark_rows import benchmarks_of, shown_in
from apps.reports.contents import Part, ReportContent, Stars, part_of
from apps.reports.coverage import Coverage, coverage_of, raters_in_words
from apps.reports.long_table import ROLES
from apps.reports.wording import (
    CONVENTIONS,
    STARS,
    exclusion_reason,
    intervals_text,
    rater_reason,
    ratings_left_out,
    stars_of,
    undefined_text,
)

GROUP_COLUMNS = (
    ("alpha_interval", "Alpha, interval"),
    ("alpha_ordinal", "Alpha, ordinal"),
    ("alpha_nominal", "Alpha, nominal"),
    ("ac2_quadratic", "AC2, quadratic"),
    ("ac1", "AC1"),
    ("percent_agreement", "Percent agreement"),
)
# What a page can show of pairs and left-out items; the other files have all of them.
MOST_ROWS = 400


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell, and in lighter type beside it, piece by piece."""

    text: str
    lighter: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table: an id for its address within the page, its title, columns, rows, and sentences below.

    texts: how many columns at the left are no numbers. Raises ValueError where a row has not a cell for each column.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    notes: Sequence[str] = ()
    texts: int = 1

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of {self.name} has not {len(self.columns)} cells")


def data_table(content: ReportContent) -> Table:
    """What was rated by whom."""
    titles = {scale.block.slug: scale.block.title for scale in content.scales}
    return Table(
        "data",
        "What was rated by whom",
        ("Block" if content.study else "File", "Items", "Raters", "Frameworks", "Ratings"),
        [_coverage_row(content, one, titles) for one in coverage_of(content)],
        texts=4,
    )


def _coverage_row(content: ReportContent, one: Coverage, titles: dict[str, str]) -> list[str]:
    names = [scale.framework.name for scale in content.shown_scales if scale.block.slug == one.block]
    items = f"{one.rated:,}" if one.rated == one.items else f"{one.rated:,} of {one.items:,}"
    ratings = f"{one.ratings:,}" + (f" and {one.repeats:,} second ones" if one.repeats else "")
    place = titles.get(one.block) or one.block or content.ratings_file
    frameworks = ", ".join(name for name in dict.fromkeys(names) if name) or "none"
    return [place, items, raters_in_words(one.raters, one.shares), frameworks, ratings]


def figure_tables(content: ReportContent) -> Iterator[Table]:
    """Weighted kappa in both conventions, and the agreement within groups."""
    chosen = content.settings.convention
    other = Convention.OBSERVED if chosen is Convention.SCALE else Convention.SCALE
    for convention, rows in ((chosen, content.rows), (other, content.other_rows)):
        kappas = [row for row in rows if row.statistic == "kappa_quadratic" and part_of(row) is Part.PAIRS]
        benchmarks = benchmarks_of(content, kappas)
        if benchmarks:
            yield _benchmark_table(content, convention, benchmarks, kappas)
        elif kappas:
            yield _pairs_table(content, convention, kappas)
    if any(part_of(row) is Part.GROUPS for row in content.rows):
        yield _group_table(content)


def _benchmark_table(
    content: ReportContent, convention: Convention, benchmarks: Sequence[ScaleBenchmark], kappas: Sequence[AgreementRow]
) -> Table:
    sides = list(dict.fromkeys(side.name for one in benchmarks for side in one.sides))
    by_place: dict[tuple[str, ...], AgreementRow] = {(*_key(row), row.a, row.b): row for row in kappas}

    def row_of(one: ScaleBenchmark) -> Iterator[str | Cell]:
        yield _scale_cell(content, one.key)
        yield _experts_cell(one)
        for name in sides:
            pair = (one.compared_with, name)
            row = by_place.get((*one.key, *pair)) or by_place.get((*one.key, *reversed(pair)))
            yield _estimate(row, content.options.stars) if row else "not in this block"

    return Table(
        f"kappa-{convention.value}",
        f"Quadratic weighted kappa, convention “{convention.value}”",
        ("Scale", "Experts among each other", *(content.side_label(side) for side in sides)),
        [list(row_of(one)) for one in benchmarks],
        (
            "Experts: the median of all their pairs, beside it the lowest and highest. The other columns: each side "
            f"with the experts' median. {_beside(content)}",
            *_notes(content, convention, shown_in(benchmarks, kappas)),
        ),
    )


def _scale_cell(content: ReportContent, key: TableKey) -> Cell:
    place = content.place_of(key)
    return Cell(content.label_of(key) or "one scale", (place,) if place else ())


def _experts_cell(one: ScaleBenchmark) -> Cell:
    if one.low is None or one.median is None or one.high is None:
        return Cell("not defined" if one.expert_pairs else "no pair of experts")
    pairs = len(one.expert_pairs) - one.n_undefined
    count = "1 pair" if pairs == 1 else f"{pairs} pairs"
    undefined = (f"{one.n_undefined} undefined",) if one.n_undefined else ()
    return Cell(_number(one.median), (f"{_number(one.low)} to {_number(one.high)}", count, *undefined))


def _pairs_table(content: ReportContent, convention: Convention, kappas: Sequence[AgreementRow]) -> Table:
    rows: list[list[str | Cell]] = [
        [
            _scale_cell(content, _key(row)),
            content.side_label(row.a),
            content.side_label(row.b),
            _estimate(row, content.options.stars),
        ]
        for row in kappas[:MOST_ROWS]
    ]
    more = (
        [f"The first {MOST_ROWS:,} of {len(kappas):,} pairs; agreement.csv has all."] if len(kappas) > MOST_ROWS else []
    )
    return Table(
        f"kappa-{convention.value}",
        f"Quadratic weighted kappa of each pair, convention “{convention.value}”",
        ("Scale", "A", "B", "Kappa"),
        rows,
        (_beside(content), *more, *_notes(content, convention, kappas)),
        texts=3,
    )


def _group_table(content: ReportContent) -> Table:
    rows = [row for row in content.rows if part_of(row) is Part.GROUPS]
    present = {row.statistic for row in rows}
    columns = [(statistic, title) for statistic, title in GROUP_COLUMNS if statistic in present]
    places: dict[tuple[TableKey, str], dict[str, AgreementRow]] = {}
    for row in rows:
        places.setdefault((_key(row), row.a), {})[row.statistic] = row
    shown = {statistic for statistic, _title in columns}
    used = [row for row in rows if row.statistic in shown]
    return Table(
        "groups",
        "Agreement of the raters of one kind among each other" if content.study else "Agreement of all raters",
        ("Scale", "Raters", *(title for _statistic, title in columns)),
        [
            [
                _scale_cell(content, key),
                content.side_label(group),
                *(_group_cell(found.get(name)) for name, _title in columns),
            ]
            for (key, group), found in places.items()
        ],
        (
            _beside(content),
            intervals_text(content),
            undefined_text(used),
        ),
        texts=2,
    )


def _group_cell(row: AgreementRow | None) -> str | Cell:
    return "left out" if row is None else _estimate(row, Stars.NONE)


def _notes(content: ReportContent, convention: Convention, rows: Iterable[AgreementRow]) -> tuple[str, ...]:
    text = CONVENTIONS[convention]
    sentence = f"{text[0].upper()}{text[1:]}."
    return sentence, intervals_text(content), STARS[content.options.stars], undefined_text(rows)


def scales_table(content: ReportContent) -> Table:
    """The scales with their points in words."""
    rows = [
        [
            scale.dimension.label or "one scale",
            f"{scale.framework.name}, version {scale.framework.version}" if scale.framework.name else "none",
            scale.dimension.level,
            "; ".join(f"{point.value:g} {point.text}".strip() for point in scale.dimension.points),
        ]
        for scale in content.shown_scales
    ]
    return Table("scales", "Scales", ("Scale", "Framework", "Level", "Points"), rows, texts=4)


def left_out_table(content: ReportContent) -> Table:
    """What has no part in any statistic, and why."""
    account = content.account
    rows = [["Rater", rater.name, rater_reason(rater)] for rater in account.raters_not_used()]
    rows += [["Ratings", f"{count:,}", reason] for reason, count in ratings_left_out(account.ratings)]
    for one in account.single:
        why = exclusion_reason(one.reason, one.explanation)
        rows.append(["Ratings of one item", f"{one.rater} on {one.item} ({one.block})", why])
    for block in account.blocks:
        for group in block.beside:
            if group.use is not ItemUse.REPEAT:
                noun = "item" if group.n == 1 else "items"
                why = group.use.value
                rows.append([f"Items of {block.block}", f"{group.n:,} {ROLES[group.use]} {noun}", why])
    more = [f"The first {MOST_ROWS:,} of {len(rows):,}; the workbook has all."] if len(rows) > MOST_ROWS else []
    return Table("left-out", "What was left out", ("What", "Which", "Why"), rows[:MOST_ROWS], more, texts=3)


def notes_table(content: ReportContent) -> Table:
    """Numbers that are easily misread."""
    rows = [
        [content.label_of(TableKey(note.block, note.framework, note.dimension)), content.side_label(note.a), note.text]
        for note in content.notes
    ]
    return Table("notes", "Numbers that are easily misread", ("Scale", "Raters", "Note"), rows, texts=3)


def _key(row: AgreementRow) -> TableKey:
    return TableKey(row.block, row.framework, row.dimension)


def _beside(content: ReportContent) -> str:
    interval = "its 95 % interval and " if content.settings.resamples else ""
    return f"Beside each value {interval}the number of items."


def _number(value: float) -> str:
    """Two decimals, a true minus sign, and none before a zero."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\u2212")


def _estimate(row: AgreementRow, rule: Stars) -> Cell:
    """`0.62***`, beside it `0.41 to 0.75` and `n 50`; or why there is no value."""
    if row.value is None:
        return Cell("not defined", (row.reason,))
    count = f"n {row.n_items:,}"
    shown = f"{_number(row.value)}{stars_of(row, rule)}"
    if row.ci_low is None or row.ci_high is None:
        return Cell(shown, (count,))
    return Cell(shown, (f"{_number(row.ci_low)} to {_number(row.ci_high)}", count))
