"""The tables of the public replication folder of Kumar et al. 2026, as they lie there. Pure."""

import math
from collections.abc import Mapping
from pathlib import Path

from apps.corpus.parsing.cells import as_text
from apps.corpus.parsing.records import FileError, Problem
from apps.corpus.parsing.rows import open_table
from apps.corpus.parsing.tables import Row


class KumarError(ValueError):
    """The folder is not the one expected; the message names the file and what is wrong with it."""


class KumarFolder:
    """The folder, one table at a time. Raises KumarError where it lacks the folders inside."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / "annotations").is_dir() or not (path / "original_data").is_dir():
            raise KumarError(f"{path} is not the public folder: it needs the folders annotations and original_data.")

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows of a table as text by column. Raises KumarError where the file cannot be read."""
        return list(self.numbered_rows(name).values())

    def numbered_rows(self, name: str) -> dict[int, dict[str, str]]:
        """The same by the number of the row, the header being row 1."""
        try:
            with (self.path / name).open("rb") as file:
                found = list(open_table(file).rows)
        except OSError as error:
            raise KumarError(f"{name} cannot be read: {error.strerror}.") from None
        except FileError as error:
            raise KumarError(f"{name}: {error}") from None
        rows: dict[int, dict[str, str]] = {}
        for row in found:
            if isinstance(row, Problem):
                raise KumarError(f"{name}, {row}.")
            if isinstance(row, Row):
                rows[row.number] = {column: as_text(value) for column, value in row.values.items()}
        return rows


def cell_of(row: Mapping[str, str], column: str, name: str) -> str:
    """The text of a cell. Raises KumarError where the file `name` has no such column."""
    if column not in row:
        raise KumarError(f"{name}: the column {column} is missing; found {', '.join(row)}.")
    return row[column]


def number_of(text: str, column: str, name: str) -> float:
    """The number in a cell. Raises KumarError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise KumarError(f"{name}: expected a number in the column {column}, found {text!r}.")
    return value
