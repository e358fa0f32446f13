"""A conversation as it stands in a form: all of it text, row by row, with what was typed and how it came there.

Pure. Browsers change text on its way: a text area sends every line end as CR LF, a line of input drops them. So a text
that says the same as the stored one but for its line ends is the stored one, and an edit that changes nothing leaves
the content, and its hash, as they were.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from apps.corpus.parsing.cells import as_metadata
from apps.corpus.parsing.json_text import decode
from apps.corpus.parsing.mapping import ABOUT_FIELDS
from apps.corpus.parsing.records import ConversationRecord, Role, TurnRecord

MAX_TURNS = 500
MAX_PAIRS = 200
"""Rows of one form: of metadata, and of factors."""

MAX_BYTES = 4 * 1024 * 1024
"""Of all texts together: a form that is sent may not be larger (settings.DATA_UPLOAD_MAX_MEMORY_SIZE)."""

LINES = ("external_id", "title", "language", "pair", "parent")
"""Fields that are one line of input; reference and belief are text areas."""

TEXT, JSON = "text", "json"
"""How a value of the metadata is written: as it is, or, where it is no text (a number, a list), as JSON."""

Kind = Literal["metadata", "factors"]
KEY = r"([A-Za-z0-9]{1,12})"

Row = TypeVar("Row", "DraftTurn", "DraftPair")


@dataclass(frozen=True)
class DraftTurn:
    """`origin` is the index of the stored turn it was made from, "" for a new one; `key` names it in the form."""

    role: str = Role.SEEKER
    speaker: str = ""
    text: str = ""
    origin: str = ""
    key: str = ""
    raw_text: str | None = None


@dataclass(frozen=True)
class DraftPair:
    """A name and its value, of the metadata or the factors. `origin`: its place among the stored ones."""

    name: str = ""
    value: str = ""
    kind: str = TEXT
    origin: str = ""
    key: str = ""


@dataclass(frozen=True)
class ConversationDraft:
    """`revision` is that of the stored conversation its writer has seen, "" for a new one."""

    about: dict[str, str] = field(default_factory=dict)
    turns: tuple[DraftTurn, ...] = ()
    metadata: tuple[DraftPair, ...] = ()
    factors: tuple[DraftPair, ...] = ()
    revision: str = ""

    def having_seen(self, revision: str) -> "ConversationDraft":
        return replace(self, revision=revision)

    def pairs(self, kind: Kind) -> tuple[DraftPair, ...]:
        return self.metadata if kind == "metadata" else self.factors

    def with_pairs(self, kind: Kind, pairs: Sequence[DraftPair]) -> "ConversationDraft":
        return replace(self, metadata=tuple(pairs)) if kind == "metadata" else replace(self, factors=tuple(pairs))


# --- From what is stored, or posted -------------------------------------------------------------------------------


def new_draft(external_id: str, language: str = "") -> ConversationDraft:
    """An empty conversation: one turn of each side, to be written."""
    about = {"external_id": external_id, "language": language}
    return ConversationDraft(about, (DraftTurn(Role.SEEKER, key="0"), DraftTurn(Role.SUPPORTER, key="1")))


def draft_of(record: ConversationRecord, revision: str = "") -> ConversationDraft:
    """What the form shows of a stored conversation."""
    about = {"external_id": record.external_id} | {name: getattr(record, name) for name in ABOUT_FIELDS}
    turns = tuple(
        DraftTurn(turn.role, turn.speaker, turn.text, origin=str(index), key=str(index), raw_text=turn.raw_text)
        for index, turn in enumerate(record.turns)
    )
    return ConversationDraft(about, turns, _pairs_of(record.metadata), _pairs_of(record.factors), revision=revision)


def posted_draft(fields: Iterable[tuple[str, str]]) -> ConversationDraft:
    """The draft in the names and values of a form, in the order in which they were sent: it is that of the rows."""
    values = dict(fields)
    return ConversationDraft(
        about={name: _line_ends(values.get(name, "")) for name in ("external_id", *ABOUT_FIELDS)},
        turns=tuple(
            DraftTurn(
                role=values.get(f"turns-{key}-role", ""),
                speaker=_line_ends(values.get(f"turns-{key}-speaker", "")),
                text=_line_ends(values[f"turns-{key}-text"]),
                origin=values.get(f"turns-{key}-origin", ""),
                key=key,
            )
            for key in _keys(values, "turns", "text")
        ),
        metadata=_posted_pairs(values, "metadata"),
        factors=_posted_pairs(values, "factors"),
        revision=values.get("revision", ""),
    )


def _posted_pairs(values: dict[str, str], kind: Kind) -> tuple[DraftPair, ...]:
    return tuple(
        DraftPair(
            name=_line_ends(values.get(f"{kind}-{key}-name", "")),
            value=_line_ends(values[f"{kind}-{key}-value"]),
            kind=JSON if values.get(f"{kind}-{key}-kind") == JSON else TEXT,
            origin=values.get(f"{kind}-{key}-origin", ""),
            key=key,
        )
        for key in _keys(values, kind, "value")
    )


def _keys(values: dict[str, str], rows: str, leading: str) -> list[str]:
    pattern = re.compile(f"{rows}-{KEY}-{leading}")
    return [match.group(1) for name in values if (match := pattern.fullmatch(name))]


def _pairs_of(stored: dict[str, Any]) -> tuple[DraftPair, ...]:
    return tuple(
        DraftPair(name, *_written(value), origin=str(index), key=str(index))
        for index, (name, value) in enumerate(stored.items())
    )


def _written(value: object) -> tuple[str, str]:
    return (value, TEXT) if isinstance(value, str) else (json.dumps(value, ensure_ascii=False), JSON)


# --- What a browser did to it -------------------------------------------------------------------------------------


def restored(draft: ConversationDraft, stored: ConversationRecord) -> ConversationDraft:
    """The draft with each stored text back in the place of one that says the same but for its line ends.

    The text before a clean-up stays with its turn only while nobody changes the text.
    """
    shown = draft_of(stored)
    return replace(
        draft,
        about={name: _kept(text, shown.about[name], is_line=name in LINES) for name, text in draft.about.items()},
        turns=tuple(_restored_turn(turn, shown.turns) for turn in draft.turns),
        metadata=tuple(_restored_pair(pair, shown.metadata) for pair in draft.metadata),
        factors=tuple(_restored_pair(pair, shown.factors) for pair in draft.factors),
    )


def _restored_turn(turn: DraftTurn, shown: Sequence[DraftTurn]) -> DraftTurn:
    origin = _origin_of(turn, shown)
    if origin is None:
        return replace(turn, origin="")
    text = _kept(turn.text, origin.text)
    raw_text = origin.raw_text if text == origin.text else None
    return replace(turn, speaker=_kept(turn.speaker, origin.speaker, is_line=True), text=text, raw_text=raw_text)


def _restored_pair(pair: DraftPair, shown: Sequence[DraftPair]) -> DraftPair:
    origin = _origin_of(pair, shown)
    if origin is None:
        return replace(pair, origin="")
    return replace(pair, name=_kept(pair.name, origin.name, is_line=True), value=_kept(pair.value, origin.value))


def _origin_of(row: Row, shown: Sequence[Row]) -> Row | None:
    if re.fullmatch("[0-9]{1,6}", row.origin) and int(row.origin) < len(shown):
        return shown[int(row.origin)]
    return None


def _kept(posted: str, stored: str, *, is_line: bool = False) -> str:
    if is_line:
        return stored if _one_line(posted) == _one_line(stored) else posted
    return stored if _line_ends(posted) == _line_ends(stored) else posted


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _one_line(text: str) -> str:
    return text.replace("\r", "").replace("\n", "")


# --- What a button does to it -------------------------------------------------------------------------------------


def acted(draft: ConversationDraft, act: str) -> ConversationDraft:
    """The draft after a button: `add-turn`, `below:KEY`, `up:KEY`, `down:KEY`, `remove:KEY`, and for `metadata` and
    `factors` `add-KIND` and `remove-KIND:KEY`. An act that is not known changes nothing. Rows are named anew.
    """
    name, _, key = act.partition(":")
    match name:
        case "add-turn" | "below" | "up" | "down" | "remove":
            draft = replace(draft, turns=tuple(_acted_on_turns(list(draft.turns), name, key)))
        case "add-metadata" | "add-factors":
            kind = _kind(name)
            if len(draft.pairs(kind)) < MAX_PAIRS:
                draft = draft.with_pairs(kind, [*draft.pairs(kind), DraftPair()])
        case "remove-metadata" | "remove-factors":
            kind = _kind(name)
            draft = draft.with_pairs(kind, [pair for pair in draft.pairs(kind) if pair.key != key])
    return _named_anew(draft)


def _acted_on_turns(turns: list[DraftTurn], name: str, key: str) -> list[DraftTurn]:
    place = next((index for index, turn in enumerate(turns) if turn.key == key), None)
    if name == "add-turn":
        place = len(turns) - 1
    if place is None:
        return turns
    if name in ("add-turn", "below"):
        if len(turns) < MAX_TURNS:
            turns.insert(place + 1, DraftTurn(_answering(turns[place].role) if turns else Role.SEEKER))
    elif name == "remove":
        del turns[place]
    else:
        other = place + (-1 if name == "up" else 1)
        if 0 <= other < len(turns):
            turns[place], turns[other] = turns[other], turns[place]
    return turns


def _answering(role: str) -> str:
    return Role.SUPPORTER if role == Role.SEEKER else Role.SEEKER


def _kind(act: str) -> Kind:
    return "metadata" if act.endswith("metadata") else "factors"


def _named_anew(draft: ConversationDraft) -> ConversationDraft:
    return replace(
        draft,
        turns=tuple(replace(turn, key=str(index)) for index, turn in enumerate(draft.turns)),
        metadata=tuple(replace(pair, key=str(index)) for index, pair in enumerate(draft.metadata)),
        factors=tuple(replace(pair, key=str(index)) for index, pair in enumerate(draft.factors)),
    )


# --- To a record --------------------------------------------------------------------------------------------------


def record_of(draft: ConversationDraft) -> ConversationRecord:
    """The conversation that a checked draft says, as an import would have read it.

    Raises ValueError where a value that is marked as JSON is none.
    """
    return ConversationRecord(
        row=0,
        external_id=draft.about["external_id"],
        turns=[TurnRecord(turn.role, turn.speaker, turn.text, turn.raw_text) for turn in draft.turns],
        metadata={pair.name: read_value(pair) for pair in draft.metadata},
        factors={pair.name: pair.value for pair in draft.factors},
        **{name: draft.about.get(name, "") for name in ABOUT_FIELDS},
    )


def read_value(pair: DraftPair) -> Any:
    """The value as an import of JSON would keep it. Raises ValueError, which says what is wrong with it."""
    return pair.value if pair.kind == TEXT else as_metadata(decode(pair.value))


def is_too_large(record: ConversationRecord) -> bool:
    """Whether a form could not hold the conversation: it is changed in its file, and imported anew."""
    pairs = max(len(record.metadata), len(record.factors))
    return len(record.turns) > MAX_TURNS or pairs > MAX_PAIRS or len(record.content.encode()) > MAX_BYTES
