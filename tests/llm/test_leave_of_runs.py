"""A run whose study has to give its leave anew: it is asked for on the run's page, by those who manage the study."""

from datetime import UTC, datetime

import pytest
from django.urls import reverse

from apps.common.models import AuditEntry
from apps.llm.models import Endpoint, Pause, Run, RunState, TextConsent
from apps.llm.providers.protocol import ProviderError
from apps.llm.providers.registry import key_of
from apps.llm.run_following import why_it_stopped
from apps.llm.services.consent import ConsentError, give_consent, leave_problem
from apps.llm.services.controls import RunError, resume_run, start_run
from apps.llm.services.endpoints import EndpointError, update_endpoint
from apps.studies.services.settings import change_settings
from tests.llm.worlds import make_endpoint, make_run

ASKED = "would be sent to"
HELD = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture
def run(grief, rosa) -> Run:
    """Paused, since its study was to stay on this machine for a while."""
    endpoint = make_endpoint(url="https://api.example.org/v1")
    give_consent(study=grief, endpoint=endpoint, by=rosa)
    change_settings(study=grief, by=rosa, local_only=True)
    grief.local_only = change_settings(study=grief, by=rosa, local_only=False).local_only
    return make_run(grief, endpoint, state=RunState.PAUSED, pause=Pause.SETUP)


