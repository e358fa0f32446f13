"""What is stored, in which cases nothing is, and how samples become a rating."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.annotation.models import Draw, Rating, RatingEvent
from apps.llm.models import Call, CallAnswer, CallState, Exchange, ExchangeState, Pause, RunState
from apps.llm.providers.protocol import ErrorKind
from apps.llm.services.limits import purse_of
from apps.llm.services.storing import store
from apps.llm.services.sweeping import sweep
from apps.llm.templates import Use
from apps.studies.models import BlockFramework
from tests.conftest import make_dataset, make_framework, make_study
from tests.llm.engine.stubs import answer, answer_once, at_once_due, claims, completion, error, outcomes
from tests.llm.worlds import make_endpoint, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(grief, provider):
    """Six calls: three items on two scales."""
    return make_run(grief, make_endpoint(), state=RunState.RUNNING)


def one_call(run) -> Call:
    run.calls.exclude(position=0).delete()
    return run.calls.get()


def lapse(run) -> None:
    run.calls.filter(state=CallState.RUNNING).update(lease_until=timezone.now() - timedelta(seconds=1))
    sweep()


# --- The fence ------------------------------------------------------------------------------------------------------


def test_the_same_outcome_twice_is_stored_once(run):
    one_call(run)
    found = outcomes(claims(run))
    store(found)
    before = list(Exchange.objects.values()), list(Call.objects.values()), list(CallAnswer.objects.values())
    store(found)
    assert (list(Exchange.objects.values()), list(Call.objects.values()), list(CallAnswer.objects.values())) == before
    assert RatingEvent.objects.count() == 1


def test_an_answer_after_a_lapsed_lease_is_kept_and_changes_nothing(run):
    call = one_call(run)
    late = outcomes(claims(run), answer("1"))
    lapse(run)
    store(late)
    call.refresh_from_db()
    assert (call.state, call.attempts, call.claim_id) == (CallState.PENDING, 1, None)
    assert not CallAnswer.objects.exists()
    lost = Exchange.objects.get()
    assert (lost.state, lost.reply, lost.input_tokens) == (ExchangeState.LOST, answer("1"), 100)
    assert "was not used" in lost.problem
    answer_once(run, answer("4"))
    assert Rating.objects.get().value == 4
    assert RatingEvent.objects.count() == 1


def test_an_answer_that_comes_while_another_worker_asks_changes_nothing(run):
    call = one_call(run)
    late = outcomes(claims(run), answer("1"))
    lapse(run)
    second = outcomes(claims(run), answer("4"))
    store(late)
    call.refresh_from_db()
    assert (call.state, call.claim_id, call.attempts) == (CallState.RUNNING, second[0].claimed.exchange_id, 2)
    store(second)
    store(late)
    assert Rating.objects.get().value == 4
    assert sorted(Exchange.objects.values_list("state", flat=True)) == ["answered", "lost"]


def test_an_answer_within_a_lapsed_lease_that_nobody_swept_counts(run):
    call = one_call(run)
    found = outcomes(claims(run), answer("4"))
    run.calls.update(lease_until=timezone.now() - timedelta(seconds=1))
    store(found)
    call.refresh_from_db()
    assert call.state == CallState.DONE


def test_no_request_is_made_after_a_stored_answer(run):
    answer_once(run)
    assert claims(run).claimed == []
    assert Exchange.objects.count() == run.calls.count() == 6


# --- Samples --------------------------------------------------------------------------------------------------------


def sampled(grief, samples: int, **fields):
    run = make_run(
        grief,
        make_endpoint(),
        samples=samples,
        items=grief.blocks.get().items.all()[:1],
        state=RunState.RUNNING,
        **fields,
    )
    run.calls.filter(dimension__slug="scale_2").delete()
    return run


def draws() -> list[tuple]:
    return list(Draw.objects.order_by("index").values_list("value", "cannot_tell"))


def test_a_rating_waits_for_the_last_sample(grief, provider):
    run = sampled(grief, 3)
    for score in ("1", "5"):
        answer_once(run, answer(score), wanted=1)
        assert not Rating.objects.exists()
    answer_once(run, answer("2"), wanted=1)
    assert Rating.objects.get().value == 2
    assert draws() == [(1, False), (5, False), (2, False)]


def test_an_even_number_of_samples_takes_the_lower_median(grief, provider):
    run = sampled(grief, 4)
    answer_once(run, answer("1", "one"), answer("4", "four"), answer("2", "two"), answer("5", "five"))
    rating = Rating.objects.get()
    assert (rating.value, rating.comment) == (2, "two")
    assert draws() == [(1, False), (4, False), (2, False), (5, False)]


def test_a_nominal_scale_takes_the_most_frequent(grief, provider, framework):
    framework.dimensions.update(level="nominal")
    run = sampled(grief, 4)
    answer_once(run, answer("5"), answer("1"), answer("5"), answer("2"))
    assert Rating.objects.get().value == 5


@pytest.mark.parametrize(
    ("scores", "value"),
    [(["cannot_tell", "3"], 3), (["cannot_tell", "3", "cannot_tell"], None), (["cannot_tell"], None)],
)
def test_cannot_tell_only_where_more_samples_say_so(grief, provider, scores, value):
    run = sampled(grief, len(scores))
    answer_once(run, *[answer(score) for score in scores])
    rating = Rating.objects.get()
    assert (rating.value, rating.cannot_tell) == (value, value is None)


def test_the_samples_that_are_there_make_the_rating(grief, provider):
    run = sampled(grief, 3)
    answer_once(run, answer("1"), error(ErrorKind.REFUSED), answer("4"))
    assert Rating.objects.get().value == 1
    assert draws() == [(1, False), (4, False)]


def test_no_valid_sample_no_rating(grief, provider):
    run = sampled(grief, 2)
    answer_once(run, error(ErrorKind.REFUSED))
    assert not Rating.objects.exists()
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_each_sample_has_a_seed_of_its_own(grief, provider):
    run = sampled(grief, 3)
    run.model_rater.parameters = {"max_tokens": 50, "seed": 7, "temperature": 0.5}
    run.model_rater.save()
    found = claims(run).claimed
    assert [one.asked.parameters.seed for one in found] == [7, 8, 9]
    assert {one.asked.parameters.temperature for one in found} == {0.5}
    assert len(set(Exchange.objects.values_list("request_hash", flat=True))) == 3


def test_a_lost_last_sample_leaves_the_rating_of_the_others(grief, provider):
    run = sampled(grief, 2)
    answer_once(run, answer("4"), wanted=1)
    run.calls.filter(state=CallState.PENDING).update(attempts=4)
    claims(run)
    lapse(run)
    assert run.calls.get(sample=1).state == CallState.FAILED
    assert Rating.objects.get().value == 4
    run.refresh_from_db()
    assert run.state == RunState.DONE


# --- A run that checks ----------------------------------------------------------------------------------------------


def test_a_reversed_run_keeps_answers_and_records_no_rating(run, grief):
    answer_once(run, answer("4"))
    ratings = list(Rating.objects.values())
    check = make_run(grief, model_rater=run.model_rater, checks=run, state=RunState.RUNNING)
    found = answer_once(check, answer("2"))
    points = found[0].claimed.asked.schema["properties"]["score"]["enum"]
    assert points == ["5", "4", "3", "2", "1", "cannot_tell"]
    assert set(CallAnswer.objects.filter(call__run=check).values_list("value", flat=True)) == {2}
    assert list(Rating.objects.values()) == ratings
    check.refresh_from_db()
    assert check.state == RunState.DONE


# --- Faults ---------------------------------------------------------------------------------------------------------


def test_an_answer_that_may_not_be_recorded_is_invalid_and_the_others_are_stored(run, grief):
    """The framework has left the block meanwhile."""
    other = make_framework("other-scales", dimensions=1)
    run.model_rater.version.frameworks.add(other)
    stray = run.calls.first()
    Call.objects.filter(pk=stray.pk).update(framework=other, dimension=other.dimensions.get())
    answer_once(run)
    stray.refresh_from_db()
    assert stray.state == CallState.INVALID
    assert "a dimension of a framework of the item's block" in stray.problem
    assert Rating.objects.count() == 5
    assert not BlockFramework.objects.filter(framework=other).exists()


def test_twenty_failures_in_a_row_pause_the_run(grief, provider):
    run = make_run(grief, make_endpoint(), samples=5, state=RunState.RUNNING)
    answer_once(run, wanted=3)
    answer_once(run, error(ErrorKind.REFUSED, "No."), wanted=19)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    answer_once(run, error(ErrorKind.REFUSED, "No."), wanted=1)
    run.refresh_from_db()
    assert (run.state, run.pause, run.pause_detail) == (RunState.PAUSED, Pause.FAILING, "No.")
    # Resumed, it may fail twenty times more.
    run.state = RunState.RUNNING
    run.save()
    answer_once(run, error(ErrorKind.REFUSED, "No."), wanted=1)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_prompts_that_are_too_long_do_not_pause_the_run(grief, provider):
    run = make_run(grief, make_endpoint(context_tokens=100), samples=5, state=RunState.RUNNING)
    answer_once(run)
    run.refresh_from_db()
    assert (run.state, run.calls.filter(state=CallState.FAILED).count()) == (RunState.DONE, 30)


def test_the_cost_is_that_of_the_tokens_that_were_told(run):
    one_call(run)
    run.endpoint.price_input, run.endpoint.price_output = 2, 10
    run.endpoint.save()
    answer_once(run, completion(answer(), input_tokens=1000, output_tokens=100))
    assert Exchange.objects.get().cost == Decimal("0.003")


def test_tokens_that_were_not_told_leave_the_cost_unknown(run):
    one_call(run)
    run.endpoint.price_input, run.endpoint.price_output = 2, 10
    run.endpoint.save()
    answer_once(run, completion(answer(), input_tokens=None))
    assert Exchange.objects.get().cost is None


# --- Queries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", list(Use))
def test_queries_do_not_grow_with_the_batch(rosa, framework, provider, use):
    letters = make_dataset("many", conversations=70, owner=rosa)
    study = make_study("many", owner=rosa, dataset=letters, frameworks=[framework])
    run = make_run(study, make_endpoint(), use=use, state=RunState.RUNNING)
    valid, invalid = answer("3", evidence=["That  must be hard."]), answer("not 3")
    if use is Use.FRAMEWORK:
        valid, invalid = f'{{"scale_1": {valid}, "scale_2": {valid}}}', f'{{"scale_1": {valid}, "scale_2": {invalid}}}'
    counts = []
    for wanted in (2, 20):
        for reply in (valid, invalid, invalid, error(ErrorKind.PASSING)):
            at_once_due(run)
            with CaptureQueriesContext(connection) as claiming:
                found = claims(run, wanted)
            assert len(found.claimed) == wanted
            batch = outcomes(found, reply)
            with CaptureQueriesContext(connection) as storing:
                store(batch)
            counts.append([len(claiming), len(storing)])
        run.calls.filter(is_repair=True, state=CallState.PENDING).update(state=CallState.CANCELLED)
    # The first rating of all freezes its framework, too.
    assert all(many[0] <= few[0] and many[1] <= few[1] for few, many in zip(counts[:4], counts[4:], strict=True)), (
        counts
    )
    assert Rating.objects.count() >= 22


# --- What may be billed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "may_be_billed"),
    [
        (error(ErrorKind.PASSING, "No answer within 120 seconds."), True),
        (error(ErrorKind.PASSING, "The server's answer is not JSON.", http_status=200), True),
        (error(ErrorKind.PASSING, "The gateway waited too long.", http_status=504), True),
        (error(ErrorKind.PASSING, "Overloaded.", http_status=503), False),
        (error(ErrorKind.PASSING, "The server could not be reached.", is_unsent=True), False),
        (error(ErrorKind.REFUSED, "No.", http_status=400), False),
    ],
    ids=["no answer", "an answer nobody can read", "504", "503", "no connection", "400"],
)
def test_a_request_that_the_model_may_have_answered_counts_as_its_estimate(run, failure, may_be_billed):
    run.endpoint.price_input = run.endpoint.price_output = Decimal(1000)
    run.budget = Decimal(100)
    before = purse_of(run, run.endpoint).left
    answer_once(run, failure, wanted=1)
    sent = Exchange.objects.get()
    assert (sent.may_be_billed, sent.cost) == (may_be_billed, None)
    aside = Decimal(sent.estimated_tokens) / 1000 if may_be_billed else 0
    assert purse_of(run, run.endpoint).left == before - aside
