"""Storing what came back: answers, the states of calls, ratings and the ends of runs, in one transaction.

The fence is `Call.claim`: only the exchange that holds a call may end it. What comes too late is kept with its
exchange and changes nothing else; what was stored before is not stored again.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.llm.models import Call, CallAnswer, CallState, Endpoint, Exchange, ExchangeState, Pause, Run, RunState
from apps.llm.providers.protocol import ErrorKind, ProviderError
from apps.llm.replies import storable_text
from apps.llm.retries import LONGEST_SECONDS, MAX_ATTEMPTS, Fate, asked_for, delay_seconds, fate_of
from apps.llm.services.claiming import PAUSES, Claimed
from apps.llm.services.outages import (
    Outage,
    endpoints_alive,
    forget_failures,
    is_passing,
    lock_silent,
    note_failures,
)
from apps.llm.services.reading import Outcome, ReadAnswer, ReadOutcome, read_outcomes, usage_problem
from apps.llm.services.row_updates import update_rows
from apps.llm.services.run_states import finish_runs, lock_runs, open_state, pause, pause_if_failing
from apps.llm.services.settling import Group, settle
from apps.llm.tokens import believed

MOST_KEPT = 100_000  # characters of a server's whole answer
MOST_OF_A_REPLY = 200_001  # one more than is read: what is longer is invalid, and stays so when it is read again
MOST_OF_A_PROBLEM = 2_000

CALL_COLUMNS = (
    "state",
    "attempts",
    "is_repair",
    "claim",
    "lease_until",
    "not_before",
    "problem",
    "finished_at",
    "updated_at",
)
EXCHANGE_COLUMNS = (
    "state",
    "sent_at",
    "ended_at",
    "reply",
    "raw",
    "http_status",
    "problem",
    "may_be_billed",
    "finish_reason",
    "latency_ms",
    "input_tokens",
    "output_tokens",
    "cost",
)
ANSWER_COLUMNS = ("value", "cannot_tell", "rationale", "evidence", "fault", "reason", "notes")


@dataclass(slots=True)
class Stored:
    """What a worker has to know afterwards. standing: runs that do not run (any more)."""

    standing: set[int] = field(default_factory=set)
    is_held: bool = False
    is_waiting: bool = False  # some of the calls wait to be asked again


@dataclass(slots=True)
class _Ending:
    """What a call is after an outcome."""

    state: CallState
    attempts: int
    is_repair: bool
    not_before: datetime | None = None
    problem: str = ""

    @property
    def is_final(self) -> bool:
        return self.state not in (CallState.PENDING, CallState.RUNNING)


def store(outcomes: Sequence[Outcome], meanwhile: Callable[[], None] = lambda: None) -> Stored:
    """Store what came back for claimed calls: all of it, or nothing where the database fails.

    Safe to call again with the same outcomes. Queries do not grow with their number. An answer that may not be
    recorded makes its call invalid; the others are stored. meanwhile: done now and then while the answers are read,
    before the transaction begins.
    """
    stored = Stored(is_held=_hold_endpoints(outcomes))
    read = read_outcomes(outcomes, meanwhile)
    with transaction.atomic():
        recovered = _store(read, stored)
    if recovered:
        forget_failures(recovered)
    return stored


def _hold_endpoints(outcomes: Sequence[Outcome]) -> bool:
    """Leave endpoints alone that said so, before anything else is stored. Whether any did."""
    until: dict[int, datetime] = {}
    for outcome in outcomes:
        if seconds := _wants_to_rest(outcome):
            endpoint_id = outcome.claimed.endpoint_id
            held = timezone.now() + timedelta(seconds=seconds)
            until[endpoint_id] = max(held, until.get(endpoint_id, held))
    for endpoint_id, held in until.items():
        endpoint = Endpoint.objects.filter(Q(held_until=None) | Q(held_until__lt=held), pk=endpoint_id)
        endpoint.update(held_until=held)
    return bool(until)


def _wants_to_rest(outcome: Outcome) -> float:
    """For how many seconds an answer asks that nothing be sent: by `Retry-After`, whatever the status, or by a 429.

    A 429 without a time: longer with each attempt, so that a busy provider is not asked to death.
    """
    error = outcome.result
    if not isinstance(error, ProviderError) or error.kind not in (ErrorKind.RATE, ErrorKind.PASSING):
        return 0.0
    seconds = asked_for(error.retry_after)
    if error.kind is ErrorKind.RATE and not seconds:
        return min(LONGEST_SECONDS, 2.0 ** (outcome.claimed.attempts - 1))
    return seconds


def _store(read: Sequence[ReadOutcome], stored: Stored) -> set[int]:
    """The endpoints that had failed lately, and now answered."""
    now = timezone.now()
    silent = lock_silent([one.outcome for one in read])
    runs = lock_runs(one.outcome.claimed.question.run_id for one in read)
    held, late = _held_and_late(read)
    outages = note_failures(silent, [one.outcome for one in held], now)
    stored.is_held |= bool(outages)
    _write_exchanges(held, late, runs, now)
    _pause_for(held, runs, outages)
    open_scales = _write_answers(held)
    endings = {}
    for one in held:
        claimed = one.outcome.claimed
        run = runs[claimed.question.run_id]
        outage = outages.get(claimed.endpoint_id)
        endings[claimed.call_id] = _ending(one, run, open_scales[claimed.call_id], outage, now)
    _write_calls(held, endings, now)
    news = [one for one in held if one.answers or endings[one.outcome.claimed.call_id].is_final]
    refused = settle(runs, [Group.of(one.outcome.claimed.question) for one in news])
    _write_refused(held, refused, now)
    _look_at_runs(held, endings, runs)
    stored.standing = {pk for pk, run in runs.items() if run.state != RunState.RUNNING}
    stored.is_waiting = any(ending.state == CallState.PENDING for ending in endings.values())
    alive = endpoints_alive(one.outcome for one in read)
    return {run.endpoint_id for run in runs.values() if run.endpoint.failed_in_a_row} & alive


def _held_and_late(read: Sequence[ReadOutcome]) -> tuple[list[ReadOutcome], list[ReadOutcome]]:
    """Those that still hold their calls, and those that came too late. Neither: those that were stored before."""
    call_ids = [one.outcome.claimed.call_id for one in read]
    calls = Call.objects.select_for_update(no_key=True).filter(pk__in=call_ids).order_by("pk")
    claims = {pk: claim for pk, state, claim in calls.values_list("pk", "state", "claim_id") if state == "running"}
    exchanges = Exchange.objects.filter(pk__in=[one.outcome.claimed.exchange_id for one in read])
    is_new = {pk: _is_new(state, latency) for pk, state, latency in exchanges.values_list("pk", "state", "latency_ms")}
    held: list[ReadOutcome] = []
    late: list[ReadOutcome] = []
    for one in read:
        claimed = one.outcome.claimed
        if is_new.get(claimed.exchange_id, False):
            (held if claims.get(claimed.call_id) == claimed.exchange_id else late).append(one)
    return held, late


def _is_new(state: str, latency: int | None) -> bool:
    """Whether nothing was stored of what came back: an exchange that has an end has a latency."""
    return state in (ExchangeState.SENT, ExchangeState.LOST) and latency is None


# --- Exchanges ------------------------------------------------------------------------------------------------------


def _write_exchanges(
    held: Sequence[ReadOutcome], late: Sequence[ReadOutcome], runs: Mapping[int, Run], now: datetime
) -> None:
    rows = [_exchange_row(one, runs, now) for one in held]
    for one in late:
        row = _exchange_row(one, runs, now)
        sentence = _("The answer came when its worker was taken for dead already, and was not used.")
        row |= {"state": ExchangeState.LOST, "problem": f"{sentence} {row['problem']}".strip()}
        rows.append(row)
    update_rows(Exchange, EXCHANGE_COLUMNS, [[row["pk"], *(row[name] for name in EXCHANGE_COLUMNS)] for row in rows])


def _exchange_row(one: ReadOutcome, runs: Mapping[int, Run], now: datetime) -> dict[str, Any]:
    outcome, result = one.outcome, one.outcome.result
    row: dict[str, Any] = {
        "pk": outcome.claimed.exchange_id,
        "sent_at": outcome.sent_at,
        "ended_at": now,
        "raw": _kept(result.raw),
        "http_status": result.http_status,
        "latency_ms": max(0, int(result.latency_ms)),
        "reply": "",
        "may_be_billed": False,
        "finish_reason": "",
        "input_tokens": None,
        "output_tokens": None,
        "cost": None,
    }
    if isinstance(result, ProviderError):
        return row | {
            "state": ExchangeState.FAILED,
            "problem": _said(result),
            "may_be_billed": result.may_be_billed,
        }
    tokens = believed(result.input_tokens), believed(result.output_tokens)
    return row | {
        "state": ExchangeState.ANSWERED,
        "problem": f"{one.problem} {usage_problem(result)}".strip(),
        "reply": storable_text(result.text[:MOST_OF_A_REPLY]),
        "finish_reason": storable_text(result.finish_reason)[:60],
        "input_tokens": tokens[0],
        "output_tokens": tokens[1],
        "cost": runs[outcome.claimed.question.run_id].endpoint.cost_of(*tokens),
    }


def _kept(raw: str) -> str:
    text = storable_text(raw)
    if len(text) <= MOST_KEPT:
        return text
    note = _("[Cut by Accord: the answer has %(n)s characters.]") % {"n": f"{len(text):,}"}
    return f"{text[:MOST_KEPT]}\n{note}"


def _said(error: ProviderError) -> str:
    return storable_text(error.message)[:MOST_OF_A_PROBLEM]


# --- Answers --------------------------------------------------------------------------------------------------------


def _write_answers(held: Sequence[ReadOutcome]) -> dict[int, set[int]]:
    """call -> the dimensions that have no valid answer (yet). A valid answer is never replaced, an invalid one is."""
    valid: dict[int, set[int]] = defaultdict(set)
    call_ids = [one.outcome.claimed.call_id for one in held]
    known = CallAnswer.objects.filter(call__in=call_ids, fault="").order_by()
    for call_id, dimension_id in known.values_list("call_id", "dimension_id"):
        valid[call_id].add(dimension_id)
    rows = [
        _answer_row(one.outcome.claimed.call_id, read)
        for one in held
        for read in one.answers
        if read.dimension_id not in valid[one.outcome.claimed.call_id]
    ]
    CallAnswer.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["call", "dimension"], update_fields=ANSWER_COLUMNS
    )
    for row in rows:
        if row.is_valid:
            valid[row.call_id].add(row.dimension_id)
    return {
        one.outcome.claimed.call_id: set(one.outcome.claimed.asked.dimensions.values())
        - valid[one.outcome.claimed.call_id]
        for one in held
    }


def _answer_row(call_id: int, read: ReadAnswer) -> CallAnswer:
    answer = read.answer
    return CallAnswer(
        call_id=call_id,
        dimension_id=read.dimension_id,
        value=answer.score,
        cannot_tell=answer.is_cannot_tell,
        rationale=answer.rationale,
        evidence=read.evidence,
        fault=answer.fault.value if answer.fault else "",
        reason=storable_text(answer.reason),
        notes=[storable_text(note) for note in (*answer.notes, *read.notes)],
    )


# --- Calls ----------------------------------------------------------------------------------------------------------


def _ending(one: ReadOutcome, run: Run, open_scales: set[int], outage: Outage | None, now: datetime) -> _Ending:
    claimed = one.outcome.claimed
    if isinstance(one.outcome.result, ProviderError):
        return _after_error(claimed, one.outcome.result, run, outage, now)
    if not open_scales:
        return _Ending(CallState.DONE, claimed.attempts, claimed.question.is_repair)
    if claimed.question.is_repair:
        return _Ending(CallState.INVALID, claimed.attempts, is_repair=True, problem=one.problem)
    return _Ending(open_state(run), 0, is_repair=True, problem=one.problem)


def _after_error(claimed: Claimed, error: ProviderError, run: Run, outage: Outage | None, now: datetime) -> _Ending:
    is_repair, message = claimed.question.is_repair, _said(error)
    match fate_of(error.kind, claimed.attempts):
        case Fate.PAUSE:
            return _Ending(open_state(run), claimed.attempts - 1, is_repair, problem=message)
        case Fate.AGAIN:
            seconds = delay_seconds(claimed.attempts, error.retry_after, random.random)
            later = now + timedelta(seconds=seconds)
            if outage is not None:
                later = max(later, outage.until)
            return _Ending(open_state(run), claimed.attempts, is_repair, later, message)
    if claimed.attempts >= MAX_ATTEMPTS:
        message = _("Given up after %(n)s attempts. The last one: %(problem)s") % {
            "n": claimed.attempts,
            "problem": message,
        }
    if is_repair:
        # What the first reply says stands.
        return _Ending(CallState.INVALID, claimed.attempts, is_repair, problem=message)
    return _Ending(CallState.FAILED, claimed.attempts, is_repair, problem=message)


def _write_calls(held: Sequence[ReadOutcome], endings: Mapping[int, _Ending], now: datetime) -> None:
    """An ended call keeps the claim of the request that ended it."""
    rows = []
    for one in held:
        claimed = one.outcome.claimed
        ending = endings[claimed.call_id]
        rows.append(
            (
                claimed.call_id,
                ending.state,
                ending.attempts,
                ending.is_repair,
                claimed.exchange_id if ending.is_final else None,
                None,
                ending.not_before,
                ending.problem,
                now if ending.is_final else None,
                now,
            )
        )
    update_rows(Call, CALL_COLUMNS, rows)


def _write_refused(held: Sequence[ReadOutcome], refused: Mapping[Group, str], now: datetime) -> None:
    """Calls whose answer may not be recorded are invalid."""
    rows = [
        (one.outcome.claimed.call_id, CallState.INVALID, storable_text(refused[group]), now)
        for one in held
        if (group := Group.of(one.outcome.claimed.question)) in refused
    ]
    update_rows(Call, ("state", "problem", "finished_at"), rows)


# --- Runs -----------------------------------------------------------------------------------------------------------


def _pause_for(held: Sequence[ReadOutcome], runs: Mapping[int, Run], outages: Mapping[int, Outage]) -> None:
    for one in held:
        error, claimed = one.outcome.result, one.outcome.claimed
        if not isinstance(error, ProviderError):
            continue
        why = PAUSES.get(error.kind)
        if is_passing(one.outcome) and claimed.endpoint_id in outages and outages[claimed.endpoint_id].is_given_up:
            why = Pause.FAILING
        if why:
            pause(runs[claimed.question.run_id], why, _said(error))


def _look_at_runs(held: Sequence[ReadOutcome], endings: Mapping[int, _Ending], runs: Mapping[int, Run]) -> None:
    failed = Counter(
        one.outcome.claimed.question.run_id
        for one in held
        if endings[one.outcome.claimed.call_id].state == CallState.FAILED
    )
    for run_id, n_failed in failed.items():
        pause_if_failing(runs[run_id], n_failed)
    finish_runs(runs)
