"""Names and other texts of one line: what may not stand in them."""

import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

IN_ONE_LINE = _("Give a text in one line, without line breaks and without characters that cannot be seen.")

# They turn the order of what follows, so that a name reads as another one.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Control characters with all line breaks, the two separators of lines, and halves of surrogate pairs.
_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})


def has_hidden_characters(text: str) -> bool:
    """Whether a text holds line breaks, control characters, or characters that turn the direction of writing."""
    return any(sign in _DIRECTIONS or unicodedata.category(sign) in _CATEGORIES for sign in text)


def validate_one_line(text: str) -> None:
    """For forms. Raises ValidationError for a text that `has_hidden_characters`."""
    if has_hidden_characters(text):
        raise ValidationError(IN_ONE_LINE, code="one_line")
