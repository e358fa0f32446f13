"""Taking up calls: at most as many as limits and budget allow, each with its exchange as a row before it is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, zip_longest
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, Max, Min, OuterRef, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.llm.models import Call, CallState, Endpoint, Exchange, ExchangeState, Pause, Run, RunState
from apps.llm.providers.protocol import ErrorKind, Provider, ProviderError
from apps.llm.providers.registry import provider_for
from apps.llm.replies import storable_text
from apps.llm.retries import LONGEST_SECONDS, is_outage
from apps.llm.services.asking import Asked, Asker, Question
from apps.llm.services.endpoints import target_of
from apps.llm.services.limits import LOOK_AGAIN, allowance_of, purses_of
from apps.llm.services.permission import pause_unless_allowed
from apps.llm.services.row_updates import update_rows
from apps.llm.services.run_states import finish_runs, lock_runs, open_state, pause
from apps.llm.services.settling import Group, settle
from apps.llm.services.slots import lease_time

# Runs of one endpoint that take part in one claim; those that waited longest come first.
RUNS_AT_ONCE = 8

PAUSES: Mapping[ErrorKind, Pause] = {
    ErrorKind.KEY: Pause.KEY,
    ErrorKind.QUOTA: Pause.QUOTA,
    ErrorKind.NOT_FOUND: Pause.NOT_FOUND,
    ErrorKind.SETUP: Pause.SETUP,
}

CALL_COLUMNS = ("state", "attempts", "claim", "lease_until", "not_before", "updated_at")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A call that is this worker's, with everything to send its request and to read the reply."""

    question: Question
    exchange_id: int
    endpoint_id: int
    attempts: int
    asked: Asked
    provider: Provider

    @property
    def call_id(self) -> int:
        return self.question.call_id


@dataclass(frozen=True, slots=True)
class Claims:
    """What was taken up. next_at: when there may be something (more) to take up; None: not before somebody acts."""

    claimed: list[Claimed] = field(default_factory=list)
    next_at: datetime | None = None


class Claimer:
    """Claims calls of one endpoint for one stretch of work; what it has read of prompts is kept meanwhile."""

    def __init__(self, endpoint_pk: int) -> None:
        self._endpoint_pk = endpoint_pk
        self._asker = Asker()

    def claim(self, wanted: int) -> Claims:
        """At most `wanted` calls of running runs, in turns among the runs. Queries: a few for each run, none by call.

        Prompts are rendered before anything is locked; of the calls found only those that still wait are taken.
        """
        now = timezone.now()
        endpoint = Endpoint.objects.filter(pk=self._endpoint_pk).first()
        if endpoint is None or wanted < 1:
            return Claims()
        if endpoint.held_until is not None and endpoint.held_until > now:
            return Claims(next_at=next_due(self._endpoint_pk))
        wanted = 1 if is_outage(endpoint.failed_in_a_row) else wanted
        runs = {run.pk: run for run in self._runs(now)[:RUNS_AT_ONCE]}
        questions = _in_turns([_due(run, wanted, now) for run in runs.values()])[:wanted]
        if not questions:
            return Claims(next_at=next_due(self._endpoint_pk))
        try:
            provider = provider_for(target_of(endpoint))
        except ProviderError as error:
            _pause_all(runs, PAUSES.get(error.kind, Pause.SETUP), error.message)
            return Claims()
        asked = self._asker.ask(questions, runs, provider)
        return _take(endpoint.pk, questions, asked, provider)

    def _runs(self, now: datetime) -> Any:
        """Those with calls that are due, the longest without a worker first: who only waits takes no other's turn."""
        due = Call.objects.filter(_is_due(now), run=OuterRef("pk"))
        runs = Run.objects.filter(Exists(due), endpoint=self._endpoint_pk, state=RunState.RUNNING)
        return runs.select_related("model_rater__version", "endpoint").order_by(
            F("alive_at").asc(nulls_first=True), "pk"
        )


