"""Conversations of a file as raters will see them, cut where they are too long for a page of several."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.corpus.models import LANGUAGE_TAG, SpeakerRole
from apps.corpus.parsing.records import ConversationRecord, TurnRecord

TURNS_SHOWN = 12
CHARACTERS_SHOWN = 3_000
ABOUT_SHOWN = 30
ABOUT_CHARACTERS_SHOWN = 300


@dataclass(frozen=True)
class TurnExcerpt:
    """A turn, with what the template of a stored turn asks for. `characters`: how long its text is, uncut."""

    index: int
    role: SpeakerRole
    speaker: str
    text: str
    raw_text: str | None
    characters: int

    def get_role_display(self) -> str:
        return str(self.role.label)

    @property
    def is_cut(self) -> bool:
        return self.characters > len(self.text)


@dataclass(frozen=True)
class ConversationExcerpt:
    """`turns` are the first that raters see, `hidden_turns` how many follow; `about` is what they do not see."""

    external_id: str
    row: int
    language: str
    n_turns: int
    turns: list[TurnExcerpt]
    hidden_turns: int
    system_turns: list[TurnExcerpt]
    about: list[tuple[str, str]]
    hidden_about: int

    @property
    def prefix(self) -> str:
        """What tells the ids of its turns from those of another on the same page."""
        return f"row-{self.row}-"

    @property
    def language_tag(self) -> str:
        """The language as HTML understands it, "" where it is something else."""
        return self.language if LANGUAGE_TAG.fullmatch(self.language) else ""


def excerpt_of(record: ConversationRecord) -> ConversationExcerpt:
    spoken = [(index, turn) for index, turn in enumerate(record.turns) if turn.role != SpeakerRole.SYSTEM]
    system = [(index, turn) for index, turn in enumerate(record.turns) if turn.role == SpeakerRole.SYSTEM]
    about = [(name, _cut(value, ABOUT_CHARACTERS_SHOWN)) for name, value in _about(record)]
    return ConversationExcerpt(
        external_id=record.external_id,
        row=record.row,
        language=record.language,
        n_turns=len(record.turns),
        turns=_turns(spoken),
        hidden_turns=max(0, len(spoken) - TURNS_SHOWN),
        system_turns=_turns(system),
        about=about[:ABOUT_SHOWN],
        hidden_about=max(0, len(about) - ABOUT_SHOWN),
    )


def _turns(turns: Iterable[tuple[int, TurnRecord]]) -> list[TurnExcerpt]:
    return [
        TurnExcerpt(
            index=index,
            role=SpeakerRole(turn.role),
            speaker=turn.speaker,
            text=turn.text[:CHARACTERS_SHOWN],
            raw_text=None if turn.raw_text is None else turn.raw_text[:CHARACTERS_SHOWN],
            characters=len(turn.text),
        )
        for index, turn in list(turns)[:TURNS_SHOWN]
    ]


def _about(record: ConversationRecord) -> list[tuple[str, str]]:
    fields = ("title", "language", "reference", "belief", "pair", "parent")
    named = [(name, getattr(record, name)) for name in fields if getattr(record, name)]
    named += [(f"factor {name}", level) for name, level in record.factors.items()]
    return named + [(name, value if isinstance(value, str) else str(value)) for name, value in record.metadata.items()]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
