"""Agreement as files: `agreement.csv` (the contract's columns) and `agreement.json` (the same rows and how they came).

A folder gets all files of a report or none: they are written beside their places and moved in when all are complete.
"""

import csv
import io
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from apps.common.formulas import escape_formula
from apps.frameworks.scales import NUMBER
from apps.reliability.agreement import COLUMNS, AgreementRow
from apps.reliability.documents import Report, document_of

DECIMALS = 6
# What a file of ratings calls its scales and raters is free text, which a spreadsheet might run as a formula.
FREE_TEXT = ("dimension", "a", "b")


class UnknownFormatError(ValueError):
    """A format of files that is not written here. The message names those that are."""


def csv_text(report: Report) -> str:
    """The rows as CSV: contract columns in order, `\\n` line ends, 6 decimals, an empty cell for what is undefined."""
    return "".join(csv_lines(report.agreement.rows))


def csv_lines(rows: Iterable[AgreementRow]) -> Iterator[str]:
    """The lines of `csv_text` one by one, the columns' names first."""
    line = io.StringIO(newline="")
    writer = csv.writer(line, lineterminator="\n")
    for cells in itertools.chain([COLUMNS], map(_cells, rows)):
        writer.writerow(cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def json_text(report: Report) -> str:
    """The report as one JSON object (`document_of`): numbers in full, null for what is undefined, never NaN."""
    return json.dumps(document_of(report), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


FORMATS: Mapping[str, Callable[[Report], str]] = {"csv": csv_text, "json": json_text}


def parse_formats(text: str) -> list[str]:
    """Formats from `csv,json`, each once. Raises UnknownFormatError."""
    names = list(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in FORMATS]
    if unknown or not names:
        raise UnknownFormatError(
            f"Unknown format {', '.join(unknown) or repr(text)}; expected one of {', '.join(FORMATS)}."
        )
    return names


def write_report(report: Report, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write `agreement.FORMAT` for each format into `folder`, which is made if need be. Raises OSError."""
    texts = {folder / f"agreement.{name}": FORMATS[name](report) for name in formats}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".agreement-") as beside:
        for path, text in texts.items():
            (Path(beside) / path.name).write_text(text, encoding="utf-8", newline="")
        for path in texts:
            os.replace(Path(beside) / path.name, path)
    return list(texts)


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
