"""Any file as rows of columns: its format is told by content, its encoding by its mark."""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain, islice
from typing import BinaryIO

from apps.corpus.parsing.delimited import DelimitedRows, sniff_delimiter
from apps.corpus.parsing.encodings import choose_encoding, text_chunks, text_lines
from apps.corpus.parsing.formats import Format, begins_like_json, binary_format, read_head
from apps.corpus.parsing.json_text import is_single_object, read_json, read_json_lines
from apps.corpus.parsing.limits import MAX_FILE_BYTES, MEBIBYTE, SAMPLE_ROWS
from apps.corpus.parsing.records import FileError, Finding
from apps.corpus.parsing.tables import Row

SNIFFED_CHUNKS = 1


@dataclass
class Table:
    """An opened file. `columns` are its headers; of JSON, the keys of its first 200 records.

    `rows` may be read once; `sample` are those among the first 200 that can be read, `unreadable` says what is wrong
    with the others. `delimiter` and `encoding` are empty where there is none.
    """

    format: Format
    columns: list[str]
    rows: Iterator[Row | Finding]
    sample: list[Row]
    encoding: str = ""
    delimiter: str = ""
    is_cut: bool = False
    unreadable: list[Finding] = field(default_factory=list)

    def cut(self, rows: int) -> None:
        """Read no further than the first so many rows. `is_cut` tells afterwards whether there were more."""
        self.rows = self._first(self.rows, rows)

    def watch(self, told: Callable[[int], None], every: int = 100) -> None:
        """Call `told` with the number of rows handed out so far, now and then. What it raises ends the reading."""
        self.rows = self._watched(self.rows, told, every)

    @staticmethod
    def _watched(source: Iterator[Row | Finding], told: Callable[[int], None], every: int) -> Iterator[Row | Finding]:
        count = 0
        for count, row in enumerate(source, start=1):
            if count % every == 0:
                told(count)
            yield row
        told(count)

    def _first(self, source: Iterator[Row | Finding], rows: int) -> Iterator[Row | Finding]:
        yield from islice(source, rows)
        self.is_cut = next(source, None) is not None


def open_table(file: BinaryIO, *, format: str | None = None, encoding: str | None = None) -> Table:
    """Open a file of rows, whatever they hold.

    `format` (csv, tsv, jsonl, json, xlsx, parquet) and `encoding` are found out unless given.
    Raises FileError where it cannot be read at all, EncodingError where its beginning is not text.
    """
    _check_bytes(file)
    asked = _asked_format(format)
    head = read_head(file)
    binary = binary_format(head)
    if asked and asked != binary and (binary or asked in (Format.XLSX, Format.PARQUET)):
        raise FileError(f"The file is not {asked}: it is {binary or 'plain text'}.")
    if binary:
        return _open_binary(file, binary)
    return _open_text(file, choose_encoding(head, encoding), asked)


def _check_bytes(file: BinaryIO) -> None:
    if not file.seekable():
        raise FileError("The file is a stream that can be read once only; save it first.")
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if size == 0:
        raise FileError("The file is empty.")
    if size > MAX_FILE_BYTES:
        raise FileError(
            f"The file has {size / MEBIBYTE:,.0f} MiB; at most {MAX_FILE_BYTES // MEBIBYTE} MiB are allowed."
        )


def _asked_format(name: str | None) -> Format | None:
    if not name:
        return None
    try:
        return Format(name.lower())
    except ValueError:
        raise FileError(f"{name} is not a format known here; expected one of {', '.join(Format)}.") from None


def _open_binary(file: BinaryIO, format: Format) -> Table:
    # openpyxl and pyarrow cost half a second and 60 MB: they are loaded with the first file that needs them.
    if format is Format.XLSX:
        source = import_module("apps.corpus.parsing.workbook").WorkbookRows(file)
    else:
        source = import_module("apps.corpus.parsing.columnar").ParquetRows(file)
    rows, sample, unreadable = _sampled(source)
    return Table(format, source.columns, rows, sample, unreadable=unreadable)


def _open_text(file: BinaryIO, encoding: str, asked: Format | None) -> Table:
    beginning = "".join(islice(text_chunks(file, encoding), SNIFFED_CHUNKS))
    if not beginning.strip():
        raise FileError("The file is empty.")
    format = asked or _text_format(file, encoding, beginning)
    chunks = text_chunks(file, encoding)
    if format in (Format.JSON, Format.JSONL):
        source = read_json(chunks) if format is Format.JSON else read_json_lines(text_lines(chunks))
        rows, sample, unreadable = _sampled(source)
        columns = list(dict.fromkeys(name for row in sample for name in row.values))
        return Table(format, columns, rows, sample, encoding, unreadable=unreadable)
    delimiter = "\t" if asked is Format.TSV else sniff_delimiter(beginning)
    delimited = DelimitedRows(text_lines(chunks), delimiter)
    rows, sample, unreadable = _sampled(delimited)
    told = Format.TSV if delimiter == "\t" else Format.CSV
    return Table(asked or told, delimited.columns, rows, sample, encoding, delimiter, unreadable=unreadable)


def _text_format(file: BinaryIO, encoding: str, beginning: str) -> Format:
    if not begins_like_json(beginning):
        return Format.CSV
    if beginning.lstrip(" \t\r\n\ufeff").startswith("["):
        return Format.JSON
    return Format.JSON if is_single_object(text_chunks(file, encoding)) else Format.JSONL


def _sampled(
    source: Iterable[Row | Finding],
) -> tuple[Iterator[Row | Finding], list[Row], list[Finding]]:
    """The rows again from the first, those among the first 200 that can be read, and what is found of the others."""
    rows = iter(source)
    first = list(islice(rows, SAMPLE_ROWS))
    return (
        chain(first, rows),
        [row for row in first if isinstance(row, Row)],
        [row for row in first if not isinstance(row, Row)],
    )
