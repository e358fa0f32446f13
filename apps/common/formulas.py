"""Text that a spreadsheet program would run as a formula, made harmless and back. Pure."""

import re

# One apostrophe more for text that has some before the sign already, so that taking one away is exact.
RISKY = re.compile(r"'*[=+\-@\t\r]")
ESCAPED = re.compile(r"'+[=+\-@\t\r]")


def escape_formula(text: str) -> str:
    """Free text for a cell of CSV or XLSX: an apostrophe goes before a leading = + - @, tab or carriage return."""
    return f"'{text}" if RISKY.match(text) else text


def unescape_formula(text: str) -> str:
    """The inverse: `unescape_formula(escape_formula(text)) == text` for every text."""
    return text[1:] if ESCAPED.match(text) else text