@pytest.fixture(autouse=True)
def triggered(monkeypatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr("apps.llm.views.run_acts.trigger_endpoint", found.append)
    return found


def act_of(run: Run, act: str) -> str:
    return reverse(f"llm:run-{act}", args=[run.study.slug, run.pk])


@pytest.mark.parametrize(("state", "act"), [(RunState.PAUSED, "resume"), (RunState.READY, "start")])
def test_it_goes_on_once_somebody_has_confirmed_anew(run, sign_in, rosa, triggered, state, act):
    Run.objects.update(state=state, pause="")
    client = sign_in(rosa)
    page = client.get(reverse("llm:run", args=[run.study.slug, run.pk])).content.decode()
    assert ASKED in page
    assert 'name="confirm"' in page
    refused = client.post(act_of(run, act), follow=True).content.decode()
    assert "has to confirm first" in refused
    run.refresh_from_db()
    assert (run.state, triggered) == (state, [])
    page = client.post(act_of(run, act), {"confirm": "on"}, follow=True).content.decode()
    assert ASKED not in page
    run.refresh_from_db()
    assert (run.state, triggered) == (RunState.RUNNING, [run.endpoint_id])
    assert leave_problem(study=run.study, endpoint=run.endpoint) == ""
    assert AuditEntry.objects.filter(action="study.text_consent", actor=rosa).count() == 2


def test_who_does_not_manage_the_study_confirms_nothing(run, sign_in, ada, emil, otto, client):
    for person in (ada, emil, otto):
        visitor = sign_in(person)
        if not run.study.is_managed_by(person):
            assert visitor.post(act_of(run, "resume"), {"confirm": "on"}).status_code in (403, 404)
            assert (
                'name="confirm"' not in visitor.get(reverse("llm:run", args=[run.study.slug, run.pk])).content.decode()
            )
    client.logout()
    client.post(act_of(run, "resume"), {"confirm": "on"})
    assert AuditEntry.objects.filter(action="study.text_consent").count() <= 1


def test_what_is_refused_otherwise_confirms_nothing(run, rosa, monkeypatch):
    given_at = TextConsent.objects.get().given_at
    with pytest.raises(RunError):
        start_run(run=run, by=rosa, confirms=True)
    assert TextConsent.objects.get().given_at == given_at
    change_settings(study=run.study, by=rosa, local_only=True)
    with pytest.raises(RunError, match="stays on this machine"):
        resume_run(run=run, by=rosa, confirms=True)
    assert TextConsent.objects.get().given_at == given_at


@pytest.mark.parametrize(("state", "act"), [(RunState.PAUSED, "resume"), (RunState.READY, "start")])
def test_a_key_that_is_missing_is_said_before_and_leaves_the_tick(
    run, sign_in, rosa, ada, triggered, monkeypatch, state, act
):
    monkeypatch.delenv("ACORN_KEY", raising=False)
    Run.objects.update(state=state, pause="")
    Endpoint.objects.update(key_variable="ACORN_KEY", held_until=HELD)
    client, page = sign_in(rosa), reverse("llm:run", args=[run.study.slug, run.pk])
    shown = client.get(page).text
    assert "The key of this endpoint is not set in the web process." in shown
    assert "ACORN_KEY" not in shown
    assert "ACORN_KEY is not set" in sign_in(ada).get(page).text
    refused = client.post(act_of(run, act), {"confirm": "on"}, follow=True).text
    assert "The endpoint&#x27;s key is not set: please tell whoever runs this site." in refused
    assert "ACORN_KEY" not in refused
    assert ASKED not in refused
    assert leave_problem(study=run.study, endpoint=run.endpoint) == ""
    run.refresh_from_db()
    assert (run.state, triggered) == (state, [])
    # Nothing else was done: whoever asked to wait is still waited for.
    assert Endpoint.objects.get().held_until == HELD
    monkeypatch.setenv("ACORN_KEY", "not-a-real-key")
    assert "is not set" not in client.get(page).text
    client.post(act_of(run, act))
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_without_a_key_and_with_another_fault_nothing_is_confirmed(run, rosa, monkeypatch):
    monkeypatch.delenv("ACORN_KEY", raising=False)
    Endpoint.objects.update(key_variable="ACORN_KEY")
    given_at = TextConsent.objects.get().given_at
    with pytest.raises(RunError, match="ready can be started"):
        start_run(run=Run.objects.get(), by=rosa, confirms=True)
    assert TextConsent.objects.get().given_at == given_at


def test_a_pause_for_the_key_names_its_variable_to_admins_only(run, sign_in, rosa, ada, monkeypatch):
    monkeypatch.setenv("ACORN_KEY", "not-a-real-key")
    Endpoint.objects.update(key_variable="ACORN_KEY")
    with pytest.raises(ProviderError) as missing:
        key_of("NO_SUCH_KEY_ANYWHERE")
    Run.objects.update(pause=Pause.KEY, pause_detail=missing.value.message)
    page = reverse("llm:run", args=[run.study.slug, run.pk])
    text = sign_in(rosa).get(page).text
    assert "key is not set where the workers run" in text
    assert "ACORN_KEY" not in text
    assert "environment variable ACORN_KEY." in sign_in(ada).get(page).text
    assert "environment variable ACORN_KEY." in why_it_stopped(Run.objects.get())


def test_an_endpoint_that_a_run_is_put_to_keeps_its_address(run, rosa, ada):
    """A rater may be asked at another endpoint that is just the same: what is confirmed there stays true, too."""
    twin = make_endpoint("twin", url="https://api.example.org/v1")
    Run.objects.update(endpoint=twin)
    with pytest.raises(EndpointError, match="so this stays"):
        update_endpoint(endpoint=twin, by=ada, base_url="https://b.evil.example/v1")
    assert update_endpoint(endpoint=twin, by=ada, price_input=2, price_output=8).base_url == twin.base_url


def test_consent_is_for_the_address_that_was_looked_at(grief, rosa):
    far = make_endpoint("far", url="https://a.example.org/v1")
    Endpoint.objects.update(base_url="https://b.evil.example/v1")
    with pytest.raises(ConsentError, match="far has another address by now: look at it, and confirm anew"):
        give_consent(study=grief, endpoint=far, by=rosa)
    assert not TextConsent.objects.exists()


def test_it_is_asked_only_where_it_is_needed(grief, sign_in, rosa):
    client = sign_in(rosa)
    near = make_run(grief, state=RunState.PAUSED)
    assert ASKED not in client.get(reverse("llm:run", args=["grief", near.pk])).content.decode()
