"""Finding a quoted passage in a conversation. Offsets are Unicode code points of the turn's text as it is stored."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

SINGLE_QUOTE_MARKS = "'‘’‚‛′ʼ`´"
DOUBLE_QUOTE_MARKS = '"“”„‟″«»'
# Characters of places that may overlap, and places within words: far more than any text has that people write.
MOST_COMPARED = 500_000
MOST_INSIDE_WORDS = 50_000
FOLDED_MARKS = dict.fromkeys(SINGLE_QUOTE_MARKS, "'") | dict.fromkeys(DOUBLE_QUOTE_MARKS, '"')


class TurnText(NamedTuple):
    """A turn as far as quotes go: its number in the conversation, who speaks, and its text."""

    number: int
    is_supporter: bool
    text: str


class Quote(NamedTuple):
    """A passage somebody gave as evidence, with its place where they know it: half-open offsets in turn `turn`."""

    text: str
    turn: int | None = None
    start: int | None = None
    end: int | None = None


class Place(NamedTuple):
    """Where a passage stands: `text[start:end]` of the turn with this number."""

    turn: int
    start: int
    end: int


def place_quote(quote: Quote, turns: Sequence[TurnText]) -> Place | None:
    """The place the quote names, if its text stands there; else wherever its text is found."""
    if quote.turn is not None and quote.start is not None and quote.end is not None:
        stated = next((turn.text for turn in turns if turn.number == quote.turn), "")
        if 0 <= quote.start < quote.end and stated[quote.start : quote.end] == quote.text:
            return Place(quote.turn, quote.start, quote.end)
    return find_quote(quote.text, turns)


def find_quote(quote: str, turns: Sequence[TurnText]) -> Place | None:
    """The first place of a quote: the supporter's turns before any other, an exact match before a folded one.

    Folding makes every run of white space one space and every quotation mark a straight one, and lets the quote go
    without the white space and the pair of double quotation marks around it. The place always covers the stored text,
    from the first to the last character matched. None: it is not there, or the quote is blank.
    """
    if not quote.strip():
        return None
    ordered = sorted(turns, key=lambda turn: not turn.is_supporter)
    return next(_places(quote, ordered), None)


def _places(quote: str, turns: Sequence[TurnText]) -> Iterator[Place]:
    yield from _matches(turns, lambda text: _find_exact(quote, text))
    folded = fold(quote)[0].strip(" ")
    yield from _matches(turns, lambda text: _find_folded(folded, text))
    if len(folded) > 2 and folded.startswith('"') and folded.endswith('"'):
        inner = folded[1:-1].strip(" ")
        yield from _matches(turns, lambda text: _find_folded(inner, text))


def _matches(turns: Sequence[TurnText], find: Callable[[str], tuple[int, int] | None]) -> Iterator[Place]:
    for turn in turns:
        if (span := find(turn.text)) is not None:
            yield Place(turn.number, *span)


def _find_exact(quote: str, text: str) -> tuple[int, int] | None:
    return next(spans(quote, text), None)


def _find_folded(folded_quote: str, text: str) -> tuple[int, int] | None:
    if not folded_quote:
        return None
    folded, origins = fold(text)
    # A match neither begins nor ends with a space, so its last character comes from one character of the text.
    return next(((origins[start], origins[end - 1] + 1) for start, end in spans(folded_quote, folded)), None)


def spans(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the quote stands in the text. A single word counts as a whole word only: "na" is not in "final".

    Places may overlap. In text that repeats itself without end (a megabyte of one letter) not every place is given:
    the work grows with the length of the text, whatever quote and text are.
    """
    is_word = not any(character.isspace() for character in quote.strip())
    n_compared = n_inside = 0
    start = text.find(quote)
    while start >= 0 and n_inside < MOST_INSIDE_WORDS:
        end = start + len(quote)
        if is_word and (_within_word(text, start) or _within_word(text, end)):
            n_inside += 1
        else:
            yield start, end
        n_compared += len(quote)
        start = text.find(quote, start + 1 if n_compared < MOST_COMPARED else max(end, start + 1))


def _within_word(text: str, offset: int) -> bool:
    return 0 < offset < len(text) and _is_spaced(text[offset - 1]) and _is_spaced(text[offset])


def _is_spaced(character: str) -> bool:
    """A digit, or a letter of a script with capitals: those scripts part their words by spaces, others may not.

    A combining mark belongs to the letter before it, so it parts no word.
    """
    return character.isdigit() or character.lower() != character.upper() or bool(unicodedata.combining(character))


def fold(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters the offset in `text` of the (first) character it came from."""
    characters: list[str] = []
    origins: list[int] = []
    for offset, character in enumerate(text):
        if character.isspace():
            if characters and characters[-1] == " ":
                continue
            character = " "
        characters.append(FOLDED_MARKS.get(character, character))
        origins.append(offset)
    return "".join(characters), origins
