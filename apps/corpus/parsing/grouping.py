"""One row per turn: rows gathered into conversations, wherever in the file they lie, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from apps.corpus.parsing.limits import MAX_OPEN_CHARACTERS, MAX_OPEN_ROWS
from apps.corpus.parsing.records import TurnRecord
from apps.corpus.parsing.tables import Row


@dataclass(slots=True)
class TurnRow:
    """One turn, its place in its conversation if the file names one, and the row it came from."""

    row: Row
    turn: TurnRecord
    index: int | None


@dataclass(slots=True)
class Group:
    """The turns of one conversation so far. `is_broken`: a row of it is faulty, so it must not be stored in part."""

    external_id: str
    first_row: int
    rows: list[TurnRow] = field(default_factory=list)
    is_broken: bool = False


class Gatherer:
    """Groups by id, in order of first appearance.

    Up to MAX_OPEN_ROWS rows wait for others of their conversation. When more come, every group but the one being read
    is complete: a row that later belongs to one of them is refused, since its conversation has been handed on.
    """

    def __init__(self) -> None:
        self._open: dict[str, Group] = {}
        self._closed: dict[str, int] = {}
        self._rows = self._characters = 0
        self._last: Group | None = None
        self._next_is_suspect = False

    def closed_at(self, external_id: str) -> int | None:
        """The first row of a conversation that has been handed on already."""
        return self._closed.get(external_id)

    def group(self, external_id: str, row: int) -> Group:
        """The open group of an id, made where there is none."""
        group = self._open.get(external_id)
        if group is None:
            group = self._open[external_id] = Group(external_id, row)
        if self._next_is_suspect:
            group.is_broken = True
            self._next_is_suspect = False
        self._last = group
        return group

    def add(self, group: Group, part: TurnRow) -> None:
        group.rows.append(part)
        self._rows += 1
        self._characters += len(part.turn.text)

    def lose_row(self) -> None:
        """A row could not be read: it may belong to the conversation before or after it, so neither is complete."""
        if self._last is not None:
            self._last.is_broken = True
        self._next_is_suspect = True

    def overflow(self) -> Iterator[Group]:
        """Hand on the complete groups once too many rows are waiting."""
        if self._rows >= MAX_OPEN_ROWS or self._characters >= MAX_OPEN_CHARACTERS:
            yield from self._hand_on(keep=self._last)

    def rest(self) -> Iterator[Group]:
        yield from self._hand_on(keep=None)

    def _hand_on(self, keep: Group | None) -> Iterator[Group]:
        done = [group for group in self._open.values() if group is not keep]
        self._open = {} if keep is None else {keep.external_id: keep}
        self._rows = 0 if keep is None else len(keep.rows)
        self._characters = 0 if keep is None else sum(len(part.turn.text) for part in keep.rows)
        for group in done:
            self._closed[group.external_id] = group.first_row
            yield group
