"""A file of conversations, from bytes to records: the one entrance of this package."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, BinaryIO

from apps.corpus.parsing.cells import CellError, as_metadata, as_text, has_lost_digits
from apps.corpus.parsing.doubts import Doubts
from apps.corpus.parsing.formats import Format
from apps.corpus.parsing.grouping import Gatherer, Group, TurnRow
from apps.corpus.parsing.guessing import guess_mapping
from apps.corpus.parsing.limits import MAX_ROWS
from apps.corpus.parsing.mapping import ABOUT_FIELDS, ColumnMapping, Shape, listed
from apps.corpus.parsing.records import ConversationRecord, FileError, Finding, Hint, LateRow, Notice, Problem
from apps.corpus.parsing.rows import Table, open_table
from apps.corpus.parsing.shapes import COMMA_MARK, TurnError, TurnMaker
from apps.corpus.parsing.tables import Row

MAX_LENGTHS = {"id": 255, "title": 500, "language": 35, "pair": 255, "parent": 255}
HASH_ID_LENGTH = 32
WHOLE_NUMBER = re.compile(r"(-?\d{1,18})(?:\.0*)?")

Found = ConversationRecord | Finding


def open_conversations(
    file: BinaryIO,
    *,
    name: str = "",
    mapping: ColumnMapping | None = None,
    format: str | None = None,
    encoding: str | None = None,
) -> "ConversationReader":
    """Open a file of conversations. `name` is put into every finding; the rest as in `open_table` and the reader.

    Raises FileError where the file, or the mapping for it, is unusable.
    """
    return ConversationReader(open_table(file, format=format, encoding=encoding), name=name, mapping=mapping)


class ConversationReader:
    """The conversations of one opened file, one at a time.

    Making it completes the mapping by guessing; iterating, once, yields a ConversationRecord for each good
    conversation, a Problem for each fault (a LateRow takes a conversation back) and a Notice for what is worth
    knowing. The last notices are those on unknown speakers, on `_comma_` and on the file as a whole. Raises FileError,
    on making or while reading, where the file is unusable.
    """

    def __init__(self, table: Table, *, name: str = "", mapping: ColumnMapping | None = None) -> None:
        self.name = name
        self.table = table
        self._check_sample()
        self.mapping = guess_mapping(table.columns, table.sample, mapping or ColumnMapping())
        self.mapping.check_columns(table.columns, may_come_later=self._is_json)
        self.maker = TurnMaker(self.mapping)
        self.doubts = Doubts(self.mapping.shape)
        self.rows = 0
        self._used = set(self.mapping.mapped().values())
        self._unkept = self._used.union(self.mapping.left_out)
        self._is_numbered = "turn_index" in self.mapping.mapped()
        self._unseen = set(self._used) if self._is_json else set()
        self._named = {
            field: column for field, column in self.mapping.mapped().items() if field.startswith(("meta.", "factor."))
        }

    @property
    def _is_json(self) -> bool:
        return self.table.format in (Format.JSON, Format.JSONL)

    def _check_sample(self) -> None:
        if self.table.sample:
            return
        first = next(iter(self.table.rows), None)
        if first is None:
            what = "rows besides its header" if self.table.columns else "records"
            raise FileError(f"The file holds no {what}.")
        if not self._is_json:
            self.table.rows = chain([first], self.table.rows)
            return
        raise FileError(f"None of the first records can be read. {first}.")

    def __iter__(self) -> Iterator[Found]:
        found = self._gathered() if self.mapping.shape is Shape.TURNS else self._single()
        yield from found
        if self._unseen and not self.table.is_cut:
            raise FileError(
                f"No record has the key {listed(sorted(self._unseen))}. Keys seen: {listed(self.table.columns)}."
            )
        yield from self._closing_notices()

    def _rows(self) -> Iterator[Row | Finding]:
        for row in self.table.rows:
            if isinstance(row, Finding):
                yield replace(row, file=self.name)
                continue
            self.rows += 1
            if row.number > MAX_ROWS:
                raise FileError(f"The file has more than {MAX_ROWS:,} rows.")
            if self._unseen:
                self._unseen -= row.values.keys()
            yield row

    # --- One row, one conversation ------------------------------------------------------------------------------------

    def _single(self) -> Iterator[Found]:
        for row in self._rows():
            if isinstance(row, Finding):
                yield row
                continue
            faults: list[Problem] = []
            external_id = self._external_id(row, faults, may_be_missing=self.mapping.shape is Shape.MESSAGES)
            turns = self._turns(row, faults)
            about = self._about([row], faults)
            yield from self._digits_notice(row)
            yield from self._finished(row.number, external_id, turns, about, faults)

    # --- One row, one turn --------------------------------------------------------------------------------------------

    def _gathered(self) -> Iterator[Found]:
        gatherer = Gatherer()
        for row in self._rows():
            if isinstance(row, Finding):
                yield row
                if isinstance(row, Problem):
                    gatherer.lose_row()
                continue
            yield from self._gather(row, gatherer)
            for group in gatherer.overflow():
                yield from self._from_group(group)
        for group in gatherer.rest():
            yield from self._from_group(group)

    def _gather(self, row: Row, gatherer: Gatherer) -> Iterator[Found]:
        faults: list[Problem] = []
        external_id = self._external_id(row, faults)
        if faults:
            gatherer.lose_row()
            yield from faults
            return
        first = gatherer.closed_at(external_id)
        if first is not None:
            message = f"conversation {external_id} began in row {first}, too far above, and is left out; "
            yield LateRow(row.number, "id", message + "sort the file by id", self.name, external_id)
            return
        group = gatherer.group(external_id, row.number)
        turns = self._turns(row, faults)
        index = self._index(row, faults)
        if faults:
            group.is_broken = True
            yield from faults
        else:
            gatherer.add(group, TurnRow(row, turns[0], index))
        if group.first_row == row.number:
            yield from self._digits_notice(row)

    def _from_group(self, group: Group) -> Iterator[Found]:
        if group.is_broken:
            message = f"conversation {group.external_id} is left out: a row that belongs to it, or may, has a problem"
            yield Notice(group.first_row, "", message, self.name)
            return
        faults: list[Problem] = []
        rows = group.rows
        if self._is_numbered:
            rows = sorted(rows, key=lambda part: part.index or 0)
            yield from self._gap_notice(group, rows)
            faults = [
                self._problem(later.row, "turn_index", f"{later.index} comes twice in {group.external_id}")
                for earlier, later in pairwise(rows)
                if earlier.index == later.index
            ]
        about = self._about([part.row for part in rows], faults)
        yield from self._finished(group.first_row, group.external_id, [part.turn for part in rows], about, faults)

    def _index(self, row: Row, faults: list[Problem]) -> int | None:
        if not self._is_numbered:
            return None
        text = self._text(row, "turn_index", faults)
        match = WHOLE_NUMBER.fullmatch(text.strip())
        if match is None:
            if not faults:
                faults.append(self._problem(row, "turn_index", f"expected a whole number, found {text[:40]!r}"))
            return None
        return int(match.group(1))

    def _gap_notice(self, group: Group, rows: list[TurnRow]) -> Iterator[Notice]:
        indexes = [part.index or 0 for part in rows]
        missing = indexes[-1] - indexes[0] + 1 - len(set(indexes)) if indexes else 0
        if missing > 0:
            message = f"{missing} of the numbers between {indexes[0]} and {indexes[-1]} are missing in conversation "
            yield Notice(group.first_row, "turn_index", message + group.external_id, self.name)

    # --- What both share ----------------------------------------------------------------------------------------------

    def _finished(
        self, row: int, external_id: str, turns: list[Any], about: dict[str, Any], faults: list[Problem]
    ) -> Iterator[Found]:
        if faults:
            yield from faults
            return
        record = ConversationRecord(row=row, external_id=external_id, turns=turns, file=self.name, **about)
        if fault := record.fault():
            yield Problem(row, "", fault, self.name)
            return
        if not external_id:
            record.external_id = record.content_hash[:HASH_ID_LENGTH]
        self.doubts.add(record)
        yield record

    def _external_id(self, row: Row, faults: list[Problem], *, may_be_missing: bool = False) -> str:
        before = len(faults)
        text = self._text(row, "id", faults)
        if not text.strip():
            if not may_be_missing and len(faults) == before:
                faults.append(self._problem(row, "id", "is empty; expected the id of a conversation"))
            return ""
        return text

    def _turns(self, row: Row, faults: list[Problem]) -> list[Any]:
        try:
            return self.maker.turns(row)
        except TurnError as fault:
            faults.append(self._problem(row, fault.field, str(fault)))
            return []

    def _text(self, row: Row, field: str, faults: list[Problem]) -> str:
        try:
            text = self.maker.text(row, field)
        except TurnError as fault:
            faults.append(self._problem(row, field, str(fault)))
            return ""
        limit = MAX_LENGTHS.get(field)
        if limit and len(text) > limit:
            faults.append(self._problem(row, field, f"has {len(text)} characters; at most {limit} are allowed"))
        return text

    def _about(self, rows: list[Row], faults: list[Problem]) -> dict[str, Any]:
        """Title, language and the like, factors and metadata of a conversation that stands in `rows`."""
        about: dict[str, Any] = {name: self._agreed(rows, name, faults) for name in self._present(ABOUT_FIELDS)}
        factors = [name for name in (*self._named, *self.mapping.constants) if name.startswith("factor.")]
        levels = {name.removeprefix("factor."): self._agreed(rows, name, faults) for name in factors}
        about["factors"] = {name: level for name, level in levels.items() if level}
        about["metadata"] = self._metadata(rows, faults)
        return about

    def _present(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in names if name in self.mapping.columns or name in self.mapping.constants]

    def _agreed(self, rows: list[Row], field: str, faults: list[Problem]) -> str:
        """The one text of a field; rows of a conversation may leave it empty but not contradict each other."""
        agreed = ""
        for row in rows:
            text = self._text(row, field, faults)
            if text and agreed and text != agreed:
                faults.append(self._problem(row, field, "differs from the rows above of the same conversation"))
                return agreed
            agreed = agreed or text
        return agreed

    def _metadata(self, rows: list[Row], faults: list[Problem]) -> dict[str, Any]:
        """Named and unmapped columns; a list, one value for each turn, where the rows of a conversation differ."""
        metadata: dict[str, Any] = {}
        wanted: list[tuple[str, str]] = []
        if not self.mapping.drop_unmapped:
            columns = dict.fromkeys(name for row in rows for name in row.values)
            wanted = [(column, column) for column in columns if column not in self._unkept]
        # After the others: a name that was asked for wins over a column that happens to be called so.
        wanted += [(field[5:], column) for field, column in self._named.items() if field.startswith("meta.")]
        for name, column in wanted:
            try:
                values = [as_metadata(row.values.get(column)) for row in rows]
            except CellError as fault:
                faults.append(self._problem(rows[0], f"meta.{name}", str(fault)))
                continue
            value = values[0] if all(value == values[0] for value in values) else values
            if value is not None and value != "":
                metadata[name] = value
        constants = self.mapping.constants.items()
        return metadata | {name[5:]: value for name, value in constants if name.startswith("meta.")}

    def _digits_notice(self, row: Row) -> Iterator[Notice]:
        value = self.maker.value(row, "id")
        exact = isinstance(value, int) and self.table.format is Format.PARQUET
        if not exact and has_lost_digits(value):
            message = f"{as_text(value)} is a number of more than 15 digits; a spreadsheet does not keep the others. "
            yield Notice(row.number, "id", message + "Store ids as text", self.name)

    def _problem(self, row: Row, field: str, message: str) -> Problem:
        return Problem(row.number, field, message, self.name)

    def _closing_notices(self) -> Iterator[Notice]:
        unknown = self.maker.speakers.unknown
        if unknown:
            labels = [f"{label} ({count})" for label, count in unknown.most_common()]
            message = f"not known, kept with the role other: {listed(labels, 20)}. Name them with speaker.LABEL=role"
            yield Hint(None, "speaker", message, self.name)
        rows = self.maker.rows_with_comma_mark
        if rows and not self.mapping.clean_commas:
            message = f"{COMMA_MARK} stands in {rows} rows; it is left as it is unless commas are cleaned"
            yield Hint(None, "text", message, self.name)
        yield from self.doubts.notices(self.name)
