"""Whether a study's text may be sent to an endpoint."""

import pytest

from apps.common.models import AuditEntry
from apps.llm.models import TextConsent
from apps.llm.services.consent import ConsentError, give_consent, leave_problem, leave_problems, needs_consent
from apps.llm.services.endpoints import update_endpoint
from apps.studies.services.settings import change_settings
from tests.llm.worlds import make_endpoint

ELSEWHERE = "https://api.example.org/v1"


@pytest.mark.parametrize("url", ["http://127.0.0.1:8001/v1", "http://localhost/v1", "http://[::1]/v1"])
@pytest.mark.parametrize("local_only", [True, False])
def test_what_stays_on_this_machine_needs_no_leave(grief, url, local_only):
    grief.local_only = local_only
    endpoint = make_endpoint(url=url)
    assert leave_problem(study=grief, endpoint=endpoint) == ""
    assert not needs_consent(study=grief, endpoint=endpoint)


@pytest.mark.parametrize("url", [ELSEWHERE, "", "http://10.0.0.7/v1", "http://127.0.0.1.example.org/v1"])
def test_elsewhere_somebody_confirms_first(grief, rosa, url):
    endpoint = make_endpoint(url=url)
    assert needs_consent(study=grief, endpoint=endpoint)
    assert "has to confirm first" in leave_problem(study=grief, endpoint=endpoint)
    give_consent(study=grief, endpoint=endpoint, by=rosa)
    assert not needs_consent(study=grief, endpoint=endpoint)
    assert leave_problem(study=grief, endpoint=endpoint) == ""


def test_leave_is_for_one_study_and_one_endpoint(grief, strangers, rosa):
    first, second = make_endpoint("first", url=ELSEWHERE), make_endpoint("second", url=ELSEWHERE)
    give_consent(study=grief, endpoint=first, by=rosa)
    assert leave_problem(study=grief, endpoint=second)
    assert leave_problem(study=strangers, endpoint=first)


def test_a_study_for_this_machine_never_sends_its_text_elsewhere(grief, rosa):
    endpoint = make_endpoint(url=ELSEWHERE)
    give_consent(study=grief, endpoint=endpoint, by=rosa)
    grief.local_only = True
    grief.save()
    assert "stays on this machine" in leave_problem(study=grief, endpoint=endpoint)
    assert not needs_consent(study=grief, endpoint=endpoint)
    TextConsent.objects.all().delete()
    grief.local_only = False  # as somebody read it before
    with pytest.raises(ConsentError, match="stays on this machine"):
        give_consent(study=grief, endpoint=endpoint, by=rosa)
    assert not TextConsent.objects.exists()


def test_leave_is_remembered_once(grief, rosa, otto):
    endpoint = make_endpoint(url=ELSEWHERE)
    first = give_consent(study=grief, endpoint=endpoint, by=rosa)
    assert give_consent(study=grief, endpoint=endpoint, by=otto) == first
    assert first.given_by == rosa
    [entry] = AuditEntry.objects.filter(action="study.text_consent")
    assert (entry.actor, entry.subject, entry.details["base_url"]) == (rosa, "grief", ELSEWHERE)


def test_leave_ends_with_the_address_it_was_given_for(grief, rosa, ada):
    endpoint = make_endpoint(url=ELSEWHERE)
    give_consent(study=grief, endpoint=endpoint, by=rosa)
    update_endpoint(endpoint=endpoint, by=ada, timeout_seconds=30)
    assert TextConsent.objects.exists()
    endpoint = update_endpoint(endpoint=endpoint, by=ada, base_url="https://other.example.org/v1")
    assert needs_consent(study=grief, endpoint=endpoint)
    assert AuditEntry.objects.filter(action="endpoint.change").first().details["text_consents_ended"] == 1


def test_leave_ends_when_the_study_is_to_stay_on_this_machine(grief, rosa, otto):
    endpoint = make_endpoint(url=ELSEWHERE)
    change_settings(study=grief, by=rosa, local_only=True)
    study = change_settings(study=grief, by=rosa, local_only=False)
    give_consent(study=study, endpoint=endpoint, by=rosa)
    change_settings(study=study, by=rosa, title="Letters about grief")
    assert leave_problem(study=study, endpoint=endpoint) == ""
    change_settings(study=study, by=rosa, local_only=True)
    study = change_settings(study=study, by=rosa, local_only=False)
    assert needs_consent(study=study, endpoint=endpoint)
    assert "has to confirm first" in leave_problem(study=study, endpoint=endpoint)
    consent = give_consent(study=study, endpoint=endpoint, by=otto)
    assert consent == TextConsent.objects.get()
    assert consent.given_by == otto
    assert leave_problem(study=study, endpoint=endpoint) == ""
    assert AuditEntry.objects.filter(action="study.text_consent").count() == 2


def test_another_study_that_is_to_stay_changes_nothing(grief, strangers, rosa):
    endpoint = make_endpoint(url=ELSEWHERE)
    give_consent(study=grief, endpoint=endpoint, by=rosa)
    change_settings(study=strangers, by=rosa, local_only=True)
    assert leave_problem(study=grief, endpoint=endpoint) == ""


def test_many_studies_are_asked_about_at_once(grief, strangers, rosa, django_assert_num_queries):
    endpoint = make_endpoint(url=ELSEWHERE)
    give_consent(study=grief, endpoint=endpoint, by=rosa)
    with django_assert_num_queries(1):
        problems = leave_problems(studies=[grief, strangers], endpoint=endpoint)
    assert (problems[grief.pk], "has to confirm first" in problems[strangers.pk]) == ("", True)
