"""The legend of a figure: entries one after another, in as many lines as they need."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from apps.reports.figures import words
from apps.reports.figures.canvas import LINES, Canvas, Text
from apps.reports.figures.palettes import Layout
from apps.reports.figures.symbols import Symbol

MARGIN = 3.0


@dataclass(frozen=True, slots=True)
class Entry:
    """band: the symbol stands on a range. line: a sample of a line in place of a symbol, or with it on a `range`."""

    text: str
    symbol: Symbol | None
    band: bool = False
    line: Literal["", "interval", "threshold", "others", "range"] = ""


def draw_legend(canvas: Canvas, layout: Layout, entries: Sequence[Entry], top: float) -> float:
    """Draws from `top` downwards, and says where it ends."""
    font, edge = layout.font, MARGIN
    if not entries:
        return top
    x, y = edge, top + 0.8 * font
    for entry in entries:
        sample = 2.4 * font if entry.band or entry.line else 1.2 * font
        room = layout.width - 2 * edge - sample
        width = min(words.text_width(entry.text, font), room)
        if x > edge and x + sample + width > layout.width - edge:
            x, y = edge, y + 1.55 * font
        _sample(canvas, entry, x, y, font)
        canvas.text(x + sample, y, entry.text, Text(font, canvas.palette.ink, limit=round(room, 1)))
        x += sample + width + 1.3 * font
    return y + 0.8 * font


def _sample(canvas: Canvas, entry: Entry, x: float, y: float, font: float) -> None:
    palette, end = canvas.palette, x + 1.9 * font
    if entry.band and entry.symbol is not None:
        colour = palette.kind(entry.symbol.kind)
        canvas.line(x, y, end, y, colour, width=0.62 * font, opacity=0.22, z=LINES)
        for place in (x, end):
            canvas.line(place, y - 0.31 * font, place, y + 0.31 * font, colour, width=0.1 * font, z=LINES)
        canvas.symbol(None, (x + end) / 2, y, entry.symbol, 0.72 * font)
    elif entry.line == "range" and entry.symbol is not None:
        colour = palette.kind(entry.symbol.kind)
        canvas.line(x, y, end, y, colour, width=0.09 * font, z=LINES)
        for place in (x, end):
            canvas.line(place, y - 0.21 * font, place, y + 0.21 * font, colour, width=0.1 * font, z=LINES)
        canvas.symbol(None, (x + end) / 2, y, entry.symbol, 0.6 * font)
    elif entry.line == "threshold":
        dash = [0.4 * font, 0.3 * font]
        canvas.line(x, y, end, y, palette.ink, width=0.1 * font, dash=dash, z=LINES)
    elif entry.line == "others":
        canvas.line(x, y, end, y, palette.ink, width=0.11 * font, z=LINES)
    elif entry.line:
        canvas.line(x, y, end, y, palette.soft, width=0.09 * font, z=LINES)
    elif entry.symbol is not None:
        canvas.symbol(None, x + 0.45 * font, y, entry.symbol, 0.7 * font)
