"""The report as a workbook: one sheet for each table, numbers as numbers, never a formula. Pure.

The same report gives the same bytes: the times that a workbook carries are those of the report.
"""

import io
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from apps.common.formulas import escape_formula
from apps.frameworks.scales import NUMBER
from apps.measures.groups import GROUP_STATISTICS
from apps.measures.pairs import Convention
from apps.reliability.accounting import BlockAccount, ItemUse
from apps.reliability.agreement import COLUMNS, AgreementRow
from apps.reliability.benchmarks import Estimate, ScaleBenchmark
from apps.reports import model_checks
from apps.reports.archive import TIMESTAMP
from apps.reports.benchmark_rows import benchmarks_of
from apps.reports.contents import Part, ReportContent, part_of
from apps.reports.long_table import ROLES
from apps.reports.model_checks import check_rows
from apps.reports.wording import (
    CONVENTIONS,
    STARS,
    adjustment_text,
    exclusion_reason,
    filter_text,
    intervals_text,
    rater_reason,
    ratings_left_out,
    stars_of,
    undefined_text,
)

# What XML has no place for; openpyxl itself lets the last two through, and nothing opens the workbook then.
UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
MAX_ROWS = 1_048_576
MAX_TEXT = 32_767
FIGURE = "0.000"
P_VALUE = "0.0000"
COUNT = "#,##0"
_WIDTHS = {"reason": 34, "statistic": 22, "text": 110, "a": 26, "b": 26, "citation": 80, "item": 26}


@dataclass(frozen=True)
class Sheet:
    """A table: its name, its columns with the format of their numbers (empty: text or as it is), and its rows."""

    name: str
    columns: Sequence[tuple[str, str]]
    rows: Iterable[Sequence[Any]]


def write_workbook(content: ReportContent, out: BinaryIO) -> None:
    """The workbook of the report."""
    workbook = Workbook(write_only=True)
    for sheet in _sheets(content):
        _write_sheet(workbook, sheet)
    workbook.properties.creator = f"Accord {content.versions.get('accord', '')}".strip()
    workbook.properties.title = _clean(content.title)
    workbook.properties.created = _utc(content.generated_at)
    with tempfile.TemporaryFile() as raw:
        workbook.save(raw)
        raw.seek(0)
        with tempfile.TemporaryFile() as settled:
            _settle(raw, settled, _utc(content.generated_at))
            settled.seek(0)
            shutil.copyfileobj(settled, out)


def _settle(raw: BinaryIO | Any, out: BinaryIO | Any, at: datetime) -> None:
    """The same workbook without the time at which it was written."""
    with zipfile.ZipFile(raw) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for info in sorted(source.infolist(), key=lambda one: one.filename):
            fixed = zipfile.ZipInfo(info.filename, TIMESTAMP)
            fixed.compress_type = zipfile.ZIP_DEFLATED
            fixed.create_system = 3
            if info.filename == "docProps/core.xml":
                stamp = f">{at:%Y-%m-%dT%H:%M:%SZ}</dcterms:modified>".encode()
                target.writestr(fixed, re.sub(rb">[^<]*</dcterms:modified>", stamp, source.read(info)))
            else:
                with source.open(info) as member, target.open(fixed, "w") as inside:
                    shutil.copyfileobj(member, inside)


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(tzinfo=None, microsecond=0)


def _write_sheet(workbook: Workbook, sheet: Sheet) -> None:
    made = workbook.create_sheet(sheet.name)
    made.freeze_panes = "A2"
    for number, (name, kind) in enumerate(sheet.columns, start=1):
        width = _WIDTHS.get(name, 12 if kind else 20)
        made.column_dimensions[get_column_letter(number)].width = max(width, len(name) + 2)
    bold = Font(bold=True)
    header = [WriteOnlyCell(made, value=name) for name, _kind in sheet.columns]
    for cell in header:
        cell.font = bold
    made.append(header)
    cells = [_column_cell(made, kind) for _name, kind in sheet.columns]
    last = 1
    for row in sheet.rows:
        if last == MAX_ROWS - 1:
            made.append([f"A sheet holds no more than {MAX_ROWS} rows: the rest is in the other files."])
            last += 1
            break
        made.append([_filled(cell, value) for cell, value in zip(cells, row, strict=True)])
        last += 1
    made.auto_filter.ref = f"A1:{get_column_letter(len(sheet.columns))}{last}"


