"""Figures that are to be drawn: their names are known before, so that they can be counted and kept apart. Pure."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from apps.reports.figures.figure import Figure
from apps.reports.figures.palettes import Palette

# A file's name has at most 255 bytes in most systems, and this is not all of it.
MOST_BYTES = 100


@dataclass(frozen=True, slots=True)
class PlannedFigure:
    """name: as in `Figure`. folder: where its files lie within `figures/`. of, heading: whose figure it is, for those
    that stand together. make: called with a palette, and `name`."""

    name: str
    make: Callable[..., Figure]
    folder: str = ""
    of: tuple[str, ...] = ()
    heading: str = ""

    def drawn(self, palette: Palette) -> Figure:
        return self.make(palette, name=self.name)


def named_apart(figures: Iterable[PlannedFigure]) -> Iterator[PlannedFigure]:
    """No two have one name, and none has one that is too long: raters may be called `Jo` and `jo`."""
    taken: set[str] = set()
    for figure in figures:
        name = first = _shortened(figure.name)
        count = 1
        while name in taken:
            count += 1
            name = f"{first}-{count}"
        taken.add(name)
        yield replace(figure, name=name)


def _shortened(name: str) -> str:
    """The beginning of a long name, and a few letters made from all of it."""
    encoded = name.encode()
    if len(encoded) <= MOST_BYTES:
        return name
    return f"{encoded[: MOST_BYTES - 9].decode(errors='ignore')}-{hashlib.sha256(encoded).hexdigest()[:8]}"
