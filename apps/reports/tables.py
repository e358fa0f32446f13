"""Agreement as text: `agreement.csv` (the contract's columns) and `agreement.json` (the same and how it came)."""

import io
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from apps.common.formulas import escape_formula
from apps.frameworks.scales import NUMBER
from apps.reliability.agreement import COLUMNS, AgreementRow
from apps.reliability.documents import Report, document_of
from apps.reports.csv_rows import row_writer

DECIMALS = 6
# What a file of ratings calls its scales and raters is free text, which a spreadsheet might run as a formula.
FREE_TEXT = ("dimension", "a", "b")


def csv_text(report: Report) -> str:
    """The rows as CSV: contract columns in order, `\\n` line ends, 6 decimals, an empty cell for what is undefined."""
    return "".join(csv_lines(report.agreement.rows))


def csv_lines(rows: Iterable[AgreementRow]) -> Iterator[str]:
    """The lines of `csv_text` one by one, the columns' names first."""
    line = io.StringIO(newline="")
    writer = row_writer(line)
    for cells in itertools.chain([COLUMNS], map(_cells, rows)):
        writer.writerow(cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def json_text(report: Report) -> str:
    """The report as one JSON object (`document_of`): numbers in full, null for what is undefined, never NaN."""
    return json.dumps(document_of(report), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _cells(row: AgreementRow) -> list[str]:
    return [_cell(_harmless(column, getattr(row, column))) for column in COLUMNS]


def _harmless(column: str, value: Any) -> Any:
    """Free text escaped against formulas; a name that is a number, such as -1, is none."""
    return value if column not in FREE_TEXT or NUMBER.fullmatch(value) else escape_formula(value)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        # Adding zero turns a rounded -0.000000 into 0.000000.
        return f"{round(value, DECIMALS) + 0.0:.{DECIMALS}f}"
    return str(value)
