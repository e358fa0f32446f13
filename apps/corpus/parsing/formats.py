"""What a file is, told by its first bytes and never by its name."""

from enum import StrEnum
from typing import BinaryIO

from apps.corpus.parsing.records import FileError

HEAD_BYTES = 64 * 1024


class Format(StrEnum):
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    JSON = "json"
    XLSX = "xlsx"
    PARQUET = "parquet"


ZIP_MARK = b"PK\x03\x04"
PARQUET_MARK = b"PAR1"
FOREIGN_MARKS = [
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file; save it as XLSX or CSV"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    (b"BZh", "compressed with bzip2; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    (b"%PDF", "a PDF; export the conversations as a table first"),
    (b"\x89PNG", "a picture"),
    (b"SQLite format 3\x00", "an SQLite database; export its table as CSV"),
]


def read_head(file: BinaryIO) -> bytes:
    """The first 64 KiB. Leaves the file at its beginning."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    file.seek(0)
    return head


def binary_format(head: bytes) -> Format | None:
    """XLSX or Parquet, or None for a file of text. Raises FileError for a binary file of another kind."""
    if head.startswith(ZIP_MARK):
        return Format.XLSX
    if head.startswith(PARQUET_MARK):
        return Format.PARQUET
    for mark, what in FOREIGN_MARKS:
        if head.startswith(mark):
            raise FileError(f"The file is {what}. Expected CSV, TSV, JSONL, JSON, XLSX or Parquet.")
    return None


def begins_like_json(text: str) -> bool:
    """Whether a text begins as a JSON object, or as an array of objects, does."""
    start = text.lstrip(" \t\r\n\ufeff")
    inner = start[1:].lstrip(" \t\r\n")[:1]
    if start.startswith("{"):
        return inner in ('"', "}", "")
    return start.startswith("[") and inner in ("{", "]", "[", "")
