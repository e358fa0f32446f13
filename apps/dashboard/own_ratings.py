"""A person's own ratings as files in long format: one row for each rating. Pure.

Conversations are numbered, not named: a name may tell which model or condition is behind one, and raters are not to
know.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from apps.common.formulas import escape_formula


class OwnPassage(TypedDict):
    """Half-open offsets in code points of that turn, or null where the quote was not found."""

    quote: str
    turn: int | None
    start: int | None
    end: int | None


class OwnRating(NamedTuple):
    """`item` is a number of the site; `place` the item's place among the rater's own, None for imported ratings.

    `state` is that of the item in the rater's hands, empty for imported ratings.
    """

    study: str
    rater: str
    block: int
    item: int
    place: int | None
    state: str
    framework: str
    framework_version: int
    dimension: str
    value: float | None
    cannot_tell: bool
    comment: str
    evidence: list[OwnPassage]
    created_at: datetime
    updated_at: datetime


FREE_TEXT = ("study", "comment")


class _Line:
    """A file that hands back what is written."""

    def write(self, text: str) -> str:
        return text


def as_csv(ratings: Iterable[OwnRating]) -> Iterator[str]:
    """Lines with a header. Free text that a spreadsheet would run is escaped; numbers stay numbers."""
    # CR LF, so that the writer quotes cells with either of the two.
    writer = csv.writer(_Line(), lineterminator="\r\n")
    yield writer.writerow(OwnRating._fields)
    for rating in ratings:
        row = _plain(rating)
        row["evidence"] = json.dumps(rating.evidence, ensure_ascii=False)
        row["cannot_tell"] = "true" if rating.cannot_tell else "false"
        for name in FREE_TEXT:
            row[name] = escape_formula(str(row[name]))
        yield writer.writerow(row.values())


def as_json(ratings: Iterable[OwnRating]) -> Iterator[str]:
    """One list of objects."""
    separator = "[\n"
    for rating in ratings:
        yield separator + json.dumps(_plain(rating), ensure_ascii=False, allow_nan=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _plain(rating: OwnRating) -> dict[str, Any]:
    """The row with whole numbers without decimals and times in ISO 8601."""
    value = rating.value
    return rating._asdict() | {
        "value": int(value) if value is not None and value.is_integer() else value,
        "created_at": rating.created_at.isoformat(),
        "updated_at": rating.updated_at.isoformat(),
    }
