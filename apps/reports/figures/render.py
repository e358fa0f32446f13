"""Specs as SVG and PNG.

Rendering keeps a JavaScript engine in the process, which does not survive a fork: render in a child, or in a process
that never forks (docs/design-system.md). One picture is drawn at a time.
"""

import os
import re
from collections.abc import Callable
from threading import Lock
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import vl_convert
from django.core.cache import cache
from django.utils.safestring import SafeString, mark_safe

from apps.reports.figures.figure import Figure, Spec, slug_of
from apps.reports.figures.palettes import MM, SCREEN
from apps.reports.figures.tidying import tidied

VEGA_LITE = "v6.4"
KEEP_SECONDS = 24 * 60 * 60
PAPER_DPI = 300
# Raise it when the drawing of a spec changes.
VERSION = 2
# What XML has no place for. The library that measures texts ends the whole process over one such character.
UNWRITABLE = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
ROOT = re.compile(r"^<svg[^>]*>")
# Vega writes the roles of its groups whatever it is told; without a name of their own they only confuse.
ROLES = re.compile(r'(<g\b[^<>]*?) role="graphics-\w+" aria-roledescription="[^"]*"')


class ForkedError(RuntimeError):
    """This process was forked from one that had drawn already: drawing here would wait for ever."""


class _Engine:
    """The one way to vl-convert."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._drew = False
        self._is_broken = False
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = Lock()
        self._is_broken = self._drew

    def svg(self, spec: Spec) -> str:
        with self._taken():
            return str(vl_convert.vegalite_to_svg(writable(spec), vl_version=VEGA_LITE, allowed_base_urls=[]))

    def png(self, spec: Spec, scale: float, ppi: float) -> bytes:
        with self._taken():
            return bytes(
                vl_convert.vegalite_to_png(
                    writable(spec), vl_version=VEGA_LITE, scale=scale, ppi=ppi, allowed_base_urls=[]
                )
            )

    def _taken(self) -> Lock:
        if self._is_broken:
            raise ForkedError("figures were drawn before this process was forked")
        self._drew = True
        return self._lock


_engine = _Engine()


def writable(part: Any) -> Any:
    """A spec, or a part of one, with a sign in the place of each character that no SVG can hold."""
    if isinstance(part, str):
        return UNWRITABLE.sub("\ufffd", part)
    if isinstance(part, dict):
        return {writable(name): writable(value) for name, value in part.items()}
    return [writable(one) for one in part] if isinstance(part, list | tuple) else part


def svg_of(figure: Figure, *, narrow: bool = False, place: str = "") -> SafeString:
    """The figure as an SVG element without styles or scripts, named and described for who cannot see it.

    `place` tells apart the ids of a figure that stands twice on a page. Raises ForkedError.
    """
    drawn = _cached(figure, "svg", narrow, lambda: tidied(_engine.svg(figure.spec_of(narrow=narrow))))
    return mark_safe(_labelled(drawn, figure, narrow, place))  # noqa: S308 - Vega escapes texts, and so do we


def png_of(figure: Figure, scale: float = 1, *, narrow: bool = False) -> bytes:
    """The figure as a PNG of 300 pixels to the inch, times `scale`.

    Raises ValueError for a figure in the colours of the screen, which only a page knows, and ForkedError.
    """
    if not figure.physical:
        raise ValueError(f"{figure.name} is drawn for the screen; a PNG needs colours of its own")
    spec = figure.spec_of(narrow=narrow)
    return bytes(_cached(figure, f"png:{scale}", narrow, lambda: _engine.png(spec, 72 / 96 * scale, PAPER_DPI)))


def _cached(figure: Figure, form: str, narrow: bool, draw: Callable[[], Any]) -> Any:
    key = f"figure:{VERSION}:{form}:{'narrow' if narrow else 'wide'}:{figure.content_hash}"
    found = cache.get(key)
    if found is None:
        found = draw()
        cache.set(key, found, KEEP_SECONDS)
    return found


def _labelled(drawn: str, figure: Figure, narrow: bool, place: str) -> str:
    """Vega's root element gives way to ours. Its inner elements say nothing to a screen reader."""
    spec = figure.spec_of(narrow=narrow)
    width, height = spec["width"], spec["height"]
    name = slug_of("figure", figure.name, place, "narrow" if narrow else "")
    size = f'width="{width / MM:.1f}mm" height="{height / MM:.1f}mm"' if figure.physical else f'width="{width}"'
    classes = f"figure__drawing figure__drawing--{'narrow' if narrow else 'wide'}"
    if width > (SCREEN.narrow if narrow else SCREEN.wide).width:
        classes += " figure__drawing--scrolls"
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{classes}" {size} '
        f'viewBox="0 0 {width} {height}" role="img" aria-labelledby={quoteattr(f"{name}-title")} '
        f"aria-describedby={quoteattr(f'{name}-desc')}>"
        f"<title id={quoteattr(f'{name}-title')}>{escape(writable(figure.title))}</title>"
        f"<desc id={quoteattr(f'{name}-desc')}>{escape(writable(figure.summary))}</desc>"
    )
    return root + ROLES.sub(r"\1", ROOT.sub("", drawn, count=1))
