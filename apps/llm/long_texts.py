"""Texts that are too long for a page: their beginning, and how long they are. Pure."""

from typing import NamedTuple

MOST_SHOWN = 20_000  # characters


class LongText(NamedTuple):
    """The beginning of a text, and how many characters the whole of it has."""

    shown: str
    length: int

    @property
    def is_cut(self) -> bool:
        return self.length > len(self.shown)


def beginning_of(text: str) -> LongText:
    """What a page shows of a text: the whole of it, but for very long ones."""
    return LongText(text[:MOST_SHOWN], len(text))
