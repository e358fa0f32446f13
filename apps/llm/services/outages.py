"""Outages: an endpoint that fails again and again without an answer between, which is no single call's fault.

It is left alone for a growing while, then one request tries it, of a call that was tried least. The first answer ends
it. An endpoint that stays away is given up: its runs pause. The requests of an outage are attempts of their calls like
any other: where all that is left to ask always fails, nothing tells it from an outage, and it has to come to an end.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from apps.llm.models import Endpoint
from apps.llm.providers.protocol import ErrorKind, ProviderError
from apps.llm.retries import LONGEST_SECONDS, OUTAGE_AFTER, failures_in_a_row, is_given_up, is_outage, outage_seconds
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
            until = max(until, endpoint.held_until or until)  # it may have asked for more
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
    """The endpoints answered, so they are in order. For when no run is locked: endpoints come first."""
    endpoints = Endpoint.objects.select_for_update(no_key=True).filter(pk__in=set(endpoint_ids), failed_in_a_row__gt=0)
    for endpoint in endpoints.order_by("pk"):
        _forget(endpoint)


@transaction.atomic
def ask_now(endpoint_id: int) -> None:
    """Somebody wants the endpoint asked: one that is out of order is tried at once, by one request. No run is locked.

    What it is held for longer than an outage holds it was asked for by the provider, and is kept to.
    """
    endpoints = Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint_id, failed_in_a_row__gt=0)
    for endpoint in endpoints:
        is_out = is_outage(endpoint.failed_in_a_row)
        longest = timezone.now() + timedelta(seconds=LONGEST_SECONDS)
        if is_out and endpoint.held_until is not None and endpoint.held_until <= longest:
            endpoint.held_until = None
        _forget(endpoint, but=OUTAGE_AFTER if is_out else 0)


def _forget(endpoint: Endpoint, but: int = 0) -> None:
    endpoint.failed_in_a_row, endpoint.failing_since = but, None
    endpoint.save(update_fields=["failed_in_a_row", "failing_since", "held_until"])
