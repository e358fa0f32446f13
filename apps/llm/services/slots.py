"""Slots: how many requests a worker may have in flight at an endpoint. Rows, so that all workers share one limit."""

import math
from collections.abc import Collection
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from apps.llm.models import Call, CallState, Endpoint, Run, SlotLease

# Slots of one worker at most, and workers that share one endpoint, however many slots it has: some are left for others.
CAPACITY = 32
MOST_WORKERS = 4


def workers_of_use(free_slots: int, busy: int = 0) -> int:
    """How many workers more than those that are `busy` an endpoint needs that has so many slots free."""
    return max(0, min(MOST_WORKERS - busy, math.ceil(free_slots / CAPACITY)))


def lease_time() -> timedelta:
    """So long a worker may be silent before what it holds is given to others."""
    return timedelta(seconds=settings.LLM_LEASE_SECONDS)


@transaction.atomic
def borrow_slots(endpoint_pk: int, holder: str, wanted: int) -> int:
    """As many of the endpoint's slots as are free, `wanted` at most; what the holder had is given back first."""
    endpoint = Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint_pk).first()
    if endpoint is None:
        return 0
    now = timezone.now()
    leases = SlotLease.objects.filter(endpoint=endpoint)
    leases.filter(holder=holder).delete()
    taken = leases.filter(until__gte=now).aggregate(n=Sum("slots"))["n"] or 0
    slots = min(wanted, endpoint.max_concurrent - taken)
    if slots < 1:
        return 0
    SlotLease.objects.create(endpoint=endpoint, holder=holder, slots=slots, until=now + lease_time())
    return slots


def give_back_slots(holder: str) -> None:
    SlotLease.objects.filter(holder=holder).delete()


def keep_slots(holder: str, slots: int) -> None:
    """So many of the holder's slots stay its own for another while; the others are given back."""
    SlotLease.objects.filter(holder=holder).update(slots=slots, until=timezone.now() + lease_time())


def renew(holder: str, exchange_ids: Collection[int], run_ids: Collection[int]) -> bool:
    """The worker lives: its slots and its calls are its own for another while, and its runs are seen to go on.

    False where its slots were taken from it, since it was silent for too long.
    """
    now = timezone.now()
    until = now + lease_time()
    if exchange_ids:
        Call.objects.filter(claim__in=exchange_ids, state=CallState.RUNNING).update(lease_until=until)
    if run_ids:
        Run.objects.filter(pk__in=run_ids).update(alive_at=now)
    return bool(SlotLease.objects.filter(holder=holder).update(until=until))
