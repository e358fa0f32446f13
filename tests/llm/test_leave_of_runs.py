"""A run whose study has to give its leave anew: it is asked for on the run's page, by those who manage the study."""

import pytest
from django.urls import reverse

from apps.common.models import AuditEntry
from apps.llm.models import Pause, Run, RunState, TextConsent
from apps.llm.services.consent import give_consent, leave_problem
from apps.llm.services.controls import RunError, resume_run, start_run
from apps.studies.services.settings import change_settings
from tests.llm.worlds import make_endpoint, make_run

ASKED = "would be sent to"


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


def test_it_is_asked_only_where_it_is_needed(grief, sign_in, rosa):
    client = sign_in(rosa)
    near = make_run(grief, state=RunState.PAUSED)
    assert ASKED not in client.get(reverse("llm:run", args=["grief", near.pk])).content.decode()
