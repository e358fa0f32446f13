"""The four shapes of a conversation in a file, each turned into turns. A fault is a `TurnError` with its field."""

import re
from collections.abc import Iterator
from typing import Any

from apps.corpus.parsing.cells import CellError, as_text
from apps.corpus.parsing.json_text import decode
from apps.corpus.parsing.mapping import ColumnMapping, Shape
from apps.corpus.parsing.records import Role, TurnRecord
from apps.corpus.parsing.speakers import Speakers
from apps.corpus.parsing.tables import Row

COMMA_MARK = "_comma_"
LAYOUT = " \t\r\n"
LINE_END = re.compile("\r\n|\r|\n")
MAX_LABEL_LENGTH = 100
# role and content of the usual chat formats.
MESSAGE_KEYS = (("role", "content"), ("from", "value"), ("speaker", "text"), ("role", "text"))


class TurnError(ValueError):
    """A row's text cannot be turned into turns: which field, and what was expected."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class TurnMaker:
    """Makes turns under one mapping; keeps count of unknown speakers and of rows with `_comma_`."""

    def __init__(self, mapping: ColumnMapping) -> None:
        self.mapping = mapping
        self._columns = mapping.mapped()
        self.speakers = Speakers(mapping.roles)
        self.rows_with_comma_mark = 0
        self._makers = {
            Shape.TRANSCRIPT: self._from_transcript,
            Shape.POST_REPLY: self._from_post_and_reply,
            Shape.MESSAGES: self._from_messages,
            Shape.TURNS: self._from_turn_row,
            Shape.NO_TEXT: self._none,
        }
        self._make = self._makers[mapping.shape]

    def turns(self, row: Row) -> list[TurnRecord]:
        """The turns of one row, in order; for one row per turn that one turn. Raises TurnError."""
        turns = list(self._make(row))
        for turn in turns:
            if COMMA_MARK in turn.text:
                self.rows_with_comma_mark += 1
                return [_cleaned(turn) for turn in turns] if self.mapping.clean_commas else turns
        return turns

    def value(self, row: Row, field: str) -> object:
        """What the mapping gives for a field of this row: a constant, a cell, or None."""
        column = self._columns.get(field)
        if column is not None:
            return row.values.get(column)
        return self.mapping.constants.get(field)

    def text(self, row: Row, field: str) -> str:
        """The same as text. Raises TurnError where the cell holds something else."""
        value = self.value(row, field)
        if type(value) is str:
            return value
        try:
            return as_text(value)
        except CellError as fault:
            raise TurnError(field, str(fault)) from None

    def _from_turn_row(self, row: Row) -> Iterator[TurnRecord]:
        speaker = self._label(self.text(row, "speaker"), "speaker")
        if not speaker.strip():
            raise TurnError("speaker", "is empty; expected a speaker label")
        yield TurnRecord(self.speakers.role_of(speaker), speaker, _filled(self.text(row, "text"), "text"))

    def _from_post_and_reply(self, row: Row) -> Iterator[TurnRecord]:
        yield TurnRecord(Role.SEEKER, "", _filled(self.text(row, "post"), "post"))
        yield TurnRecord(Role.SUPPORTER, "", _filled(self.text(row, "reply"), "reply"))

    def _from_transcript(self, row: Row) -> Iterator[TurnRecord]:
        text = _filled(self.text(row, "transcript"), "transcript")
        for number, (label, lines) in enumerate(self._labelled(text), start=1):
            said = "\n".join(lines).strip(LAYOUT)
            if not said.strip():
                raise TurnError("transcript", f"turn {number} ({label}) has no text")
            yield TurnRecord(self.speakers.role_of(label), self._label(label, "transcript"), said)

    def _labelled(self, text: str) -> list[tuple[str, list[str]]]:
        turns: list[tuple[str, list[str]]] = []
        for line in LINE_END.split(text):
            begun = self.speakers.begins_turn(line)
            if begun is not None:
                turns.append((begun[0], [begun[1]]))
            elif turns:
                turns[-1][1].append(line)
            elif line.strip(LAYOUT):
                raise TurnError("transcript", f"begins with {line.strip()[:40]!r}; expected a line `Speaker: text`")
        return turns

    def _from_messages(self, row: Row) -> Iterator[TurnRecord]:
        messages = _message_list(self.value(row, "messages"))
        for number, message in enumerate(messages, start=1):
            label, text = _message(message, number)
            label = self._label(label, "messages")
            if not text.strip():
                raise TurnError("messages", f"message {number} ({label}) has no text")
            yield TurnRecord(self.speakers.role_of(label), label, text)

    def _none(self, row: Row) -> Iterator[TurnRecord]:
        return iter(())

    @staticmethod
    def _label(label: str, field: str) -> str:
        if len(label) > MAX_LABEL_LENGTH:
            raise TurnError(field, f"a speaker label has {len(label)} characters; at most {MAX_LABEL_LENGTH}")
        return label


def _filled(text: str, field: str) -> str:
    if not text.strip():
        raise TurnError(field, "is empty; expected text")
    return text


def _cleaned(turn: TurnRecord) -> TurnRecord:
    text = turn.text.replace(COMMA_MARK, ",")
    return turn if text == turn.text else turn._replace(text=text, raw_text=turn.text)


def _message_list(value: object) -> list[Any]:
    if isinstance(value, str) and value.strip():
        try:
            value = decode(value)
        except ValueError as error:
            hint = " (it looks like Python, which quotes otherwise)" if "'" in str(value)[:3] else ""
            raise TurnError("messages", f"{error}{hint}") from None
    if value is None or value == "" or value == []:
        raise TurnError("messages", "is empty; expected a list of messages")
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if not isinstance(value, list):
        raise TurnError("messages", "expected a list of {role, content}")
    return value


def _message(message: object, number: int) -> tuple[str, str]:
    if not isinstance(message, dict):
        raise TurnError("messages", f"message {number}: expected {{role, content}}, found {str(message)[:40]}")
    for role_key, text_key in MESSAGE_KEYS:
        if role_key in message and text_key in message:
            try:
                label = as_text(message[role_key])
                text = _content(message[text_key])
            except CellError as fault:
                raise TurnError("messages", f"message {number}: {fault}") from None
            if not label.strip():
                raise TurnError("messages", f"message {number} has no role")
            return label, text
    raise TurnError("messages", f"message {number}: expected role and content, found {', '.join(map(str, message))}")


def _content(content: object) -> str:
    """The text of a message; parts of a list stand on lines of their own. Raises CellError for other than text."""
    if not isinstance(content, list | tuple):
        return as_text(content)
    texts = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            kind = part.get("type", "another kind") if isinstance(part, dict) else type(part).__name__
            raise CellError(f"a part of type {kind} is not text")
        texts.append(as_text(text))
    return "\n".join(texts)
