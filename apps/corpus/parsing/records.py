"""What reading a file yields: conversations and findings."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

Kind = TypeVar("Kind")

MAX_FINDINGS_SHOWN = 500
HOLDS_NUL = "holds a NUL byte, which text cannot hold"
CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


class Role(StrEnum):
    """Who speaks. The same values as `corpus.models.SpeakerRole`, which this package may not import."""

    SEEKER = "seeker"
    SUPPORTER = "supporter"
    SYSTEM = "system"
    OTHER = "other"


class TurnRecord(NamedTuple):
    """One speaker's message. `raw_text` is the text before a clean-up, None where nothing was changed."""

    role: str
    speaker: str
    text: str
    raw_text: str | None = None


@dataclass
class ConversationRecord:
    """One conversation of a file, complete once made. `row` is where it begins; ids are text, exactly as they stood."""

    row: int
    external_id: str
    turns: list[TurnRecord]
    title: str = ""
    language: str = ""
    reference: str = ""
    belief: str = ""
    pair: str = ""
    parent: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    factors: dict[str, str] = field(default_factory=dict)
    file: str = ""

    @cached_property
    def content(self) -> str:
        """Everything but the id as one line of JSON with sorted keys: equal exactly when the content is equal."""
        about = {
            "turns": self.turns,
            "title": self.title,
            "language": self.language,
            "reference": self.reference,
            "belief": self.belief,
            "pair": self.pair,
            "parent": self.parent,
            "metadata": self.metadata,
            "factors": self.factors,
        }
        return CANONICAL.encode(about)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of `content`, 64 hexadecimal digits. Raises UnicodeEncodeError for half a character."""
        return hashlib.sha256(self.content.encode("utf-8")).hexdigest()

    def fault(self) -> str:
        """Why no database can store this record, "" where one can: NUL bytes, or half of a surrogate pair."""
        if fault := text_fault(self.external_id) or text_fault(self.content):
            return fault
        # Cheap first: JSON writes a NUL as \u0000, as it does the six characters of an escaped text.
        return HOLDS_NUL if "\\u0000" in self.content and _holds_nul(json.loads(self.content)) else ""


def text_fault(text: str) -> str:
    """Why no database can store a text, "" where one can: a NUL byte, or half of a surrogate pair."""
    if "\0" in text:
        return HOLDS_NUL
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"holds U+{ord(text[error.start]):04X}, half of a surrogate pair, which is not a character"
    return ""


def _holds_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(_holds_nul(part) for part in value)


@dataclass(frozen=True)
class Finding:
    """Something found in a file. `row` counts as a spreadsheet does (the header is row 1); None: the whole file."""

    row: int | None
    field: str
    message: str
    file: str = ""

    def __str__(self) -> str:
        place = [self.file, "" if self.row is None else f"row {self.row}", self.field]
        named = ", ".join(part for part in place if part)
        return on_one_line(f"{named}: {self.message}" if named else self.message)


class Problem(Finding):
    """Why a row cannot be imported."""


@dataclass(frozen=True)
class LateRow(Problem):
    """A row of a conversation that was yielded already. Without it that conversation is cut short: not to be kept."""

    conversation: str = ""


class Notice(Finding):
    """Something worth knowing that does not stop an import."""


class Hint(Notice):
    """A notice on what the mapping could settle: speakers without a role, marks to be cleaned up."""


def on_one_line(text: str) -> str:
    """Text of a file, safe to be quoted in a message: line breaks and control characters are spelled out."""
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


class FileError(ValueError):
    """The file, or the mapping asked for, cannot be used at all. The message is one sentence or two for its owner."""

    def __str__(self) -> str:
        return on_one_line(super().__str__())


class EncodingError(FileError):
    """The bytes are not text in the encoding at hand.

    `offset` is the position of the first bad byte, from 0; `line` its line, from 1, or 0 where lines cannot be told;
    `likely` an encoding worth trying, "" where none is.
    """

    def __init__(self, message: str, *, offset: int, line: int = 0, likely: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.line = line
        self.likely = likely


@dataclass
class Findings(Generic[Kind]):
    """Things found in a file: all are counted, the first 500 are kept."""

    total: int = 0
    shown: list[Kind] = field(default_factory=list)

    def add(self, finding: Kind) -> None:
        self.total += 1
        if len(self.shown) < MAX_FINDINGS_SHOWN:
            self.shown.append(finding)

    @property
    def hidden(self) -> int:
        """How many were counted and not kept."""
        return self.total - len(self.shown)

    def lines(self, heading: str) -> Iterator[str]:
        """As a command lists them, in the order in which they were found; nothing where there are none."""
        if not self.total:
            return
        yield f"{heading} ({self.total}):"
        for finding in self.shown:
            yield f"  {finding}"
        if self.hidden:
            yield f"  and {self.hidden} more"
