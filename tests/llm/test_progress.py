"""How far a run is: every number, and what is not known."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.common.services.heartbeats import record_heartbeat
from apps.llm.models import Call, CallState, Endpoint, Exchange, ExchangeState, Run, RunState
from apps.llm.services.progress import ERRORS_SHOWN, progress_of
from tests.llm.worlds import answer_all, make_endpoint, make_run

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def run(grief, monkeypatch) -> Run:
    """Three items on two scales: six calls."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    endpoint = make_endpoint(price_input=Decimal(1), price_output=Decimal(2), timeout_seconds=60)
    return make_run(grief, endpoint, state=RunState.RUNNING)


def send(call: Call, state: str = ExchangeState.ANSWERED, *, seconds_ago: float = 30, **fields) -> Exchange:
    at = timezone.now() - timedelta(seconds=seconds_ago)
    return Exchange.objects.create(
        call=call, endpoint=call.run.endpoint, state=state, sent_at=at, **{"ended_at": at} | fields
    )


def test_calls_are_counted_by_state(run):
    states = [*CallState.values]
    for call, state in zip(run.calls.all(), states, strict=True):
        Call.objects.filter(pk=call.pk).update(state=state)
    found = progress_of(run)
    numbers = (found.n_done, found.n_running, found.n_pending, found.n_invalid, found.n_failed, found.n_cancelled)
    assert numbers == (1, 1, 1, 1, 1, 1)
    assert (found.n_calls, found.n_open, found.n_final) == (6, 2, 4)


def test_a_run_that_has_not_begun(run):
    found = progress_of(run)
    assert (found.n_calls, found.n_pending, found.n_requests, found.cost) == (6, 6, 0, 0)
    assert (found.rate, found.seconds_left, found.minutes_left, found.errors) == (None, None, None, [])


def test_requests_by_state_repairs_and_what_was_sent_again(run):
    first, second, third, *_rest = run.calls.all()
    send(first, ExchangeState.LOST)
    send(first, ExchangeState.FAILED, http_status=503)
    send(first)
    send(second)
    send(second, ExchangeState.FAILED, http_status=429, is_repair=True)
    send(second, is_repair=True)
    send(third, ExchangeState.SENT, ended_at=None)
    found = progress_of(run)
    assert (found.n_requests, found.n_answered, found.n_failed_requests, found.n_lost) == (7, 3, 2, 1)
    assert found.n_in_flight == 1
    assert (found.n_repairs, found.n_repeats) == (2, 3)


def test_cost_and_tokens_are_summed_and_what_is_unknown_is_counted(run):
    calls = list(run.calls.all())
    send(calls[0], input_tokens=100, output_tokens=10, cost=Decimal("0.00125"))
    send(calls[1], input_tokens=50, output_tokens=5, cost=Decimal("0.5"))
    send(calls[2])
    send(calls[3], ExchangeState.LOST)
    found = progress_of(run)
    assert found.cost == Decimal("0.50125")
    assert (found.n_cost_unknown, found.input_tokens, found.output_tokens) == (1, 150, 15)
    assert found.budget is None


def test_the_rate_is_of_the_answers_of_the_last_two_minutes(run):
    calls = list(run.calls.all())
    for call, seconds in zip(calls, (300, 60, 40, 20, 5), strict=False):
        send(call, seconds_ago=seconds)
        Call.objects.filter(pk=call.pk).update(state=CallState.DONE)
    found = progress_of(run)
    assert found.rate == pytest.approx(4.0)
    assert (found.rate_seconds, found.is_rate_of_window) == (60, False)
    assert found.seconds_left == 15
    assert found.minutes_left == 1


def test_a_rate_over_all_the_window_says_so(run):
    for call, seconds in zip(run.calls.all(), (119.9, 60, 20), strict=False):
        send(call, seconds_ago=seconds)
    assert progress_of(run).is_rate_of_window


def test_too_few_answers_tell_no_speed_and_neither_does_a_run_that_stands_still(run):
    calls = list(run.calls.all())
    for call in calls[:2]:
        send(call)
    assert progress_of(run).rate is None
    send(calls[2])
    assert progress_of(run).rate is not None
    run.state = RunState.PAUSED
    assert progress_of(run).rate is None


def test_failures_are_grouped_by_kind_the_latest_first(run):
    [call, *_rest] = run.calls.all()
    for status, seconds in ((503, 90), (429, 60), (503, 30), (None, 20), (401, 10)):
        send(call, ExchangeState.FAILED, http_status=status, seconds_ago=seconds)
    found = progress_of(run).errors
    assert [(error.kind, error.http_status, error.count) for error in found] == [
        ("key", 401, 1),
        ("no_answer", None, 1),
        ("server", 503, 2),
        ("rate", 429, 1),
    ]
    assert found[2].last_at == NOW - timedelta(seconds=30)


def test_only_the_latest_kinds_of_failure_are_told(run):
    [call, *_rest] = run.calls.all()
    for status in range(400, 420):
        send(call, ExchangeState.FAILED, http_status=status)
    assert len(progress_of(run).errors) == ERRORS_SHOWN


def test_another_run_s_requests_are_not_counted(run, grief):
    other = make_run(grief, run.endpoint, name="model2")
    for call in other.calls.all():
        send(call, ExchangeState.FAILED, http_status=500, cost=Decimal(1))
    found = progress_of(run)
    assert (found.n_requests, found.cost, found.errors) == (0, 0, [])


def test_ratings_are_the_rater_s(run):
    answer_all(run)
    assert progress_of(run).n_ratings == 6


def test_a_worker_is_seen_and_an_endpoint_held(run):
    assert not progress_of(run).has_worker
    record_heartbeat(worker="one", process_id=1)
    assert progress_of(run).has_worker
    run.endpoint.held_until = NOW + timedelta(seconds=9)
    found = progress_of(run)
    assert (found.held_until, found.held_seconds) == (NOW + timedelta(seconds=9), 9)
    run.endpoint.held_until = NOW - timedelta(seconds=9)
    assert progress_of(run).held_until is None


def test_the_queries_do_not_grow_with_the_calls(run, grief, django_assert_num_queries):
    with django_assert_num_queries(6):
        progress_of(run)
    for call in run.calls.all():
        for _ in range(3):
            send(call, ExchangeState.FAILED, http_status=500)
    Endpoint.objects.update(held_until=NOW)
    with django_assert_num_queries(6):
        progress_of(run)
