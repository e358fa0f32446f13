"""Ratings as long files: one row for each rating, in CSV, JSON Lines or Parquet. Pure.

The columns are those that `import_ratings` reads, so an exported file can be imported again.
"""

import csv
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import pyarrow
import pyarrow.parquet

from apps.common.formulas import escape_formula
from apps.frameworks.scales import NUMBER

# Many enough for the row groups of a Parquet file to be worth it, few enough to be held in memory.
ROWS_AT_ONCE = 20_000
# What is written down or sent at a time: lines one by one cost more than what is in them.
PIECE_BYTES = 64 * 1024


class Passage(TypedDict):
    """A passage given as evidence: half-open offsets in code points of that turn, or null where it was not found."""

    quote: str
    turn: int | None
    start: int | None
    end: int | None


class ExportedRating(NamedTuple):
    """One row. `item` is the id of the conversation; `excluded` says why the rating is left out of statistics."""

    block: str
    framework: str
    framework_version: int
    dimension: str
    item: str
    item_role: str
    rater: str
    kind: str
    is_aggregate: bool
    is_simulated: bool
    value: float | None
    cannot_tell: bool
    comment: str
    created_at: datetime
    updated_at: datetime
    evidence: list[Passage]
    excluded: str


COLUMNS = ExportedRating._fields
# Words of people. Ids and names too, unless they are plain numbers.
FREE_TEXT = ("comment", "excluded")
NAMES = ("item", "rater")


class UnknownFormatError(ValueError):
    """The name of the file ends in no format that is written here. The message names those that are."""


def write_export(ratings: Iterable[ExportedRating], path: Path) -> int:
    """Writes the rows in the format the name ends in; how many they were.

    The file appears under its name when it is complete. Raises UnknownFormatError before anything is read, OSError
    where the folder cannot be written.
    """
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        expected = ", ".join(FORMATS)
        raise UnknownFormatError(f"{path.name} ends in none of the formats written here: {expected}.")
    counted = _Counted(ratings)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as beside:
        unfinished = Path(beside) / path.name
        with unfinished.open("wb") as file:
            for piece in write(counted):
                file.write(piece)
        os.replace(unfinished, path)
    return counted.rows


class _Counted:
    """Ratings as they pass, and how many have."""

    def __init__(self, ratings: Iterable[ExportedRating]) -> None:
        self._ratings = ratings
        self.rows = 0

    def __iter__(self) -> Iterator[ExportedRating]:
        for rating in self._ratings:
            self.rows += 1
            yield rating


class _Line:
    """A file that hands back what is written."""

    def write(self, text: str) -> str:
        return text


def csv_pieces(ratings: Iterable[ExportedRating]) -> Iterator[bytes]:
    """UTF-8, a header. Free text that a spreadsheet would run is escaped; numbers stay numbers."""
    # CR LF, so that the writer quotes cells with either of the two.
    writer = csv.writer(_Line(), lineterminator="\r\n")
    # At once: whoever waits for the rows sees that something comes.
    yield writer.writerow(COLUMNS).encode()
    yield from _pieces(writer.writerow(_cells(rating)) for rating in ratings)


def json_line_pieces(ratings: Iterable[ExportedRating]) -> Iterator[bytes]:
    """UTF-8, one object a line."""
    # Nothing to say yet; but a server sends the head of its answer with the first piece.
    yield b""
    yield from _pieces(json.dumps(_plain(rating), ensure_ascii=False, allow_nan=False) + "\n" for rating in ratings)


def _pieces(lines: Iterable[str]) -> Iterator[bytes]:
    piece = bytearray()
    for line in lines:
        piece += line.encode()
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def _cells(rating: ExportedRating) -> list[object]:
    cells: dict[str, object] = _plain(rating)
    cells["evidence"] = json.dumps(rating.evidence, ensure_ascii=False)
    for name in ("is_aggregate", "is_simulated", "cannot_tell"):
        cells[name] = "true" if cells[name] else "false"
    for name in FREE_TEXT:
        cells[name] = escape_formula(str(cells[name]))
    for name in NAMES:
        text = str(cells[name])
        cells[name] = text if NUMBER.fullmatch(text) else escape_formula(text)
    return list(cells.values())


def _plain(rating: ExportedRating) -> dict[str, Any]:
    """The row with whole numbers without decimals and times in ISO 8601."""
    value = rating.value
    return rating._asdict() | {
        "value": int(value) if value is not None and value.is_integer() else value,
        "created_at": rating.created_at.isoformat(),
        "updated_at": rating.updated_at.isoformat(),
    }


TIME = pyarrow.timestamp("us", tz="UTC")
PARQUET_SCHEMA = pyarrow.schema(
    [
        *((name, pyarrow.string()) for name in ("block", "framework")),
        ("framework_version", pyarrow.int64()),
        *((name, pyarrow.string()) for name in ("dimension", "item", "item_role", "rater", "kind")),
        *((name, pyarrow.bool_()) for name in ("is_aggregate", "is_simulated")),
        ("value", pyarrow.float64()),
        ("cannot_tell", pyarrow.bool_()),
        ("comment", pyarrow.string()),
        *((name, TIME) for name in ("created_at", "updated_at")),
        *((name, pyarrow.string()) for name in ("evidence", "excluded")),
    ]
)


class _Outbox(io.RawIOBase):
    """A file that is written from beginning to end, and emptied on the way."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        size = memoryview(data).nbytes
        self._written += size
        return size

    def tell(self) -> int:
        return self._written

    def take(self) -> bytes:
        taken = bytes(self._held)
        self._held.clear()
        return taken


def parquet_pieces(ratings: Iterable[ExportedRating]) -> Iterator[bytes]:
    """Values as doubles, times as UTC, evidence as a JSON text. What it holds in all stands at the end of the file."""
    outbox = _Outbox()
    with pyarrow.parquet.ParquetWriter(outbox, PARQUET_SCHEMA) as writer:
        yield outbox.take()
        for chunk in _chunks(ratings):
            records = [
                rating._asdict() | {"evidence": json.dumps(rating.evidence, ensure_ascii=False)} for rating in chunk
            ]
            writer.write_table(pyarrow.Table.from_pylist(records, schema=PARQUET_SCHEMA))
            yield outbox.take()
    yield outbox.take()


def _chunks(ratings: Iterable[ExportedRating]) -> Iterator[list[ExportedRating]]:
    source = iter(ratings)
    while chunk := list(islice(source, ROWS_AT_ONCE)):
        yield chunk


FORMATS: dict[str, Callable[[Iterable[ExportedRating]], Iterator[bytes]]] = {
    ".csv": csv_pieces,
    ".jsonl": json_line_pieces,
    ".parquet": parquet_pieces,
}
