"""A worker at an endpoint, with threads and the fake server: nothing lost, nothing twice, never more than allowed."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Event

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from apps.annotation.models import Rating, RatingEvent
from apps.llm.evidence import EvidenceMatcher
from apps.llm.fake_server import FakeReply, FakeScript, FakeServer
from apps.llm.models import (
    Call,
    CallState,
    Endpoint,
    Exchange,
    ExchangeState,
    Pause,
    Run,
    RunState,
    SlotLease,
    TextConsent,
)
from apps.llm.services import limits, working
from apps.llm.services.claiming import Claimer
from apps.llm.services.consent import give_consent
from apps.llm.services.controls import pause_run
from apps.llm.services.permission import may_go_on
from apps.llm.services.slots import borrow_slots
from apps.llm.services.storing import store
from apps.llm.services.sweeping import sweep
from apps.llm.services.working import work
from apps.studies.services.settings import change_settings
from tests.conftest import make_dataset, make_study
from tests.llm.engine.stubs import StubProvider, answer, completion, outcomes
from tests.llm.worlds import make_endpoint, make_run
from tests.simultaneous import at_once

SCORE_3 = answer("3")


def served_run(grief, server: FakeServer, **fields) -> Run:
    return make_run(grief, make_endpoint(url=server.url, timeout_seconds=1, **fields), state=RunState.RUNNING)


def many_calls(rosa, framework, server: FakeServer, *, conversations: int = 20, **fields) -> Run:
    letters = make_dataset("many", conversations=conversations, owner=rosa)
    study = make_study("many", owner=rosa, dataset=letters, frameworks=[framework])
    return make_run(study, make_endpoint("many", url=server.url, **fields), state=RunState.RUNNING)


def everything_is_rated(run: Run) -> None:
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert Rating.objects.filter(rater=run.model_rater.rater).count() == run.calls.count()


def everything_is_there_once(run: Run) -> None:
    run.refresh_from_db()
    assert run.state == RunState.DONE
    n = run.calls.count()
    assert run.calls.filter(state=CallState.DONE).count() == n
    assert Rating.objects.filter(rater=run.model_rater.rater).count() == n
    assert RatingEvent.objects.filter(rating__rater=run.model_rater.rater).count() == n
    answered = Exchange.objects.filter(call__run=run, state=ExchangeState.ANSWERED)
    assert answered.count() == answered.values("call").distinct().count() == n


@pytest.mark.django_db
def test_a_run_is_worked_through(grief):
    with FakeServer() as server:
        run = served_run(grief, server)
        assert work(run.endpoint_id) is False
        assert server.stats()["requests"] == 6
    everything_is_there_once(run)
    assert not SlotLease.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reply", "attempts"),
    [
        (FakeReply(status=503, text="Overloaded."), 2),
        (FakeReply(status=500, text="Stumbled."), 2),
        (FakeReply(status=429, text="Too many.", headers={"Retry-After": "0.2"}), 2),
        (FakeReply(drop=True), 2),
        (FakeReply(hang=True), 2),
    ],
    ids=["503", "500", "429", "a connection that breaks", "a hang"],
)
def test_what_passes_is_asked_again_and_rated_once(grief, fixed_lot, reply, attempts):
    fixed_lot(0.1)
    with FakeServer(FakeScript(replies=[reply, SCORE_3], hang_seconds=3)) as server:
        run = served_run(grief, server)
        run.calls.exclude(position=0).delete()
        work(run.endpoint_id)
        assert server.stats()["requests"] == 2
    everything_is_there_once(run)
    call = run.calls.get()
    assert (call.attempts, Rating.objects.get().value) == (attempts, 3)
    assert list(call.exchanges.values_list("state", flat=True)) == ["failed", "answered"]


@pytest.mark.django_db
def test_a_refused_key_pauses_the_run_and_gives_back_what_was_not_sent(grief, monkeypatch):
    with FakeServer(FakeScript(api_key="right")) as server:
        run = served_run(grief, server, max_concurrent=1)
        work(run.endpoint_id)
    run.refresh_from_db()
    assert (run.state, run.pause) == (RunState.PAUSED, Pause.KEY)
    assert set(run.calls.values_list("state", "attempts")) == {("pending", 0)}
    assert Exchange.objects.count() <= 2
    assert not Exchange.objects.filter(state=ExchangeState.SENT).exists()


@pytest.mark.django_db
def test_at_the_end_of_its_time_what_was_not_sent_is_given_back(grief):
    with FakeServer(FakeScript(latency_ms=300)) as server:
        run = served_run(grief, server, max_concurrent=1)
        assert work(run.endpoint_id, seconds=0.1) is True
        assert server.stats()["requests"] == Exchange.objects.count() == 1
        assert sorted(run.calls.values_list("state", "attempts")) == [("done", 1)] + [("pending", 0)] * 5
        assert work(run.endpoint_id) is False
    everything_is_there_once(run)


@pytest.mark.django_db
def test_without_slots_there_is_no_work(grief, provider):
    run = make_run(grief, make_endpoint(max_concurrent=2), state=RunState.RUNNING)
    borrow_slots(run.endpoint_id, "somebody else", 2)
    assert work(run.endpoint_id) is False
    assert provider.sent == []


@pytest.mark.django_db
def test_a_worker_waits_for_what_is_due_soon_and_not_for_what_is_later(grief, provider):
    run = make_run(grief, make_endpoint(), state=RunState.RUNNING)
    run.calls.update(not_before=timezone.now() + timedelta(seconds=0.3))
    run.calls.filter(position=0).update(not_before=timezone.now() + timedelta(minutes=5))
    assert work(run.endpoint_id, seconds=2) is False
    assert sorted(run.calls.values_list("state", flat=True)) == ["done"] * 5 + ["pending"]


# --- Faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_provider_that_breaks_fails_its_call_and_shows_nothing_of_it(grief, provider, caplog):
    run = make_run(grief, make_endpoint(max_concurrent=1), state=RunState.RUNNING)
    provider.replies = [ValueError("the key is 12345678"), SCORE_3]
    work(run.endpoint_id)
    assert sorted(run.calls.values_list("state", flat=True)) == ["done"] * 5 + ["failed"]
    assert "under request" in run.calls.get(state=CallState.FAILED).problem
    assert "12345678" not in caplog.text + str(list(Exchange.objects.values()))


@pytest.mark.django_db
def test_an_answer_that_cannot_be_stored_fails_alone(grief, provider, monkeypatch, caplog):
    run = make_run(grief, make_endpoint(), state=RunState.RUNNING)
    poison = run.calls.first().pk

    def stored(found, *meanwhile):
        if any(one.claimed.call_id == poison and not isinstance(one.result, Exception) for one in found):
            raise RuntimeError("a fault of ours")
        return store(found, *meanwhile)

    monkeypatch.setattr(working, "store", stored)
    assert work(run.endpoint_id) is False
    assert run.calls.get(state=CallState.FAILED).pk == poison
    assert Rating.objects.count() == 5
    assert "could not be stored" in caplog.text
    run.refresh_from_db()
    assert run.state == RunState.DONE


@pytest.mark.django_db
def test_when_nothing_can_be_claimed_what_is_in_flight_is_stored(grief, provider, monkeypatch, caplog):
    run = make_run(grief, make_endpoint(max_concurrent=1), state=RunState.RUNNING)
    usual = Claimer.claim
    claimed = []

    def once(self, wanted):
        if claimed:
            raise RuntimeError("a fault of ours")
        claimed.append(usual(self, wanted))
        return claimed[0]

    monkeypatch.setattr(Claimer, "claim", once)
    assert work(run.endpoint_id) is False
    assert Rating.objects.count() >= 1
    assert not run.calls.filter(state=CallState.RUNNING).exists()
    assert not Exchange.objects.filter(state=ExchangeState.SENT).exists()


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_for_a_moment_loses_nothing(grief, provider, monkeypatch):
    run = make_run(grief, make_endpoint(), state=RunState.RUNNING)
    troubles = {"store": 3, "claim": 2}

    def shaky(name, usual):
        def act(*arguments):
            if troubles[name]:
                troubles[name] -= 1
                raise OperationalError("database is locked")
            return usual(*arguments)

        return act

    monkeypatch.setattr(working, "store", shaky("store", store))
    monkeypatch.setattr(Claimer, "claim", shaky("claim", Claimer.claim))
    work(run.endpoint_id)
    everything_is_there_once(run)
    assert len(provider.sent) == 6


# --- What stops a run that is under way -----------------------------------------------------------------------------


def is_paused(run, rosa):
    pause_run(run=run, by=rosa)


def is_kept_on_this_machine(run, rosa):
    change_settings(study=run.study, by=rosa, local_only=True)


def loses_its_leave(run, rosa):
    TextConsent.objects.all().delete()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("happens", "why"),
    [(is_paused, Pause.HAND), (is_kept_on_this_machine, Pause.SETUP), (loses_its_leave, Pause.SETUP)],
)
def test_what_was_claimed_ahead_is_not_sent_when_its_run_may_not_go_on(
    grief, rosa, provider, monkeypatch, happens, why
):
    """The first request is on its way when it happens, and is answered after the worker has looked."""
    run = make_run(grief, make_endpoint(max_concurrent=1, url="https://api.example.org/v1"), state=RunState.RUNNING)
    give_consent(study=grief, endpoint=run.endpoint, by=rosa)
    is_sent, has_looked = Event(), Event()

    def reply(sent):
        is_sent.set()
        assert has_looked.wait(10)
        return SCORE_3

    def look(endpoint_pk, run_ids):
        assert is_sent.wait(10)
        happens(run, rosa)
        found = may_go_on(endpoint_pk, run_ids)
        has_looked.set()
        return found

    provider.by = reply
    monkeypatch.setattr(working, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(working, "may_go_on", look)
    # What is held is given back before another request begins, since the first is still on its way.
    assert work(run.endpoint_id) is False
    run.refresh_from_db()
    assert (run.state, run.pause) == (RunState.PAUSED, why)
    assert len(provider.sent) == Exchange.objects.count() == Rating.objects.count() == 1
    assert sorted(run.calls.values_list("state", "attempts")) == [("done", 1)] + [("pending", 0)] * 5


@pytest.mark.django_db
def test_nothing_is_sent_while_nobody_can_see_whether_it_may_be(grief, provider, monkeypatch):
    run = make_run(grief, make_endpoint(), state=RunState.RUNNING)
    monkeypatch.setattr(working, "STALE_SECONDS", -1.0)
    assert work(run.endpoint_id, seconds=0.2) is True
    assert provider.sent == []
    assert set(run.calls.values_list("state", "attempts")) == {("pending", 0)}
    assert not Exchange.objects.exists()


@pytest.mark.django_db
def test_runs_of_many_studies_are_looked_at_in_two_queries(grief, strangers, rosa, django_assert_num_queries):
    endpoint = make_endpoint(url="https://api.example.org/v1")
    runs = [make_run(study, endpoint, name=study.slug, state=RunState.RUNNING) for study in (grief, strangers)]
    for study in (grief, strangers):
        give_consent(study=study, endpoint=endpoint, by=rosa)
    with django_assert_num_queries(2):
        assert may_go_on(endpoint.pk, [run.pk for run in runs]) == {run.pk for run in runs}


@pytest.mark.django_db
def test_leases_are_renewed_while_quotes_are_looked_for(grief, monkeypatch, settings):
    """Each quote takes a good part of a lease."""
    settings.LLM_LEASE_SECONDS = 1
    n_lapsed = []
    usual = EvidenceMatcher.match

    def slow(self, quote):
        time.sleep(0.3)
        n_lapsed.append(Call.objects.filter(state=CallState.RUNNING, lease_until__lt=timezone.now()).count())
        return usual(self, quote)

    monkeypatch.setattr(EvidenceMatcher, "match", slow)
    provider = StubProvider(answer("3", evidence=["one", "two"]))
    monkeypatch.setattr("apps.llm.services.claiming.provider_for", lambda target: provider)
    run = make_run(grief, make_endpoint(), state=RunState.RUNNING)
    work(run.endpoint_id)
    everything_is_there_once(run)
    assert n_lapsed == [0] * 12


# --- Several workers ------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_two_workers_never_have_more_in_flight_than_the_endpoint_takes(rosa, framework):
    with FakeServer(FakeScript(latency_ms=40, jitter_ms=30)) as server:
        run = many_calls(rosa, framework, server, max_concurrent=5)
        found = at_once(*[lambda: work(run.endpoint_id, capacity=3)] * 3)
        assert not [one for one in found if isinstance(one, Exception)], found
        while work(run.endpoint_id):
            pass
        stats = server.stats()
    assert stats["max_in_flight"] <= 5
    assert stats["requests"] == 40
    everything_is_there_once(run)


@pytest.mark.django_db(transaction=True)
def test_the_same_task_twice_at_once_is_one_paid_call(grief):
    with FakeServer(FakeScript(latency_ms=50)) as server:
        run = served_run(grief, server, max_concurrent=8)
        run.calls.exclude(position=0).delete()
        at_once(*[lambda: work(run.endpoint_id, capacity=2)] * 4)
        assert server.stats()["requests"] == 1
    everything_is_there_once(run)


@pytest.mark.django_db(transaction=True)
def test_the_same_outcome_stored_twice_at_once_is_one_rating(grief, provider):
    run = make_run(grief, make_endpoint(), state=RunState.RUNNING)
    found = outcomes(Claimer(run.endpoint_id).claim(6))
    stored = at_once(*[lambda: store(found)] * 3)
    assert not [one for one in stored if isinstance(one, Exception)], stored
    everything_is_there_once(run)


@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_between_answer_and_storing_costs_one_call_more_and_no_rating(grief):
    with FakeServer() as server:
        run = served_run(grief, server)
        run.calls.exclude(position=0).delete()
        [claimed] = Claimer(run.endpoint_id).claim(1).claimed
        claimed.provider.complete(claimed.asked.messages, claimed.asked.schema, claimed.asked.parameters)
        # Here it is killed. Until its lease lapses nobody asks again.
        assert work(run.endpoint_id) is False
        assert server.stats()["requests"] == 1
        Call.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        Run.objects.update(alive_at=None)
        assert sweep() == [run.endpoint_id]
        work(run.endpoint_id)
        assert server.stats()["requests"] == 2
    everything_is_there_once(run)
    assert run.calls.get().attempts == 2
    assert Exchange.objects.filter(state=ExchangeState.LOST).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_after_storing_repeats_nothing(grief):
    """After the write and before the acknowledgement: the broker sends the message again."""
    with FakeServer() as server:
        run = served_run(grief, server)
        work(run.endpoint_id)
        work(run.endpoint_id)
        assert server.stats()["requests"] == 6
    everything_is_there_once(run)


@pytest.mark.django_db(transaction=True)
def test_a_worker_whose_requests_are_long_keeps_them(grief, settings):
    settings.LLM_LEASE_SECONDS = 1
    with FakeServer(FakeScript(latency_ms=2500)) as server:
        run = served_run(grief, server, max_concurrent=2)
        Endpoint.objects.update(timeout_seconds=30)
        run.calls.filter(position__gt=1).delete()
        sweeps = []

        def watch() -> None:
            for _ in range(8):
                working.time.sleep(0.3)
                sweeps.extend(sweep())
            connection.close()

        with ThreadPoolExecutor(1) as watcher:
            watching = watcher.submit(watch)
            work(run.endpoint_id)
            watching.result()
        assert server.stats()["requests"] == 2
    everything_is_there_once(run)
    assert sweeps == []


@pytest.mark.django_db(transaction=True)
def test_whatever_goes_wrong_each_rating_is_there_once(rosa, framework, fixed_lot):
    fixed_lot(0.02)
    faults = {"429": 0.05, "500": 0.05, "503": 0.05, "drop": 0.05, "malformed": 0.05, "fenced": 0.1, "prose": 0.1}
    script = FakeScript(latency_ms=5, faults=faults, retry_after="0.05", seed=3)
    with FakeServer(script) as server:
        run = many_calls(rosa, framework, server, max_concurrent=8)
        at_once(*[lambda: work(run.endpoint_id, capacity=4)] * 2)
        while work(run.endpoint_id):
            pass
        stats = server.stats()
    assert stats["max_in_flight"] <= 8
    run.refresh_from_db()
    assert run.state == RunState.DONE
    states = set(run.calls.values_list("state", flat=True))
    assert states <= {CallState.DONE, CallState.INVALID}
    assert Rating.objects.count() == RatingEvent.objects.count() == run.calls.filter(state=CallState.DONE).count()
    assert stats["requests"] == Exchange.objects.count()


# --- Requests that go on beyond their time --------------------------------------------------------------------------


@pytest.fixture
def endless(provider, monkeypatch):
    """Every request goes on until the event, beyond the time of its call."""
    end = Event()
    monkeypatch.setattr(working, "_overdue_after", lambda endpoint_pk: 0.2)
    provider.by = lambda sent: SCORE_3 if end.wait(60) else ""
    yield end
    end.set()
    slots_are_given_back()


def slots_are_given_back() -> None:
    for thread in threading.enumerate():
        if thread.name == "llm_keep":
            thread.join(30)
            assert not thread.is_alive()


@pytest.mark.django_db(transaction=True)
def test_a_request_that_never_ends_is_given_up_and_has_its_slot_until_it_is_over(grief, endless, provider):
    run = make_run(grief, make_endpoint(max_concurrent=1), state=RunState.RUNNING)
    run.calls.exclude(position=0).delete()
    work(run.endpoint_id, seconds=0.1)
    call = run.calls.get()
    assert (call.state, call.attempts) == (CallState.PENDING, 1)
    assert "no answer within" in call.problem
    run.calls.update(not_before=None)
    assert work(run.endpoint_id) is False
    assert sweep() == []
    assert len(provider.sent) == 1
    endless.set()
    slots_are_given_back()
    assert not SlotLease.objects.exists()
    Run.objects.update(alive_at=None)
    assert sweep() == [run.endpoint_id]
    work(run.endpoint_id)
    everything_is_rated(run)


@pytest.mark.django_db(transaction=True)
def test_the_other_slots_are_used_meanwhile(grief, endless, provider):
    run = make_run(grief, make_endpoint(max_concurrent=2), state=RunState.RUNNING)
    numbers = count()
    provider.complete = lambda *sent: completion(provider.by(sent) if next(numbers) == 0 else SCORE_3)
    while work(run.endpoint_id, seconds=5):
        pass
    everything_is_rated(run)
    assert next(numbers) == 7
    assert list(SlotLease.objects.values_list("slots", flat=True)) == [1]


@pytest.mark.django_db(transaction=True)
def test_an_answer_of_which_a_piece_comes_now_and_then_has_a_time_of_its_own(grief, monkeypatch):
    """The provider's limit is by piece: with two seconds it would never be over."""
    monkeypatch.setattr(working, "GRACE_SECONDS", 0.5)
    with dripping_server() as url:
        run = make_run(grief, make_endpoint(url=url, max_concurrent=1, timeout_seconds=2), state=RunState.RUNNING)
        run.calls.exclude(position=0).delete()
        work(run.endpoint_id, seconds=0.1)
        assert run.calls.get().state == CallState.PENDING
        assert Exchange.objects.get().latency_ms == 2500
    slots_are_given_back()


