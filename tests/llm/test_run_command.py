"""`run_llm_raters`: what it says, what it makes, how it waits, and what it refuses."""

import re
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, ManagementUtility, call_command
from django.urls import reverse

from apps.annotation.models import Rating
from apps.common.services.heartbeats import record_heartbeat
from apps.llm import run_following
from apps.llm.fake_server import FakeScript, FakeServer
from apps.llm.management.commands import run_llm_raters
from apps.llm.models import Call, Endpoint, ModelRater, Prompt, Run, RunState, TextConsent
from apps.llm.services.controls import cancel_run
from apps.llm.services.making_runs import preview_run
from apps.llm.templates import Use
from apps.studies.models import StudyStatus
from tests.llm.worlds import make_endpoint, make_version


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """No waiting for nothing, and no broker."""
    monkeypatch.setattr(run_following, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(run_llm_raters, "trigger_endpoint", lambda endpoint_pk: None)


@pytest.fixture
def server():
    with FakeServer(FakeScript(seed=3)) as running:
        yield running


def run_command(*options, study="grief", endpoint="local"):
    out = StringIO()
    call_command("run_llm_raters", f"--study={study}", f"--endpoint={endpoint}", *options, stdout=out)
    return out.getvalue()


def refused(*options, **named):
    with pytest.raises(CommandError) as refusal:
        run_command(*options, **named)
    assert refusal.value.returncode == 1
    said = str(refusal.value)
    assert "\n" not in said
    return said


def test_an_endpoint_that_is_changed_under_the_command_is_refused(grief, monkeypatch):
    far = make_endpoint("far", url="https://a.example.org/v1")

    def preview(**given):
        found = preview_run(**given)
        Endpoint.objects.filter(pk=far.pk).update(base_url="https://b.evil.example/v1")
        return found

    monkeypatch.setattr(run_llm_raters, "preview_run", preview)
    assert "far has another address by now" in refused("--confirm-text-may-leave", endpoint="far")
    assert [model for model in (Run, ModelRater, TextConsent) if model.objects.exists()] == []


# --- To its end -------------------------------------------------------------------------------------------------------


def test_it_waits_and_asks_itself_where_no_worker_is(grief, server):
    make_endpoint(url=server.url, price_input=Decimal(1), price_output=Decimal(2))
    said = run_command("--samples=2", "--temperature=0.5", "--wait", "--name=judge")
    assert "Rater: judge (new), prompt Default, one scale v1, endpoint local." in said
    assert "3 conversations, 12 calls, about " in said
    assert "No worker was seen for 30 seconds" in said
    run = Run.objects.get()
    assert run.state == RunState.DONE
    assert f"Run {run.pk} is done: 12 valid, 0 invalid, 0 failed, 6 ratings of this rater, cost 0." in said
    assert Rating.objects.filter(rater__name="judge").count() == 6
    assert server.stats()["requests"] == 12


def test_a_second_time_nothing_is_asked_again(grief, server):
    make_endpoint(url=server.url)
    run_command("--items=2", "--wait")
    said = run_command("--wait")
    assert "asked before, and now about the rest" in said
    assert "Left out, this rater was asked about it already: 2" in said
    assert "1 conversation, 2 calls" in said
    assert server.stats()["requests"] == 6
    assert "There is nothing to ask" in refused("--wait")
    assert ModelRater.objects.count() == 1


def test_without_waiting_it_only_starts(grief):
    make_endpoint()
    said = run_command()
    run = Run.objects.get()
    assert f"Run {run.pk} has started." in said
    assert run.state == RunState.RUNNING
    assert run.created_by is None
    assert run.calls.filter(state="pending").count() == 6


def test_a_run_that_a_budget_pauses_is_named_with_its_page(grief, server, settings):
    settings.BASE_URL = "https://accord.example.org"
    make_endpoint(url=server.url, price_input=Decimal(1000), price_output=Decimal(1000), max_concurrent=1)
    said = refused("--wait", "--budget=0.01")
    run = Run.objects.get()
    page = f"https://accord.example.org/studies/grief/llm/runs/{run.pk}/"
    assert f"Give the run a larger budget on its page; then resume it. Its page: {page} So far: " in said
    n_waiting = run.calls.filter(state="pending").count()
    assert n_waiting > 1
    named = (
        f"Run {run.pk} of this rater is paused, and {n_waiting} calls wait in it: give it a larger budget and resume"
    )
    again = run_command("--budget=900", "--dry-run")
    assert f"{named} it on its page, {page}\n" in again
    assert "There is nothing to ask" in refused("--budget=900", "--wait")
    # Another rater has nothing to do with it.
    assert "is paused" not in run_command("--samples=2", "--dry-run")
    run.calls.filter(state="pending").exclude(pk=run.calls.filter(state="pending").first().pk).update(state="done")
    Run.objects.update(pause="hand")
    assert "is paused, and 1 call waits in it: resume it on its page" in run_command("--dry-run")
    Run.objects.update(state=RunState.RUNNING, pause="")
    assert "is paused" not in run_command("--dry-run")


def test_a_run_that_pauses_ends_with_the_reason(grief, server):
    make_endpoint(url=f"{server.url}/nowhere")
    said = refused("--wait")
    assert re.match(r"Run \d+ is paused\. There is no such address or model", said)
    assert "then resume" in said
    assert Run.objects.get().state == RunState.PAUSED


def test_a_run_of_which_every_call_fails_is_no_success(grief, server):
    make_endpoint(url=server.url, context_tokens=1100, reply_tokens=50)
    make_version(grief)
    run = None

    def lengthen(*args, **kwargs):
        nonlocal run
        run = Run.objects.get()
        Call.objects.filter(run=run).update(state="failed", problem="The prompt is too long.")
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_llm_raters, "trigger_endpoint", lengthen)
        said = refused("--wait")
    assert "every call failed. The prompt is too long." in said