def _column_cell(sheet: Any, kind: str) -> Any:
    """The one cell of a column: a row is written as soon as it is there, and to make a styled cell takes long."""
    cell = WriteOnlyCell(sheet)
    if kind:
        cell.number_format = kind
    return cell


def _filled(cell: Any, value: Any) -> Any:
    """The cell with a typed value: numbers and truth values as they are, text harmless, None for what is undefined."""
    if value is None or value == "":
        return None
    if isinstance(value, bool | int | float):
        cell.value = value
        return cell
    text = str(value)
    cell.value = _clean(text if NUMBER.fullmatch(text) else escape_formula(text))
    # Whatever it looks like, it is text: no formula and no error.
    cell.data_type = "s"
    return cell


def _clean(text: str) -> str:
    """Without characters that no workbook can hold, and no longer than a cell."""
    return UNWRITABLE.sub("\ufffd", text)[:MAX_TEXT]


def _sheets(content: ReportContent) -> Iterator[Sheet]:
    yield _about(content)
    yield Sheet("Agreement", _row_columns(), (_row_cells(row) for row in content.rows))
    yield _benchmark(content)
    yield _pairs(content)
    yield _groups(content)
    yield _averages(content)
    yield _notes(content)
    yield _raters(content)
    yield _scales(content)
    if content.shown_models:
        yield _models(content)
    if content.shown_checks:
        yield _model_checks(content)
    yield _left_out(content)


def _about(content: ReportContent) -> Sheet:
    agreement = content.agreement
    facts: list[tuple[str, Any]] = [
        ("title", content.title),
        ("study" if content.study else "file", content.study or content.ratings_file),
        ("computed", f"{content.generated_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"),
        ("ratings", agreement.ratings),
        ("raters", agreement.raters),
        ("scales", agreement.tables),
        ("rows", len(content.rows)),
        ("convention", CONVENTIONS[content.settings.convention] + "."),
        ("intervals", intervals_text(content)),
        ("p-values", adjustment_text()),
        ("stars", STARS[content.options.stars]),
        ("undefined", f"{undefined_text(content.rows)} Their cells are empty, the reason stands in its column."),
        ("shown", filter_text(content.options) or "Every statistic that was computed."),
        ("seed", content.settings.seed),
        ("resamples", content.settings.resamples),
        ("hash of the data", content.agreement.data_hash),
        ("versions", ", ".join(f"{name} {number}" for name, number in content.versions.items())),
        ("the same again", content.command),
    ]
    return Sheet("About", (("what", ""), ("text", "")), facts)


def _row_columns() -> list[tuple[str, str]]:
    kinds = dict.fromkeys(("value", "ci_low", "ci_high"), FIGURE) | dict.fromkeys(("p_value", "p_adjusted"), P_VALUE)
    return [(name, kinds.get(name, COUNT if name.startswith("n_") else "")) for name in COLUMNS]


def _row_cells(row: AgreementRow) -> list[Any]:
    return [getattr(row, name) for name in COLUMNS]


def _benchmark(content: ReportContent) -> Sheet:
    """Each scale with what the experts reach among themselves and each side beside them."""
    figures = [(name, FIGURE) for name in ("experts_low", "experts_median", "experts_high")]
    columns = [("block", ""), ("framework", ""), ("dimension", ""), *figures]
    columns += [("experts_undefined", COUNT), ("side", ""), ("kind", ""), *_estimate_columns(), ("reason", "")]
    benchmarks = benchmarks_of(content, content.rows)
    return Sheet("Benchmark", columns, (row for one in benchmarks for row in _benchmark_rows(one)))


def _benchmark_rows(one: ScaleBenchmark) -> Iterator[list[Any]]:
    head = [*one.key, one.low, one.median, one.high, one.n_undefined]
    for side in one.sides:
        yield [*head, side.name, side.kind.value, *_estimate_cells(side.estimate), side.estimate.reason]
    if not one.sides and one.expert_pairs:
        yield [*head, "", "", *[None] * len(_estimate_columns()), ""]


