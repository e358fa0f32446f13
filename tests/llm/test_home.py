"""The models of a study on one page: who sees it, what it says, what it asks of the database."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.common.services.heartbeats import record_heartbeat
from apps.llm.models import Call, CallState, Exchange, Pause, RunState
from apps.studies.models import MemberRole, Membership, StudyStatus
from tests.llm.worlds import answer_all, make_endpoint, make_run, make_version

HOME = "/studies/grief/llm/"


def test_its_address(grief):
    assert reverse("llm:home", args=["grief"]) == HOME


def test_nobody_signs_in_first(client, grief):
    response = client.get(HOME)
    assert response.status_code == 302
    assert response.url.startswith(reverse("accounts:sign-in"))


def test_raters_and_strangers_do_not_find_it(sign_in, grief, emil, otto):
    assert sign_in(emil).get(HOME).status_code == 404
    assert sign_in(otto).get(HOME).status_code == 404
    assert sign_in(otto).get("/studies/no-such-study/llm/").status_code == 404


def test_it_takes_nothing(sign_in, grief, rosa):
    assert sign_in(rosa).post(HOME).status_code == 405


def test_without_a_run_it_teaches_the_order(sign_in, grief, rosa):
    page = sign_in(rosa).get(HOME).content.decode()
    assert "No model was asked yet" in page
    assert page.index("An endpoint</a>") < page.index("A prompt</a>") < page.index("A run</span>")
    assert reverse("llm:run-new", args=["grief"]) not in page
    make_endpoint()
    page = sign_in(rosa).get(HOME).content.decode()
    assert "Make the first run" in page
    assert reverse("llm:run-new", args=["grief"]) in page


def test_a_draft_is_activated_first(sign_in, grief, rosa):
    make_endpoint()
    grief.status = StudyStatus.DRAFT
    grief.save()
    page = sign_in(rosa).get(HOME).content.decode()
    assert "Activate the study first" in page
    assert reverse("llm:run-new", args=["grief"]) not in page


def test_researchers_read_and_managers_run(sign_in, grief, rosa, otto):
    make_run(grief)
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    assert reverse("llm:run-new", args=["grief"]) in sign_in(rosa).get(HOME).content.decode()
    assert reverse("llm:run-new", args=["grief"]) not in sign_in(otto).get(HOME).content.decode()


def test_who_rates_in_the_study_sees_how_runs_go(sign_in, grief, rosa):
    grief.raters.filter(name="expert2").update(user=rosa)
    answer_all(make_run(grief), rationale="The supporter asks what was in it.")
    page = sign_in(rosa).get(HOME)
    assert page.status_code == 200
    assert "6 of 6" in page.content.decode()
    assert "asks what was in it" not in page.content.decode()


def test_runs_say_how_far_they_are_and_what_they_cost(sign_in, grief, rosa):
    run = make_run(grief, make_endpoint(price_input=Decimal(1000), price_output=Decimal(1000)), budget=Decimal("77.5"))
    answer_all(run)
    Call.objects.filter(run=run, position=0).update(state=CallState.PENDING)
    Call.objects.filter(run=run, position=1).update(state=CallState.FAILED)
    Call.objects.filter(run=run, position=2).update(state=CallState.INVALID)
    run.state, run.pause = RunState.PAUSED, Pause.BUDGET
    run.save()
    page = sign_in(rosa).get(HOME).content.decode()
    assert "5 of 6" in page
    assert "1 invalid" in page
    assert "1 failed" in page
    assert "the budget is used up" in page
    assert "0.72" in page  # 6 x 120 tokens at 1000 for a million
    assert "of at most 77.50" in page


def test_a_cost_that_is_not_known_is_not_zero(sign_in, grief, rosa):
    run = make_run(grief)
    answer_all(run)
    page = sign_in(rosa).get(HOME).content.decode()
    assert "not known: no prices" in page
    first = Exchange.objects.first()
    Exchange.objects.filter(pk=first.pk).update(cost=Decimal("0.33"))
    page = sign_in(rosa).get(HOME).content.decode()
    assert "0.33" in page
    assert "and more that is not known" in page


def test_a_running_run_asks_for_its_part_again(sign_in, grief, rosa):
    run = make_run(grief, state=RunState.RUNNING)
    assert 'hx-trigger="every 5s"' in sign_in(rosa).get(HOME).content.decode()
    part = sign_in(rosa).get(HOME, headers={"HX-Request": "true"})
    assert part.content.decode().strip().startswith('<section id="runs"')
    assert "<html" not in part.content.decode()
    assert "HX-Request" in part.headers["Vary"]
    run.state = RunState.DONE
    run.save()
    assert "hx-trigger" not in sign_in(rosa).get(HOME, headers={"HX-Request": "true"}).content.decode()


def test_a_running_run_without_a_worker_says_so(sign_in, grief, rosa):
    make_run(grief)
    assert "No worker was seen" not in sign_in(rosa).get(HOME).content.decode()
    make_run(grief, make_endpoint("other"), name="model2", state=RunState.RUNNING)
    assert "No worker was seen for 30 seconds" in sign_in(rosa).get(HOME).content.decode()
    record_heartbeat(worker="one", process_id=1)
    assert "No worker was seen" not in sign_in(rosa).get(HOME).content.decode()


def test_names_are_escaped(sign_in, grief, rosa):
    run = make_run(grief, make_endpoint(model="<b>fake</b>"), name="<i>loud</i>")
    run.model_rater.version.prompt.name = "<u>warm</u>"
    run.model_rater.version.prompt.save()
    page = sign_in(rosa).get(HOME).content.decode()
    for tag in ("<b>fake", "<i>loud", "<u>warm"):
        assert tag not in page


def test_runs_of_another_study_are_not_there(sign_in, grief, strangers, rosa):
    make_run(strangers, name="foreign-model")
    assert "foreign-model" not in sign_in(rosa).get(HOME).content.decode()


@pytest.mark.parametrize("is_htmx", [False, True])
def test_runs_are_paginated_by_a_constant_number_of_queries(sign_in, grief, rosa, is_htmx):
    client, endpoint = sign_in(rosa), make_endpoint()
    headers = {"HX-Request": "true"} if is_htmx else {}
    version = make_version(grief)

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(HOME, headers=headers).status_code == 200
        return len(queries)

    answer_all(make_run(grief, endpoint, name="model-0"))
    few = asked()
    for number in range(1, 23):
        run = make_run(grief, endpoint, name=f"model-{number}", state=RunState.RUNNING)
        if number < 4:
            answer_all(run)
        make_endpoint(f"other-{number}")
        version.pk, version.number = None, number + 1
        version.save()
    assert asked() == few
    second = client.get(f"{HOME}?page=2", headers=headers).content.decode()
    assert "Page 2 of 2" in second
    assert "model-0<" in second


def test_prompts_come_in_pages(sign_in, grief, rosa):
    for number in range(10, 23):
        make_version(grief, name=f"Prompt {number}")
    client = sign_in(rosa)
    first = client.get(HOME).content.decode()
    assert "13 prompts, each with its newest version" in first
    assert "Page 1 of 2 of prompts" in first
    assert "Prompt 22<" not in first
    second = client.get(HOME, {"prompts": "2"}).content.decode()
    assert "Prompt 22<" in second
    assert "Prompt 10<" not in second


def test_names_of_raters_lead_to_how_far_they_agree_for_who_may_see_it(sign_in, grief, rosa):
    answer_all(make_run(grief, name="judge"))
    there = reverse("agreement:rater", args=["grief", "judge"])
    assert f'<a href="{there}"><bdi>judge</bdi></a>' in sign_in(rosa).get(HOME).content.decode()
    grief.raters.create(name="expert9", kind="expert", user=rosa)
    page = sign_in(rosa).get(HOME).content.decode()
    assert there not in page
    assert "<bdi>judge</bdi>" in page
