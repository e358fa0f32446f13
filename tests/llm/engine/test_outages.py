"""A server that is away costs few requests and no call: the endpoint is left alone, tried, and at last given up."""

import time
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from apps.annotation.models import Rating
from apps.llm.fake_server import FakeReply, FakeScript, FakeServer
from apps.llm.models import CallState, Endpoint, Exchange, Pause, Run, RunState
from apps.llm.providers.protocol import ErrorKind
from apps.llm.retries import GIVE_UP_AFTER, OUTAGE_AFTER
from apps.llm.services.controls import pause_run, resume_run
from apps.llm.services.storing import store
from apps.llm.services.working import work
from tests.conftest import make_dataset, make_study
from tests.llm.engine.stubs import answer, answer_once, at_once_due, claims, error, outcomes
from tests.llm.worlds import make_endpoint, make_run

pytestmark = pytest.mark.django_db

SLOTS = 4
DOWN = error(ErrorKind.PASSING, "The server could not be reached.", is_unsent=True)


def many_calls(rosa, framework, **fields) -> Run:
    """Forty calls."""
    letters = make_dataset("many", conversations=20, owner=rosa)
    study = make_study("many", owner=rosa, dataset=letters, frameworks=[framework])
    return make_run(study, make_endpoint(**{"max_concurrent": SLOTS} | fields), state=RunState.RUNNING)


@pytest.fixture
def run(rosa, framework, provider):
    return many_calls(rosa, framework)


def endpoint_of(run: Run) -> Endpoint:
    return Endpoint.objects.get(pk=run.endpoint_id)


def time_passes(run: Run) -> None:
    """The endpoint may be tried again."""
    run.calls.update(not_before=None)
    Endpoint.objects.update(held_until=None)


def outage(run: Run) -> None:
    """So many failures that the endpoint is out of order."""
    answer_once(run, DOWN, wanted=OUTAGE_AFTER)


# --- With a server --------------------------------------------------------------------------------------------------


