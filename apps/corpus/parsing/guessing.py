"""A first guess at the mapping, from the headers and the first rows. People see it, and may change it.

Clear names come first. Where they make no whole shape, names that may mean other things are looked at too, with the
values below them, and then the values alone. What is recognised stays guessed also where the rest is not.
"""

import re
import unicodedata
from collections.abc import Sequence

from apps.corpus.parsing.column_values import (
    column_in_runs,
    id_column,
    is_distinct,
    may_be_id,
    may_be_turn_index,
    speaker_column,
    text_column,
    transcript_column,
)
from apps.corpus.parsing.mapping import OPTIONAL_SHAPE_FIELDS, SHAPE_FIELDS, SHAPE_OF_FIELD, ColumnMapping, Shape
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
# Names that mean these fields where the clear ones do not stand in the file.
LOOSE_NAMES: dict[str, tuple[str, ...]] = {
    "id": (
        "conversation_no", "conversation_nr", "conversation_number", "conv_no", "conv_nr", "conv_num", "convid",
        "chat_no", "chat_nr", "chat_num", "chatid", "dialog_no", "dialog_nr", "dialogue_no", "dialogue_nr",
        "session_no", "session_nr", "thread_no", "conversation", "conv", "chat", "dialogue", "dialog", "session",
        "thread", "case_id", "gesprach", "gesprach_id", "gesprach_nr", "gespraech", "gespraech_id", "gespraech_nr",
    ),
    "turn_index": (
        "turn_nr", "turn_num", "turn_id", "utterance_no", "utterance_nr", "message_no", "message_nr", "message_number",
        "msg_no", "msg_nr", "order", "seq", "sequence", "position", "step", "reihenfolge",
    ),
    "speaker": (
        "who", "from", "participant", "party", "interlocutor", "speaker_name", "speaker_type", "sender_type",
        "sender_role", "author_role", "said_by", "wer", "sprecher", "sprecherin", "rolle", "absender", "locuteur",
        "hablante", "emisor",
    ),
    "text": (
        "msg", "message_text", "msg_text", "utterance_text", "message_content", "message_body", "said", "nachricht",
        "inhalt", "aussage", "beitrag", "texte", "texto", "mensaje",
    ),
}  # fmt: skip
# How much a named field says about the shape: a text is a shape's heart, a number of a turn hardly anything.
WEIGHTS = {"speaker": 2, "turn_index": 1}
WEIGHT_OF_TEXT = 4
# An id of a row as often as of a conversation.
BARE_IDS = ("id", "item_id", "external_id")
ID_LIKE = re.compile(r"(^|_)id$")


