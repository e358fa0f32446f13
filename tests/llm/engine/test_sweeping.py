"""What dead workers left is taken up again, and nobody else's work is touched."""

from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.llm.models import CallState, Endpoint, Exchange, ExchangeState, RunState, SlotLease
from apps.llm.services import sweeping
from apps.llm.services.controls import cancel_run
from apps.llm.services.slots import borrow_slots
from apps.llm.services.sweeping import sweep
from apps.llm.templates import Use
from tests.llm.engine.stubs import answer_once, claims, framework_answer
from tests.llm.worlds import make_endpoint, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(grief, provider):
    return make_run(grief, make_endpoint(), state=RunState.RUNNING)


def lapse(run) -> None:
    run.calls.filter(state=CallState.RUNNING).update(lease_until=timezone.now() - timedelta(seconds=1))
    type(run).objects.update(alive_at=timezone.now() - timedelta(minutes=1))


def test_calls_of_a_living_worker_are_left_alone(run):
    claims(run)
    assert sweep() == []
    assert set(run.calls.values_list("state", flat=True)) == {CallState.RUNNING}


def test_calls_of_a_dead_worker_wait_again_and_their_requests_are_lost(run):
    claims(run, 2)
    lapse(run)
    assert sweep() == [run.endpoint_id]
    calls = list(run.calls.values_list("state", "attempts", "claim", "lease_until"))
    assert calls == [("pending", 1, None, None)] * 2 + [("pending", 0, None, None)] * 4
    lost = list(Exchange.objects.all())
    assert [one.state for one in lost] == [ExchangeState.LOST] * 2
    assert all(one.ended_at and one.problem for one in lost)


def test_after_five_lost_requests_a_call_has_failed(run):
    run.calls.exclude(position=0).delete()
    for _ in range(5):
        claims(run)
        lapse(run)
        sweep()
    call = run.calls.get()
    assert (call.state, call.attempts) == (CallState.FAILED, 5)
    assert call.problem == "Given up after 5 attempts: the last request was lost on its way."
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_a_repair_lost_five_times_leaves_the_first_reply(grief, provider):
    run = make_run(
        grief, make_endpoint(), use=Use.FRAMEWORK, items=grief.blocks.get().items.all()[:1], state=RunState.RUNNING
    )
    answer_once(run, framework_answer({"scale_1": "1"}))
    run.calls.update(attempts=4)
    claims(run)
    lapse(run)
    sweep()
    assert run.calls.get().state == CallState.INVALID


def test_lost_calls_of_a_cancelled_run_are_cancelled(run, rosa):
    claims(run, 2)
    cancel_run(run=run, by=rosa)
    lapse(run)
    assert sweep() == []
    assert set(run.calls.values_list("state", flat=True)) == {CallState.CANCELLED}


def test_slots_that_lapsed_are_free(run):
    borrow_slots(run.endpoint_id, "a", 2)
    sweep()
    assert SlotLease.objects.exists()
    SlotLease.objects.update(until=timezone.now() - timedelta(seconds=1))
    sweep()
    assert not SlotLease.objects.exists()


def test_only_endpoints_that_can_be_asked_now_are_triggered(run):
    assert sweep() == [run.endpoint_id]
    run.calls.update(not_before=timezone.now() + timedelta(minutes=1))
    assert sweep() == []
    run.calls.update(not_before=None)
    Endpoint.objects.update(held_until=timezone.now() + timedelta(minutes=1))
    assert sweep() == []
    Endpoint.objects.update(held_until=timezone.now() - timedelta(minutes=1))
    assert sweep() == [run.endpoint_id]
    borrow_slots(run.endpoint_id, "a", 1)
    assert sweep() == [run.endpoint_id]
    borrow_slots(run.endpoint_id, "b", 3)
    assert sweep() == []
    SlotLease.objects.all().delete()
    type(run).objects.update(alive_at=timezone.now())
    assert sweep() == []
    type(run).objects.update(alive_at=None, state=RunState.PAUSED)
    assert sweep() == []


def test_a_run_that_is_over_and_was_not_seen_to_be_is_done(run):
    run.calls.update(state=CallState.DONE)
    assert sweep() == []
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_a_locked_database_is_judged_by_nobody(run, monkeypatch):
    claims(run)
    lapse(run)

    @contextmanager
    def locked(*, milliseconds):
        raise OperationalError("database is locked")
        yield

    monkeypatch.setattr(sweeping, "waiting_at_most", locked)
    assert sweep() == []
    assert set(run.calls.values_list("state", flat=True)) == {CallState.RUNNING}


def test_a_worker_that_is_gone_is_replaced_while_others_work(run):
    Endpoint.objects.update(max_concurrent=80)
    assert sweep() == [run.endpoint_id] * 3
    borrow_slots(run.endpoint_id, "a", 32)
    type(run).objects.update(alive_at=timezone.now())
    assert sweep() == [run.endpoint_id] * 2
    borrow_slots(run.endpoint_id, "b", 32)
    borrow_slots(run.endpoint_id, "c", 32)
    assert sweep() == []
    SlotLease.objects.filter(holder="b").update(until=timezone.now() - timedelta(seconds=1))
    assert sweep() == [run.endpoint_id]
    run.calls.update(state=CallState.RUNNING, lease_until=timezone.now() + timedelta(minutes=1))
    assert sweep() == []