def work_to_the_end(run: Run, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while Run.objects.get(pk=run.pk).state == RunState.RUNNING and time.monotonic() < until:
        work(run.endpoint_id)


def everything_is_rated(run: Run) -> None:
    run.refresh_from_db()
    assert (run.state, set(run.calls.values_list("state", flat=True))) == (RunState.DONE, {CallState.DONE})
    assert Rating.objects.filter(rater=run.model_rater.rater).count() == run.calls.count()


def test_a_server_that_is_away_for_a_while_costs_few_requests_and_no_call(rosa, framework, fixed_lot):
    fixed_lot(0.6)
    with FakeServer() as server:
        url = server.url
    run = many_calls(rosa, framework, url=url)
    work(run.endpoint_id, seconds=2)
    assert Exchange.objects.count() <= OUTAGE_AFTER + 2 * SLOTS + 5
    assert set(run.calls.values_list("state", flat=True)) == {CallState.PENDING}
    assert max(run.calls.values_list("attempts", flat=True)) <= 2
    with FakeServer(port=urlsplit(url).port):
        work_to_the_end(run)
    everything_is_rated(run)


def test_a_server_that_stays_away_pauses_the_run_and_after_that_nothing_is_missing(rosa, framework, fixed_lot):
    fixed_lot(0.0)
    with FakeServer(FakeScript(faults={"503": 1})) as server:
        run = many_calls(rosa, framework, url=server.url)
        work_to_the_end(run)
        n_requests = server.stats()["requests"]
    assert n_requests <= GIVE_UP_AFTER + 2 * SLOTS
    run.refresh_from_db()
    assert (run.state, run.pause) == (RunState.PAUSED, Pause.FAILING)
    assert "503" in run.pause_detail
    assert set(run.calls.values_list("state", flat=True)) == {CallState.PENDING}
    # One fault more after it was resumed fails nothing.
    replies = [FakeReply(status=500, text="Stumbled."), *[answer("3")] * 60]
    with FakeServer(FakeScript(replies=replies), port=urlsplit(server.url).port):
        resume_run(run=run, by=rosa)
        work_to_the_end(run)
    everything_is_rated(run)


# --- Step by step ---------------------------------------------------------------------------------------------------


def test_failures_that_are_everybodys_cost_no_attempts(run):
    answer_once(run, DOWN, wanted=OUTAGE_AFTER - 1)
    assert endpoint_of(run).held_until is None
    assert run.calls.filter(attempts=1).count() == OUTAGE_AFTER - 1
    answer_once(run, DOWN, wanted=5)
    assert endpoint_of(run).held_until > timezone.now()
    assert run.calls.filter(attempts=1).count() == OUTAGE_AFTER - 1
    assert claims(run).next_at == endpoint_of(run).held_until


def test_out_of_order_it_is_tried_with_one_request_at_a_time_and_another_call_each_time(run):
    outage(run)
    tried = []
    for _ in range(3):
        Endpoint.objects.update(held_until=None)
        found = claims(run)
        assert len(found.claimed) == 1
        assert claims(run).claimed == []
        tried.append(found.claimed[0].call_id)
        store(outcomes(found, DOWN))
    assert len(set(tried)) == 3


def test_the_first_answer_ends_it(run):
    outage(run)
    time_passes(run)
    answer_once(run, answer("2"))
    found = endpoint_of(run)
    assert (found.failed_in_a_row, found.failing_since, found.held_until) == (0, None, None)
    assert len(claims(run).claimed) == run.calls.count() - 1


@pytest.mark.parametrize(
    ("between", "in_a_row"),
    [
        (answer("2"), 0),
        (error(ErrorKind.REFUSED, "No.", http_status=400), 0),
        (error(ErrorKind.RATE, "Slowly.", http_status=429), 5),
    ],
    ids=["an answer", "a refusal", "too many requests"],
)
def test_what_counts_as_a_sign_of_life(run, between, in_a_row):
    answer_once(run, DOWN, wanted=5)
    answer_once(run, between, wanted=1)
    assert endpoint_of(run).failed_in_a_row == in_a_row


def test_failures_beside_an_answer_are_their_calls_own(run):
    answer_once(run, answer("2"), DOWN, wanted=OUTAGE_AFTER + 1)
    assert endpoint_of(run).failed_in_a_row == 0
    assert run.calls.filter(attempts=1, state=CallState.PENDING).count() == OUTAGE_AFTER


def test_the_same_failures_stored_twice_count_once(run):
    found = outcomes(claims(run, 5), DOWN)
    store(found)
    store(found)
    assert endpoint_of(run).failed_in_a_row == 5


def test_after_five_minutes_it_is_given_up(run):
    outage(run)
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(minutes=5))
    time_passes(run)
    answer_once(run, DOWN)
    run.refresh_from_db()
    assert (run.state, run.pause, run.pause_detail) == (RunState.PAUSED, Pause.FAILING, DOWN.message)


def test_a_call_that_fails_alone_has_five_attempts(run):
    run.calls.exclude(position=0).delete()
    for _ in range(5):
        at_once_due(run)
        answer_once(run, DOWN)
    call = run.calls.get()
    assert (call.state, call.attempts) == (CallState.FAILED, 5)


def test_a_resumed_run_begins_with_all_attempts(run, rosa):
    answer_once(run, DOWN, wanted=5)
    outage(run)
    run.calls.update(attempts=4)
    run = pause_run(run=run, by=rosa)
    resume_run(run=run, by=rosa)
    assert set(run.calls.values_list("attempts", "not_before")) == {(0, None)}
    found = endpoint_of(run)
    assert (found.failed_in_a_row, found.held_until) == (0, None)


def test_resuming_keeps_to_what_the_provider_asked_for(run, rosa):
    answer_once(run, error(ErrorKind.RATE, "Slowly.", http_status=429, retry_after=50), wanted=1)
    until = endpoint_of(run).held_until
    resume_run(run=pause_run(run=run, by=rosa), by=rosa)
    assert endpoint_of(run).held_until == until
