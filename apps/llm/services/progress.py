"""How far a run is: counts, speed, cost, what went wrong, and whether anybody works on it. No score, and no text."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Count, Min, Q, Sum
from django.utils import timezone

from apps.annotation.models import Rating
from apps.common.services.heartbeats import is_worker_alive
from apps.llm.models import OPEN_CALL_STATES, Call, CallState, Exchange, ExchangeState, Run, RunState

# Answers are counted over so long, to tell how fast a run is.
RATE_WINDOW = timedelta(minutes=2)
# Fewer answers than that say nothing about speed.
LEAST_ANSWERS = 3
ERRORS_LOOKED_AT = 200
ERRORS_SHOWN = 5

# HTTP status of a failed request -> its kind in `ErrorGroup.kind`; the rest by the hundred.
KINDS = {401: "key", 402: "quota", 403: "key", 404: "not_found", 408: "slow", 429: "rate"}


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Requests that failed alike. `kind` is one of `KINDS`, or server, refused, no_answer, lost."""

    kind: str
    http_status: int | None
    count: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Counts are of calls (`n_done` ...) and of requests (`n_requests` ...); several requests may be one call's.

    `rate` is in answers a minute over the last `rate_seconds`, `seconds_left` by that rate; None: not known. `cost` is
    of the requests whose cost is known, `n_cost_unknown` those that were answered without one. `n_ratings` are the
    rater's, of all its runs.
    Calls are claimed a little ahead: of `n_running` (and of `n_in_flight`) at most `most_at_once` are sent at one time,
    the others are held to be sent next.
    """

    calls: dict[str, int]
    most_at_once: int
    n_in_flight: int
    n_answered: int
    n_failed_requests: int
    n_lost: int
    n_repairs: int
    n_repeats: int
    input_tokens: int
    output_tokens: int
    cost: Decimal
    n_cost_unknown: int
    budget: Decimal | None
    n_ratings: int
    rate: float | None
    rate_seconds: int | None
    seconds_left: int | None
    errors: list[ErrorGroup]
    has_worker: bool
    held_until: datetime | None

    @property
    def n_calls(self) -> int:
        return sum(self.calls.values())

    @property
    def n_pending(self) -> int:
        return self.calls.get(CallState.PENDING, 0)

    @property
    def n_running(self) -> int:
        return self.calls.get(CallState.RUNNING, 0)

    @property
    def n_held(self) -> int:
        """Calls taken up that cannot be sent yet: at least so many."""
        return max(0, self.n_running - self.most_at_once)

    @property
    def n_done(self) -> int:
        return self.calls.get(CallState.DONE, 0)

    @property
    def n_invalid(self) -> int:
        return self.calls.get(CallState.INVALID, 0)

    @property
    def n_failed(self) -> int:
        return self.calls.get(CallState.FAILED, 0)

    @property
    def n_cancelled(self) -> int:
        return self.calls.get(CallState.CANCELLED, 0)

    @property
    def n_open(self) -> int:
        return self.n_pending + self.n_running

    @property
    def n_final(self) -> int:
        """Calls of which nothing is to come, however they ended."""
        return self.n_calls - self.n_open

    @property
    def n_requests(self) -> int:
        return self.n_in_flight + self.n_answered + self.n_failed_requests + self.n_lost

    @property
    def held_seconds(self) -> int:
        """How long nothing is sent yet, because the provider asked for it."""
        return 0 if self.held_until is None else math.ceil((self.held_until - timezone.now()).total_seconds())

    @property
    def is_rate_of_window(self) -> bool:
        """Whether the rate is over all of `RATE_WINDOW`, and not only since the run was started or resumed."""
        return self.rate_seconds is not None and self.rate_seconds >= RATE_WINDOW.total_seconds()

    @property
    def minutes_left(self) -> int | None:
        """Rounded up; None: not known."""
        return None if self.seconds_left is None else -(-self.seconds_left // 60)


def progress_of(run: Run) -> RunProgress:
    """Six queries, however many calls there are. `run` comes with its endpoint and its model rater."""
    now = timezone.now()
    states = Call.objects.filter(run=run).order_by().values_list("state").annotate(Count("pk"))
    calls = dict(states)
    requests = _requests(run)
    rate, rate_seconds = _rate(run, now) if run.state == RunState.RUNNING else (None, None)
    n_open = sum(calls.get(state, 0) for state in OPEN_CALL_STATES)
    held_until = run.endpoint.held_until
    return RunProgress(
        calls=calls,
        most_at_once=run.endpoint.max_concurrent,
        n_in_flight=requests["n_in_flight"],
        n_answered=requests["n_answered"],
        n_failed_requests=requests["n_failed"],
        n_lost=requests["n_lost"],
        n_repairs=requests["n_repairs"],
        n_repeats=requests["n_all"] - requests["n_questions"] - requests["n_repaired"],
        input_tokens=requests["input_tokens"] or 0,
        output_tokens=requests["output_tokens"] or 0,
        cost=Decimal(requests["cost"] or 0),
        n_cost_unknown=requests["n_cost_unknown"],
        budget=run.budget,
        n_ratings=Rating.objects.filter(rater=run.model_rater.rater_id).count(),
        rate=rate,
        rate_seconds=rate_seconds,
        seconds_left=round(n_open / rate * 60) if rate else None,
        errors=_errors(run),
        has_worker=is_worker_alive(),
        held_until=held_until if held_until and held_until > now else None,
    )


def progress_of_many(runs: Iterable[Run]) -> dict[int, dict[str, int]]:
    """run -> state of its calls -> how many; one query."""
    found: dict[int, dict[str, int]] = {run.pk: {} for run in runs}
    rows = Call.objects.filter(run__in=found).order_by().values_list("run_id", "state").annotate(Count("pk"))
    for run_id, state, count in rows:
        found[run_id][state] = count
    return found


def _requests(run: Run) -> dict[str, int]:
    answered = Q(state=ExchangeState.ANSWERED)
    return (
        Exchange.objects.filter(call__run=run)
        .order_by()
        .aggregate(
            n_all=Count("pk"),
            n_in_flight=Count("pk", filter=Q(state=ExchangeState.SENT)),
            n_answered=Count("pk", filter=answered),
            n_failed=Count("pk", filter=Q(state=ExchangeState.FAILED)),
            n_lost=Count("pk", filter=Q(state=ExchangeState.LOST)),
            n_repairs=Count("pk", filter=Q(is_repair=True)),
            n_questions=Count("call", filter=Q(is_repair=False), distinct=True),
            n_repaired=Count("call", filter=Q(is_repair=True), distinct=True),
            n_cost_unknown=Count("pk", filter=answered & Q(cost=None)),
            input_tokens=Sum("input_tokens"),
            output_tokens=Sum("output_tokens"),
            cost=Sum("cost"),
        )
    )


def _rate(run: Run, now: datetime) -> tuple[float, int] | tuple[None, None]:
    """Answers a minute, since the first of those counted was asked for, and how many seconds that is."""
    since = now - RATE_WINDOW
    # By when it was sent, which is indexed; what ended lately was sent within the timeout before.
    sent_since = since - timedelta(seconds=run.endpoint.timeout_seconds)
    found = Exchange.objects.filter(
        endpoint=run.endpoint_id,
        sent_at__gte=sent_since,
        ended_at__gte=since,
        state=ExchangeState.ANSWERED,
        call__run=run,
    ).aggregate(count=Count("pk"), first=Min("sent_at"))
    if found["count"] < LEAST_ANSWERS:
        return None, None
    seconds = max((now - max(found["first"], since)).total_seconds(), 1)
    return float(found["count"] * 60 / seconds), round(seconds)


def _errors(run: Run) -> list[ErrorGroup]:
    """The latest failures grouped by kind, the latest kind first."""
    latest = (
        Exchange.objects.filter(call__run=run, state__in=(ExchangeState.FAILED, ExchangeState.LOST))
        .order_by("-pk")
        .values_list("state", "http_status", "ended_at", "sent_at")[:ERRORS_LOOKED_AT]
    )
    groups: dict[tuple[str, int | None], list[datetime]] = {}
    for state, http_status, ended_at, sent_at in latest:
        kind = "lost" if state == ExchangeState.LOST else _kind_of(http_status)
        groups.setdefault((kind, http_status), []).append(ended_at or sent_at)
    rows = [ErrorGroup(kind, status, len(times), max(times)) for (kind, status), times in groups.items()]
    return rows[:ERRORS_SHOWN]


def _kind_of(http_status: int | None) -> str:
    if http_status is None:
        return "no_answer"
    if http_status in KINDS:
        return KINDS[http_status]
    return "server" if http_status >= 500 else "refused"
