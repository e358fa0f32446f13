"""The cells of one row of a ratings file, as the fields they are mapped to; faults are collected."""

import json

from apps.annotation.evidence import Quote
from apps.annotation.parsing.mapping import RatingMapping
from apps.common.formulas import unescape_formula
from apps.corpus.parsing.cells import CellError, as_text
from apps.corpus.parsing.records import Problem, text_fault
from apps.corpus.parsing.tables import Row

YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
SHOWN = 40


class RowCells:
    """One row under a mapping. `is_spreadsheet`: free text may have been escaped against formulas.

    `is_left_out`: it gives no rating although it has no fault of its own.
    """

    def __init__(self, row: Row, mapping: RatingMapping, *, is_spreadsheet: bool) -> None:
        self.number = row.number
        self.faults: list[Problem] = []
        self.is_left_out = False
        self._values = row.values
        self._columns = mapping.columns
        self._is_spreadsheet = is_spreadsheet

    def has(self, name: str) -> bool:
        return name in self._columns

    def column(self, name: str) -> str:
        """The header of a field, for messages; the field itself where it has no column."""
        return self._columns.get(name, name)

    def text(self, name: str) -> str:
        """The text of a field, "" where it has no column."""
        column = self._columns.get(name)
        return "" if column is None else self.text_of(column)

    def free_text(self, name: str) -> str:
        return self.unescaped(self.text(name))

    def unescaped(self, text: str) -> str:
        return unescape_formula(text) if self._is_spreadsheet else text

    def text_of(self, column: str) -> str:
        try:
            return _storable(as_text(self._values.get(column)))
        except CellError as fault:
            self.fault(column, fault)
            return ""

    def flag(self, name: str) -> bool | None:
        """Yes or no, None where the file has no such column."""
        if not self.has(name):
            return None
        text = self.text(name).strip().casefold()
        if text not in YES_OR_NO:
            self.fault(self.column(name), CellError(f"{text[:SHOWN]} is neither true nor false"))
        return YES_OR_NO.get(text, False)

    def quotes(self, column: str) -> tuple[Quote, ...]:
        """The passages in a cell: a list of them (of JSON, or as JSON text), or the whole cell as one."""
        value = self._values.get(column)
        try:
            listing = value if isinstance(value, list | tuple) else _json_list(as_text(value))
            if listing is not None:
                quotes = tuple(_quote(one) for one in listing)
                for quote in quotes:
                    _storable(quote.text)
                return quotes
        except CellError as fault:
            self.fault(column, fault)
            return ()
        text = self.unescaped(self.text_of(column))
        return (Quote(text),) if text.strip() else ()

    def fault(self, column: str, fault: CellError) -> None:
        """The first fault of a cell is listed; what follows from it is not."""
        if all(known.field != column for known in self.faults):
            self.faults.append(Problem(self.number, column, str(fault)))


def _storable(text: str) -> str:
    """The text itself. Raises CellError where no database can hold it."""
    if fault := text_fault(text):
        raise CellError(fault)
    return text


def _json_list(text: str) -> list[object] | None:
    """A list of passages written as JSON. Anything else is a passage that happens to begin with a bracket."""
    if not text.startswith("["):
        return None
    try:
        listing = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return listing if isinstance(listing, list) else None


def _quote(value: object) -> Quote:
    """A passage: its text, or an object {quote, turn, start, end} as exports write it."""
    if isinstance(value, str):
        return Quote(str(value))
    if isinstance(value, dict) and isinstance(value.get("quote"), str):
        try:
            place = [None if value.get(name) is None else int(value[name]) for name in ("turn", "start", "end")]
        except (TypeError, ValueError):
            raise CellError("has a passage whose turn, start or end is no whole number") from None
        return Quote(str(value["quote"]), *place)
    raise CellError("expected a list of passages, each a text or an object with its quote")
