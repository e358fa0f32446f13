"""Ratings as long files: one row for each rating, in CSV, JSON Lines or Parquet. Pure.

The columns are those that `import_ratings` reads, so an exported file can be imported again.
"""

import csv
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

ROWS_AT_ONCE = 5_000


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
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as beside:
        unfinished = Path(beside) / path.name
        rows = write(ratings, unfinished)
        os.replace(unfinished, path)
    return rows


def _write_csv(ratings: Iterable[ExportedRating], path: Path) -> int:
    """UTF-8, a header. Free text that a spreadsheet would run is escaped; numbers stay numbers."""
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        # CR LF, so that the writer quotes cells with either of the two.
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(COLUMNS)
        for rating in ratings:
            writer.writerow(_cells(rating))
            rows += 1
    return rows


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


def _write_json_lines(ratings: Iterable[ExportedRating], path: Path) -> int:
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for rating in ratings:
            file.write(json.dumps(_plain(rating), ensure_ascii=False, allow_nan=False) + "\n")
            rows += 1
    return rows


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


def _write_parquet(ratings: Iterable[ExportedRating], path: Path) -> int:
    """Values as doubles, times as UTC, evidence as a JSON text."""
    rows = 0
    with pyarrow.parquet.ParquetWriter(path, PARQUET_SCHEMA) as writer:
        for chunk in _chunks(ratings):
            records = [
                rating._asdict() | {"evidence": json.dumps(rating.evidence, ensure_ascii=False)} for rating in chunk
            ]
            writer.write_table(pyarrow.Table.from_pylist(records, schema=PARQUET_SCHEMA))
            rows += len(chunk)
    return rows


def _chunks(ratings: Iterable[ExportedRating]) -> Iterator[list[ExportedRating]]:
    source = iter(ratings)
    while chunk := list(islice(source, ROWS_AT_ONCE)):
        yield chunk


FORMATS: dict[str, Callable[[Iterable[ExportedRating], Path], int]] = {
    ".csv": _write_csv,
    ".jsonl": _write_json_lines,
    ".parquet": _write_parquet,
}
