"""What makes one doubt that a file is read as it was meant, though nothing in it is wrong."""

from collections.abc import Iterator

from apps.corpus.parsing.mapping import Shape
from apps.corpus.parsing.records import ConversationRecord, Notice, Role

SINGLE_TURNS = "every conversation has a single turn: is this the right id column?"
NO_SUPPORTER = "no turn is the supporter's, whom raters are asked about: is the role of each speaker right?"


class Doubts:
    """Counts the conversations of one file as they are read, for the notices at its end."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._conversations = self._turns = self._supporters = 0

    def add(self, record: ConversationRecord) -> None:
        self._conversations += 1
        self._turns += len(record.turns)
        self._supporters += any(turn.role == Role.SUPPORTER for turn in record.turns)

    def notices(self, file: str) -> Iterator[Notice]:
        if self._shape is Shape.TURNS and 1 < self._conversations == self._turns:
            yield Notice(None, "id", SINGLE_TURNS, file)
        if self._turns and not self._supporters:
            yield Notice(None, "speaker", NO_SUPPORTER, file)
