"""The page of a run, and what can be done with a run: who sees it, what it says in each state, that acts arrive."""

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
    assert "1 request still under way" in page
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
        assert client.post(act_of(run, act)).url == page_of(run)
        assert Run.objects.get().state == state
    assert triggered == [run.endpoint_id] * 4
    acts = AuditEntry.objects.filter(action__startswith="run.").order_by("pk")
    assert [entry.action for entry in acts] == ["run.start", "run.pause", "run.resume", "run.cancel"]
    page = client.get(page_of(run)).text
    assert "Rosa," in page
    assert "cannot be resumed" not in page


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
    page = sign_in(rosa).post(act_of(run, "start"), follow=True).text
    assert "The database is busy just now, and nothing was changed." in page
    assert triggered == []
