"""Templates of prompts: plain text with places for what a study fills in, written {{name}}. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

_PLACE = re.compile(r"\{\{([^{}]*)\}\}")
_LONE_PLACE = re.compile(r"[ \t]*\{\{[ \t]*(\w+)[ \t]*\}\}[ \t]*")
_MAX_SHOWN = 40


class Use(StrEnum):
    """What one call asks for."""

    SCALE = "scale"
    FRAMEWORK = "framework"


_SHARED = {
    "framework": "the framework's name",
    "description": "what the framework says of itself; may be empty",
    "stem": "what all its questions share; may be empty",
    "examples": "conversations with the experts' medians, where some were chosen",
    "conversation": "the conversation, marked off as material to be judged",
    "answer_form": "the form of the answer and the allowed scores",
}
# What may stand between the braces, by use, with its meaning.
PLACEHOLDERS: dict[Use, dict[str, str]] = {
    Use.SCALE: {
        "scale": "the scale's name",
        "question": "the scale's question",
        "guideline": "what counts and what does not",
        "points": "the points with their words, one on a line",
        "example_replies": "the framework's own example replies, where it has some",
        **_SHARED,
    },
    Use.FRAMEWORK: {
        "scales": "each scale: its name, question, guideline, points and example replies",
        **_SHARED,
    },
}
REQUIRED = {
    Use.SCALE: ("question", "points", "conversation", "answer_form"),
    Use.FRAMEWORK: ("scales", "conversation", "answer_form"),
}
# What may be long stands there once; everything else at most so often.
ONCE = ("scales", "examples", "conversation")
MOST_TIMES = 10
# Text by people outside the study: never in the system message, which models are trained to obey.
UNTRUSTED = ("conversation", "examples")


class TemplateError(ValueError):
    """A template that cannot be used: the message names every problem, one sentence each."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The two texts of a prompt. `system` may be empty: some models take no system message."""

    use: Use
    system: str
    user: str

    @property
    def names(self) -> list[str]:
        """What it has places for, each as often as it stands there."""
        return _names(self.system) + _names(self.user)

    def problems(self) -> list[str]:
        """What keeps it from being used, in sentences."""
        return [*self.system_problems(), *self.user_problems()]

    def system_problems(self) -> list[str]:
        """Those of the system message."""
        return [*_unclosed("system", self.system), *self._unknown(self.system), *self._misplaced()]

    def user_problems(self) -> list[str]:
        """Those of the user message, and what neither holds."""
        return [*_unclosed("user", self.user), *self._unknown(self.user), *self._missing(), *self._repeated()]

    def check(self) -> None:
        """Raises TemplateError if it cannot be used."""
        if problems := self.problems():
            raise TemplateError(" ".join(problems))

    def _unknown(self, text: str) -> list[str]:
        known = PLACEHOLDERS[self.use]
        unknown = [name for name in dict.fromkeys(_names(text)) if name not in known]
        if not unknown:
            return []
        names = ", ".join(f"{{{{{name[:_MAX_SHOWN]}}}}}" for name in unknown)
        return [f"Unknown placeholders: {names}. Known for one {self.use}: {', '.join(known)}."]

    def _misplaced(self) -> list[str]:
        names = set(_names(self.system))
        misplaced = [name for name in UNTRUSTED if name in names]
        return [f"{{{{{name}}}}} may stand in the user message only." for name in misplaced]

    def _missing(self) -> list[str]:
        names = self.names
        return [f"{{{{{name}}}}} is missing." for name in REQUIRED[self.use] if name not in names]

    def _repeated(self) -> list[str]:
        """A place for each of 50,000 characters would be a prompt of megabytes."""
        counts = Counter(self.names)
        known = [(name, counts[name]) for name in PLACEHOLDERS[self.use]]
        once = [f"{{{{{name}}}}} must stand there once." for name, n in known if name in ONCE and n > 1]
        often = [
            f"{{{{{name}}}}} stands there {n:,} times: at most {MOST_TIMES}, in both messages together."
            for name, n in known
            if name not in ONCE and n > MOST_TIMES
        ]
        return once + often


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with each value in its place. What a value says is never read as a placeholder.

    A line that is nothing but a place with an empty value goes, and one empty line after it.
    """
    lines = _without_empty_places(text.split("\n"), values)
    return _PLACE.sub(lambda place: values[place[1].strip()], "\n".join(lines)).strip("\n")


def _without_empty_places(lines: Iterable[str], values: Mapping[str, str]) -> list[str]:
    kept: list[str] = []
    has_dropped = False
    for line in lines:
        lone = _LONE_PLACE.fullmatch(line)
        is_empty_place = lone is not None and not values.get(lone[1], " ")
        if not is_empty_place and not (has_dropped and not line.strip()):
            kept.append(line)
        has_dropped = is_empty_place
    return kept


def _names(text: str) -> list[str]:
    return [place[1].strip() for place in _PLACE.finditer(text)]


def _unclosed(name: str, text: str) -> list[str]:
    if "{{" not in _PLACE.sub(" ", text):
        return []
    return [f"The {name} message opens a placeholder with {{{{ and does not close it."]
