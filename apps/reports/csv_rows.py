"""CSV with `\\n` at the ends of lines, in which names may hold any character. Pure."""

import csv
from typing import Any, Protocol


class TextOut(Protocol):
    """What text can be written to."""

    def write(self, text: str, /) -> Any: ...


class _UnixEnds:
    """Takes whole rows that end in `\\r\\n`, and writes them with `\\n`."""

    def __init__(self, out: TextOut) -> None:
        self._out = out

    def write(self, row: str) -> None:
        self._out.write(f"{row[:-2]}\n")


def row_writer(out: TextOut) -> Any:
    """A writer of the module csv. It quotes a carriage return too, which it would not if rows ended in `\\n` for it."""
    return csv.writer(_UnixEnds(out), lineterminator="\r\n")
