"""What dead workers left: calls whose lease has lapsed wait again, slots are free again; and who has work to do."""

import logging
import time
from datetime import timedelta

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.common.patience import waiting_at_most
from apps.llm.models import (
    OPEN_CALL_STATES,
    Call,
    CallState,
    Endpoint,
    Exchange,
    ExchangeState,
    Run,
    RunState,
    SlotLease,
)
from apps.llm.retries import MAX_ATTEMPTS
from apps.llm.services.row_updates import update_rows
from apps.llm.services.run_states import finish_runs, lock_runs, open_state
from apps.llm.services.settling import Group, settle
from apps.llm.services.slots import workers_of_use

logger = logging.getLogger(__name__)

WAIT_MILLISECONDS = 1000
HAD_TO_WAIT_SECONDS = 0.25
LAPSED_AT_ONCE = 500
# An endpoint whose calls nobody has taken up for so long is triggered again: its message may be lost.
QUIET_SECONDS = 20.0

_FACTS = ("pk", "run_id", "item_id", "framework_id", "dimension_id", "claim_id", "attempts", "is_repair")


def sweep() -> list[int]:
    """Free what has lapsed; the endpoints that have calls to be taken up and too few workers, once for each that lacks.

    Does nothing while the database is locked: whoever holds the lock may be about to store the very answers that seem
    lost.
    """
    try:
        with waiting_at_most(milliseconds=WAIT_MILLISECONDS):
            began = time.monotonic()
            with transaction.atomic():
                if time.monotonic() - began > HAD_TO_WAIT_SECONDS:
                    return []
                _free_lapsed()
            with transaction.atomic():
                _finish()
            return _to_trigger()
    except (OperationalError, InterfaceError) as error:
        logger.info("No sweep of calls now: %s", error)
        if not connection.in_atomic_block:
            connection.close()
        return []


def _free_lapsed() -> None:
    now = timezone.now()
    SlotLease.objects.filter(until__lt=now).delete()
    lapsed = Call.objects.filter(state=CallState.RUNNING).filter(Q(lease_until__lt=now) | Q(lease_until=None))
    found = list(lapsed.order_by("pk").values_list("pk", "run_id")[:LAPSED_AT_ONCE])
    if not found:
        return
    runs = lock_runs(run_id for _pk, run_id in found)
    # As they are now that nobody else changes them.
    calls = list(
        lapsed.select_for_update(no_key=True).filter(pk__in=[pk for pk, _run in found]).order_by("pk").values(*_FACTS)
    )
    exchanges = Exchange.objects.filter(pk__in=[call["claim_id"] for call in calls], state=ExchangeState.SENT)
    exchanges.update(state=ExchangeState.LOST, ended_at=now, problem=_("Its worker was gone before it could store."))
    given_up = _("Given up after %(n)s attempts: the last request was lost on its way.")
    rows = []
    for call in calls:
        is_over = call["attempts"] >= MAX_ATTEMPTS
        state = open_state(runs[call["run_id"]])
        if is_over:
            state = CallState.INVALID if call["is_repair"] else CallState.FAILED
        problem = given_up % {"n": call["attempts"]} if is_over else ""
        ended_at = None if state == CallState.PENDING else now
        rows.append((call["pk"], state, None, None, problem, ended_at, now))
    update_rows(Call, ("state", "claim", "lease_until", "problem", "finished_at", "updated_at"), rows)
    settle(
        runs,
        [
            Group(call["run_id"], call["item_id"], call["framework_id"], call["dimension_id"])
            for call, row in zip(calls, rows, strict=True)
            if row[1] != CallState.PENDING
        ],
    )
    if calls:
        logger.warning("%s requests to models were lost on their way", len(calls))


def _finish() -> None:
    """Runs that are over and were not seen to be."""
    open_calls = Call.objects.filter(run=OuterRef("pk"), state__in=OPEN_CALL_STATES)
    over = Run.objects.filter(~Exists(open_calls), state=RunState.RUNNING).values_list("pk", flat=True)
    if run_ids := list(over):
        finish_runs(lock_runs(run_ids))


def _to_trigger() -> list[int]:
    """Endpoints with calls that are due and slots that nobody has, once for each worker that is of use there.

    One without any worker is left alone for a while after its runs were worked on: the next message is on its way.
    """
    now = timezone.now()
    quiet = min(QUIET_SECONDS, float(settings.LLM_LEASE_SECONDS))
    due = Call.objects.filter(
        Q(not_before=None) | Q(not_before__lte=now), state=CallState.PENDING, run__state=RunState.RUNNING
    )
    endpoints = Endpoint.objects.filter(Q(held_until=None) | Q(held_until__lte=now), runs__state=RunState.RUNNING)
    found = []
    for endpoint in endpoints.distinct().order_by("pk"):
        leases = SlotLease.objects.filter(endpoint=endpoint, until__gte=now)
        busy = leases.aggregate(workers=Count("pk"), slots=Sum("slots"))
        lacking = workers_of_use(endpoint.max_concurrent - (busy["slots"] or 0), busy["workers"])
        if not lacking:
            continue
        lately = Run.objects.filter(
            endpoint=endpoint, state=RunState.RUNNING, alive_at__gt=now - timedelta(seconds=quiet)
        )
        if (busy["workers"] or not lately.exists()) and due.filter(run__endpoint=endpoint).exists():
            found += [endpoint.pk] * lacking
    return found
