"""CSV and TSV: the delimiter is found out, quoted cells may hold delimiters, doubled quotes and line breaks."""

import csv
import io
from collections.abc import Iterable, Iterator

from apps.corpus.parsing.limits import MAX_RECORD_CHARACTERS
from apps.corpus.parsing.records import FileError, Problem
from apps.corpus.parsing.tables import Row, check_headers

DELIMITERS = (",", ";", "\t", "|")
SNIFFED_RECORDS = 200

# Python's own bound of 131,072 characters would refuse a long turn. The setting is one for the whole process.
csv.field_size_limit(MAX_RECORD_CHARACTERS)


def sniff_delimiter(sample: str) -> str:
    """The delimiter among comma, semicolon, tab and bar under which the rows of `sample` best fit their header.

    Cells are parsed with each candidate, quotes respected; the score is the number of columns times the share of rows
    with as many cells as the header. One column only: a comma.
    """
    best, best_score = ",", 0.0
    for delimiter in DELIMITERS:
        score = _fit(sample, delimiter)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _fit(sample: str, delimiter: str) -> float:
    counts: list[int] = []
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                counts.append(len(cells))
            if len(counts) > SNIFFED_RECORDS:
                break
    except csv.Error:
        return 0.0
    if not counts or counts[0] < 2:
        return 0.0
    header, *rows = counts
    # The sample may end within its last record.
    whole = rows[:-1] or rows
    share = sum(count == header for count in whole) / len(whole) if whole else 1.0
    return (header - 1) * share


class _Lines:
    """Lines on their way to the csv reader; remembers whether one of them held a NUL."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = iter(lines)
        self.saw_nul = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        if "\0" in line:
            self.saw_nul = True
        return line


class DelimitedRows:
    """The rows of a delimited text. `columns` is read at once; iterating yields Row and Problem."""

    def __init__(self, lines: Iterable[str], delimiter: str) -> None:
        self._lines = _Lines(lines)
        self._reader = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self._number = 0
        header = self._header()
        self.columns = check_headers(header)

    def _header(self) -> list[str]:
        for cells in self._records():
            if isinstance(cells, Problem):
                raise FileError(f"The header cannot be read: {cells.message}.")
            return cells
        raise FileError("The file is empty.")

    def __iter__(self) -> Iterator[Row | Problem]:
        width = len(self.columns)
        for cells in self._records():
            if isinstance(cells, Problem):
                yield cells
                continue
            if len(cells) > width and not any(cells[width:]):
                del cells[width:]
            if len(cells) != width:
                yield Problem(self._number, "", f"has {len(cells)} cells where the header has {width}")
                continue
            yield Row(self._number, dict(zip(self.columns, cells, strict=True)))

    def _records(self) -> Iterator[list[str] | Problem]:
        """Cells of each record that is not blank; `_number` counts the blank ones too, as a spreadsheet does."""
        while True:
            self._number += 1
            self._lines.saw_nul = False
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield self._fault(error)
                continue
            if self._lines.saw_nul:
                yield Problem(self._number, "", "holds a NUL byte, which text cannot hold")
            elif cells:
                yield cells

    def _fault(self, error: csv.Error) -> Problem:
        message = str(error)
        if "field limit" in message or "unexpected end" in message:
            raise FileError(
                f"Row {self._number}: a quoted cell is not closed, so the rest of the file would belong to it. "
                "Close it, and double every quote inside a quoted cell."
            )
        return Problem(
            self._number, "", "a quoted cell goes on after its closing quote; double every quote inside a quoted cell"
        )
