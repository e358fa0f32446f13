"""The first rows of a file as they were understood: what a person looks at before the import."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from apps.annotation.parsing.reading import MAIN_ROLE, ParsedRating
from apps.annotation.parsing.values import Scales

ROWS_SHOWN = 8
TEXT_SHOWN = 120


@dataclass
class ShownAnswer:
    """A dimension as messages call it, the value in words, and what was said to it."""

    dimension: str
    value: str
    comment: str = ""
    quotes: list[str] = field(default_factory=list)


@dataclass
class ShownRow:
    """A row of the file: which conversation, whose ratings, and what they are."""

    number: int
    item: str
    rater: str
    answers: list[ShownAnswer]


def first_rows(ratings: Iterable[ParsedRating], scales: Scales, *, rows: int = ROWS_SHOWN) -> list[ShownRow]:
    """The first rows that hold ratings. `ratings` in the order of the file."""
    names = dict(zip((one.key for one in scales.all), scales.shown_names(), strict=True))
    shown: list[ShownRow] = []
    for (number, item, rater), group in groupby(ratings, key=lambda one: (one.row, one.item, one.rater)):
        if len(shown) == rows:
            break
        answers = [
            ShownAnswer(
                names[one.dimension],
                scales.find(one.dimension).in_words(one.answer),
                _cut(one.comment or ""),
                [_cut(quote.text) for quote in one.evidence or ()],
            )
            for one in group
        ]
        conversation, role = item
        shown.append(
            ShownRow(number, conversation if role == MAIN_ROLE else f"{conversation} ({role})", rater, answers)
        )
    return shown


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN else f"{text[: TEXT_SHOWN - 1]}…"
