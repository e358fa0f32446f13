"""Tags that every page may use."""

from django import template

from apps.common.version import VERSION

register = template.Library()


@register.simple_tag
def accord_version() -> str:
    return VERSION
