"""XLSX by openpyxl: stored values, never formulas; bounded by its unpacked size before it is opened."""

import re
import warnings
import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

import openpyxl
from defusedxml import DefusedXmlException

from apps.corpus.parsing.cells import ErrorText
from apps.corpus.parsing.limits import MAX_ROWS, MAX_WORKBOOK_BYTES, MEBIBYTE
from apps.corpus.parsing.records import FileError, Finding, Notice, Problem
from apps.corpus.parsing.tables import Row, check_headers

if not openpyxl.DEFUSEDXML:
    raise ImportError("Workbooks are read only with defusedxml: install it, and leave OPENPYXL_DEFUSEDXML unset.")

MAX_PARTS = 10_000
BATCH = 500
CARRIAGE_RETURN = re.compile("_x000D_", re.IGNORECASE)


def check_size(file: BinaryIO) -> None:
    """Raises FileError for a workbook that is too large unpacked, or is no workbook. Unpacks nothing.

    The sizes are those the archive declares: zipfile never hands out more of a part than its declared size.
    """
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
            names = set(archive.namelist())
    except Exception:
        # BadZipFile, but also NotImplementedError, ValueError and others, as the damage will have it.
        raise FileError("The file begins like an Excel workbook but is damaged or cut off.") from None
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MAX_WORKBOOK_BYTES or len(parts) > MAX_PARTS:
        raise FileError(
            f"The workbook would unpack to {unpacked / MEBIBYTE:,.0f} MiB; "
            f"at most {MAX_WORKBOOK_BYTES // MEBIBYTE} MiB are allowed."
        )
    if "[Content_Types].xml" not in names:
        raise FileError("The file is a ZIP archive but no Excel workbook; unpack it first.")


class WorkbookRows:
    """The rows of a workbook's first visible sheet. `columns` is read at once; iterating yields rows and notices."""

    def __init__(self, file: BinaryIO) -> None:
        check_size(file)
        file.seek(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        except Exception as error:
            # zipfile, zlib, the XML parser and openpyxl each raise errors of their own for a damaged workbook.
            raise FileError(f"The workbook cannot be read: {_reason(error)}.") from None
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        if not sheets:
            raise FileError("The workbook has no visible sheet.")
        self.sheet, self.others = sheets[0].title, [sheet.title for sheet in sheets[1:]]
        sheets[0].reset_dimensions()
        self._rows = self._values(sheets[0])
        for number, cells in self._rows:
            self.columns = check_headers([_header_text(cell) for cell in cells])
            self._header_number = number
            return
        raise FileError(f"The sheet {self.sheet} is empty.")

    def __iter__(self) -> Iterator[Row | Finding]:
        if self.others:
            yield Notice(None, "", f"only the sheet {self.sheet} is read; not read: {', '.join(self.others)}")
        width = len(self.columns)
        for number, cells in self._rows:
            if any(cell is not None for cell in cells[width:]):
                yield Problem(number, "", f"has {len(cells)} cells where the header has {width}")
                continue
            cells += [None] * (width - len(cells))
            yield Row(number, dict(zip(self.columns, cells[:width], strict=True)))

    def _values(self, sheet: Any) -> Iterator[tuple[int, list[object]]]:
        """Number and values of each row that is not empty."""
        rows = enumerate(sheet.iter_rows(), start=1)
        while batch := _take(rows):
            for number, cells in batch:
                if number > MAX_ROWS:
                    raise FileError(f"The sheet has more than {MAX_ROWS:,} rows.")
                values = [_value(cell) for cell in cells]
                if any(value is not None for value in values):
                    yield number, values


def _take(rows: Iterator[Any]) -> list[Any]:
    try:
        with warnings.catch_warnings():
            # openpyxl warns of styles and of dates out of range; the cells are judged by what they hold.
            warnings.simplefilter("ignore")
            return list(islice(rows, BATCH))
    except Exception as error:
        raise FileError(f"The workbook cannot be read: {_reason(error)}.") from None


def _value(cell: Any) -> object:
    value = cell.value
    if isinstance(value, str):
        if cell.data_type == "e":
            return ErrorText(value)
        # Excel writes a carriage return inside a cell as _x000D_; openpyxl leaves it so.
        return CARRIAGE_RETURN.sub("\r", value) or None
    return value


def _header_text(value: object) -> str:
    return "" if value is None else str(value)


def _reason(error: BaseException) -> str:
    # openpyxl wraps what went wrong in a longer message of its own.
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    if isinstance(error, DefusedXmlException):
        return "it declares XML entities, which no spreadsheet program writes"
    return str(error).partition("\n")[0].rstrip(".")[:200] or type(error).__name__
