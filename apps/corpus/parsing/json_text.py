"""JSON Lines, and JSON: an array of records, an object that holds one such array, or a single record.

Both are read as a stream. Numbers keep their literal text (`cells.NumberText`), so an id of 20 digits loses none.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from apps.corpus.parsing.cells import NumberText
from apps.corpus.parsing.limits import MAX_RECORD_CHARACTERS
from apps.corpus.parsing.records import FileError, Problem
from apps.corpus.parsing.tables import Row

SPACE = " \t\r\n\ufeff"


class RepeatedKeyError(ValueError):
    """A JSON object names a key twice; which value counts nobody can say."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise RepeatedKeyError(f"names the key {', '.join(repeated)} twice")
    return values


DECODER = json.JSONDecoder(
    parse_int=NumberText, parse_float=NumberText, parse_constant=NumberText, object_pairs_hook=_without_repeats
)


def decode(text: str) -> Any:
    """One JSON value. Raises ValueError with a message that continues "row 3: ..."."""
    try:
        return DECODER.decode(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not valid JSON: {error.msg} at character {error.pos + 1}") from None


def read_json_lines(lines: Iterable[str]) -> Iterator[Row | Problem]:
    """One record from each line that is not blank; the row number is the line number, from 1."""
    for number, line in enumerate(lines, start=1):
        text = line.strip(SPACE)
        if not text:
            continue
        if "\0" in text:
            yield Problem(number, "", "holds a NUL byte, which text cannot hold")
            continue
        try:
            value = decode(text)
        except ValueError as error:
            yield Problem(number, "", str(error))
            continue
        yield _as_row(number, value)


def _as_row(number: int, value: object) -> Row | Problem:
    if isinstance(value, dict):
        return Row(number, value)
    return Problem(number, "", f"expected a JSON object, found {str(value)[:40]}")


class JsonBuffer:
    """A window on the text of a JSON file from which whole values are taken."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self._text = ""
        self._at = 0
        self._ended = False

    def peek(self) -> str:
        """The next character that is not white space, "" at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._read_more()

    def take(self, expected: str) -> None:
        """Step over one character. Raises FileError where another one stands."""
        found = self.peek()
        if found != expected:
            raise FileError(f"Not valid JSON: expected {expected}, found {found or 'the end of the file'}.")
        self._at += 1

    def value(self) -> Any:
        """Take the next value. Raises FileError where it is not valid JSON, or too large for one record."""
        self.peek()
        value, self._at = self._decode_at(0)
        return value

    def first_element(self) -> Any:
        """The first element of the array that comes next, without taking anything; None for an empty array."""
        self.peek()
        skip = 1
        while True:
            following = self._text[self._at + skip : self._at + skip + 1]
            if following and following in SPACE:
                skip += 1
            elif following or self._ended:
                break
            else:
                self._read_more()
        return None if following == "]" else self._decode_at(skip)[0]

    def first_line_closes(self) -> bool:
        """Whether the first line of what is left ends with a closing brace and another line follows."""
        first, _, rest = self._text[self._at :].lstrip(SPACE).partition("\n")
        return bool(rest) and first.rstrip(SPACE).endswith("}")

    def _decode_at(self, skip: int) -> tuple[Any, int]:
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at + skip)
            except RecursionError:
                raise FileError("Not valid JSON: a value is nested too deeply.") from None
            except RepeatedKeyError as error:
                raise FileError(f"Not usable JSON: an object {error}.") from None
            except json.JSONDecodeError as error:
                if self._ended or len(self._text) - self._at > MAX_RECORD_CHARACTERS:
                    raise FileError(self._fault(error)) from None
            else:
                # A number that reaches the end of the window may go on.
                if end < len(self._text) or self._ended:
                    return value, end
            self._read_more()

    def _fault(self, error: json.JSONDecodeError) -> str:
        if not self._ended:
            return f"Not valid JSON, or a record longer than {MAX_RECORD_CHARACTERS:,} characters."
        around = self._text[error.pos : error.pos + 30].replace("\n", " ")
        return f"Not valid JSON: {error.msg}, before {around!r}." if around else f"Not valid JSON: {error.msg}."

    def _read_more(self) -> None:
        """Drop what was taken and read on, at least doubling what is left: values are retried a few times only."""
        kept = self._text[self._at :]
        pieces = [kept]
        size = 0
        while size <= len(kept):
            piece = next(self._chunks, None)
            if piece is None:
                self._ended = True
                break
            pieces.append(piece)
            size += len(piece)
        self._text, self._at = "".join(pieces), 0


def is_single_object(chunks: Iterable[str]) -> bool:
    """Whether a text that begins with `{` is one JSON object rather than one on each line."""
    buffer = JsonBuffer(chunks)
    try:
        buffer.value()
        return buffer.peek() == ""
    except FileError:
        # Broken or very long. JSON Lines close each object on the line that opens it.
        return not buffer.first_line_closes()


def read_json(chunks: Iterable[str]) -> Iterator[Row | Problem]:
    """The records of a JSON file, numbered from 1. Raises FileError where it holds no or several lists of records."""
    buffer = JsonBuffer(chunks)
    start = buffer.peek()
    if start == "[":
        yield from _read_array(buffer)
    elif start == "{":
        yield from _read_object(buffer)
    else:
        raise FileError("Expected a JSON array of records, or an object that holds one.")
    if trailing := buffer.peek():
        raise FileError(f"Not valid JSON: {trailing} after the end of the records.")


def _read_array(buffer: JsonBuffer) -> Iterator[Row | Problem]:
    buffer.take("[")
    number = 0
    while buffer.peek() != "]":
        if number:
            buffer.take(",")
        number += 1
        try:
            yield _as_row(number, buffer.value())
        except FileError as error:
            error.args = (f"Record {number}: {error}",)
            raise
    buffer.take("]")


def _read_object(buffer: JsonBuffer) -> Iterator[Row | Problem]:
    """The one list of records inside an object; without any, the object itself is the only record."""
    single: dict[str, Any] = {}
    lists: list[str] = []
    buffer.take("{")
    while buffer.peek() != "}":
        if single or lists:
            buffer.take(",")
        name = buffer.value()
        if not isinstance(name, str) or isinstance(name, NumberText):
            raise FileError(f"Not valid JSON: expected a key, found {name}.")
        buffer.take(":")
        if buffer.peek() == "[" and _is_record(buffer.first_element()):
            lists.append(name)
            if len(lists) > 1:
                raise FileError(f"The file holds several lists of records: {', '.join(lists)}. Give each its own file.")
            yield from _read_array(buffer)
        else:
            single[name] = buffer.value()
    buffer.take("}")
    if not lists:
        yield Row(1, single)


def _is_record(element: object) -> bool:
    """Whether an array that begins with `element` lists records, and not the messages of a single record."""
    if not isinstance(element, dict):
        return False
    keys = set(element)
    is_message = "content" in keys or {"from", "value"} <= keys or keys in ({"speaker", "text"}, {"role", "text"})
    return not is_message
