"""Very long replies: pages show their beginning, and give the whole as plain text to who may see it."""

import json

import pytest
from django.urls import reverse

from apps.common.models import Job, JobState
from apps.llm.long_texts import MOST_SHOWN, beginning_of
from apps.llm.models import CallAnswer, Exchange
from apps.studies.models import MemberRole, Membership, Rater
from tests.llm.worlds import answer_all, make_endpoint, make_run

pytestmark = pytest.mark.django_db

LONG = "<b>" + "x" * 999_992 + "é end"
SHORT_PAGE = 300_000  # bytes


@pytest.fixture
def call(grief):
    run = make_run(grief, make_endpoint())
    answer_all(run)
    return run.calls.first()


@pytest.fixture
def long_call(call):
    Exchange.objects.filter(call=call).update(
        reply=LONG,
        raw=f'{{"content": "{LONG}"}}',
        request=json.dumps(
            {"messages": [{"role": "user", "content": "Rate."}, {"role": "assistant", "content": LONG}]}
        ),
    )
    CallAnswer.objects.filter(call=call).update(rationale=LONG, evidence=[{"text": LONG}])
    return call


def address(call, name="call"):
    return reverse(f"llm:{name}", args=["grief", call.run_id, call.pk])


def test_the_beginning_of_a_text():
    assert not beginning_of("x" * MOST_SHOWN).is_cut
    assert beginning_of("x" * MOST_SHOWN + "y") == ("x" * MOST_SHOWN, MOST_SHOWN + 1)
    assert beginning_of("") == ("", 0)


def test_the_page_of_a_call_shows_the_beginning_and_how_long_it_is(long_call, rosa, sign_in):
    response = sign_in(rosa).get(address(long_call))
    assert response.text.count("The first 20,000 of 1,000,000 characters.") == 3  # rationale, message and reply
    assert address(long_call, "call-texts") in response.text
    assert len(response.content) < SHORT_PAGE
    assert "é end" not in response.text


def test_a_short_reply_is_shown_whole_and_nothing_is_said(call, rosa, sign_in):
    text = sign_in(rosa).get(address(call)).text
    assert "The first 20,000" not in text
    assert address(call, "call-texts") not in text


def test_everything_of_a_call_is_a_plain_text(long_call, rosa, sign_in):
    response = sign_in(rosa).get(address(long_call, "call-texts"))
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == f'attachment; filename="grief-run-{long_call.run_id}-call-1.txt"'
    assert response["X-Content-Type-Options"] == "nosniff"
    text = response.getvalue().decode()
    assert f"=== Reply to request 1 ===\n{LONG}\n" in text
    assert text.count("é end") == 3


def test_it_is_for_those_who_may_see_ratings(long_call, rosa, emil, otto, strangers, sign_in):
    there = address(long_call, "call-texts")
    assert sign_in(None).get(there).status_code == 302
    assert sign_in(emil).get(there).status_code == 404
    assert sign_in(otto).get(there).status_code == 404
    Membership.objects.create(study=strangers, user=rosa, role=MemberRole.OWNER)
    assert sign_in(rosa).get(there.replace("/grief/", "/strangers/")).status_code == 404
    assert sign_in(rosa).get(there.replace(f"/calls/{long_call.pk}/", "/calls/987654321/")).status_code == 404
    for method in ("post", "put", "delete"):
        assert getattr(sign_in(rosa), method)(there).status_code == 405
    head = sign_in(rosa).head(there)
    assert (head.status_code, head.getvalue()) == (200, b"")
    Rater.objects.create(study=long_call.run.study, name="owner1", kind="expert", user=rosa)
    hidden = sign_in(rosa).get(there)
    assert hidden.status_code == 403
    assert "é end" not in hidden.text


def test_the_reply_of_an_endpoints_test(rosa, emil, ada, sign_in):
    endpoint = make_endpoint("near")
    there = reverse("endpoints:reply", args=["near"])
    assert sign_in(rosa).get(there).status_code == 404
    job = Job.objects.create(kind="endpoint.test", task="llm.test_endpoint", owner=ada, state=JobState.DONE)
    endpoint.tests.create(job=job, reply=LONG, latency_ms=400, problem="It is no JSON.")
    page = sign_in(rosa).get(reverse("endpoints:endpoint", args=["near"]))
    assert "The first 20,000 of 1,000,000 characters." in page.text
    assert there in page.text
    assert len(page.content) < SHORT_PAGE
    whole = sign_in(rosa).get(there)
    assert whole["Content-Type"] == "text/plain; charset=utf-8"
    assert whole["Content-Disposition"] == 'attachment; filename="near-reply.txt"'
    assert whole.text == LONG
    assert sign_in(None).get(there).status_code == 302
    assert sign_in(emil).get(there).status_code == 403
    assert sign_in(rosa).post(there).status_code == 405
    assert sign_in(rosa).get(reverse("endpoints:reply", args=["nowhere"])).status_code == 404