def give_back(claims: Sequence[Claimed]) -> None:
    """Claimed calls that were not sent wait again, as if nobody had claimed them: no exchange, no attempt.

    In a cancelled run they are cancelled, and what the other samples of their questions said is rated.
    """
    if not claims:
        return
    now = timezone.now()
    exchange_of = {claim.call_id: claim.exchange_id for claim in claims}
    with transaction.atomic():
        runs = lock_runs(claim.question.run_id for claim in claims)
        locked = _locked_calls(exchange_of, CallState.RUNNING).values_list("pk", "claim_id")
        held_ids = {pk for pk, claim_id in locked if exchange_of[pk] == claim_id}
        held = [claim.question for claim in claims if claim.call_id in held_ids]
        update_rows(Call, (*CALL_COLUMNS, "finished_at"), [_given_back(one, runs[one.run_id], now) for one in held])
        Exchange.objects.filter(pk__in=[exchange_of[pk] for pk in held_ids], state=ExchangeState.SENT).delete()
        settle(runs, [Group.of(one) for one in held if open_state(runs[one.run_id]) == CallState.CANCELLED])
        finish_runs(runs)


def _given_back(question: Question, run: Run, now: datetime) -> tuple[Any, ...]:
    state = open_state(run)
    ended_at = now if state == CallState.CANCELLED else None
    return question.call_id, state, question.attempts, None, None, None, now, ended_at


def warm_up() -> None:
    """Load the clients of endpoints in use: the first claim would wait a second or more for their packages."""
    for endpoint in Endpoint.objects.in_use()[:RUNS_AT_ONCE]:
        try:
            provider_for(target_of(endpoint))
        except ProviderError:
            continue  # the claim says so to whom it concerns


# --- What is there to do --------------------------------------------------------------------------------------------


def _is_due(now: datetime) -> Q:
    return Q(state=CallState.PENDING) & (Q(not_before=None) | Q(not_before__lte=now))


def _due(run: Run, wanted: int, now: datetime) -> list[Question]:
    """In the order of the run; while its endpoint is out of order, first what was tried least, and longest ago."""
    is_out = is_outage(run.endpoint.failed_in_a_row)
    order: list[Any] = ["attempts", F("not_before").asc(nulls_first=True)] if is_out else []
    rows = (
        Call.objects.filter(_is_due(now), run=run)
        .order_by(*order, "position")
        .values_list(
            "pk",
            "run_id",
            "item_id",
            "item__conversation_id",
            "framework_id",
            "dimension_id",
            "sample",
            "is_repair",
            "attempts",
        )
    )
    return [Question(*row) for row in rows[:wanted]]


def _in_turns(by_run: Sequence[Sequence[Question]]) -> list[Question]:
    """The first of each run, then the second of each, and so on."""
    return [question for question in chain.from_iterable(zip_longest(*by_run)) if question is not None]


def next_due(endpoint_pk: int) -> datetime | None:
    """When the first call that waits may be asked; None where none waits. Limits are not looked at. One query."""
    waiting = Call.objects.filter(run__endpoint=endpoint_pk, run__state=RunState.RUNNING, state=CallState.PENDING)
    now = timezone.now()
    found = waiting.order_by().aggregate(
        first=Min(Coalesce("not_before", Value(now))), held=Max("run__endpoint__held_until")
    )
    first: datetime | None = found["first"]
    return first if first is None or found["held"] is None else max(first, found["held"])


def _pause_all(runs: Mapping[int, Run], why: Pause, detail: str) -> None:
    with transaction.atomic():
        for run in lock_runs(runs).values():
            pause(run, why, storable_text(detail))


# --- Taking it ------------------------------------------------------------------------------------------------------


@transaction.atomic
def _take(
    endpoint_pk: int, questions: Sequence[Question], asked: Mapping[int, Asked | str], provider: Provider
) -> Claims:
    now = timezone.now()
    endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint_pk)
    if endpoint.held_until is not None and endpoint.held_until > now:
        return Claims(next_at=endpoint.held_until)
    runs = lock_runs(question.run_id for question in questions)
    pause_unless_allowed(runs.values(), endpoint)
    open_calls = _still_open([question for question in questions if _is_running(runs, question)])
    _fail_unaskable(runs, [(question, asked[question.call_id]) for question in open_calls], now)
    wanted = [
        (question, request)
        for question in open_calls
        if isinstance(request := asked[question.call_id], Asked) and _is_running(runs, question)
    ]
    if is_outage(endpoint.failed_in_a_row):
        # One request tries it.
        if _is_being_tried(endpoint, now):
            return Claims(next_at=now + LOOK_AGAIN)
        wanted = wanted[:1]
    chosen, next_at = _affordable(runs, endpoint, wanted, now)
    claimed = _write(endpoint, chosen, provider, now)
    if next_at is None and len(claimed) < len(questions):
        next_at = now  # others were quicker, or a run was stopped: there may be more behind these
    return Claims(claimed, next_at)


