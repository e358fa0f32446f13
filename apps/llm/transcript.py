"""Conversations as they stand in a prompt: whole, and marked off by a mark that they cannot forge. Pure."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Literal, NamedTuple

SpeakerName = Literal["seeker", "supporter", "other"]

_MARK_DIGITS = 12
_WORDS = {"seeker": "Seeker", "supporter": "Supporter", "other": "Other"}


class PromptTurn(NamedTuple):
    """One turn of the transcript. System turns are no part of it: no rater is shown them."""

    role: SpeakerName
    text: str
    speaker: str = ""  # who it was, for the role `other`


def mark_for(conversations: Iterable[Sequence[PromptTurn]]) -> str:
    """A mark that occurs nowhere in the conversations, in whatever case; the same for the same conversations.

    It is made from the texts themselves, so nobody can write it into one of them beforehand.
    """
    texts = [part for turns in conversations for turn in turns for part in (turn.text, turn.speaker)]
    seed = json.dumps(texts)
    lowered = [text.lower() for text in texts]
    marks = (hashlib.sha256(f"{number} {seed}".encode()).hexdigest()[:_MARK_DIGITS] for number in count())
    return next(mark for mark in marks if not any(mark in text for text in lowered))


def marked_off(turns: Sequence[PromptTurn], mark: str, name: str) -> str:
    """The turns between two lines with the mark, each below a line with the mark that names its speaker.

    name: what the lines call it, for example `conversation` or `example 1`. Every text stands there whole, unchanged.
    """
    lines = [f"=== {mark} {name} begins ==="]
    for number, turn in enumerate(turns, start=1):
        lines += [f"=== {mark} turn {number}, {_who(turn)} ===", turn.text]
    return "\n".join([*lines, f"=== {mark} {name} ends ==="])


def _who(turn: PromptTurn) -> str:
    # As on the rating screen, a speaker has a name only where the role says nothing. A name keeps to its line.
    name = " ".join(turn.speaker.split()) if turn.role == "other" else ""
    return f"{_WORDS[turn.role]} ({name})" if name else _WORDS[turn.role]
