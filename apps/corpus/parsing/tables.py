"""Rows of named columns, whatever file they came from."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from apps.corpus.parsing.records import FileError


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number as a spreadsheet counts it, and what stands in each column."""

    number: int
    values: Mapping[str, object]


def check_headers(cells: list[str]) -> list[str]:
    """The names of the columns: outer spaces dropped, an unnamed one called by its place ("column 1").

    Raises FileError where a name comes twice (several tables glued side by side) or there is none at all.
    """
    trimmed = [cell.strip() for cell in cells]
    while trimmed and not trimmed[-1]:
        trimmed.pop()
    if not trimmed:
        raise FileError("The header row is empty.")
    names = [name or f"column {place}" for place, name in enumerate(trimmed, start=1)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise FileError(
            f"These headers come more than once: {', '.join(repeated)}. "
            "The file may be several tables side by side; give each its own file."
        )
    return names
