"""One meaning of "partial", for every view that answers with a page or with a piece of it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails


def wants_partial(request: HttpRequest) -> bool:
    """Whether htmx asks for a piece of the page; boosted links and restored history want all of it."""
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page_or_partial(
    request: HttpRequest, template: str, context: dict[str, Any], *, partial: str, status: int = 200
) -> HttpResponse:
    """`template`, or only its partial named `partial`, from the same context.

    Both have one address, so caches are told that the header tells them apart.
    """
    name = f"{template}#{partial}" if wants_partial(request) else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response
