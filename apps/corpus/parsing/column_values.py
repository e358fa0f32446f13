"""What a column may hold, told by its values in the first rows. Every answer is cautious: in doubt it is no."""

import re
from collections.abc import Sequence
from itertools import pairwise

from apps.corpus.parsing.cells import CellError, as_text
from apps.corpus.parsing.speakers import Speakers
from apps.corpus.parsing.tables import Row

MIN_ROWS = 4
MAX_LABEL_CHARACTERS = 30
MAX_ID_CHARACTERS = 100
SPEAKERS = (2, 4)
MIN_TEXT_CHARACTERS = 12
MIN_ROWS_PER_CONVERSATION = 1.5
WHOLE_NUMBER = re.compile(r"-?\d{1,18}(\.0*)?")
# Where nothing but the values speaks for an id, it must be shorter than one that is called so.
MAX_ID_CHARACTERS_BY_VALUE = 40
MIN_LINES_OF_TRANSCRIPT = 2
MOST_RATING_VALUES = 20
FRACTION = re.compile(r"\s*-?\d*[.,]\d+\s*")
NUMBER = re.compile(r"\s*-?\d{1,4}([.,]\d+)?\s*")
RATING_WORDS = frozenset({
    "rating", "ratings", "rated", "rate", "score", "scores", "scored", "kappa", "alpha", "likert", "stars", "grade",
    "grades", "points", "annotation", "label", "labels", "judgement", "judgment", "empathy", "relevance", "fluency",
    "quality", "helpfulness", "agreement",
})  # fmt: skip
NUMBER_LIKE = re.compile(r"[\d\s.,:/+-]*")


def texts_of(column: str, sample: Sequence[Row]) -> list[str] | None:
    """The cells of a column as texts, None where one of them is a list or another thing that is no text."""
    try:
        return [as_text(row.values.get(column)) for row in sample]
    except CellError:
        return None


def may_be_id(column: str, sample: Sequence[Row]) -> bool:
    """Whether every cell is short, filled, and on one line."""
    texts = texts_of(column, sample)
    return bool(texts) and all(
        text.strip() and len(text) <= MAX_ID_CHARACTERS and "\n" not in text for text in texts or []
    )


def is_distinct(column: str, sample: Sequence[Row]) -> bool:
    """Whether every cell is filled, and no two are the same."""
    texts = texts_of(column, sample)
    return bool(texts) and all(texts or []) and len(set(texts or [])) == len(texts or [])


def id_column(columns: Sequence[str], sample: Sequence[Row]) -> str | None:
    """The first column whose cells are all filled, short, and different; None where a file is too short to tell."""
    for column in columns:
        texts = texts_of(column, sample) or []
        is_id = len(texts) > 1 and may_be_id(column, sample) and is_distinct(column, sample)
        if is_id and max(map(len, texts)) <= MAX_ID_CHARACTERS_BY_VALUE and not any(map(FRACTION.fullmatch, texts)):
            return column
    return None


def transcript_column(columns: Sequence[str], sample: Sequence[Row]) -> str | None:
    """The column of which most cells hold two or more lines `Speaker: text`; None where there is none, or several."""
    found = [column for column in columns if _holds_transcripts(column, sample)]
    return found[0] if len(found) == 1 else None


def _holds_transcripts(column: str, sample: Sequence[Row]) -> bool:
    texts = texts_of(column, sample)
    if not texts:
        return False
    speakers = Speakers()
    n_transcripts = sum(
        sum(speakers.begins_turn(line) is not None for line in text.splitlines()) >= MIN_LINES_OF_TRANSCRIPT
        for text in texts
    )
    return n_transcripts > len(texts) / 2


def looks_like_rating(name: str, values: Sequence[str]) -> bool:
    """Whether a column is called as ratings are, and holds few different numbers."""
    is_called_so = any(part in RATING_WORDS for part in re.split(r"[^a-z]+", name.lower()))
    return is_called_so and 0 < len(values) <= MOST_RATING_VALUES and all(map(NUMBER.fullmatch, values))