def test_a_cancelled_run_ends_the_waiting(grief, monkeypatch):
    make_endpoint()
    monkeypatch.setattr(
        run_llm_raters, "trigger_endpoint", lambda endpoint_pk: cancel_run(run=Run.objects.get(), by=None)
    )
    assert "was cancelled" in refused("--wait")


def test_with_a_worker_it_only_looks(grief, server, monkeypatch):
    make_endpoint(url=server.url)
    record_heartbeat(worker="one", process_id=1)
    looked = []

    def look(seconds):
        looked.append(seconds)
        if len(looked) == 3:
            Call.objects.all().update(state="done")
            Run.objects.all().update(state=RunState.DONE)

    monkeypatch.setattr(run_following.time, "sleep", look)
    said = run_command("--wait")
    assert looked == [0.01] * 3
    assert "asks the model itself" not in said
    assert "0 of 6 calls, 0 valid" in said
    assert server.stats()["requests"] == 0


def test_interrupted_the_run_goes_on(grief, monkeypatch):
    make_endpoint()
    record_heartbeat(worker="one", process_id=1)

    def interrupted(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_following.time, "sleep", interrupted)
    out = StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command("run_llm_raters", "--study=grief", "--endpoint=local", "--wait", stdout=out)
    assert stopped.value.code == 130
    assert "the workers go on with it" in out.getvalue()
    assert Run.objects.get().state == RunState.RUNNING


# --- What it takes ----------------------------------------------------------------------------------------------------


def test_a_dry_run_stores_nothing(grief):
    make_endpoint("far", url="https://models.example.org/v1")
    said = run_command("--dry-run", endpoint="far")
    assert "3 conversations, 6 calls" in said
    assert "somebody who manages the study has to confirm" in said
    assert "Nothing was sent, and nothing stored" in said
    assert "has to confirm" not in run_command("--dry-run", "--confirm-text-may-leave", endpoint="far")
    assert not Run.objects.exists()
    assert not Prompt.objects.exists()
    assert not TextConsent.objects.exists()


def test_an_empty_dry_run_estimates_nothing(grief):
    make_endpoint()
    run_command("--name=judge")
    said = run_command("--dry-run")
    assert "(asked before)" in said
    assert "There is nothing to ask." in said
    assert "the rest" not in said
    assert "0 calls" not in said
    assert "second" not in said


def test_every_option_reaches_the_run(grief):
    make_endpoint(takes_seed=True, price_input=Decimal(1), price_output=Decimal(1))
    make_version(grief, name="warm: new", number=1)
    chosen = make_version(grief, name="warm: new", number=2, use=Use.FRAMEWORK)
    make_version(grief, name="other")
    run_command(
        "--prompt=warm: new:2",
        "--block=main",
        "--framework=warmth-scales",
        "--items=2",
        "--seed=9",
        "--model-seed=4",
        "--temperature=1.5",
        "--budget=2.50",
        "--role=main",
        "--with-examples",
    )
    run = Run.objects.get()
    assert run.model_rater.version == chosen
    assert run.model_rater.parameters == {"max_tokens": 1000, "temperature": 1.5, "seed": 4}
    assert run.budget == Decimal("2.5")
    assert run.calls.count() == 2
    run_command("--prompt=warm: new", "--name=same-prompt", "--samples=2")
    assert Run.objects.first().model_rater.version == chosen