@contextmanager
def dripping_server() -> Iterator[str]:
    """Sends an empty line again and again, until the end of the block."""
    end = Event()

    class Drip(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            while not end.wait(0.1):
                self.wfile.write(b"\n")
                self.wfile.flush()

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Drip)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        end.set()
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.mark.django_db(transaction=True)
def test_a_request_that_never_ends_keeps_no_process_from_ending(grief, endless, provider):
    run = make_run(grief, make_endpoint(max_concurrent=1), state=RunState.RUNNING)
    threads = set(threading.enumerate())
    work(run.endpoint_id, seconds=0.1)
    assert all(thread.daemon for thread in set(threading.enumerate()) - threads)


# --- Limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_worker_that_a_limit_holds_back_comes_again_later(grief, provider):
    run = make_run(grief, make_endpoint(requests_per_minute=2), state=RunState.RUNNING)
    assert work(run.endpoint_id) is False
    assert len(provider.sent) == 2
    Run.objects.update(alive_at=None)
    assert sweep() == [run.endpoint_id]
    assert work(run.endpoint_id) is False
    Exchange.objects.update(sent_at=timezone.now() - timedelta(seconds=61))
    assert work(run.endpoint_id) is False
    assert len(provider.sent) == 4


@pytest.mark.django_db
def test_a_minute_never_has_more_requests_than_the_limit_of_those_claimed_ahead(rosa, framework, provider, monkeypatch):
    """With a minute of two seconds: of ten claimed at once two leave nearly a window later."""
    window = 2.0
    monkeypatch.setattr(limits, "WINDOW", timedelta(seconds=window))
    monkeypatch.setattr(limits, "LOOK_AGAIN", timedelta(seconds=0.05))
    times = []

    def slow(sent):
        times.append(time.monotonic())
        time.sleep(0.9 * window if len(times) <= 8 else 0.01)
        return SCORE_3

    provider.complete = lambda *sent: completion(slow(sent))
    letters = make_dataset("many", conversations=20, owner=rosa)
    study = make_study("many", owner=rosa, dataset=letters, frameworks=[framework])
    run = make_run(study, make_endpoint(max_concurrent=8, requests_per_minute=10), state=RunState.RUNNING)
    work(run.endpoint_id, seconds=2.5 * window)
    assert len(times) > 10
    assert max(sum(first <= other < first + window for other in times) for first in times) <= 10


@pytest.mark.django_db
def test_what_a_worker_claimed_ahead_waits_when_another_is_told_to_wait(grief, provider, monkeypatch):
    run = make_run(grief, make_endpoint(max_concurrent=1), state=RunState.RUNNING)
    is_sent, has_looked = Event(), Event()

    def reply(sent):
        is_sent.set()
        assert has_looked.wait(10)
        return SCORE_3

    def look(endpoint_pk, run_ids):
        assert is_sent.wait(10)
        Endpoint.objects.update(held_until=timezone.now() + timedelta(minutes=1))
        found = may_go_on(endpoint_pk, run_ids)
        has_looked.set()
        return found

    provider.by = reply
    monkeypatch.setattr(working, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(working, "may_go_on", look)
    assert work(run.endpoint_id) is False
    assert len(provider.sent) == Exchange.objects.count() == 1
    assert sorted(run.calls.values_list("state", "attempts")) == [("done", 1)] + [("pending", 0)] * 5
