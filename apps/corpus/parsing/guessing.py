"""A first guess at the mapping, from the headers and the first rows. People see it, and may change it."""

import re
from collections.abc import Sequence

from apps.corpus.parsing.cells import CellError, as_text
from apps.corpus.parsing.mapping import SHAPE_FIELDS, SHAPE_OF_FIELD, ColumnMapping, Shape
from apps.corpus.parsing.tables import Row

# The likeliest name first.
NAMES: dict[str, tuple[str, ...]] = {
    "id": (
        "conversation_id", "conv_id", "dialogue_id", "dialog_id", "thread_id", "chat_id", "session_id", "external_id",
        "item_id", "id",
    ),
    "turn_index": (
        "turn_index", "utterance_idx", "utterance_index", "turn_idx", "turn_number", "turn_no", "message_index", "turn",
    ),
    "speaker": ("speaker", "speaker_role", "role", "speaker_idx", "speaker_id", "author", "sender"),
    "text": ("text", "utterance", "content", "message", "turn_text", "body"),
    "post": ("post", "seeker_post", "question"),
    "reply": ("reply", "response_post", "supporter_reply", "response", "answer", "output"),
    "transcript": ("transcript", "full_conversation", "conversation", "dialogue", "dialog", "full_text"),
    "messages": ("messages", "conversation", "conversations", "turns"),
    "title": ("title", "subject"),
    "language": ("language", "lang"),
    "reference": ("reference", "reference_answer", "correct_answer"),
    "belief": ("belief",),
    "pair": ("pair", "pair_id"),
    "parent": ("parent", "parent_id"),
}  # fmt: skip
ID_LIKE = re.compile(r"(^|_)id$")


def plain(header: str) -> str:
    """A header as it is compared: `Conversation ID`, `conversationId` and `conversation_id` are one."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", header)
    return re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")


def guess_mapping(headers: Sequence[str], sample: Sequence[Row], given: ColumnMapping) -> ColumnMapping:
    """`given`, with the fields it leaves open filled from columns it does not use, where one fits.

    Only the fields of one shape are filled: that of `given` where it names one. What cannot be guessed stays open.
    """
    used = set(given.mapped().values())
    free = {plain(header): header for header in reversed(headers) if header not in used}
    open_fields = [name for name in NAMES if name not in given.columns and name not in given.constants]
    found = {name: _column(name, free, sample) for name in open_fields}
    guessed = {name: column for name, column in found.items() if column is not None}
    shape = _shape(given, guessed)
    kept = {name: column for name, column in guessed.items() if SHAPE_OF_FIELD.get(name, shape) is shape}
    if "id" in open_fields and "id" not in kept and shape is not Shape.TURNS:
        kept |= _distinct_id(headers, sample, used | set(kept.values()))
    return given.with_columns(kept)


def _column(name: str, free: dict[str, str], sample: Sequence[Row]) -> str | None:
    for candidate in NAMES[name]:
        column = free.get(candidate)
        if column is not None and _fits(name, column, sample):
            return column
    return None


def _fits(name: str, column: str, sample: Sequence[Row]) -> bool:
    """Whether the values look as the field needs: only chat messages and transcripts can be told apart by them."""
    values = [row.values.get(column) for row in sample]
    filled = [value for value in values if value not in (None, "")]
    if name == "messages":
        return bool(filled) and all(_is_list(value) for value in filled)
    return not any(isinstance(value, list | dict) or (name == "transcript" and _is_list(value)) for value in filled)


def _is_list(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and value.lstrip()[:1] == "[")


def _shape(given: ColumnMapping, guessed: dict[str, str]) -> Shape | None:
    if given.without_text:
        return Shape.NO_TEXT
    for name in (*given.mapped(), *given.constants):
        if name in SHAPE_OF_FIELD:
            return SHAPE_OF_FIELD[name]
    for shape in (Shape.MESSAGES, Shape.TURNS, Shape.POST_REPLY, Shape.TRANSCRIPT):
        needed = [name for name in SHAPE_FIELDS[shape] if name != "turn_index"]
        if all(name in guessed for name in needed):
            return shape
    return None


def _distinct_id(headers: Sequence[str], sample: Sequence[Row], used: set[str]) -> dict[str, str]:
    """The first column called something_id whose values are all there and all different."""
    for header in headers:
        if header in used or not ID_LIKE.search(plain(header)):
            continue
        try:
            values = [as_text(row.values.get(header)) for row in sample]
        except CellError:
            continue
        if values and all(values) and len(set(values)) == len(values):
            return {"id": header}
    return {}
