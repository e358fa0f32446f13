"""The page of a run, and what can be done with a run: who sees it, what it says in each state, that acts arrive."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone

from apps.common.models import AuditEntry
from apps.common.services.heartbeats import record_heartbeat
from apps.llm.models import Call, CallState, Endpoint, Exchange, ExchangeState, Pause, Run, RunState
from apps.llm.run_words import PAUSES
from apps.llm.services.run_items import LeftOut
from apps.studies.models import MemberRole, Rater, RaterKind, Study, StudyStatus
from tests.conftest import make_user
from tests.llm.worlds import answer_all, make_endpoint, make_run

ACTS = ("start", "pause", "resume", "cancel", "retry")


@pytest.fixture
def run(grief) -> Run:
    return make_run(grief)


@pytest.fixture
def triggered(monkeypatch) -> list[int]:
    """The endpoints that were triggered."""
    found: list[int] = []
    monkeypatch.setattr("apps.llm.views.run_acts.trigger_endpoint", found.append)
    return found


def page_of(run: Run) -> str:
    return reverse("llm:run", args=[run.study.slug, run.pk])


def act_of(run: Run, act: str) -> str:
    return reverse(f"llm:run-{act}", args=[run.study.slug, run.pk])


def change(run: Run, **given) -> Run:
    Run.objects.filter(pk=run.pk).update(**given)
    run.refresh_from_db()
    return run


# --- Who ------------------------------------------------------------------------------------------------------------


def test_who_works_with_the_study_sees_how_it_goes(run, sign_in, rosa, ada, grief):
    ruth = make_user("ruth@example.org", "researcher")
    grief.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    for person, is_managed in ((rosa, True), (ada, True), (ruth, False)):
        page = sign_in(person).get(page_of(run))
        assert page.status_code == 200
        assert ("Start</button>" in page.text) is is_managed
        assert ("Cancel this run" in page.text) is is_managed


def test_without_login_one_is_asked_to_sign_in(run, client):
    assert client.get(page_of(run)).url == f"/accounts/sign-in/?next={page_of(run)}"
    for act in ACTS:
        assert client.post(act_of(run, act)).url.startswith("/accounts/sign-in/")


def test_to_raters_and_strangers_it_is_not_there(run, sign_in, emil, otto, triggered):
    for person in (emil, otto):
        assert sign_in(person).get(page_of(run)).status_code == 404
        for act in ACTS:
            assert sign_in(person).post(act_of(run, act)).status_code == 404
    assert (Run.objects.get().state, triggered) == ("ready", [])


def test_researchers_only_read(run, sign_in, grief, triggered):
    ruth = make_user("ruth@example.org", "researcher")
    grief.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    for act in ACTS:
        assert sign_in(ruth).post(act_of(run, act)).status_code == 403
    assert (Run.objects.get().state, triggered) == ("ready", [])


def test_another_study_s_run_is_not_there(run, strangers, sign_in, rosa, otto, triggered):
    foreign = make_run(strangers, run.endpoint, name="foreign")
    assert sign_in(rosa).get(reverse("llm:run", args=["grief", foreign.pk])).status_code == 404
    for act in ACTS:
        assert sign_in(rosa).post(reverse(f"llm:run-{act}", args=["grief", foreign.pk])).status_code == 404
    assert triggered == []


def test_acts_take_a_post_and_the_page_is_only_read(run, sign_in, rosa):
    client = sign_in(rosa)
    for act in ACTS:
        assert client.get(act_of(run, act)).status_code == 405
    for method in ("post", "put", "patch", "delete"):
        assert getattr(client, method)(page_of(run)).status_code == 405


def test_an_owner_who_rates_sees_how_it_goes_and_nothing_of_what_was_answered(run, sign_in, rosa, grief):
    Rater.objects.create(study=grief, user=rosa, name="expert9", kind=RaterKind.EXPERT)
    change(run, left_out=[["main", "letters-002", LeftOut.EXAMPLE]], left_out_counts={LeftOut.EXAMPLE: 1})
    page = sign_in(rosa).get(page_of(run))
    assert page.status_code == 200
    assert "hidden from you" in page.text
    assert reverse("llm:calls", args=["grief", run.pk]) not in page.text
    assert "letters-002" not in page.text
    assert "1: shown to the model as an example" in page.text


# --- What it says -----------------------------------------------------------------------------------------------------


def test_it_says_what_is_asked_and_what_is_left_out(run, sign_in, rosa):
    left_out = [["main", "letters-002", LeftOut.EXAMPLE], ["main", "<i>x</i>", LeftOut.NO_TEXT]]
    change(run, created_by=rosa, left_out=left_out, left_out_counts={LeftOut.EXAMPLE: 1, LeftOut.NO_TEXT: 317})
    text = sign_in(rosa).get(page_of(run)).text
    for words in ("model1", "Default model1 v1", "local", "max_tokens 1000", "1 answer to each question", "Rosa"):
        assert words in text
    for words in ("317: no text to rate", "The first 2 of 318", "letters-002", "&lt;i&gt;x&lt;/i&gt;"):
        assert words in text


@pytest.mark.parametrize("pause", Pause.values)
def test_a_paused_run_says_why_and_what_helps(run, sign_in, rosa, grief, pause):
    change(run, state=RunState.PAUSED, pause=pause, pause_detail="401 <b>no</b>")
    text = sign_in(rosa).get(page_of(run)).text
    assert str(PAUSES[pause].what) in text
    assert str(PAUSES[pause].advice).replace("'", "&#x27;") in text
    assert "401 &lt;b&gt;no&lt;/b&gt;" in text
    assert "Resume</button>" in text
    ruth = make_user("ruth@example.org", "researcher")
    grief.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    text = sign_in(ruth).get(page_of(run)).text
    assert str(PAUSES[pause].what) in text
    assert "Somebody who manages the study can resume it." in text


def test_a_running_run_without_a_worker_says_so(run, sign_in, rosa):
    change(run, state=RunState.RUNNING)
    assert "No worker was seen for 30 s" in sign_in(rosa).get(page_of(run)).text
    record_heartbeat(worker="one", process_id=1)
    assert "No worker was seen" not in sign_in(rosa).get(page_of(run)).text
    Endpoint.objects.update(held_until=timezone.now() + timedelta(minutes=5))
    assert "The provider asked to wait" in sign_in(rosa).get(page_of(run)).text


def test_unknown_costs_are_words_and_known_ones_stand_beside_the_budget(grief, sign_in, rosa):
    cheap = make_run(grief)
    answer_all(cheap)
    assert "not known: the endpoint has no prices" in sign_in(rosa).get(page_of(cheap)).text
    priced = make_endpoint("priced", price_input=Decimal(37), price_output=Decimal(0))
    run = make_run(grief, priced, name="model2", budget=Decimal("12.34"))
    answer_all(run)
    text = sign_in(rosa).get(page_of(run)).text
    assert "0.0222" in text
    assert "of a budget of 12.34 USD" in text
    Exchange.objects.filter(call=run.calls.first()).update(cost=None)
    assert "1 answer whose cost is not known" in sign_in(rosa).get(page_of(run)).text


def test_lost_requests_may_have_been_billed(run, sign_in, rosa):
    call = run.calls.first()
    Exchange.objects.create(call=call, endpoint=run.endpoint, state=ExchangeState.LOST, sent_at=timezone.now())
    text = sign_in(rosa).get(page_of(run)).text
    assert "it may have been billed" in text
    assert "lost on its way: its worker was gone" in text


def test_a_check_says_that_it_records_nothing(run, sign_in, rosa, grief):
    check = make_run(grief, model_rater=run.model_rater, checks=run)
    text = sign_in(rosa).get(page_of(check)).text
    assert "points reversed" in text
    assert "a check compares and records no ratings" in text
    assert page_of(run) in text


# --- Live -------------------------------------------------------------------------------------------------------------


def ask(client, run: Run, standing: str = "") -> str:
    return client.get(page_of(run), {"standing": standing}, headers={"HX-Request": "true"}).text


def test_it_asks_again_only_while_something_is_under_way(run, sign_in, rosa):
    client = sign_in(rosa)
    assert "every 2s" not in client.get(page_of(run)).text
    change(run, state=RunState.RUNNING)
    assert "every 2s" in client.get(page_of(run)).text
    Call.objects.filter(position=0).update(state=CallState.RUNNING)
    change(run, state=RunState.PAUSED, pause=Pause.HAND)
    page = client.get(page_of(run)).text
    assert "every 2s" in page
    assert "1 call still in hand" in page
    Call.objects.update(state=CallState.DONE)
    change(run, state=RunState.DONE, pause="")
    assert "every 2s" not in client.get(page_of(run)).text


def test_the_controls_come_anew_only_where_they_have_changed(run, sign_in, rosa):
    client = sign_in(rosa)
    change(run, state=RunState.RUNNING)
    same = ask(client, run, "running")
    assert same.strip().startswith('<div id="run"')
    assert "run-controls" not in same
    change(run, state=RunState.PAUSED, pause=Pause.BUDGET)
    changed = ask(client, run, "running")
    assert 'hx-swap-oob="innerHTML:#run-controls"' in changed
    assert "Resume</button>" in changed
    assert "csrfmiddlewaretoken" in changed
    assert "Paused. The next requests would go beyond the budget." in changed


def test_when_it_ended_comes_with_the_end(run, sign_in, rosa):
    client = sign_in(rosa)
    change(run, state=RunState.RUNNING, started_at=timezone.now())
    page = client.get(page_of(run)).text
    assert page.count('id="run-asked"') == 1
    assert "<dt>Ended</dt>" not in page
    assert "run-asked" not in ask(client, run, "running")
    change(run, state=RunState.DONE, finished_at=timezone.now())
    part = ask(client, run, "running")
    asked = part[part.index('hx-swap-oob="innerHTML:#run-asked"') :]
    assert "<dt>Ended</dt>" in asked


def test_the_speed_says_over_how_long_it_is(run, sign_in, rosa):
    now = timezone.now()
    for call in run.calls.all():
        Exchange.objects.create(
            call=call,
            endpoint=run.endpoint,
            state=ExchangeState.ANSWERED,
            sent_at=now - timedelta(seconds=40),
            ended_at=now,
        )
    change(run, state=RunState.RUNNING)
    text = sign_in(rosa).get(page_of(run)).text
    assert re.search(r"answers a minute, over the last 4\d seconds", text)
    Exchange.objects.update(sent_at=now - timedelta(seconds=121))
    assert "answers a minute, over the last two minutes" in sign_in(rosa).get(page_of(run)).text


def test_the_page_stands_whole_without_htmx(run, sign_in, rosa):
    page = sign_in(rosa).get(page_of(change(run, state=RunState.RUNNING))).text
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in page
    assert page.count('id="run-controls"') == 1


def test_the_queries_do_not_grow(run, sign_in, rosa, grief, django_assert_max_num_queries):
    client = sign_in(rosa)

    def count(one: Run) -> int:
        with django_assert_max_num_queries(80) as captured:
            client.get(page_of(one))
        return len(captured)

    small = make_run(grief, run.endpoint, name="model2", items=[])
    count(small)  # the first page of all asks more
    few = count(small)
    for call in run.calls.all():
        for state in ExchangeState.values:
            Exchange.objects.create(call=call, endpoint=run.endpoint, state=state, sent_at=timezone.now())
    assert count(run) == few


# --- Acts -------------------------------------------------------------------------------------------------------------


def test_every_act_arrives_is_remembered_and_triggers_the_endpoint(run, sign_in, rosa, triggered):
    client = sign_in(rosa)
    for act, state in (("start", "running"), ("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        assert client.post(act_of(run, act), {"confirm": f"Run {run.pk}"}).url == page_of(run)
        assert Run.objects.get().state == state
    assert triggered == [run.endpoint_id] * 4
    acts = AuditEntry.objects.filter(action__startswith="run.").order_by("pk")
    assert [entry.action for entry in acts] == ["run.start", "run.pause", "run.resume", "run.cancel"]
    page = client.get(page_of(run)).text
    assert "Rosa," in page
    assert "cannot be resumed" not in page


@pytest.mark.parametrize("typed", [None, "", "Run", "run 999999", "cancel"])
def test_a_run_is_cancelled_only_by_typing_which_it_is(run, sign_in, rosa, triggered, typed):
    answer = sign_in(rosa).post(act_of(run, "cancel"), {} if typed is None else {"confirm": typed})
    assert answer.status_code == 422
    assert f"Type Run {run.pk} to confirm." in answer.text
    assert ("This is not the run" if typed else "This field is required.") in answer.text
    assert "<details open>" in answer.text
    assert (Run.objects.get().state, triggered) == ("ready", [])


def test_how_the_run_is_written_does_not_matter(run, sign_in, rosa, triggered):
    assert sign_in(rosa).post(act_of(run, "cancel"), {"confirm": f"  run   {run.pk}"}).status_code == 302
    assert Run.objects.get().state == "cancelled"
    page = sign_in(rosa).post(act_of(run, "cancel"), follow=True).text
    assert "This run is over, so it cannot be cancelled." in page


def test_how_it_stands_comes_before_what_can_be_done(run, sign_in, rosa):
    change(run, state=RunState.PAUSED, pause=Pause.FAILING)
    client = sign_in(rosa)
    text = client.get(page_of(run)).text
    places = [text.index(part) for part in ("Nothing is sent until it is resumed.", 'id="run-controls"', 'id="run"')]
    assert places == sorted(places)
    part = client.get(page_of(run), headers={"HX-Request": "true"}).text
    assert part.index('hx-swap-oob="innerHTML:#run-standing"') < part.index("Nothing is sent until it is resumed.")
    assert part.count("Nothing is sent until it is resumed.") == 1


def test_what_failed_is_asked_again(run, sign_in, rosa, triggered):
    answer_all(run)
    Call.objects.filter(position=3).update(state=CallState.FAILED)
    client = sign_in(rosa)
    assert "Ask again what failed or is invalid" in client.get(page_of(run)).text
    client.post(act_of(run, "retry"))
    assert Run.objects.get().state == "running"
    assert Call.objects.get(position=3).state == "pending"
    assert triggered == [run.endpoint_id]


def test_what_cannot_be_done_is_said_and_triggers_nothing(run, sign_in, rosa, triggered):
    client = sign_in(rosa)
    page = client.post(act_of(run, "resume"), follow=True).text
    assert "Only a run that is paused can be resumed." in page
    Study.objects.update(status=StudyStatus.DRAFT)
    assert "The study is a draft" in client.post(act_of(run, "start"), follow=True).text
    assert (Run.objects.get().state, triggered) == ("ready", [])


def test_a_database_that_is_busy_is_said(run, sign_in, rosa, triggered, monkeypatch):
    def busy(**_given: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("apps.llm.views.run_acts.start_run", busy)
    answer = sign_in(rosa).post(act_of(run, "start"))
    assert answer.status_code == 503
    assert "The database was busy; nothing was changed." in answer.text
    assert triggered == []


# --- Budget -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def paid(grief) -> Run:
    """Paused over its budget."""
    priced = make_endpoint("priced", price_input=Decimal(37), price_output=Decimal(1))
    return make_run(grief, priced, name="model2", budget=Decimal("12.34"), state=RunState.PAUSED, pause=Pause.BUDGET)


def test_the_budget_of_a_paused_run_is_raised_and_it_goes_on(paid, sign_in, rosa, triggered):
    client = sign_in(rosa)
    page = client.get(page_of(paid)).text
    assert "Change the budget of 12.34 USD" in page
    assert "Give the run a larger budget" in page
    assert client.post(act_of(paid, "budget"), {"budget": "56.78"}).url == page_of(paid)
    paid.refresh_from_db()
    assert (paid.budget, paid.state, paid.pause) == (Decimal("56.78"), RunState.PAUSED, Pause.BUDGET)
    entry = AuditEntry.objects.get(action="run.budget")
    assert (entry.actor, entry.details) == (rosa, {"run": paid.pk, "before": "12.34", "budget": "56.78"})
    assert "Resume the run to let it go on." in client.get(page_of(paid)).text
    client.post(act_of(paid, "resume"))
    paid.refresh_from_db()
    assert (paid.state, paid.pause) == (RunState.RUNNING, "")
    client.post(act_of(paid, "budget"), {"budget": ""})
    paid.refresh_from_db()
    assert paid.budget is None
    assert "Set a budget" in client.get(page_of(paid)).text


@pytest.mark.parametrize("given", ["0", "-1", "much", "1.234", "NaN", "99999999999999"])
def test_a_budget_that_cannot_be_is_named_beside_its_field(paid, sign_in, rosa, triggered, given):
    answer = sign_in(rosa).post(act_of(paid, "budget"), {"budget": given})
    assert answer.status_code == 422
    assert "field--invalid" in answer.text
    paid.refresh_from_db()
    assert (paid.budget, triggered) == (Decimal("12.34"), [])
    assert not AuditEntry.objects.filter(action="run.budget").exists()


def test_only_open_runs_at_endpoints_with_prices_have_a_budget_to_change(run, paid, sign_in, rosa, triggered):
    client = sign_in(rosa)
    assert "budget/" not in client.get(page_of(run)).text
    assert "has no prices" in client.post(act_of(run, "budget"), {"budget": "3"}).text
    change(paid, state=RunState.DONE, pause="")
    assert "budget/" not in client.get(page_of(paid)).text
    client.post(act_of(paid, "budget"), {"budget": "99"})
    assert "This run is over, so its budget cannot be changed." in client.get(page_of(paid)).text
    paid.refresh_from_db()
    assert (paid.budget, triggered) == (Decimal("12.34"), [])


def test_who_may_change_a_budget(paid, strangers, client, sign_in, rosa, emil, otto, grief, triggered):
    act, data = act_of(paid, "budget"), {"budget": "99"}
    assert client.post(act, data).url.startswith("/accounts/sign-in/")
    assert sign_in(emil).post(act, data).status_code == 404
    assert sign_in(otto).post(act, data).status_code == 404
    grief.memberships.create(user=otto, role=MemberRole.RESEARCHER)
    assert sign_in(otto).post(act, data).status_code == 403
    assert "budget/" not in sign_in(otto).get(page_of(paid)).text
    assert sign_in(rosa).get(act).status_code == 405
    foreign = make_run(strangers, paid.endpoint, name="foreign")
    assert sign_in(rosa).post(reverse("llm:run-budget", args=["grief", foreign.pk]), data).status_code == 404
    paid.refresh_from_db()
    assert (paid.budget, triggered) == (Decimal("12.34"), [])


# --- What came of it, and who did it ----------------------------------------------------------------------------------


def test_a_run_that_failed_in_part_says_what_was_rated(grief, sign_in, rosa):
    run = make_run(grief, samples=2)
    answer_all(run)
    first, _second, third, fourth, *_rest = run.calls.order_by("position")
    # The first question has one answer, the second none.
    for call in (first, third, fourth):
        call.answers.all().delete()
        Call.objects.filter(pk=call.pk).update(state=CallState.FAILED)
    run.model_rater.rater.ratings.filter(item=third.item_id, dimension=third.dimension_id).delete()
    text = sign_in(rosa).get(page_of(run)).text
    assert "Questions rated: 5 of 6, 4 of them from all 2 answers and 1 from fewer. Not rated at all: 1." in text
    check = make_run(grief, model_rater=run.model_rater, checks=run, state=RunState.DONE)
    assert "Of 12 questions" not in sign_in(rosa).get(page_of(check)).text


def test_calls_in_hand_are_not_said_to_be_sent(run, sign_in, rosa):
    Endpoint.objects.update(max_concurrent=2)
    change(run, state=RunState.RUNNING)
    Call.objects.filter(position__lt=5).update(state=CallState.RUNNING)
    text = sign_in(rosa).get(page_of(run)).text
    assert "at most 2 of them are sent at the same time" in text
    Call.objects.filter(position__lt=4).update(state=CallState.DONE)
    assert "sent at the same time" not in sign_in(rosa).get(page_of(run)).text


def test_who_paused_it_and_who_sealed(run, sign_in, rosa, grief, triggered):
    client = sign_in(rosa)
    change(run, state=RunState.RUNNING)
    client.post(act_of(run, "pause"))
    text = client.get(page_of(run)).text
    assert "Rosa paused it on " in text
    assert "Somebody paused it." not in text
    assert "Sealed by" not in text
    client.post(reverse("llm:seal", args=["grief"]), {"to": "unsealed", "confirm": "grief"})
    assert "Unsealed by Rosa" in client.get(page_of(run)).text
    client.post(reverse("llm:seal", args=["grief"]), {"to": "sealed"})
    assert "Sealed by Rosa" in client.get(reverse("llm:home", args=["grief"])).text


def test_counts_and_the_failures_lead_to_the_calls_of_that_state(run, sign_in, rosa, grief):
    Call.objects.filter(position__lt=2).update(state=CallState.FAILED)
    change(run, state=RunState.PAUSED, pause=Pause.FAILING)
    text = sign_in(rosa).get(page_of(run)).text
    calls = reverse("llm:calls", args=["grief", run.pk])
    assert f'<a href="{calls}?state=failed">Look at the failed calls.</a>' in text
    assert f'<dd><a href="{calls}?state=failed">2</a></dd>' in text
    assert "?state=done" not in text
    grief.raters.create(name="expert9", kind=RaterKind.EXPERT, user=rosa)
    assert calls not in sign_in(rosa).get(page_of(run)).text


def test_exclusions_speak_of_examples_only_where_there_are_some(run, sign_in, rosa):
    words = "conversations that its prompt shows as examples"
    assert words not in sign_in(rosa).get(page_of(run)).text
    version = run.model_rater.version
    scale = version.frameworks.get().dimensions.first()
    version.examples.create(dimension=scale, item=run.calls.first().item, slot="low", score=1)
    assert words in sign_in(rosa).get(page_of(run)).text


def test_a_run_and_the_runs_that_check_it_lead_to_each_other(grief, sign_in, rosa):
    run = make_run(grief, samples=2)
    check = make_run(grief, model_rater=run.model_rater, checks=run)
    text = sign_in(rosa).get(page_of(check)).text
    assert "1 answer to each question, with the points reversed" in text
    assert "2 answers to each question" not in text
    assert "no ratings are recorded" in text
    text = sign_in(rosa).get(page_of(run)).text
    assert "2 answers to each question" in text
    assert "Asked again, points reversed" in text
    assert page_of(check) in text


def test_what_was_said_of_an_act_goes_once_the_run_stands_otherwise(run, sign_in, rosa):
    client = sign_in(rosa)
    change(run, state=RunState.RUNNING)
    assert "run-messages" not in ask(client, run, "running")
    change(run, state=RunState.DONE)
    assert '<div hx-swap-oob="innerHTML:#run-messages"></div>' in ask(client, run, "running")
    assert client.get(page_of(run)).text.count('id="run-messages"') == 1
