"""Ratings from counts of words alone: a yardstick that knows no meaning. English only, and simple on purpose. Pure.

Each rule counts cues in what the supporter says and sets them against a unit: the supporter's turns, words, or
different content words. intensity = min(1, cues / (units x full)), where `full` cues to a unit count as the most there
can be. The intensity is cut into as many equal parts as the scale has points: of five points, 0 to below 0.2 is the
lowest, 0.8 and above the highest. The lists and limits were written down before they met any data, and fit none.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from apps.llm.transcript import PromptTurn
from apps.llm.word_lists import entries

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_APOSTROPHES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "`": "'"})
_QUESTIONS = re.compile(r"[?\uff1f]+")


class Cue(StrEnum):
    """What a rule counts."""

    INVITATIONS = "invitations"
    ADVICE = "advice"
    FIRST_PERSON = "first_person"
    VALIDATION = "validation"
    CONCERN = "concern"
    DISMISSAL = "dismissal"
    UNDERSTANDING = "understanding"
    EMPATHY = "empathy"
    SHARED_WORDS = "shared_words"


class Unit(StrEnum):
    """What the cues are set against."""

    TURNS = "turns"
    WORDS = "words"
    CONTENT_WORDS = "content_words"


UNITS: Mapping[Cue, Unit] = {Cue.FIRST_PERSON: Unit.WORDS, Cue.SHARED_WORDS: Unit.CONTENT_WORDS}


@dataclass(frozen=True, slots=True)
class Rule:
    """`full`: so many cues to a unit count as the most there can be."""

    cue: Cue
    full: float

    @property
    def unit(self) -> Unit:
        return UNITS.get(self.cue, Unit.TURNS)


@dataclass(frozen=True, slots=True)
class Counts:
    cues: int
    units: int


# (framework, dimension) -> its rule. A scale that is not here gets no lexical rating.
RULES: Mapping[tuple[str, str], Rule] = {
    ("empathetic-dialogues", "empathy"): Rule(Cue.EMPATHY, 3),
    ("empathetic-dialogues", "relevance"): Rule(Cue.SHARED_WORDS, 0.4),
    ("epitome", "emotional_reactions"): Rule(Cue.CONCERN, 2),
    ("epitome", "interpretations"): Rule(Cue.UNDERSTANDING, 2),
    ("epitome", "explorations"): Rule(Cue.INVITATIONS, 2),
    ("perceived-empathy", "practical"): Rule(Cue.ADVICE, 2),
    ("lend-an-ear", "validating_emotions"): Rule(Cue.VALIDATION, 1),
    ("lend-an-ear", "encouraging_elaboration"): Rule(Cue.INVITATIONS, 1),
    ("lend-an-ear", "demonstrating_understanding"): Rule(Cue.UNDERSTANDING, 1),
    ("lend-an-ear", "advice_giving"): Rule(Cue.ADVICE, 1),
    ("lend-an-ear", "self_oriented"): Rule(Cue.FIRST_PERSON, 0.15),
    ("lend-an-ear", "dismissing_emotions"): Rule(Cue.DISMISSAL, 0.5),
}


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case, apostrophes made straight."""
    return _WORD.findall(text.translate(_APOSTROPHES).lower())


def is_english(language: str) -> bool:
    """Whether a conversation may be rated: one whose language nobody has named is taken for English."""
    return re.split(r"[-_]", language.strip().lower())[0] in ("", "en", "eng", "english")


def supporter_speaks(turns: Sequence[PromptTurn]) -> bool:
    """Whether there is a word of the supporter to count."""
    return any(_WORD.search(text) for text in _said_by(turns, "supporter"))


def count(rule: Rule, turns: Sequence[PromptTurn]) -> Counts:
    """The cues in what the supporter says, and the units that they are set against."""
    said = [text.translate(_APOSTROPHES).lower() for text in _said_by(turns, "supporter") if _WORD.search(text)]
    if rule.cue is Cue.SHARED_WORDS:
        own = _content(said)
        return Counts(len(own & _content(_said_by(turns, "seeker"))), len(own))
    cues = sum(_cues_in(rule.cue, text) for text in said)
    return Counts(cues, sum(len(words_of(text)) for text in said) if rule.unit is Unit.WORDS else len(said))


def intensity(rule: Rule, counts: Counts) -> float:
    """From 0 to 1; 0 where there is nothing to set the cues against."""
    return min(1.0, counts.cues / (counts.units * rule.full)) if counts.units else 0.0


def point_of(share: float, points: Sequence[float]) -> float:
    """The point of a scale for an intensity from 0 to 1: as many equal parts as there are points, in order.

    A limit belongs to the part above it, whatever the last digit of the division says.
    """
    return points[min(len(points) - 1, int(share * len(points) + 1e-9))]


def _said_by(turns: Sequence[PromptTurn], role: str) -> list[str]:
    return [turn.text for turn in turns if turn.role == role]


def _content(texts: Sequence[str]) -> set[str]:
    """The different words of texts, less those that are in every text."""
    return {word for text in texts for word in words_of(text)} - entries("empty")


def _cues_in(cue: Cue, text: str) -> int:
    """text: in lower case, apostrophes straight."""
    if cue is Cue.INVITATIONS:
        return len(_QUESTIONS.findall(text)) + _found("invitations", text)
    if cue is Cue.ADVICE:
        return _advice(text)
    if cue is Cue.EMPATHY:
        return sum(_found(name, text) for name in ("feelings", "validation", "concern"))
    return _found(cue.value, text)


def _found(name: str, text: str) -> int:
    """How often an entry of the list occurs; of entries that overlap the longest."""
    return len(_pattern(name).findall(text))


def _advice(text: str) -> int:
    """Phrases, and sentences that begin with an imperative, less invitations such as "tell me" and "go on"."""
    text = _pattern("invitations").sub(" ", text)
    openings = sum(1 for match in _openings().finditer(text) if not _pattern("advice").match(text, match.start(1)))
    return _found("advice", text) + openings


@cache
def _pattern(name: str) -> re.Pattern[str]:
    longest_first = sorted(entries(name), key=lambda entry: (-len(entry), entry))
    phrases = "|".join(re.escape(entry).replace(r"\ ", r"\s+") for entry in longest_first)
    return re.compile(rf"(?<![\w'])(?:{phrases})(?![\w'])")


@cache
def _openings() -> re.Pattern[str]:
    verbs = "|".join(sorted(map(re.escape, entries("imperatives")), key=len, reverse=True))
    # "Do you ...?", "let me ..." and "tell me" advise nothing.
    others = "you|your|me|i|he|she|it|they|we|the|this|that|these|those"
    before = r"(?:^|[.!?;:\n])\s*(?:please |just |maybe |perhaps |and |so )?"
    return re.compile(rf"{before}((?:do|don't)(?!\s+(?:{others})\b)|(?:{verbs})(?!\s+(?:you|me|i)\b))(?![\w'])")
