"""Tags that every page may use."""

import re
from collections.abc import ItemsView, Mapping, Sized
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from apps.common.markdown import render_markdown
from apps.common.version import VERSION

register = template.Library()


@register.simple_tag
def accord_version() -> str:
    return VERSION


@register.filter
def markdown(text: str, top: int = 2) -> SafeString:
    """Text of people as HTML; `top` is the level of its first heading."""
    return mark_safe(render_markdown(text, top=top))  # noqa: S308 - cleaned there


@register.filter
def pairs(mapping: Mapping[str, Any]) -> ItemsView[str, Any]:
    """Names and values of a mapping whose names people or files choose.

    `mapping.items` in a template would give the value under a name "items", where there is one.
    """
    return mapping.items()


@register.filter
def n_errors(errors: Mapping[str, Sized]) -> int:
    """How many things are to be mended in a form: its `errors` count the fields, and one field can have several."""
    return sum(len(of_field) for of_field in errors.values())


@register.filter
def breakable(name: str) -> SafeString:
    """A name from a file, which a line may break after an underscore, a dot or a hyphen, and nowhere else."""
    parts = re.split(r"(?<=[_.\-])(?=[^_.\-])", name)
    return mark_safe("<wbr>".join(escape(part) for part in parts))  # noqa: S308 - every part is escaped
