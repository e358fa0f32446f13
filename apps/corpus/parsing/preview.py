"""The first rows of a file as they would be imported: what a person checks, and corrects, before the import."""

from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from apps.corpus.parsing.cells import CellError, as_text
from apps.corpus.parsing.column_values import looks_like_rating
from apps.corpus.parsing.guessing import guess_mapping, plain
from apps.corpus.parsing.limits import SAMPLE_ROWS
from apps.corpus.parsing.mapping import ColumnMapping
from apps.corpus.parsing.reading import ConversationReader
from apps.corpus.parsing.records import ConversationRecord, FileError, Findings, Notice, Problem
from apps.corpus.parsing.rows import Table, open_table
from apps.corpus.parsing.speakers import Speakers, normal
from apps.corpus.parsing.tables import Row

VALUES_SHOWN = 20
CHARACTERS_SHOWN = 200
CONVERSATIONS_SHOWN = 5


@dataclass(frozen=True)
class ColumnPreview:
    """A column in the first rows: how many cells are filled, how many values differ, the commonest with counts."""

    name: str
    filled: int
    distinct: int
    values: list[tuple[str, int]]

    @property
    def shown_name(self) -> str:
        """The header, without what no page can show."""
        return printable(self.name)

    @property
    def looks_like_rating(self) -> bool:
        return looks_like_rating(plain(self.name), [value for value, _ in self.values])


@dataclass(frozen=True)
class SpeakerPreview:
    """A speaker label in the first rows, in its commonest spelling, however often it stands there in any.

    `role` is what it stands for, `is_known` whether that was known or given, or only `other` for want of better.
    """

    label: str
    count: int
    role: str
    is_known: bool


@dataclass
class Preview:
    """The first 200 rows under a mapping.

    `fault` says why the file cannot be imported as it stands, "" where it can, and `error` is what was raised;
    `is_cut` tells whether there are more rows.
    `conversations` are the first five of `n_conversations`; `speakers` (the commonest first) and
    `rows_with_comma_mark` count within the rows seen. `sampled` are the rows looked at, those that cannot be read
    included; the columns were counted in the others.
    """

    format: str
    encoding: str
    delimiter: str
    columns: list[ColumnPreview]
    mapping: ColumnMapping
    fault: str = ""
    error: FileError | None = None
    is_cut: bool = False
    rows: int = 0
    sampled: int = 0
    conversations: list[ConversationRecord] = field(default_factory=list)
    n_conversations: int = 0
    problems: Findings[Problem] = field(default_factory=Findings)
    notices: Findings[Notice] = field(default_factory=Findings)
    speakers: list[SpeakerPreview] = field(default_factory=list)
    rows_with_comma_mark: int = 0


def preview(
    file: BinaryIO, mapping: ColumnMapping | None = None, *, format: str | None = None, encoding: str | None = None
) -> Preview:
    """What an import of `file` would make of its first rows. Raises FileError where it cannot be read at all."""
    return preview_table(open_table(file, format=format, encoding=encoding), mapping)


def preview_table(table: Table, mapping: ColumnMapping | None = None) -> Preview:
    """The same for a file that is open already, and not yet read."""
    guessed = guess_mapping(table.columns, table.sample, mapping or ColumnMapping())
    columns = [_column(name, table.sample) for name in table.columns]
    seen = Preview(table.format, table.encoding, table.delimiter, columns, guessed)
    seen.sampled = len(table.sample) + len(table.unreadable)
    table.cut(SAMPLE_ROWS)
    try:
        reader = ConversationReader(table, mapping=guessed)
        _read(reader, seen)
    except FileError as problem:
        seen.fault, seen.error = str(problem), problem
        _look_on(table, seen)
    seen.is_cut = table.is_cut
    return seen


def _look_on(table: Table, seen: Preview) -> None:
    """Where nothing could be made of the rows: which of them cannot be read whatever the columns mean."""
    if not seen.problems.total:
        for found in table.unreadable:
            if isinstance(found, Problem):
                seen.problems.add(found)
    # The end of the first rows tells whether there are more of them; what is wrong there has been said.
    with suppress(FileError):
        deque(table.rows, maxlen=0)


def _read(reader: ConversationReader, seen: Preview) -> None:
    for found in reader:
        if isinstance(found, ConversationRecord):
            seen.n_conversations += 1
            if len(seen.conversations) < CONVERSATIONS_SHOWN:
                seen.conversations.append(found)
        elif isinstance(found, Problem):
            seen.problems.add(found)
        elif isinstance(found, Notice):
            seen.notices.add(found)
    seen.rows = reader.rows
    seen.speakers = _speakers(reader.maker.speakers)
    seen.rows_with_comma_mark = reader.maker.rows_with_comma_mark


def _speakers(speakers: Speakers) -> list[SpeakerPreview]:
    counted: dict[str, Counter[str]] = {}
    for label, count in (speakers.known + speakers.unknown).items():
        counted.setdefault(normal(label), Counter())[label] = count
    found = [
        SpeakerPreview(
            spellings.most_common(1)[0][0], spellings.total(), speakers.role_for(label), speakers.is_known(label)
        )
        for label, spellings in counted.items()
    ]
    return sorted(found, key=lambda speaker: -speaker.count)


def _column(name: str, sample: list[Row]) -> ColumnPreview:
    values = Counter(_shown(row.values.get(name)) for row in sample)
    filled = sum(count for value, count in values.items() if value)
    common = [(value, count) for value, count in values.most_common(VALUES_SHOWN + 1) if value]
    return ColumnPreview(name, filled, sum(bool(value) for value in values), common[:VALUES_SHOWN])


def _shown(value: object) -> str:
    try:
        text = as_text(value)
    except CellError:
        text = str(value)
    return printable(text if len(text) <= CHARACTERS_SHOWN else text[: CHARACTERS_SHOWN - 1] + "…")


def printable(text: str) -> str:
    """The text with halves of surrogate pairs, which no page can show, replaced."""
    return text.encode("utf-8", "replace").decode()
