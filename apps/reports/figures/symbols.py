"""The shape of each kind of raters, as in static/css/components/raters.css, and what tells several of a kind apart."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from apps.reliability.matrix import Kind

# Paths in a square from -1 to 1, which Vega scales.
TRIANGLES = (
    "M0,-0.92L1,0.84L-1,0.84Z",
    "M0,0.92L1,-0.84L-1,-0.84Z",
    "M0.92,0L-0.84,1L-0.84,-1Z",
    "M-0.92,0L0.84,1L0.84,-1Z",
)
CIRCLE = "M0.9,0A0.9,0.9,0,1,1,-0.9,0A0.9,0.9,0,1,1,0.9,0Z"
SQUARE = "M-0.82,-0.82H0.82V0.82H-0.82Z"
DIAMOND = "M0,-1.1L1.1,0L0,1.1L-1.1,0Z"
CROSS = "M-0.6,-1L0,-0.4L0.6,-1L1,-0.6L0.4,0L1,0.6L0.6,1L0,0.4L-0.6,1L-1,0.6L-0.4,0L-1,-0.6Z"
PLUS = "M-0.3,-1.05H0.3V-0.3H1.05V0.3H0.3V1.05H-0.3V0.3H-1.05V-0.3H-0.3Z"

SHAPES = {
    Kind.EXPERT: (CIRCLE,),
    Kind.LLM: TRIANGLES,
    Kind.CROWD: (SQUARE,),
    Kind.SELF: (DIAMOND,),
    Kind.REFERENCE: (CROSS,),
    Kind.BASELINE: (PLUS,),
}


class Fill(StrEnum):
    """How the inside of a symbol looks; its outline has the kind's colour always."""

    SOLID = "solid"
    HOLLOW = "hollow"
    TINTED = "tinted"


@dataclass(frozen=True, slots=True)
class Symbol:
    """One series in figures: the kind's colour and shape, and a fill that tells it from others of its kind."""

    kind: Kind | None
    path: str
    fill: Fill


def symbol_of(kind: Kind | None, place: int = 0) -> Symbol:
    """The symbol of the `place`-th series of its kind, from 0.

    Models have four triangles and three fills: the next one points elsewhere and has another fill, and only the
    thirteenth looks like the first. Other kinds have three fills.
    """
    shapes = (CIRCLE,) if kind is None else SHAPES[kind]
    fills = tuple(Fill)
    return Symbol(kind, shapes[place % len(shapes)], fills[place % len(fills)])


def symbols_of(series: Iterable[tuple[str, Kind | None]]) -> dict[str, Symbol]:
    """A symbol for each name, by its place among those of its kind in the order given."""
    found: dict[str, Symbol] = {}
    counts: dict[Kind | None, int] = {}
    for name, kind in series:
        if name not in found:
            found[name] = symbol_of(kind, counts.get(kind, 0))
            counts[kind] = counts.get(kind, 0) + 1
    return found
