"""Finding the one JSON object in a model's reply. Pure; linear in the reply's length, and never recursing deeply."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from apps.llm.faults import Fault

MAX_CHARACTERS = 200_000
MAX_DEPTH = 20

_SPACE = " \t\r\n"
# What begins like JSON that may hold an object: a brace before a quotation mark or its closing brace; a bracket before
# a brace, or before a value and a comma. Other braces and brackets are prose: {calm}, [1].
_START = re.compile(
    r"""
    \{[ \t\r\n]*+ (?P<object>["}])?
    | \[[ \t\r\n\[]*+ (?P<array>\{ | (?:"(?:[^"\\]++|\\.)*+" | -?[0-9][0-9.eE+-]*+ | true | false | null)[ \t\r\n]*+,)?
    """,
    re.VERBOSE | re.DOTALL,
)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?P<closed>")?|[{}\[\]]', re.DOTALL)
_FENCE_OPENS = re.compile(r"```[\w+-]{0,20}[ \t]*\r?\n?[ \t\r\n]*\Z")
_FENCE_CLOSES = re.compile(r"[ \t\r\n]*```")


class Reading(StrEnum):
    """How the object was found."""

    SCHEMA = "schema"  # the reply is the object
    FENCED = "fenced"  # it stands alone between code fences
    PROSE = "prose"  # it stands in other text
    ARRAY = "array"  # it is the only element of an array, wherever that stands


class Unreadable(ValueError):  # noqa: N818 - reads as what happened
    """The reply holds no one JSON object: the kind of fault, and a sentence as the message."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class JsonNumber:
    """A number as it was written: 3, 3.0, 1e400. NaN and Infinity, which JSON does not have, stay floats."""

    literal: str


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object with its members in order, those with the same key included."""

    pairs: tuple[tuple[str, Any], ...]

    def values(self, key: str) -> list[Any]:
        """Every value that stands under the key."""
        return [value for name, value in self.pairs if name == key]

    @property
    def keys(self) -> list[str]:
        """Each key once, in order."""
        return list(dict.fromkeys(name for name, _ in self.pairs))


class _Passage(NamedTuple):
    start: int
    end: int
    depth: int


def read_object(reply: str) -> tuple[JsonObject, Reading]:
    """The object, and how it was found. Raises Unreadable.

    Passages that look like JSON and are not the same all count: a reply with two different ones is not read.
    """
    if not reply.strip():
        raise Unreadable(Fault.EMPTY, "The reply is empty.")
    if len(reply) > MAX_CHARACTERS:
        raise Unreadable(
            Fault.TOO_LONG, f"The reply is too long: {len(reply):,} characters, at most {MAX_CHARACTERS:,} are read."
        )
    passages = list(_passages(reply))
    if not passages:
        raise Unreadable(Fault.NO_JSON, "The reply holds no JSON object.")
    first, *others = passages
    text = _text_of(first, reply)
    if any(_text_of(other, reply) != text for other in others) and not _are_equal(passages, reply):
        raise Unreadable(
            Fault.AMBIGUOUS, "The reply is ambiguous: it holds more than one JSON object, and they differ."
        )
    return _only_object(_decoded(first, reply), _place(first, reply))


def _only_object(value: Any, reading: Reading) -> tuple[JsonObject, Reading]:
    if isinstance(value, JsonObject):
        return value, reading
    if len(value) != 1:
        raise Unreadable(Fault.ARRAY, f"The reply is an array of {len(value)} elements; one object was asked for.")
    if not isinstance(value[0], JsonObject):
        raise Unreadable(Fault.ARRAY, "The reply is an array whose element is not an object.")
    return value[0], Reading.ARRAY


def _place(passage: _Passage, reply: str) -> Reading:
    before, after = reply[: passage.start], reply[passage.end :]
    if not before.strip(_SPACE + "\ufeff") and not after.strip():
        return Reading.SCHEMA
    # Long enough for the fence, its language and an empty line.
    if _FENCE_OPENS.search(before[-60:]) and _FENCE_CLOSES.match(after):
        return Reading.FENCED
    return Reading.PROSE


# --- Passages that look like JSON -----------------------------------------------------------------------------------


def _passages(reply: str) -> Iterator[_Passage]:
    """Each outermost passage that begins like JSON and may hold an object, to the bracket that closes it."""
    if (whole := _whole_array(reply)) is not None:
        yield whole
        return
    position = 0
    while (start := _START.search(reply, position)) is not None:
        position = start.end()
        if start["object"] or start["array"]:
            passage = _closed(reply, start.start())
            position = passage.end
            if "{" in _text_of(passage, reply):  # else a list of values such as [1, 2], which is prose
                yield passage


def _whole_array(reply: str) -> _Passage | None:
    """The reply as one passage, where it is an array from end to end, whatever stands in it."""
    start = len(reply) - len(reply.lstrip(_SPACE + "\ufeff"))
    if not reply.startswith("[", start):
        return None
    passage = _closed(reply, start)
    return None if reply[passage.end :].strip() else passage


def _closed(reply: str, start: int) -> _Passage:
    depth = deepest = 0
    for token in _TOKEN.finditer(reply, start):
        if token[0] in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "}]":
            depth -= 1
        elif not token["closed"]:
            break
        if depth == 0:
            return _Passage(start, token.end(), deepest)
    raise Unreadable(Fault.CUT_OFF, "The reply is cut off: its JSON is not closed.")


def _are_equal(passages: list[_Passage], reply: str) -> bool:
    """Whether they are the same but for their layout. A passage that is not JSON is the same as no other."""
    try:
        first, *others = [_decoded(passage, reply) for passage in passages]
    except Unreadable:
        return False
    return all(other == first for other in others)


def _text_of(passage: _Passage, reply: str) -> str:
    return reply[passage.start : passage.end]


def _decoded(passage: _Passage, reply: str) -> Any:
    if passage.depth > MAX_DEPTH:
        raise Unreadable(
            Fault.TOO_DEEP, f"The reply is nested too deeply: {passage.depth:,} levels, at most {MAX_DEPTH} are read."
        )
    try:
        return json.loads(
            _text_of(passage, reply),
            object_pairs_hook=lambda pairs: JsonObject(tuple(pairs)),
            parse_int=JsonNumber,
            parse_float=JsonNumber,
        )
    except json.JSONDecodeError as error:
        raise Unreadable(
            Fault.NOT_JSON, f"The reply is not valid JSON: {error.msg}, at character {passage.start + error.pos}."
        ) from error
