"""Who speaks: labels of the source, such as "Seeker", "user" or "Speaker 1", and the roles they stand for."""

import re
from collections import Counter

from apps.corpus.parsing.records import Role

NOT_A_SPEAKER = "text"
"""The role given to a label that is part of the text, for example "Note:"."""

KNOWN_LABELS = {
    Role.SEEKER: ("seeker", "help seeker", "help-seeker", "user", "human", "client", "patient", "discloser", "sharer"),
    Role.SUPPORTER: (
        "supporter", "assistant", "helper", "listener", "responder", "counselor", "counsellor", "therapist",
        "bot", "chatbot", "model", "ai", "gpt",
    ),
    Role.SYSTEM: ("system", "developer"),
    Role.OTHER: ("other",),
}  # fmt: skip
MAX_LABEL_WORDS = 3
MAX_LABELS_COUNTED = 1_000

# A label is short, begins with a letter or digit, and is followed by a colon (a wide one in Chinese and Japanese).
LABELLED_LINE = re.compile(r"[ \t]*([^\W_][^\n\r:：?!;\"“”()\[\]]{0,39}?)[ \t]*([:：])")


def normal(label: str) -> str:
    """A label as it is compared: case and outer or repeated spaces do not count."""
    return " ".join(label.split()).casefold()


class Speakers:
    """Labels and their roles: those known everywhere, and over them those given for this file.

    Unknown labels get the role `other` and are counted in `unknown`, so that they can be shown and mapped; `known`
    counts the others.
    """

    def __init__(self, roles: dict[str, str] | None = None) -> None:
        self._roles = {label: str(role) for role, labels in KNOWN_LABELS.items() for label in labels}
        self._roles |= {normal(label): role for label, role in (roles or {}).items()}
        self.unknown: Counter[str] = Counter()
        self.known: Counter[str] = Counter()

    def is_known(self, label: str) -> bool:
        return normal(label) in self._roles

    def role_for(self, label: str) -> str:
        """The role a label stands for, without counting it."""
        role = self._roles.get(normal(label))
        return Role.OTHER if role is None or role == NOT_A_SPEAKER else role

    def role_of(self, label: str) -> str:
        """The role of whoever speaks this turn; the label is counted."""
        role = self._roles.get(normal(label))
        if role is None or role == NOT_A_SPEAKER:
            _count(self.unknown, label)
            return Role.OTHER
        _count(self.known, label)
        return role

    def begins_turn(self, line: str) -> tuple[str, str] | None:
        """(label, text after it) of a transcript line that begins a turn, None for one that goes on.

        A known label always begins a turn. An unknown one does where it looks like a name: white space follows the
        colon (so "10:30" and "https://" do not count), at most three words, a single one if it begins in lower case.
        """
        match = LABELLED_LINE.match(line)
        if match is None:
            return None
        label, rest = match.group(1), line[match.end() :]
        if self.is_known(label):
            return None if self._roles[normal(label)] == NOT_A_SPEAKER else (label, rest)
        if match.group(2) == ":" and rest and not rest[0].isspace():
            return None
        words = len(label.split())
        looks_like_name = words == 1 or (words <= MAX_LABEL_WORDS and not label[0].islower())
        return (label, rest) if looks_like_name else None


def _count(counter: Counter[str], label: str) -> None:
    if label in counter or len(counter) < MAX_LABELS_COUNTED:
        counter[label] += 1
