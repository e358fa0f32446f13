"""Numbers of tokens: a rough count without any model's tokenizer, and which of a server's are believed. Pure."""

import math

# What a server says a request took. No context is that long: more is a slip of the server, and would be billed as one.
MOST_BELIEVED = 10_000_000

# Tokens for each character, by the first code point of its range: letters of English are about four to a token; other
# alphabets (Latin with marks, Greek, Cyrillic, Hebrew, Arabic) two; scripts above U+0800 one; emoji take two tokens.
_ASCII = 0.25
_ALPHABETS = 0.5
_SCRIPTS = 1.0
_BEYOND = 2.0


def estimate_tokens(text: str) -> int:
    """About how many tokens a model makes of the text, rounded up; 0 for none.

    A rule of thumb that may be a third off either way: for a first look at cost and fit, never for a bill.
    """
    n_ascii = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    others = (character for character in text if not character.isascii()) if n_ascii < len(text) else ()
    return math.ceil(n_ascii * _ASCII + sum(map(_weight, others)))


def _weight(character: str) -> float:
    code = ord(character)
    return _ALPHABETS if code < 0x800 else _SCRIPTS if code < 0x10000 else _BEYOND


def believed(tokens: int | None) -> int | None:
    """A number of tokens that a server gives, or None where no request can have taken that many."""
    return tokens if tokens is not None and 0 <= tokens <= MOST_BELIEVED else None
