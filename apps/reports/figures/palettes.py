"""Colours and sizes of figures: concrete ones for files, and those of the page's tokens for the screen."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from apps.reliability.matrix import Kind

# CSS pixels in a millimetre.
MM = 96 / 25.4


@dataclass(frozen=True, slots=True)
class Layout:
    """width: of the whole figure, in CSS pixels. font: size of its text in the same unit. narrow: labels stand above
    their rows and not beside them. leading: distance between marks, 1 where there is room to scroll. symbols: how wide
    those of sides are, in parts of the font."""

    width: int
    font: float
    narrow: bool
    leading: float = 1
    symbols: float = 0.6


@dataclass(frozen=True)
class Palette:
    """Colours as SVG takes them: `#6a3ea1`, or `var(--rater-expert)`.

    kinds: the colour of each kind of raters. ramp: steps from little to much; negative_ramp: from just below zero
    downwards. Text on the first `ink_steps` (`negative_ink_steps`) of a ramp is in ink, on the others in `on_ramp`.
    physical: pixels stand for 1/96 inch on paper.
    """

    ink: str
    soft: str
    hairline: str
    edge: str
    wash: str
    ground: str
    kinds: Mapping[Kind, str]
    ramp: tuple[str, ...]
    negative_ramp: tuple[str, ...]
    on_ramp: str
    fonts: str
    wide: Layout
    narrow: Layout
    physical: bool
    ink_steps: int = 3
    negative_ink_steps: int = 2

    def kind(self, kind: Kind | None) -> str:
        """The colour of a kind; ink where a file of ratings does not tell kinds."""
        return self.ink if kind is None else self.kinds[kind]


# White ground, the light colours of static/css/tokens.css; 180 mm and 90 mm are the two widths of a column.
PAPER = Palette(
    ink="#1b1916",
    soft="#5d584e",
    hairline="#ddd6c8",
    edge="#857d70",
    wash="#f7f4ee",
    ground="#ffffff",
    kinds=MappingProxyType(
        {
            Kind.EXPERT: "#6a3ea1",
            Kind.LLM: "#1f6cb0",
            Kind.CROWD: "#cb5239",
            Kind.SELF: "#2b7d4e",
            Kind.REFERENCE: "#1b1916",
            Kind.BASELINE: "#756e65",
        }
    ),
    ramp=("#e3eff0", "#bcdadd", "#86bcc4", "#2f7a86", "#0c4a57"),
    negative_ramp=("#f6e7cd", "#e3b778", "#8f5a0c"),
    on_ramp="#ffffff",
    fonts="Helvetica, Arial, Liberation Sans, sans-serif",
    # 21 scales with five sides, the experts and their legend stand on a page of 200 mm.
    wide=Layout(round(180 * MM), 8.4, narrow=False, leading=0.62, symbols=0.54),
    narrow=Layout(round(90 * MM), 8.4, narrow=True, leading=0.72, symbols=0.56),
    physical=True,
)

SCREEN = Palette(
    ink="var(--ink)",
    soft="var(--ink-soft)",
    hairline="var(--hairline)",
    edge="var(--edge)",
    wash="var(--sunken)",
    ground="var(--surface)",
    kinds=MappingProxyType({kind: f"var(--rater-{kind})" for kind in Kind}),
    ramp=tuple(f"var(--ramp-{step})" for step in range(1, 6)),
    negative_ramp=tuple(f"var(--ramp-below-{step})" for step in range(1, 4)),
    on_ramp="var(--on-ramp)",
    fonts="Arial, Liberation Sans, sans-serif",
    wide=Layout(900, 13.5, narrow=False),
    narrow=Layout(343, 12.5, narrow=True),
    physical=False,
)
