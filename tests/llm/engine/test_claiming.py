"""Which calls are taken up, and what keeps them from it."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.annotation.models import Rating
from apps.corpus.models import Turn
from apps.llm.models import Call, CallState, Endpoint, Exchange, ExchangeState, Pause, RunState, SlotLease
from apps.llm.providers.protocol import ErrorKind, ProviderError
from apps.llm.services.claiming import RUNS_AT_ONCE, Claimer, Claims, give_back, next_due
from apps.llm.services.consent import give_consent
from apps.llm.services.controls import cancel_run
from apps.llm.services.slots import borrow_slots, give_back_slots, renew
from apps.llm.services.storing import store
from apps.llm.templates import Use
from apps.studies.models import Study, StudyStatus
from tests.llm.engine.stubs import answer, answer_once, claims, completion, framework_answer, outcomes
from tests.llm.worlds import make_endpoint, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(grief, provider):
    return make_run(grief, make_endpoint(), state=RunState.RUNNING)


def test_a_claim_is_a_row_before_anything_is_sent(run, provider):
    found = claims(run, 2).claimed
    assert provider.sent == []
    calls = list(run.calls.all())
    assert [one.call_id for one in found] == [calls[0].pk, calls[1].pk]
    assert [(call.state, call.attempts) for call in calls[:3]] == [("running", 1), ("running", 1), ("pending", 0)]
    assert [call.claim_id for call in calls[:2]] == [one.exchange_id for one in found]
    assert calls[0].lease_until > timezone.now()
    exchange = Exchange.objects.first()
    assert (exchange.state, len(exchange.request_hash), exchange.ended_at) == (ExchangeState.SENT, 64, None)
    assert exchange.estimated_tokens > 1000
    run.refresh_from_db()
    assert run.alive_at is not None


@pytest.mark.parametrize("state", [RunState.READY, RunState.PAUSED, RunState.DONE, RunState.CANCELLED])
def test_only_running_runs_ask(run, state):
    run.state = state
    run.save()
    assert claims(run).claimed == []


def test_what_is_given_back_was_never_claimed(run):
    before = list(run.calls.values("pk", "state", "attempts", "claim", "lease_until"))
    give_back(claims(run).claimed)
    assert list(run.calls.values("pk", "state", "attempts", "claim", "lease_until")) == before
    assert not Exchange.objects.exists()


def test_what_is_given_back_of_a_cancelled_run_is_cancelled(run):
    found = claims(run).claimed
    run.state = RunState.CANCELLED
    run.save()
    give_back(found)
    assert set(run.calls.values_list("state", "attempts")) == {(CallState.CANCELLED, 0)}
    assert not run.calls.filter(finished_at=None).exists()


@pytest.mark.parametrize("use", list(Use))
def test_what_is_given_back_of_a_cancelled_run_leaves_the_rating_of_the_other_samples(grief, provider, rosa, use):
    run = make_run(grief, make_endpoint(), samples=2, use=use, state=RunState.RUNNING)
    reply = answer("2") if use == Use.SCALE else framework_answer({"scale_1": "2", "scale_2": "4"})
    found = claims(run, 2)
    store(outcomes(found, reply)[:1])
    cancel_run(run=run, by=rosa)
    assert not Rating.objects.exists()
    give_back(found.claimed[1:])
    assert list(Rating.objects.values_list("value", flat=True)) == ([2] if use == Use.SCALE else [2, 4])


def test_calls_wait_for_their_time(run):
    later = timezone.now() + timedelta(seconds=30)
    run.calls.update(not_before=later)
    found = claims(run)
    assert (found.claimed, found.next_at) == ([], later)
    run.calls.filter(position=3).update(not_before=timezone.now())
    assert [one.question.call_id for one in claims(run).claimed] == [run.calls.get(position=3).pk]


def test_an_endpoint_that_asked_to_wait_is_left_alone(run):
    until = timezone.now() + timedelta(seconds=30)
    Endpoint.objects.update(held_until=until)
    found = claims(run)
    assert (found.claimed, found.next_at) == ([], until)
    assert next_due(run.endpoint_id) == until


def test_runs_take_turns(run, grief):
    other = make_run(grief, run.endpoint, name="model2", state=RunState.RUNNING)
    found = Claimer(run.endpoint_id).claim(4).claimed
    assert [one.question.run_id for one in found] == [run.pk, other.pk, run.pk, other.pk]


def test_runs_that_only_wait_hide_no_run_with_something_to_do(run, grief, django_assert_num_queries):
    later = timezone.now() + timedelta(minutes=10)
    for number in range(RUNS_AT_ONCE + 1):
        waiting = make_run(grief, run.endpoint, name=f"waiting {number}", state=RunState.RUNNING)
        waiting.calls.update(not_before=later)
    type(run).objects.filter(pk=run.pk).update(alive_at=timezone.now())
    found = claims(run, 4).claimed
    assert {one.question.run_id for one in found} == {run.pk}
    store(outcomes(claims(run)))
    store(outcomes(Claims(found)))
    with django_assert_num_queries(3):  # the endpoint, its runs, and when the first call is due
        nothing = claims(run)
    assert nothing == Claims(next_at=later)


def test_other_endpoints_are_not_touched(run, grief):
    other = make_run(grief, make_endpoint("other"), name="model2", state=RunState.RUNNING)
    assert {one.question.run_id for one in claims(run).claimed} == {run.pk}
    assert not other.calls.exclude(state=CallState.PENDING).exists()


# --- Limits ---------------------------------------------------------------------------------------------------------


def test_requests_per_minute(run):
    Endpoint.objects.update(requests_per_minute=4)
    found = claims(run)
    assert len(found.claimed) == 4
    again = claims(run)
    assert again.claimed == []
    oldest = Exchange.objects.earliest("sent_at").sent_at
    assert again.next_at == oldest + timedelta(seconds=60)
    # What is on its way may have left just now, however long ago it was claimed.
    first = Exchange.objects.filter(pk=found.claimed[0].exchange_id)
    first.update(sent_at=oldest - timedelta(seconds=61))
    before = timezone.now()
    again = claims(run)
    assert again.claimed == []
    assert again.next_at >= before + timedelta(seconds=1)
    first.update(state=ExchangeState.ANSWERED)
    assert len(claims(run).claimed) == 1


def test_what_was_lost_may_have_left_until_then(run):
    Endpoint.objects.update(requests_per_minute=1)
    claims(run)
    lost_at = timezone.now()
    sent = Exchange.objects.all()
    sent.update(state=ExchangeState.LOST, sent_at=lost_at - timedelta(minutes=2), ended_at=lost_at)
    assert claims(run).claimed == []
    sent.update(ended_at=lost_at - timedelta(seconds=61))
    assert len(claims(run).claimed) == 1


def test_tokens_per_minute_count_what_was_used_and_else_what_was_estimated(run):
    estimate = claims(run, 1).claimed[0].asked
    each = estimate.prompt_tokens + 1000
    Endpoint.objects.update(tokens_per_minute=each * 3)
    assert len(claims(run).claimed) == 2
    first = Exchange.objects.earliest("pk")
    Exchange.objects.filter(pk=first.pk).update(input_tokens=1, output_tokens=1)
    assert len(claims(run).claimed) == 0
    Exchange.objects.update(input_tokens=1, output_tokens=1)
    assert len(claims(run).claimed) == 2


def test_a_request_larger_than_a_minute_is_sent_alone(run):
    Endpoint.objects.update(tokens_per_minute=10)
    assert len(claims(run).claimed) == 1


# --- Money ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def priced(run):
    """A call is estimated at about 0.0015: 0.001 for the answer, the rest for the prompt."""
    Endpoint.objects.update(price_input=1, price_output=1)
    run.endpoint.refresh_from_db()
    return run


def budget(run, amount) -> None:
    type(run).objects.filter(pk=run.pk).update(budget=Decimal(amount))


def test_the_budget_is_never_exceeded_by_estimates(priced):
    budget(priced, "0.01")
    Endpoint.objects.update(price_input=2, price_output=2)
    found = claims(priced)
    estimate = sum(one.estimated_tokens for one in Exchange.objects.all()) * 2 / 1_000_000
    assert 0 < len(found.claimed) < 6
    assert estimate <= 0.01
    # What is in flight may cost less than its estimate: the run goes on, and asks nothing meanwhile.
    priced.refresh_from_db()
    assert priced.state == RunState.RUNNING
    assert found.next_at is not None
    assert claims(priced).claimed == []


def test_a_run_beyond_its_budget_pauses_when_nothing_is_on_its_way(priced):
    budget(priced, "0.01")
    Endpoint.objects.update(price_input=2, price_output=2)
    store(outcomes(claims(priced), completion(answer(), input_tokens=300, output_tokens=900)))
    while found := claims(priced).claimed:
        store(outcomes(Claims(found), completion(answer(), input_tokens=300, output_tokens=900)))
    priced.refresh_from_db()
    assert (priced.state, priced.pause) == (RunState.PAUSED, Pause.BUDGET)
    assert sum(Exchange.objects.values_list("cost", flat=True)) <= Decimal("0.01")


def test_a_run_that_pauses_for_its_budget_takes_up_nothing_cheaper(priced):
    """The first question is about a conversation that is too long to pay, the others would be cheap."""
    first = priced.calls.first()
    Turn.objects.filter(conversation=first.item.conversation, index=0).update(text="x " * 40_000)
    priced.budget = Decimal("0.01")
    priced.save()
    assert claims(priced).claimed == []
    priced.refresh_from_db()
    assert (priced.state, priced.pause) == (RunState.PAUSED, Pause.BUDGET)


def test_what_a_run_cannot_pay_yet_ends_its_turn_and_no_other_runs(priced, grief):
    dear = list(priced.calls.all())[2]
    Turn.objects.filter(conversation=dear.item.conversation, index=0).update(text="x " * 40_000)
    priced.budget = Decimal("0.01")
    priced.save()
    other = make_run(grief, priced.endpoint, name="other", state=RunState.RUNNING)
    other.calls.filter(item=dear.item).delete()
    taken = [one.question.run_id for one in claims(priced).claimed]
    assert (taken.count(priced.pk), taken.count(other.pk)) == (2, other.calls.count())
    priced.refresh_from_db()
    assert priced.state == RunState.RUNNING


def test_a_lost_request_counts_as_its_estimate(priced):
    claims(priced, 1)
    Exchange.objects.update(state=ExchangeState.LOST)
    tokens = Exchange.objects.get().estimated_tokens
    Endpoint.objects.update(price_input=1000, price_output=1000)
    budget(priced, round(tokens / 1000 * 1.5, 2))
    assert claims(priced).claimed == []
    priced.refresh_from_db()
    assert priced.pause == Pause.BUDGET


def test_a_budget_without_prices_cannot_be_kept_to(run):
    budget(run, "5")
    assert claims(run).claimed == []
    run.refresh_from_db()
    assert (run.state, run.pause) == (RunState.PAUSED, Pause.BUDGET)
    assert "prices" in run.pause_detail


# --- What may not be sent -------------------------------------------------------------------------------------------


@pytest.fixture
def far(grief, provider):
    return make_run(grief, make_endpoint(url="https://models.example.org/v1"), state=RunState.RUNNING)


def test_nothing_leaves_without_leave(far):
    assert claims(far).claimed == []
    far.refresh_from_db()
    assert (far.state, far.pause) == (RunState.PAUSED, Pause.SETUP)
    assert "confirm" in far.pause_detail


def test_a_study_that_becomes_local_stops_its_runs(far, grief, rosa):
    give_consent(study=grief, endpoint=far.endpoint, by=rosa)
    assert len(claims(far, 1).claimed) == 1
    Study.objects.update(local_only=True)
    assert claims(far).claimed == []
    far.refresh_from_db()
    assert far.pause == Pause.SETUP
    assert "this machine" in far.pause_detail


def test_a_study_that_is_a_draft_again_stops_its_runs(run):
    Study.objects.update(status=StudyStatus.DRAFT)
    assert claims(run).claimed == []
    run.refresh_from_db()
    assert run.pause == Pause.SETUP


def test_a_provider_that_cannot_be_made_pauses_the_runs(run, monkeypatch):
    def missing(target):
        raise ProviderError(ErrorKind.KEY, "The environment variable MODEL_KEY holds no key.")

    monkeypatch.setattr("apps.llm.services.claiming.provider_for", missing)
    assert claims(run).claimed == []
    run.refresh_from_db()
    assert (run.state, run.pause) == (RunState.PAUSED, Pause.KEY)
    assert not Exchange.objects.exists()


def test_a_prompt_that_breaks_the_program_fails_its_call_only(run, monkeypatch, caplog):
    first = run.calls.first()
    wrong = Call.objects.filter(pk=first.pk)
    from apps.llm.services import asking

    usual = asking.Asker._asked

    def broken(self, question, *rest):
        if question.call_id == first.pk:
            raise KeyError("a fault of ours")
        return usual(self, question, *rest)

    monkeypatch.setattr(asking.Asker, "_asked", broken)
    answer_once(run)
    assert (wrong.get().state, wrong.get().attempts) == (CallState.FAILED, 0)
    assert f"under call {first.pk}" in wrong.get().problem
    assert run.calls.filter(state=CallState.DONE).count() == 5
    assert "could not be asked" in caplog.text


# --- Slots ----------------------------------------------------------------------------------------------------------


def test_workers_share_the_slots(db):
    endpoint = make_endpoint(max_concurrent=5)
    assert borrow_slots(endpoint.pk, "a", 3) == 3
    assert borrow_slots(endpoint.pk, "b", 3) == 2
    assert borrow_slots(endpoint.pk, "c", 3) == 0
    assert borrow_slots(endpoint.pk, "b", 9) == 2
    give_back_slots("a")
    assert borrow_slots(endpoint.pk, "c", 9) == 3


def test_slots_of_a_silent_worker_are_free_again(db):
    endpoint = make_endpoint(max_concurrent=2)
    borrow_slots(endpoint.pk, "a", 2)
    assert renew("a", [], [])
    SlotLease.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert borrow_slots(endpoint.pk, "b", 2) == 2
    assert borrow_slots(endpoint.pk + 1, "c", 2) == 0


def test_a_worker_that_lives_keeps_its_calls(run):
    found = claims(run, 2).claimed
    soon = timezone.now() + timedelta(seconds=1)
    run.calls.filter(state=CallState.RUNNING).update(lease_until=soon)
    assert not renew("nobody", [found[0].exchange_id], [run.pk])
    leases = dict(run.calls.filter(state=CallState.RUNNING).values_list("pk", "lease_until"))
    assert leases[found[0].call_id] > soon == leases[found[1].call_id]
