"""A run asked again with the points reversed: once at a time, and out of what is left of the run's budget."""

from decimal import Decimal

import pytest
from django.urls import reverse

from apps.llm.models import Call, CallState, Exchange, Pause, Run, RunState
from apps.llm.services.asking_again import ask_again, left_of_budget
from apps.llm.services.limits import purse_of, purses_of
from apps.llm.services.planning import PlanError
from tests.llm.engine.stubs import StubProvider, answer_once, claims
from tests.llm.worlds import answer_all, make_endpoint, make_run
from tests.simultaneous import at_once


def spent(*runs: Run) -> Decimal:
    return sum((one.cost or Decimal(0) for one in Exchange.objects.filter(call__run__in=runs)), Decimal(0))


def asked(study, budget: str | None) -> Run:
    """A run that is done; each of its answers cost 0.3."""
    endpoint = make_endpoint(price_input=1000, price_output=10_000)
    run = make_run(study, endpoint, budget=None if budget is None else Decimal(budget))
    answer_all(run, rate=False)
    return run


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_is_made(grief, rosa):
    run = asked(grief, None)
    results = at_once(*[lambda: ask_again(run=Run.objects.get(pk=run.pk), n_items=1, by=rosa)] * 4)
    assert sorted(type(result).__name__ for result in results) == ["PlanError"] * 3 + ["Run"]
    assert run.reversed_runs.count() == 1


def test_without_a_budget_there_is_none(grief, rosa):
    run = asked(grief, None)
    assert left_of_budget(run) is None
    assert ask_again(run=run, n_items=1, by=rosa).budget is None


def test_what_is_left_is_its_budget(grief, rosa):
    run = asked(grief, "1000")
    left = Decimal(1000) - spent(run)
    assert left_of_budget(run) == left
    check = ask_again(run=run, n_items=1, by=rosa)
    check.refresh_from_db()
    assert (check.budget, check.state) == (left, RunState.RUNNING)


def test_without_enough_it_is_refused_and_nothing_is_written(grief, rosa):
    run = asked(grief, None)
    run.budget = spent(run) + Decimal("0.40")
    run.save()
    with pytest.raises(PlanError, match=r"costs about 0\.60 USD, and 0\.40 USD are left of the run's budget"):
        ask_again(run=run, n_items=1, by=rosa)
    assert run.reversed_runs.count() == 0


def test_a_budget_that_is_used_up_pays_for_nothing_more(grief, rosa, sign_in):
    run = asked(grief, "0.50")
    assert left_of_budget(run) == 0
    answer = sign_in(rosa).post(reverse("llm:run-reversed", args=[grief.slug, run.pk]), {"n_items": 1})
    assert answer.status_code == 422
    assert "budget of 0.50 USD is used up" in answer.text
    assert run.reversed_runs.count() == 0


def test_one_asked_again_before_counts_towards_it(grief, rosa):
    run = asked(grief, "1000")
    before = purse_of(run, run.endpoint).left
    first = ask_again(run=run, n_items=1, by=rosa)
    answer_all(first)
    assert spent(first) > 0
    assert purse_of(run, run.endpoint).left == before - spent(first)
    assert ask_again(run=run, n_items=1, by=rosa).budget == Decimal(1000) - spent(run, first)


@pytest.fixture
def both(grief, rosa, monkeypatch) -> tuple[Run, Run]:
    """A run that runs on, and one that asks it again; a third of a dozen requests is left of the one budget."""
    monkeypatch.setattr("apps.llm.services.claiming.provider_for", lambda target: StubProvider())
    run = make_run(grief, make_endpoint(price_input=1000, price_output=1000), state=RunState.RUNNING)
    run.budget = Decimal(1000)
    run.save()
    answer_once(run, wanted=2)
    check = ask_again(run=run, n_items=1, by=rosa)
    estimate = Exchange.objects.first().estimated_tokens * Decimal("0.001")
    run.budget = spent(run) + (estimate * 2).quantize(Decimal("0.01")) + Decimal("0.5")
    run.save()
    return run, check


def test_both_pay_out_of_one_purse(both):
    run, check = both
    purses = purses_of(Run.objects.filter(pk__in=[run.pk, check.pk]), run.endpoint)
    assert purses[check.pk].above is purses[run.pk]
    found = claims(run, 20).claimed
    # Two requests can be paid for, whichever run asks them.
    assert len(found) == 2
    assert claims(run, 20).claimed == []
    assert Run.objects.filter(state=RunState.RUNNING).count() == 2  # what is on its way may cost less


def test_a_reversed_run_pauses_where_the_run_has_nothing_left(both):
    run, check = both
    Run.objects.filter(pk=run.pk).update(budget=spent(run), state=RunState.PAUSED)
    assert claims(check, 20).claimed == []
    check.refresh_from_db()
    assert (check.state, check.pause) == (RunState.PAUSED, Pause.BUDGET)
    assert not Call.objects.filter(run=check, state=CallState.RUNNING).exists()
