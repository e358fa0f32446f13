"""Outages: an endpoint that fails again and again without an answer between, which is no single call's fault.

It is left alone for a growing while, then one request tries it. Calls keep their attempts meanwhile; the first answer
ends it. An endpoint that stays away is given up: its runs pause.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from apps.llm.models import Endpoint
from apps.llm.providers.protocol import ErrorKind, ProviderError
from apps.llm.retries import failures_in_a_row, is_given_up, is_outage, outage_seconds
from apps.llm.services.reading import Outcome


@dataclass(frozen=True, slots=True)
class Outage:
    """until: when the endpoint is tried again. is_given_up: its runs pause."""

    until: datetime
    is_given_up: bool


def is_passing(outcome: Outcome) -> bool:
    return isinstance(outcome.result, ProviderError) and outcome.result.kind is ErrorKind.PASSING


def lock_silent(outcomes: Sequence[Outcome]) -> dict[int, Endpoint]:
    """The endpoints of which only failures came back, held until the transaction ends. Before any run is locked."""
    failed = {outcome.claimed.endpoint_id for outcome in outcomes if is_passing(outcome)}
    silent = failed - endpoints_alive(outcomes)
    if not silent:
        return {}
    endpoints = Endpoint.objects.select_for_update(no_key=True).filter(pk__in=silent).order_by("pk")
    return {endpoint.pk: endpoint for endpoint in endpoints}


def note_failures(endpoints: Mapping[int, Endpoint], outcomes: Iterable[Outcome], now: datetime) -> dict[int, Outage]:
    """Count the outcomes' failures with their endpoints, which the caller holds. Those that are out of order."""
    found: dict[int, Outage] = {}
    for endpoint_id, n_failed in Counter(one.claimed.endpoint_id for one in outcomes if is_passing(one)).items():
        endpoint = endpoints.get(endpoint_id)
        if endpoint is None:
            continue
        endpoint.failed_in_a_row = failures_in_a_row(endpoint.failed_in_a_row, n_failed)
        endpoint.failing_since = since = endpoint.failing_since or now
        if is_outage(endpoint.failed_in_a_row):
            seconds = (now - since).total_seconds()
            until = now + timedelta(seconds=outage_seconds(seconds, random.random))
            found[endpoint_id] = Outage(until, is_given_up(endpoint.failed_in_a_row, seconds))
            endpoint.held_until = until
        endpoint.save(update_fields=["failed_in_a_row", "failing_since", "held_until"])
    return found


def endpoints_alive(outcomes: Iterable[Outcome]) -> set[int]:
    """Endpoints that said something. A 429 tells neither: what overloads a server may also have stopped it."""
    return {
        outcome.claimed.endpoint_id
        for outcome in outcomes
        if not isinstance(outcome.result, ProviderError)
        or (outcome.result.kind not in (ErrorKind.PASSING, ErrorKind.RATE) and outcome.result.http_status is not None)
    }


@transaction.atomic
def forget_failures(endpoint_ids: Iterable[int]) -> None:
    """The endpoints are in order as far as is known, and may be asked at once if it was an outage that held them.

    For when no run is locked: endpoints come first.
    """
    endpoints = Endpoint.objects.select_for_update(no_key=True).filter(pk__in=set(endpoint_ids), failed_in_a_row__gt=0)
    for endpoint in endpoints.order_by("pk"):
        if is_outage(endpoint.failed_in_a_row):
            endpoint.held_until = None
        endpoint.failed_in_a_row, endpoint.failing_since = 0, None
        endpoint.save(update_fields=["failed_in_a_row", "failing_since", "held_until"])
