"""Endpoints as they are listed: each with its newest test, and with the studies that somebody may know of."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.llm.models import Endpoint, EndpointTest
from apps.llm.services.endpoint_rules import is_unprotected
from apps.llm.services.endpoints import key_is_set
from apps.studies.models import Study


@dataclass(frozen=True, slots=True)
class ShownEndpoint:
    """An endpoint, and what of it no row says.

    has_key: in the process that draws the page. Prices: of a million tokens, "" where not known.
    """

    endpoint: Endpoint
    place: str
    has_key: bool
    is_unprotected: bool
    price_input: str
    price_output: str
    test: EndpointTest | None


def listed_endpoints() -> QuerySet[Endpoint]:
    """Those in use first, each by name; `newest_test`: the key of its newest test, None without one."""
    tests = EndpointTest.objects.filter(endpoint=OuterRef("pk")).order_by("-created_at", "-pk")
    return Endpoint.objects.annotate(newest_test=Subquery(tests.values("pk")[:1])).order_by(
        F("retired_at").asc(nulls_first=True), "name"
    )


def shown_endpoints(endpoints: Sequence[Endpoint]) -> list[ShownEndpoint]:
    """Of `listed_endpoints`, with their newest tests in one query."""
    wanted = [pk for endpoint in endpoints if (pk := getattr(endpoint, "newest_test", None))]
    tests = EndpointTest.objects.select_related("job").in_bulk(wanted)
    return [shown(endpoint, tests.get(getattr(endpoint, "newest_test", None) or 0)) for endpoint in endpoints]


def shown(endpoint: Endpoint, test: EndpointTest | None) -> ShownEndpoint:
    return ShownEndpoint(
        endpoint=endpoint,
        place=place_of(endpoint),
        has_key=key_is_set(endpoint),
        is_unprotected=is_unprotected(endpoint),
        price_input=price_text(endpoint.price_input),
        price_output=price_text(endpoint.price_output),
        test=test,
    )


def place_of(endpoint: Endpoint) -> str:
    """Where texts go, as a person would say it."""
    if endpoint.is_loopback:
        return _("this machine")
    return endpoint.base_url or _("the provider's own address")


def studies_using(endpoint: Endpoint, *, user: User) -> QuerySet[Study]:
    """Studies with a rater that asks the endpoint, as far as the person works with them."""
    return Study.objects.readable_by(user).filter(raters__model_rater__endpoint=endpoint).distinct().order_by("title")


def price_text(price: Decimal | None) -> str:
    """With cents, and more places only where they say something: 2.50 and 0.075. "" where it is not known."""
    if price is None:
        return ""
    whole, _dot, places = f"{price:.6f}".partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}"
