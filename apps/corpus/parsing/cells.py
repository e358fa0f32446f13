"""What a cell holds, as text or as a value of the metadata. Ids and texts stay text, digit for digit."""

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

EXACT_DIGITS = 15
"""Digits a spreadsheet keeps of a number."""

MAX_DEPTH = 50
"""Levels of lists and objects inside each other that metadata may have."""


class NumberText(str):
    """A number of a JSON file, kept as it is written there."""

    __slots__ = ()


class ErrorText(str):
    """An error value of a spreadsheet cell, such as #N/A or #REF!."""

    __slots__ = ()


class CellError(ValueError):
    """A cell does not hold what its field needs. The message says what was expected."""


def as_text(value: object) -> str:
    """The text of a cell, "" for an empty one. Whole numbers have no decimals; text is returned as it is.

    Raises CellError for a list, an object, bytes that are not UTF-8, or a spreadsheet's error value.
    """
    if isinstance(value, ErrorText):
        raise CellError(f"holds the error value {value}; expected text")
    if isinstance(value, str):
        return str(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, bytes):
        return _bytes_text(value)
    kind = "a list" if isinstance(value, list | tuple) else "an object" if isinstance(value, dict) else "something else"
    raise CellError(f"expected text, found {kind}")


def _float_text(value: float) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        raise CellError("holds an infinite number; expected text")
    if value.is_integer():
        # By way of the shortest decimal form: 2.0241031124050493e+19 has 17 digits, the rest are not invented.
        return f"{Decimal(repr(value)):.0f}"
    return repr(value)


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise CellError("holds bytes that are not UTF-8 text") from None


def has_lost_digits(value: object) -> bool:
    """Whether a spreadsheet's numeric id has more digits than a spreadsheet keeps of a number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 10**EXACT_DIGITS


def as_metadata(value: object, depth: int = 0) -> Any:
    """A cell as a JSON value: numbers stay numbers, dates become ISO 8601 text, NaN becomes null.

    Raises CellError for bytes that are not UTF-8, and for lists in lists beyond MAX_DEPTH.
    """
    if depth > MAX_DEPTH:
        raise CellError(f"is nested more than {MAX_DEPTH} levels deep")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, NumberText):
        return _number(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): as_metadata(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_metadata(inner, depth + 1) for inner in value]
    if isinstance(value, datetime | date | time | timedelta | Decimal | bytes):
        return as_text(value)
    return str(value)


def _number(literal: NumberText) -> int | float | str:
    """The number a JSON literal stands for; the literal itself where no number of ours can hold it."""
    digits = literal.removeprefix("-")
    if digits.isdecimal():
        return int(literal) if len(digits) <= 100 else str(literal)
    number = float(literal)
    return number if math.isfinite(number) else str(literal)