def may_be_turn_index(column: str, id_column: str | None, sample: Sequence[Row]) -> bool:
    """Whether the cells are whole numbers, none of which comes twice in a conversation."""
    numbers = texts_of(column, sample)
    if not numbers or not all(WHOLE_NUMBER.fullmatch(number.strip()) for number in numbers):
        return False
    if id_column is None:
        return True
    ids = texts_of(id_column, sample)
    return ids is not None and len(set(zip(ids, numbers, strict=True))) == len(numbers)


def column_in_runs(columns: Sequence[str], sample: Sequence[Row]) -> str | None:
    """The column whose values each stand in one unbroken run of rows, as the id of a conversation does.

    Of several the one with the most values: what is said of conversations never tells more of them apart.
    """
    best, most = None, 1
    for column in columns:
        distinct = _values_in_runs(column, sample)
        if distinct > most:
            best, most = column, distinct
    return best


def _values_in_runs(column: str, sample: Sequence[Row]) -> int:
    texts = texts_of(column, sample)
    if not texts or not may_be_id(column, sample):
        return 0
    distinct = len(set(texts))
    runs = 1 + sum(before != after for before, after in pairwise(texts))
    return distinct if runs == distinct and distinct * MIN_ROWS_PER_CONVERSATION <= len(texts) else 0


def speaker_column(columns: Sequence[str], sample: Sequence[Row]) -> str | None:
    """The column of two to four short labels that take turns; None where there is none, or more than one as likely.

    A label known everywhere ("user", "therapist") speaks for a column, and then how often its label changes.
    """
    scores = {column: score for column in columns if (score := _speaker_score(column, sample)) is not None}
    return _only_best(scores)


def _speaker_score(column: str, sample: Sequence[Row]) -> tuple[bool, float] | None:
    texts = texts_of(column, sample)
    if not texts or len(texts) < MIN_ROWS:
        return None
    labels = set(texts)
    least, most = SPEAKERS
    if not least <= len(labels) <= most:
        return None
    if any(not label.strip() or len(label) > MAX_LABEL_CHARACTERS or NUMBER_LIKE.fullmatch(label) for label in labels):
        return None
    changes = sum(before != after for before, after in pairwise(texts)) / (len(texts) - 1)
    if changes < 0.5:
        return None
    speakers = Speakers()
    return any(speakers.is_known(label) for label in labels), changes


def text_column(columns: Sequence[str], sample: Sequence[Row]) -> str | None:
    """The column of long texts that differ from row to row; None where there is none, or another nearly as long."""
    lengths = {column: length for column in columns if (length := _text_length(column, sample)) is not None}
    ranked = sorted(lengths, key=lambda column: -lengths[column])
    if len(ranked) > 1 and lengths[ranked[0]] < 1.5 * lengths[ranked[1]]:
        return None
    return ranked[0] if ranked else None


def _text_length(column: str, sample: Sequence[Row]) -> float | None:
    """Characters in a cell, on average."""
    texts = texts_of(column, sample)
    if not texts or len(texts) < MIN_ROWS:
        return None
    spoken = [text for text in texts if text.strip() and not text.lstrip().startswith(("[", "{", "http"))]
    if len(spoken) < 0.9 * len(texts) or len(set(spoken)) < 0.7 * len(spoken):
        return None
    words = sum(any(mark.isalpha() for mark in text) for text in spoken)
    length = sum(map(len, spoken)) / len(spoken)
    return length if length >= MIN_TEXT_CHARACTERS and words == len(spoken) else None


def _only_best(scores: dict[str, tuple[bool, float]]) -> str | None:
    if not scores:
        return None
    best = max(scores.values())
    leading = [column for column, score in scores.items() if score == best]
    return leading[0] if len(leading) == 1 else None
