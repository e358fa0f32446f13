"""Finding the passages a model quotes in the turns they come from. Pure. Offsets are Unicode code points.

It builds on `annotation.evidence`, which looks for what people quote and settles for the first place. A model's quote
is also found with other dashes and in other capitals, and where it stands in several places, that is said.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from apps.annotation.evidence import Place, TurnText, fold, spans

MAX_PLACES = 10  # of one quote that are listed
DASHES = "-‐‑‒–—―−﹘﹣－"


class Match(StrEnum):
    """How alike quote and text are, the closest first. Each kind allows what those before it do."""

    EXACT = "exact"
    FOLDED = "folded"  # other white space, other quotation marks, a pair of them around the quote
    DASHES = "dashes"  # other dashes, and one for several in a row
    CASELESS = "caseless"  # other capitals


@dataclass(frozen=True, slots=True)
class MatchedQuote:
    """A quote, and where it stands: the places of the closest kind of match, at most MAX_PLACES of them.

    `places` begin with the supporter's turns. No place: the quote is absent. Several: it is ambiguous.
    """

    text: str
    places: tuple[Place, ...] = ()
    match: Match | None = None

    @property
    def is_absent(self) -> bool:
        return not self.places

    @property
    def is_ambiguous(self) -> bool:
        return len(self.places) > 1

    @property
    def place(self) -> Place | None:
        """Its place, if there is exactly one."""
        return self.places[0] if len(self.places) == 1 else None


# The text as it is compared, and for each of its characters the half-open span of the stored text it comes from.
FoldedText = tuple[str, Sequence[int], Sequence[int]]
Folding = Callable[[str], FoldedText]


def match_evidence(quote: str, turns: Sequence[TurnText]) -> MatchedQuote:
    """The quote with its places, each half-open in the text of its turn as it is stored: `text[start:end]`."""
    return EvidenceMatcher(turns).match(quote)


class EvidenceMatcher:
    """Matches the quotes of one conversation. Each turn is folded once, however many quotes there are."""

    def __init__(self, turns: Sequence[TurnText]) -> None:
        self._turns = sorted(turns, key=lambda turn: not turn.is_supporter)
        self._folded: dict[Match, list[FoldedText]] = {}

    def match(self, quote: str) -> MatchedQuote:
        """As `match_evidence`."""
        if not quote.strip():
            return MatchedQuote(quote)
        for match in Match:
            for wanted in _wanted(quote, match):
                places = tuple(islice(self._places(wanted, match), MAX_PLACES))
                if places:
                    return MatchedQuote(quote, places, match)
        return MatchedQuote(quote)

    def _places(self, wanted: str, match: Match) -> Iterator[Place]:
        for turn, (text, starts, ends) in zip(self._turns, self._texts(match), strict=True):
            for start, end in spans(wanted, text):
                yield Place(turn.number, starts[start], ends[end - 1])

    def _texts(self, match: Match) -> list[FoldedText]:
        if match not in self._folded:
            self._folded[match] = [FOLDINGS[match](turn.text) for turn in self._turns]
        return self._folded[match]


def _wanted(quote: str, match: Match) -> Iterator[str]:
    """What is looked for: the quote, and but for an exact match the quote without the marks around it."""
    if match is Match.EXACT:
        yield quote
        return
    folded = FOLDINGS[match](quote)[0].strip(" ")
    yield folded
    if len(folded) > 2 and folded.startswith('"') and folded.endswith('"') and (inner := folded[1:-1].strip(" ")):
        yield inner


# --- Foldings -----------------------------------------------------------------------------------------------------


def _unfolded(text: str) -> FoldedText:
    return text, range(len(text)), range(1, len(text) + 1)


def _folded(text: str) -> FoldedText:
    folded, origins = fold(text)
    return folded, origins, [origin + 1 for origin in origins]


def _with_dashes(text: str) -> FoldedText:
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for character, start, end in zip(*_folded(text), strict=True):
        if character in DASHES:
            character = "-"
            if characters and characters[-1] == "-":
                ends[-1] = end
                continue
        characters.append(character)
        starts.append(start)
        ends.append(end)
    return "".join(characters), starts, ends


def _caseless(text: str) -> FoldedText:
    """Case folding may make two characters of one (ß); both then stand for it."""
    rows = [
        (part, start, end)
        for character, start, end in zip(*_with_dashes(text), strict=True)
        for part in character.casefold()
    ]
    return "".join(row[0] for row in rows), [row[1] for row in rows], [row[2] for row in rows]


FOLDINGS: dict[Match, Folding] = {
    Match.EXACT: _unfolded,
    Match.FOLDED: _folded,
    Match.DASHES: _with_dashes,
    Match.CASELESS: _caseless,
}
