"""What the parsers make of a few bytes, sorted by kind."""

import io
from dataclasses import dataclass, field
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet

from apps.corpus.parsing.mapping import parse_mapping
from apps.corpus.parsing.reading import ConversationReader, open_conversations
from apps.corpus.parsing.records import ConversationRecord, Notice, Problem


@dataclass
class Reading:
    reader: ConversationReader
    records: list[ConversationRecord] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    @property
    def texts(self) -> dict[str, list[str]]:
        return {record.external_id: [turn.text for turn in record.turns] for record in self.records}

    @property
    def lines(self) -> list[str]:
        """Problems as they are printed."""
        return [str(problem) for problem in self.problems]


def read(
    data: bytes | str,
    *maps: str,
    constants: tuple[str, ...] = (),
    format: str | None = None,
    encoding: str | None = None,
    name: str = "",
    **switches: bool,
) -> Reading:
    """Read a whole file. `maps` and `constants` as on the command line; text is UTF-8."""
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    mapping = parse_mapping(maps, constants, **switches)
    reading = Reading(open_conversations(file, name=name, mapping=mapping, format=format, encoding=encoding))
    for found in reading.reader:
        kind = (
            reading.records
            if isinstance(found, ConversationRecord)
            else reading.notices
            if isinstance(found, Notice)
            else reading.problems
        )
        kind.append(found)
    return reading


def workbook(*rows: list[Any], sheets: tuple[str, ...] = ("Sheet1",)) -> bytes:
    """An XLSX file with `rows` on its first sheet, the others empty."""
    book = openpyxl.Workbook()
    book.active.title = sheets[0]
    for row in rows:
        book.active.append(row)
    for title in sheets[1:]:
        book.create_sheet(title)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()
