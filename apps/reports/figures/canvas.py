"""Marks in pixels, gathered into a layered Vega-Lite spec.

The specs are written as plain dicts and checked against the schema by Altair in the tests: building them through
Altair costs a second each, most of it checking.

Every position is ours, so that a figure has exactly the width that a page or a column has, whatever its labels are.
What is measured keeps a true scale all the same: a `Plane` is a span of values on a stretch of the picture, and the
data of the spec hold the values themselves.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.reports.figures.figure import Spec
from apps.reports.figures.palettes import Palette
from apps.reports.figures.symbols import Fill, Symbol
from apps.reports.figures.words import text_width

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"

# The order in which layers lie on each other.
BACK, GRID, LINES, MARKS, WORDS = range(5)
PIXELS = frozenset({"x", "x2", "y", "y2"})

Value = float | str | None


@dataclass(frozen=True, slots=True)
class Plane:
    """Values from `low` to `high` on the pixels from `left` to `right`. `field`: their name in the data."""

    low: float
    high: float
    left: float
    right: float
    field: str = "value"

    def pixel(self, value: float) -> float:
        return self.left + (value - self.low) / (self.high - self.low) * (self.right - self.left)


@dataclass(frozen=True, slots=True)
class Text:
    """How a text is set; `size` in pixels. `limit`: what is longer ends in an ellipsis."""

    size: float
    colour: str
    align: str = "left"
    baseline: str = "middle"
    weight: str = "normal"
    limit: float = 0


class Canvas:
    """A picture `width` pixels wide. The height is known when everything is on it."""

    def __init__(self, width: float, palette: Palette) -> None:
        self.width = width
        self.palette = palette
        # By what the marks of a layer share: its order, mark, plane and properties.
        self._layers: dict[tuple[int, str, Plane | None, str], _Layer] = {}

    def rect(
        self, x: float, y: float, x2: float, y2: float, fill: str, *, z: int = BACK, opacity: float = 1, **data: Value
    ) -> None:
        properties = {"fill": fill, "fillOpacity": opacity, "strokeWidth": 0}
        self._add(z, "rect", None, properties, {"x": x, "x2": x2, "y": y, "y2": y2, **data})

    def frame(self, x: float, y: float, x2: float, y2: float, stroke: str, *, z: int = LINES, width: float = 1) -> None:
        properties = {"fillOpacity": 0, "stroke": stroke, "strokeWidth": width}
        self._add(z, "rect", None, properties, {"x": x, "x2": x2, "y": y, "y2": y2})

    def line(
        self,
        x: float,
        y: float,
        x2: float,
        y2: float,
        stroke: str,
        *,
        width: float = 1,
        dash: Sequence[float] = (),
        z: int = GRID,
        opacity: float = 1,
    ) -> None:
        properties = _line(stroke, width, dash, opacity)
        self._add(z, "rule", None, properties, {"x": x, "x2": x2, "y": y, "y2": y2})

    def span(
        self,
        plane: Plane,
        y: float,
        low: float,
        high: float,
        stroke: str,
        *,
        width: float = 1,
        opacity: float = 1,
        z: int = LINES,
        **data: Value,
    ) -> None:
        """A line along a plane from one value to another."""
        properties = _line(stroke, width, (), opacity)
        self._add(z, "rule", plane, properties, {"low": low, "high": high, "y": y, **data})

    def upright(
        self,
        plane: Plane,
        value: float,
        y: float,
        y2: float,
        stroke: str,
        *,
        width: float = 1,
        dash: Sequence[float] = (),
        z: int = GRID,
    ) -> None:
        """A line across a plane at a value."""
        self._add(z, "rule", plane, _line(stroke, width, dash, 1), {plane.field: value, "y": y, "y2": y2})

    def tick(
        self, plane: Plane, value: float, y: float, height: float, stroke: str, *, width: float, **data: Value
    ) -> None:
        """A short upright mark at a value, its middle at `y`."""
        place = {plane.field: value, "y": y - height / 2, "y2": y + height / 2}
        self._add(LINES, "rule", plane, _line(stroke, width, (), 1), place | data)

    def symbol(
        self, plane: Plane | None, x: float, y: float, symbol: Symbol, size: float, *, z: int = MARKS, **data: Value
    ) -> None:
        """A rater's symbol at a value, or at a pixel where there is no plane. `size`: its width in pixels."""
        colour = self.palette.kind(symbol.kind)
        inside = colour if symbol.fill is Fill.SOLID else self.palette.ground
        stroke_width = 0.13 * size + 0.2
        properties = {
            "shape": symbol.path,
            "size": size * size,
            "fill": inside,
            "stroke": colour,
            "strokeWidth": stroke_width,
            "strokeJoin": "round",
            "opacity": 1,
            "filled": True,
        }
        place = {"x" if plane is None else plane.field: x, "y": y}
        self._add(z, "point", plane, properties, place | data)
        if symbol.fill is Fill.TINTED:
            tint = properties | {"fill": colour, "fillOpacity": 0.4, "strokeWidth": 0}
            self._add(z, "point", plane, tint, dict(place))

    def dot(
        self, plane: Plane, value: float, y: float, colour: str, size: float, *, opacity: float = 1, **data: Value
    ) -> None:
        properties = {"shape": "circle", "size": size * size, "fill": colour, "fillOpacity": opacity, "filled": True}
        properties |= {"strokeWidth": 0, "opacity": 1}
        self._add(MARKS, "point", plane, properties, {plane.field: value, "y": y, **data})

    def text(self, x: float, y: float, text: str, style: Text, **data: Value) -> None:
        properties: dict[str, Any] = {
            "fontSize": style.size,
            "fill": style.colour,
            "align": style.align,
            "baseline": style.baseline,
            "fontWeight": style.weight,
        }
        # Measuring a text is what takes longest in drawing: leave it out where the text is short enough in any font.
        if style.limit and text_width(text, 1.1 * style.size) > style.limit:
            properties["limit"] = style.limit
        self._add(WORDS, "text", None, properties, {"x": x, "y": y, "text": text, **data})

    def _add(
        self, z: int, mark: str, plane: Plane | None, properties: Mapping[str, Any], datum: Mapping[str, Value]
    ) -> None:
        key = (z, mark, plane, repr(properties))
        layer = self._layers.setdefault(key, _Layer(z, {"type": mark, **properties}, plane, []))
        layer.data.append({name: _rounded(value) if name in PIXELS else value for name, value in datum.items()})

    def spec(self, height: float) -> Spec:
        height = math.ceil(height)
        layers = sorted(self._layers.values(), key=lambda layer: layer.z)
        return {
            "$schema": SCHEMA,
            "width": self.width,
            "height": height,
            "padding": 0,
            "autosize": {"type": "none"},
            "background": self.palette.ground if self.palette.physical else "transparent",
            "layer": [_layer_spec(layer, self.width, height) for layer in layers],
            "resolve": {"scale": {"x": "independent", "y": "independent"}},
            "config": {"aria": False, "font": self.palette.fonts, "view": {"stroke": None}},
        }