def plain(header: str) -> str:
    """A header as it is compared: `Conversation ID`, `conversationId` and `conversation_id` are one."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", header)
    bare = "".join(mark for mark in unicodedata.normalize("NFKD", apart) if not unicodedata.combining(mark))
    return re.sub(r"[^a-z0-9]+", "_", bare.lower()).strip("_")


def guess_mapping(headers: Sequence[str], sample: Sequence[Row], given: ColumnMapping) -> ColumnMapping:
    """`given`, with the fields it leaves open filled from columns it does not use, where one fits.

    Only the fields of one shape are filled: that of `given` where it names one. What cannot be guessed stays open.
    No column is guessed for two fields.
    """
    return given.with_columns(_Guess(headers, sample, given).made())


def told_by_values(headers: Sequence[str], sample: Sequence[Row], given: ColumnMapping) -> list[str]:
    """The fields that `guess_mapping` fills by the values of a column alone, whatever it is called."""
    guess = _Guess(headers, sample, given)
    guess.made()
    return [name for name in NAMES if name in guess.by_values]


class _Guess:
    """One guess at one file: `kept` is field -> column, as far as it has come."""

    def __init__(self, headers: Sequence[str], sample: Sequence[Row], given: ColumnMapping) -> None:
        self.headers = list(dict.fromkeys(headers))
        self.sample = sample
        self.given = given
        self.taken = set(given.mapped().values())
        self.open_fields = [name for name in NAMES if name not in given.columns and name not in given.constants]
        self.kept: dict[str, str] = {}
        self.by_values: set[str] = set()

    def made(self) -> dict[str, str]:
        named = {name: column for name in self.open_fields if (column := self._named(name, NAMES)) is not None}
        shape = self._whole_shape(named)
        if shape is None or (shape is Shape.TRANSCRIPT and self._is_rather_turns(named)):
            shape = self._likeliest_shape(named)
        for name in sorted(named, key=lambda name: name not in SHAPE_OF_FIELD):
            if SHAPE_OF_FIELD.get(name, shape) is shape:
                self._keep(name, named[name])
        if shape is Shape.TURNS:
            self._complete_turns()
        elif shape is None:
            # Few ids that differ may look like labels that take turns, but turns do not look like transcripts.
            shape = self._transcript_by_values() or self._turns_by_values()
        self._complete_id(shape)
        self._complete_turn_index(shape)
        return {name: self.kept[name] for name in NAMES if name in self.kept}

    def _keep(self, name: str, column: str | None) -> None:
        if column is not None and name in self.open_fields and name not in self.kept and column in self._free():
            self.kept[name] = column

    def _keep_by_values(self, name: str, column: str | None) -> None:
        before = self.kept.get(name)
        self._keep(name, column)
        if self.kept.get(name) != before:
            self.by_values.add(name)

    def _free(self) -> list[str]:
        used = self.taken.union(self.kept.values())
        return [header for header in self.headers if header not in used]

    def _named(self, name: str, names: dict[str, tuple[str, ...]]) -> str | None:
        free = {plain(header): header for header in reversed(self._free())}
        for candidate in names.get(name, ()):
            column = free.get(candidate)
            if column is not None and _fits(name, column, self.sample, is_loose=names is LOOSE_NAMES):
                return column
        return None

    # --- The shape ------------------------------------------------------------------------------------------------

    def _whole_shape(self, named: dict[str, str]) -> Shape | None:
        """That of `given`, else the first one all of whose fields have a clear name."""
        if self.given.without_text:
            return Shape.NO_TEXT
        for name in (*self.given.mapped(), *self.given.constants):
            if name in SHAPE_OF_FIELD:
                return SHAPE_OF_FIELD[name]
        for shape in (Shape.MESSAGES, Shape.TURNS, Shape.POST_REPLY, Shape.TRANSCRIPT):
            needed = [name for name in SHAPE_FIELDS[shape] if name not in OPTIONAL_SHAPE_FIELDS]
            if all(name in named for name in needed):
                return shape
        return None

    def _is_rather_turns(self, named: dict[str, str]) -> bool:
        """Whether what is called "conversation" repeats on one line, beside a speaker and a text: it is the id."""
        column = named.get("transcript")
        if column is None or is_distinct(column, self.sample) or not may_be_id(column, self.sample):
            return False
        return all(name in named or self._named(name, LOOSE_NAMES) for name in ("speaker", "text"))

    def _likeliest_shape(self, named: dict[str, str]) -> Shape | None:
        """The one most of whose fields have a name, be it one that may mean other things; None where none has."""
        turns = SHAPE_FIELDS[Shape.TURNS]
        loose = {name for name in turns if name in self.open_fields and self._named(name, LOOSE_NAMES)}
        best, most = None, 0
        for shape in (Shape.TURNS, Shape.POST_REPLY):
            recognised = [name for name in SHAPE_FIELDS[shape] if name in named or name in loose]
            weight = sum(WEIGHTS.get(name, WEIGHT_OF_TEXT) for name in recognised)
            if weight > most:
                best, most = shape, weight
        return best

    # --- One row per turn -----------------------------------------------------------------------------------------

    def _complete_turns(self) -> None:
        """Speaker and text by looser names, and one that is still open by the values, where the other is known."""
        for name in ("speaker", "text"):
            self._keep(name, self._named(name, LOOSE_NAMES))
        known = self.kept.keys() | self.given.mapped().keys() | self.given.constants.keys()
        if "speaker" in known and "text" not in known:
            self._keep_by_values("text", text_column(self._free(), self.sample))
        elif "text" in known and "speaker" not in known:
            self._keep_by_values("speaker", speaker_column(self._free(), self.sample))
        elif "text" not in known:
            self._turns_by_values()

    def _turns_by_values(self) -> Shape | None:
        """Speaker and text where names say nothing: both are told by the values, or neither."""
        if "speaker" not in self.open_fields or "text" not in self.open_fields:
            return None
        speaker = speaker_column(self._free(), self.sample)
        text = text_column([column for column in self._free() if column != speaker], self.sample)
        if speaker is None or text is None:
            return None
        self._keep_by_values("speaker", speaker)
        self._keep_by_values("text", text)
        return Shape.TURNS

    def _transcript_by_values(self) -> Shape | None:
        if "transcript" not in self.open_fields:
            return None
        column = transcript_column(self._free(), self.sample)
        self._keep_by_values("transcript", column)
        return None if column is None else Shape.TRANSCRIPT

    # --- The id, and the number of the turn -----------------------------------------------------------------------

    def _complete_id(self, shape: Shape | None) -> None:
        if "id" not in self.open_fields:
            return
        if shape is Shape.TURNS:
            self._choose_id_of_turns()
        elif "id" not in self.kept:
            self._keep("id", self._distinct_id(shape))
            # Chat messages need no id. Of the others one row is one conversation, so its id comes once.
            if shape in (Shape.TRANSCRIPT, Shape.POST_REPLY):
                self._keep_by_values("id", id_column(self._free(), self.sample))

    def _choose_id_of_turns(self) -> None:
        """A bare `id` that differs in every row is that of the row, where another column is called as a chat is."""
        named = self.kept.get("id")
        by_row = named is not None and plain(named) in BARE_IDS and is_distinct(named, self.sample)
        if named is not None and not by_row:
            return
        loose = self._named("id", LOOSE_NAMES)
        if named is None:
            self._keep("id", loose)
            self._keep_by_values("id", column_in_runs(self._free(), self.sample))
        elif loose is not None and len(self.sample) > 1 and not is_distinct(loose, self.sample):
            self.kept["id"] = loose

    def _distinct_id(self, shape: Shape | None) -> str | None:
        """The first column called something_id whose values are all there and all different; else one called so."""
        for header in self._free():
            if ID_LIKE.search(plain(header)) and is_distinct(header, self.sample):
                return header
        loose = self._named("id", LOOSE_NAMES)
        return loose if loose is not None and (shape is None or is_distinct(loose, self.sample)) else None

    def _complete_turn_index(self, shape: Shape | None) -> None:
        if shape is not Shape.TURNS or "turn_index" in self.kept or "turn_index" not in self.open_fields:
            return
        column = self._named("turn_index", LOOSE_NAMES)
        id_column = self.kept.get("id") or self.given.mapped().get("id")
        if column is not None and may_be_turn_index(column, id_column, self.sample):
            self._keep("turn_index", column)


def _fits(name: str, column: str, sample: Sequence[Row], *, is_loose: bool) -> bool:
    """Whether the values look as the field needs: chat messages and transcripts are told apart by them, and what is
    called "chat" may be a text as well as an id.
    """
    if name == "id" and is_loose:
        return may_be_id(column, sample)
    values = [row.values.get(column) for row in sample]
    filled = [value for value in values if value not in (None, "")]
    if name == "messages":
        return bool(filled) and all(_is_list(value) for value in filled)
    return not any(isinstance(value, list | dict) or (name == "transcript" and _is_list(value)) for value in filled)


def _is_list(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and value.lstrip()[:1] == "[")