def _estimate_columns() -> list[tuple[str, str]]:
    return [
        *((name, FIGURE) for name in ("kappa_quadratic", "ci_low", "ci_high")),
        *((name, P_VALUE) for name in ("p_value", "p_adjusted")),
        ("n_items", COUNT),
    ]


def _estimate_cells(one: Estimate) -> list[Any]:
    return [one.value, one.ci_low, one.ci_high, one.p_value, one.p_adjusted, one.n_items]


def _pairs(content: ReportContent) -> Sheet:
    """Every pair in one row: weighted kappa in both conventions, raw agreement and the rest of the statistics."""
    chosen, other = content.settings.convention, _other(content.settings.convention)
    others = {_place(row): row for row in content.other_rows if row.statistic == "kappa_quadratic"}
    pairs = _by_pair(content.rows)
    names = list(dict.fromkeys(name for found in pairs.values() for name in found if name != "kappa_quadratic"))
    columns = [("block", ""), ("framework", ""), ("dimension", ""), ("a", ""), ("b", ""), ("n_items", COUNT)]
    columns += [(f"kappa_quadratic ({chosen})", FIGURE), ("ci_low", FIGURE), ("ci_high", FIGURE)]
    columns += [("p_value", P_VALUE), ("p_adjusted", P_VALUE), ("stars", ""), ("reason", "")]
    columns += [(f"kappa_quadratic ({other})", FIGURE), *((name, FIGURE) for name in names)]

    def rows() -> Iterator[list[Any]]:
        for place, found in pairs.items():
            row = found.get("kappa_quadratic")
            beside = others.get((*place, "kappa_quadratic"))
            cells = [*place, max(one.n_items for one in found.values())]
            cells += [row.value, row.ci_low, row.ci_high, row.p_value, row.p_adjusted] if row else [None] * 5
            cells += [stars_of(row, content.options.stars), row.reason] if row else ["", ""]
            cells.append(beside.value if beside else None)
            yield cells + [found[name].value if name in found else None for name in names]

    return Sheet("Pairs", columns, rows())


def _other(convention: Convention) -> Convention:
    return Convention.OBSERVED if convention is Convention.SCALE else Convention.SCALE


def _place(row: AgreementRow) -> tuple[str, ...]:
    return row.block, row.framework, row.dimension, row.a, row.b, row.statistic


def _by_pair(rows: Iterable[AgreementRow]) -> dict[tuple[str, ...], dict[str, AgreementRow]]:
    found: dict[tuple[str, ...], dict[str, AgreementRow]] = {}
    for row in rows:
        if part_of(row) is Part.PAIRS:
            found.setdefault(_place(row)[:-1], {})[row.statistic] = row
    return found


def _groups(content: ReportContent) -> Sheet:
    """The agreement within each group: a row for each statistic, without the columns that only pairs have."""
    columns = [("block", ""), ("framework", ""), ("dimension", ""), ("group", ""), ("statistic", "")]
    columns += [("value", FIGURE), ("ci_low", FIGURE), ("ci_high", FIGURE)]
    columns += [(name, COUNT) for name in ("n_items", "n_raters", "n_ratings", "n_degenerate")] + [("reason", "")]
    rows = (
        [*_scale_of(row), row.a, row.statistic, row.value, row.ci_low, row.ci_high, *_counts_of(row), row.reason]
        for row in content.rows
        if part_of(row) is Part.GROUPS and row.statistic in GROUP_STATISTICS
    )
    return Sheet("Groups", columns, rows)


def _scale_of(row: AgreementRow) -> tuple[str, str, str]:
    return row.block, row.framework, row.dimension


def _counts_of(row: AgreementRow) -> tuple[int, int, int, int]:
    return row.n_items, row.n_raters, row.n_ratings, row.n_degenerate


def _averages(content: ReportContent) -> Sheet:
    texts = ("block", "framework", "statistic", "a", "b", "convention")
    columns = [*((name, "") for name in texts), ("value", FIGURE), ("n_dimensions", COUNT), ("n_undefined", COUNT)]
    names = [name for name, _kind in columns]
    return Sheet("Averages", columns, ([one[name] for name in names] for one in content.averages))