def _is_being_tried(endpoint: Endpoint, now: datetime) -> bool:
    """Whether a request tries an endpoint that is out of order: one sent since its last rest, a minute ago at most."""
    since = now - timedelta(seconds=LONGEST_SECONDS)
    if endpoint.held_until is not None:
        since = max(since, endpoint.held_until)
    return Exchange.objects.filter(endpoint=endpoint, state=ExchangeState.SENT, sent_at__gte=since).exists()


def _is_running(runs: Mapping[int, Run], question: Question) -> bool:
    return runs[question.run_id].state == RunState.RUNNING


def _locked_calls(call_ids: Any, state: CallState) -> Any:
    calls = Call.objects.filter(pk__in=list(call_ids), state=state).order_by("pk")
    return calls.select_for_update(no_key=True)


def _still_open(questions: Sequence[Question]) -> list[Question]:
    """Those that still wait, with the question they had when their prompts were made."""
    locked = _locked_calls([question.call_id for question in questions], CallState.PENDING)
    now_asked = {pk: facts for pk, *facts in locked.values_list("pk", "is_repair", "attempts")}
    return [
        question for question in questions if now_asked.get(question.call_id) == [question.is_repair, question.attempts]
    ]


def _fail_unaskable(runs: Mapping[int, Run], asked: Sequence[tuple[Question, Asked | str]], now: datetime) -> None:
    """Calls whose prompt cannot be made have failed, unsent. Where only the repair cannot, the first reply stands."""
    lost = [(question, problem) for question, problem in asked if isinstance(problem, str)]
    if not lost:
        return
    rows = [
        (
            question.call_id,
            CallState.INVALID if question.is_repair else CallState.FAILED,
            storable_text(problem),
            now,
            None,
            now,
        )
        for question, problem in lost
    ]
    update_rows(Call, ("state", "problem", "finished_at", "not_before", "updated_at"), rows)
    settle(runs, [Group.of(question) for question, _problem in lost])
    finish_runs({question.run_id for question, _problem in lost})


def _affordable(
    runs: Mapping[int, Run], endpoint: Endpoint, wanted: Sequence[tuple[Question, Asked]], now: datetime
) -> tuple[list[tuple[Question, Asked]], datetime | None]:
    """Those that limits and budgets allow now, and when there may be more; runs beyond their budget pause.

    The first call that a run cannot pay ends its turn: cheaper ones behind it are not taken up in its place.
    """
    allowance = allowance_of(endpoint, now)
    purses = purses_of([run for run in runs.values() if run.state == RunState.RUNNING], endpoint)
    chosen: list[tuple[Question, Asked]] = []
    spent: set[int] = set()
    next_at = None
    for question, asked in wanted:
        if question.run_id in spent:
            continue
        purse = purses[question.run_id]
        if not purse.can_pay(asked):
            spent.add(question.run_id)
            # What is in flight may cost less than was set aside for it.
            if purse.may_get_more:
                next_at = now + LOOK_AGAIN
            else:
                pause(runs[question.run_id], Pause.BUDGET, purse.problem)
            continue
        if not allowance.take(asked.prompt_tokens + asked.parameters.max_tokens):
            return chosen, allowance.full_until or now + LOOK_AGAIN
        purse.pay(asked)
        chosen.append((question, asked))
    return chosen, next_at


def _write(
    endpoint: Endpoint, chosen: Sequence[tuple[Question, Asked]], provider: Provider, now: datetime
) -> list[Claimed]:
    exchanges = Exchange.objects.bulk_create(_exchange(endpoint, question, asked, now) for question, asked in chosen)
    until = now + lease_time()
    claimed = [
        Claimed(question, exchange.pk, endpoint.pk, question.attempts + 1, asked, provider)
        for (question, asked), exchange in zip(chosen, exchanges, strict=True)
    ]
    update_rows(
        Call,
        CALL_COLUMNS,
        [(one.call_id, CallState.RUNNING, one.attempts, one.exchange_id, until, None, now) for one in claimed],
    )
    Run.objects.filter(pk__in={question.run_id for question, _ in chosen}).update(alive_at=now)
    return claimed


def _exchange(endpoint: Endpoint, question: Question, asked: Asked, now: datetime) -> Exchange:
    return Exchange(
        call_id=question.call_id,
        endpoint=endpoint,
        state=ExchangeState.SENT,
        is_repair=question.is_repair,
        sent_at=now,
        request_hash=asked.request_hash,
        request=asked.request,
        estimated_tokens=asked.prompt_tokens + asked.parameters.max_tokens,
    )
