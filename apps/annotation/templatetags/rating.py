"""What the rating screen needs of templates."""

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def keep_returns(text: str) -> SafeString:
    """The text escaped, with its carriage returns kept.

    A browser reads CR LF in a page as one character, and every offset after it would name the wrong place. Written as
    a reference it stays two.
    """
    return mark_safe(escape(text).replace("\r", "&#13;"))  # noqa: S308 - escaped in this line