def _notes(content: ReportContent) -> Sheet:
    columns = [(name, "") for name in ("block", "framework", "dimension", "a", "text")]
    rows = ([note.block, note.framework, note.dimension, note.a, note.text] for note in content.notes)
    return Sheet("Notes", columns, rows)


def _raters(content: ReportContent) -> Sheet:
    columns = [("rater", ""), ("kind", ""), ("aggregate", ""), ("used", ""), ("reason", "")]
    used = ([rater.name, rater.kind or "", rater.is_aggregate, True, ""] for rater in content.raters)
    others = content.account.raters_not_used()
    left_out = ([one.name, one.kind, one.is_aggregate, False, rater_reason(one)] for one in others)
    return Sheet("Raters", columns, (*used, *left_out))


def _scales(content: ReportContent) -> Sheet:
    """Every point of every scale with its label, so that none is a text that would have to be taken apart."""
    texts = ("block", "framework", "framework_name")
    columns = [*((name, "") for name in texts), ("version", "0"), ("dimension", ""), ("label", ""), ("level", "")]
    columns += [("point", "General"), ("point_label", ""), ("citation", "")]

    def rows() -> Iterator[list[Any]]:
        for scale in content.shown_scales:
            framework, dimension = scale.framework, scale.dimension
            head = [scale.block.slug, framework.slug, framework.name, framework.version or None]
            head += [dimension.slug, dimension.label, dimension.level]
            for point in dimension.points:
                yield [*head, point.value, point.text, framework.citation]

    return Sheet("Scales", columns, rows())


def _models(content: ReportContent) -> Sheet:
    """What each model was asked with."""
    names = ("rater", "model", "provider", "base_url", "prompt", "prompt_version", "asks_for", "samples")
    columns = [*((name, "") for name in names), ("parameters", ""), ("content_hash", "")]
    rows = (
        [*(getattr(one, name) for name in names), json.dumps(dict(one.parameters), sort_keys=True), one.content_hash]
        for one in content.shown_models
    )
    return Sheet("Models", columns, rows)


def _model_checks(content: ReportContent) -> Sheet:
    """Every figure of the checks of their runs."""
    kinds = dict.fromkeys(("value", "ci_low", "ci_high"), FIGURE) | dict.fromkeys(("p_value", "p_adjusted"), P_VALUE)
    columns = [(name, kinds.get(name, COUNT if name.startswith("n_") else "")) for name in model_checks.COLUMNS]
    return Sheet("Model checks", columns, ([row[name] for name in model_checks.COLUMNS] for row in check_rows(content)))


def _left_out(content: ReportContent) -> Sheet:
    """What has no part in any figure, and why."""
    columns = [("what", ""), ("block", ""), ("item", ""), ("role", ""), ("rater", ""), ("count", COUNT), ("reason", "")]
    account = content.account

    def rows() -> Iterator[list[Any]]:
        for rater in account.raters_not_used():
            yield ["rater", "", "", rater.kind, rater.name, 1, rater_reason(rater)]
        for reason, count in ratings_left_out(account.ratings):
            yield ["ratings", "", "", "", "", count, reason]
        for one in account.single:
            why = exclusion_reason(one.reason, one.explanation)
            yield ["ratings of an item", one.block, one.item, "", one.rater, 1, why]
        for block in account.blocks:
            yield from _items_left_out(block)

    return Sheet("Left out", columns, rows())


def _items_left_out(block: BlockAccount) -> Iterator[list[Any]]:
    for group in block.beside:
        if group.use is not ItemUse.REPEAT:
            for item in group.items:
                yield ["item", block.block, item, ROLES[group.use], "", 1, group.use.value]
            if not group.items:
                yield ["items", block.block, "", ROLES[group.use], "", group.n, group.use.value]


def workbook_bytes(content: ReportContent) -> bytes:
    """The workbook in memory."""
    file = io.BytesIO()
    write_workbook(content, file)
    return file.getvalue()
