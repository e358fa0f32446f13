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
from apps.llm.services.claiming import Claims
from apps.llm.services.controls import pause_run, resume_run, retry_failed
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


def test_twelve_failures_in_a_row_are_an_outage(run):
    answer_once(run, DOWN, wanted=OUTAGE_AFTER - 1)
    assert endpoint_of(run).held_until is None
    answer_once(run, DOWN, wanted=5)
    assert endpoint_of(run).held_until > timezone.now()
    assert claims(run).next_at == endpoint_of(run).held_until


def test_an_outage_costs_many_calls_an_attempt_or_two(run, rosa):
    """Also where somebody resumes the run again and again while the server is away."""
    for _ in range(3):
        while Run.objects.get().state == RunState.RUNNING:
            time_passes(run)
            answer_once(run, DOWN, wanted=SLOTS)
        run = resume_run(run=Run.objects.get(), by=rosa)
    assert not run.calls.exclude(state=CallState.PENDING).exists()
    assert max(run.calls.values_list("attempts", flat=True)) <= 4


@pytest.mark.parametrize("n_calls", [2, 3, 4, 15])
def test_calls_that_always_fail_have_failed_after_five_requests_each(run, rosa, n_calls):
    """Nothing else is open, so it looks like an outage; resumed as often as it pauses."""
    run.calls.exclude(position__lt=n_calls).delete()
    while run.state != RunState.DONE:
        while Run.objects.get().state == RunState.RUNNING:
            time_passes(run)
            answer_once(run, error(ErrorKind.PASSING, "Stumbled.", http_status=500))
        run.refresh_from_db()
        if run.state == RunState.PAUSED:
            run = resume_run(run=run, by=rosa)
    assert set(run.calls.values_list("state", "attempts")) == {(CallState.FAILED, 5)}
    assert Exchange.objects.count() == 5 * n_calls


def test_calls_that_always_fail_keep_no_others_from_their_answers(run, rosa):
    poison = set(run.calls.values_list("pk", flat=True)[10:13])
    for _ in range(100):
        time_passes(run)
        found = claims(run, 8)
        no, yes = error(ErrorKind.PASSING, http_status=500), answer("3")
        store(outcomes(found, *[no if one.call_id in poison else yes for one in found.claimed]))
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert set(run.calls.filter(state=CallState.FAILED).values_list("pk", flat=True)) == poison
    assert run.calls.filter(state=CallState.DONE).count() == 37


def test_what_failed_and_is_tried_again_fails_again(run, rosa):
    run.calls.exclude(position__lt=3).delete()
    run.calls.update(state=CallState.FAILED, attempts=5)
    Run.objects.update(state=RunState.DONE)
    retry_failed(run=run, by=rosa)
    while Run.objects.get().state == RunState.RUNNING:
        time_passes(run)
        answer_once(run, error(ErrorKind.PASSING, "No answer within 120 seconds."))
    assert Exchange.objects.count() == 15
    assert set(run.calls.values_list("state", "attempts")) == {(CallState.FAILED, 5)}


# --- For how long it is left alone ----------------------------------------------------------------------------------


def held_for(run: Run) -> float:
    return (endpoint_of(run).held_until - timezone.now()).total_seconds()


def test_failures_never_shorten_what_a_provider_asked_for(run):
    found = outcomes(claims(run, 13), error(ErrorKind.RATE, http_status=429, retry_after=120.0), DOWN)
    store(found[:1])
    store(found[1:])
    assert endpoint_of(run).failed_in_a_row == OUTAGE_AFTER
    assert held_for(run) > 110


def test_nor_does_the_request_that_tries_it(run):
    found = outcomes(claims(run, 13), DOWN, error(ErrorKind.RATE, http_status=429, retry_after=50.0))
    store(found[:12])
    Endpoint.objects.update(held_until=timezone.now() - timedelta(seconds=1))
    run.calls.update(not_before=None)
    tried = outcomes(claims(run), DOWN)
    store(outcomes(Claims([found[12].claimed]), error(ErrorKind.RATE, http_status=429, retry_after=50.0)))
    store(tried)
    assert held_for(run) > 45


@pytest.mark.parametrize("wanted", [1, OUTAGE_AFTER])
def test_a_server_that_is_away_says_for_how_long(run, wanted):
    answer_once(run, error(ErrorKind.PASSING, http_status=503, retry_after=120.0), wanted=wanted)
    assert held_for(run) > 110
    assert min(run.calls.exclude(not_before=None).values_list("not_before", flat=True)) > timezone.now() + timedelta(
        seconds=110
    )
    assert claims(run).claimed == []


def test_it_says_ten_minutes_at_most(run):
    answer_once(run, error(ErrorKind.PASSING, http_status=503, retry_after=90_000.0), wanted=1)
    assert 590 < held_for(run) <= 600


def test_an_answer_that_was_on_its_way_does_not_shorten_it_either(run):
    found = outcomes(claims(run, 14), error(ErrorKind.PASSING, http_status=503, retry_after=30.0), DOWN)
    store(found[:13])
    store(outcomes(Claims([found[13].claimed]), answer("3")))
    assert endpoint_of(run).failed_in_a_row == 0
    assert held_for(run) > 20


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
    # It is tried by one request first, at once.
    assert (found.failed_in_a_row, found.failing_since, found.held_until) == (OUTAGE_AFTER, None, None)
    assert len(claims(run).claimed) == 1


def test_resumed_after_failures_a_call_has_the_attempts_that_are_left(run, rosa):
    run.calls.update(attempts=3, not_before=timezone.now() + timedelta(minutes=1))
    Run.objects.update(state=RunState.PAUSED, pause=Pause.FAILING)
    resume_run(run=run, by=rosa)
    assert set(run.calls.values_list("attempts", "not_before")) == {(3, None)}


@pytest.mark.parametrize("wanted", [1, OUTAGE_AFTER + 1])
def test_resuming_keeps_to_what_the_provider_asked_for(run, rosa, wanted):
    answer_once(run, error(ErrorKind.RATE, "Slowly.", http_status=429, retry_after=150), DOWN, wanted=wanted)
    until = endpoint_of(run).held_until
    resume_run(run=pause_run(run=run, by=rosa), by=rosa)
    assert endpoint_of(run).held_until == until