@dataclass(frozen=True, slots=True)
class _Layer:
    z: int
    mark: dict[str, Any]
    plane: Plane | None
    data: list[dict[str, Value]]


def _layer_spec(layer: _Layer, width: float, height: float) -> Spec:
    names = layer.data[0].keys()
    across = Plane(0, width, 0, width, "x") if layer.plane is None else layer.plane
    first = "low" if "low" in names and "high" in names else across.field
    encoding: Spec = {"x": {"field": first, **_axis(across)}, "y": {"field": "y", **_axis(Plane(0, height, 0, height))}}
    second = "high" if first == "low" else "x2" if "x2" in names else ""
    if second:
        encoding["x2"] = {"field": second}
    if "y2" in names:
        encoding["y2"] = {"field": "y2"}
    if layer.mark["type"] == "text":
        encoding["text"] = {"field": "text", "type": "nominal"}
    return {"data": {"values": layer.data}, "mark": layer.mark, "encoding": encoding}


def _axis(plane: Plane) -> Spec:
    scale = {"domain": [plane.low, plane.high], "range": [plane.left, plane.right]}
    return {"type": "quantitative", "scale": scale, "axis": None}


def _rounded(value: Value) -> Value:
    return round(value, 2) if isinstance(value, float) else value


def _line(stroke: str, width: float, dash: Sequence[float], opacity: float) -> dict[str, Any]:
    properties: dict[str, Any] = {"stroke": stroke, "strokeWidth": width, "strokeOpacity": opacity}
    return properties | {"strokeDash": list(dash)} if dash else properties