def test_the_newest_prompt_is_asked_unless_a_use_is_named(grief):
    make_endpoint()
    make_version(grief, name="first")
    newest = make_version(grief, name="second", use=Use.FRAMEWORK)
    run_command()
    assert Run.objects.first().model_rater.version == newest
    run_command("--use=scale")
    assert Run.objects.first().model_rater.version.prompt.name == "first"


def test_leave_is_given_by_an_option(grief):
    make_endpoint("far", url="https://models.example.org/v1")
    said = refused(endpoint="far")
    assert said.endswith("If it may, add --confirm-text-may-leave.")
    assert not Run.objects.exists()
    assert not Prompt.objects.exists()
    run_command("--confirm-text-may-leave", endpoint="far")
    assert TextConsent.objects.count() == 1
    grief.local_only = True
    grief.save()
    assert "stays on this machine" in refused("--confirm-text-may-leave", "--samples=2", endpoint="far")


@pytest.mark.parametrize(
    "options",
    [
        ("run_llm_raters", "--study=grief", "--endpoint=local", "--samples", "0"),
        ("run_llm_raters", "--study=grief", "--endpoint=local", "--budget", "-1"),
        ("create_endpoint", "local", "--model", "m", "--max-concurrent", "-1"),
        ("fake_llm", "--latency-ms", "-1"),
        ("fake_llm", "--port", "-1"),
    ],
)
def test_a_wrong_number_is_no_matter_of_usage(db, options, capsys):
    """As from a shell: what argparse refuses itself would end with its usage and status 2."""
    utility = ManagementUtility(["manage.py", *options])
    with pytest.raises(SystemExit) as ended:
        utility.execute()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "usage" not in said
    assert len(said.splitlines()) == 1


# --- What it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--study=nowhere"], "There is no study nowhere. Known: grief."),
        (["--endpoint=nowhere"], "There is no endpoint nowhere. Known: local."),
        (["--endpoint=gone"], "The endpoint gone is retired"),
        (["--prompt=nothing"], "has no prompt nothing. Known: warm:1."),
        (["--prompt=warm:2"], "has no prompt warm:2"),
        (["--prompt=warm", "--use=scale"], "not both"),
        (["--block=side"], "The study has no block side. Known: main."),
        (["--framework=calm"], "The study has no framework calm. Known: warmth-scales."),
        (["--samples=0"], "--samples is 0; expected a whole number from 1 to 25."),
        (["--samples=26"], "--samples is 26; expected a whole number from 1 to 25."),
        (["--samples=two"], "--samples is two; expected a whole number"),
        (["--samples="], "--samples is ; expected a whole number"),
        (["--temperature=3"], "--temperature is 3; expected a number from 0 to 2."),
        (["--temperature=-0.1"], "--temperature is -0.1; expected"),
        (["--temperature=nan"], "--temperature is nan; expected"),
        (["--temperature=warm"], "--temperature is warm; expected"),
        (["--model-seed=1"], "local takes no seed"),
        (["--model-seed=2000000001"], "expected a whole number from 0 to 2,000,000,000."),
        (["--items=-1"], "--items is -1; expected a whole number of at least 1."),
        (["--items=0"], "--items is 0; expected"),
        (["--seed=1.5"], "--seed is 1.5; expected a whole number of at least 0."),
        (["--budget=0"], "expected an amount above 0"),
        (["--budget=1.005"], "at most two decimals"),
        (["--budget=nan"], "expected an amount"),
        (["--budget=5"], "has no prices"),
        (["--name=expert1"], "has a rater expert1 already"),
        (["--use=both"], "invalid choice"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_and_nothing_is_written(grief, options, said):
    make_endpoint()
    make_endpoint("gone", retired_at="2026-01-01T00:00Z")
    make_version(grief, name="warm")
    assert said in refused(*options)
    assert not Run.objects.exists()
    assert not ModelRater.objects.exists()


def test_a_draft_and_a_missing_key_are_refused_whole(grief):
    make_endpoint("keyed", key_variable="NO_SUCH_KEY_ANYWHERE")
    assert "NO_SUCH_KEY_ANYWHERE" in refused(endpoint="keyed")
    grief.status = StudyStatus.DRAFT
    grief.save()
    assert "activate it first" in refused(endpoint="keyed")
    assert not Run.objects.exists()
    assert not Prompt.objects.exists()
    assert not ModelRater.objects.exists()


def test_what_it_made_is_on_the_page(grief, sign_in, rosa):
    make_endpoint()
    run_command("--name=from the command line")
    page = sign_in(rosa).get(reverse("llm:home", args=["grief"])).content.decode()
    assert "from the command line" in page
