"""Pages of endpoints: who may read and who may change them, and what they show."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.common.models import AuditEntry, Job, JobState
from apps.llm.models import Endpoint, EndpointTest
from apps.studies.models import MemberRole, Membership
from tests.llm.tried import GOOD_REPLY, make_test, typed
from tests.llm.worlds import make_endpoint, make_run

LIST, NEW = "/endpoints/", "/endpoints/new/"
PAGE, EDIT = "/endpoints/local/", "/endpoints/local/edit/"
ACTS = ("/endpoints/local/test/", "/endpoints/local/retire/", "/endpoints/local/return/")


@pytest.fixture
def local(db) -> Endpoint:
    return make_endpoint("local")


def test_their_addresses(db):
    assert (reverse("endpoints:list"), reverse("endpoints:new")) == (LIST, NEW)
    assert reverse("endpoints:endpoint", args=["local"]) == PAGE
    assert reverse("endpoints:edit", args=["local"]) == EDIT
    assert tuple(reverse(f"endpoints:{act}", args=["local"]) for act in ("test", "retire", "return")) == ACTS


# --- Who ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [LIST, NEW, PAGE, EDIT])
def test_nobody_signs_in_first(client, local, address):
    response = client.get(address)
    assert (response.status_code, response.url) == (302, f"{reverse('accounts:sign-in')}?next={address}")


@pytest.mark.parametrize("address", ACTS)
def test_nobody_acts(client, local, address):
    assert client.post(address).url.startswith(reverse("accounts:sign-in"))
    assert not EndpointTest.objects.exists()


@pytest.mark.parametrize("address", [LIST, NEW, PAGE, EDIT])
def test_raters_do_not_read_them(sign_in, emil, grief, local, address):
    assert sign_in(emil).get(address).status_code == 403
    assert "Endpoints" not in sign_in(emil).get("/studies/").text


def test_researchers_read(sign_in, rosa, local):
    client = sign_in(rosa)
    assert f'href="{LIST}"' in client.get("/studies/").text
    listed, page = client.get(LIST), client.get(PAGE)
    assert (listed.status_code, page.status_code) == (200, 200)
    for text in (listed.text, page.text):
        assert NEW not in text
        assert EDIT not in text
        assert "Test connection" not in text
        assert "Retire" not in text


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("address", [NEW, EDIT])
def test_researchers_change_nothing(sign_in, rosa, local, address, method):
    response = getattr(sign_in(rosa), method)(address, typed(name="other"))
    assert response.status_code == 403
    assert list(Endpoint.objects.values_list("name", "model")) == [("local", "fake")]


@pytest.mark.parametrize("address", ACTS)
def test_researchers_do_not_act(sign_in, rosa, local, address):
    assert sign_in(rosa).post(address).status_code == 403
    assert not EndpointTest.objects.exists()
    assert Endpoint.objects.get().retired_at is None


@pytest.mark.parametrize("address", [LIST, NEW, PAGE, EDIT])
def test_admins_open_them(sign_in, ada, local, address):
    assert sign_in(ada).get(address).status_code == 200


@pytest.mark.parametrize("address", ACTS)
def test_acts_are_posted(sign_in, ada, local, address):
    assert sign_in(ada).get(address).status_code == 405


@pytest.mark.parametrize("address", [LIST, PAGE])
def test_pages_are_only_read(sign_in, ada, local, address):
    assert sign_in(ada).post(address).status_code == 405


@pytest.mark.parametrize("address", [PAGE, EDIT])
def test_one_that_is_not_there(sign_in, ada, address):
    assert sign_in(ada).get(address).status_code == 404


@pytest.mark.parametrize("address", ACTS)
def test_nothing_is_done_to_one_that_is_not_there(sign_in, ada, address):
    assert sign_in(ada).post(address).status_code == 404


# --- The list -----------------------------------------------------------------------------------------------------


def test_without_any_it_says_what_they_are_and_where_to_begin(sign_in, ada, rosa):
    admins, researchers = sign_in(ada).get(LIST).text, sign_in(rosa).get(LIST).text
    assert "No endpoints yet" in admins
    assert "?name=ollama&amp;base_url=http%3A%2F%2F127.0.0.1%3A11434%2Fv1" in admins
    assert "An admin of this site sets one up" in researchers
    assert "ollama" not in researchers


def test_it_says_where_texts_go_whether_the_key_is_set_and_how_the_newest_test_went(sign_in, rosa, ada, monkeypatch):
    monkeypatch.setenv("ACORN_KEY", "x")
    monkeypatch.delenv("BEECH_KEY", raising=False)
    make_test(make_endpoint("acorn", url="https://acorn.example.org", key_variable="ACORN_KEY"), ada, score="4")
    failing = make_endpoint("beech", url="", key_variable="BEECH_KEY")
    make_test(failing, ada, score="3")
    make_test(failing, ada, state=JobState.FAILED)
    make_endpoint("ash", retired_at=timezone.now())
    text = sign_in(rosa).get(LIST).text
    for words in ("acorn.example.org", "this machine", "own address", "not set", "answered", "no answer", "retired"):
        assert words in text
    assert "BEECH_KEY" not in text
    assert text.index("beech") < text.index("ash")  # what is retired comes last


def test_it_comes_in_pages_and_more_endpoints_cost_no_more_queries(sign_in, rosa, ada):
    client = sign_in(rosa)
    client.get(LIST)

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as caught:
            assert client.get(LIST).status_code == 200
        return len(caught)

    make_test(make_endpoint("first"), ada)
    few = queries()
    for number in range(30):
        make_test(make_endpoint(f"more-{number:02d}"), ada)
    assert queries() == few
    assert "Page 1 of 2" in client.get(LIST).text
    assert "more-29" in client.get(f"{LIST}?page=2").text


# --- One ----------------------------------------------------------------------------------------------------------


def test_its_page_says_what_it_is(sign_in, rosa, ada, monkeypatch):
    monkeypatch.delenv("ACORN_KEY", raising=False)
    make_endpoint(
        "local",
        url="https://acorn.example.org/v1",
        key_variable="ACORN_KEY",
        price_input=Decimal("0.075"),
        price_output=Decimal("12"),
        requests_per_minute=4321,
        context_tokens=98765,
    )
    text = sign_in(rosa).get(PAGE).text
    for words in ("https://acorn.example.org/v1", "0.075 USD of prompts, 12.00 USD of answers", "4,321", "98,765"):
        assert words in text
    assert "texts leave this machine" in text
    assert "The key of this endpoint is not set" in text
    assert "ACORN_KEY" not in text
    text = sign_in(ada).get(PAGE).text
    assert "ACORN_KEY is not set in the web process" in text


def test_unprotected_texts_and_missing_packages_are_said(sign_in, rosa, local, monkeypatch):
    client = sign_in(rosa)
    assert "can be read on its way" not in client.get(PAGE).text
    Endpoint.objects.update(base_url="http://llm.example.org/v1")
    assert "can be read on its way" in client.get(PAGE).text
    monkeypatch.setattr("apps.llm.views.endpoints.is_installed", lambda provider: False)
    assert "is not installed in the web process" in client.get(PAGE).text


def test_it_names_the_studies_somebody_works_with(sign_in, rosa, otto, ada, grief, strangers, local):
    make_run(grief, local)
    make_run(strangers, local)
    own, other = 'href="/studies/grief/"', 'href="/studies/strangers/"'
    pages = {person: sign_in(person).get(PAGE).text for person in (rosa, otto, ada)}
    assert {person: (own in page, other in page) for person, page in pages.items()} == {
        rosa: (True, False),
        otto: (False, True),
        ada: (True, True),
    }
    assert "Raters use this endpoint" in pages[rosa]
    # Whoever only rates in a study does not work with it.
    Membership.objects.create(study=strangers, user=rosa, role=MemberRole.RATER)
    assert other not in sign_in(rosa).get(PAGE).text


def test_more_tests_and_studies_cost_no_more_queries(sign_in, ada, grief, strangers, local):
    client = sign_in(ada)
    make_test(local, ada, reply=GOOD_REPLY, score="4")
    make_test(local, ada, reply=GOOD_REPLY, score="4")
    make_run(grief, local)
    client.get(PAGE)

    def queries() -> int:
        with CaptureQueriesContext(connection) as caught:
            assert client.get(PAGE).status_code == 200
        return len(caught)

    few = queries()
    for _number in range(15):
        make_test(local, ada, reply=GOOD_REPLY, score="4")
    make_run(strangers, local)
    assert queries() == few
    assert "Page 1 of 2" in client.get(PAGE).text
    second = client.get(f"{PAGE}?page=2").text
    assert "the whole reply" in second  # the newest stays on top of every page
    assert "17 tests in all" in second


# --- Making and changing ------------------------------------------------------------------------------------------


def test_an_admin_sets_one_up(sign_in, ada):
    response = sign_in(ada).post(NEW, typed(price_input="0.5", price_output="2"), follow=True)
    assert response.redirect_chain == [(PAGE, 302)]
    assert "Test it before" in response.text
    endpoint = Endpoint.objects.get()
    assert (endpoint.created_by, endpoint.price_output, endpoint.takes_seed) == (ada, 2, False)
    assert AuditEntry.objects.get().action == "endpoint.create"


def test_a_refused_form_says_why_and_stores_nothing(sign_in, ada, local):
    response = sign_in(ada).post(NEW, typed(name="local", base_url="ftp://example.org"))
    assert response.status_code == 422
    assert "Another endpoint is called local already" in response.text
    assert "begins with http://" in response.text
    assert Endpoint.objects.count() == 1


def test_an_admin_changes_one(sign_in, ada, local):
    response = sign_in(ada).post(EDIT, typed(name="renamed", timeout_seconds="77"), follow=True)
    assert response.redirect_chain == [("/endpoints/renamed/", 302)]
    assert Endpoint.objects.get().timeout_seconds == 77
    assert sign_in(ada).post("/endpoints/renamed/edit/", typed(name="x", model="")).status_code == 422


def test_of_one_in_use_only_prices_and_limits_change(sign_in, ada, grief, local):
    make_run(grief, local)
    client = sign_in(ada)
    text = client.get(EDIT).text
    assert "another of these would be another rater" in text
    assert "Runs have costs in this currency, so it stays." in text
    assert text.count("disabled") == 5
    sent = typed(model="another", base_url="http://127.0.0.1:8/v1", max_concurrent="3", key_variable="ACORN_KEY")
    assert client.post(EDIT, sent).status_code == 302
    local.refresh_from_db()
    assert (local.model, local.base_url, local.max_concurrent) == ("fake", "http://127.0.0.1:9/v1", 3)
    assert local.key_variable == "ACORN_KEY"


def test_it_is_retired_and_brought_back(sign_in, ada, local):
    client = sign_in(ada)
    text = client.post(ACTS[1], follow=True).text
    assert "retired: no new runs" in text
    assert "Bring this endpoint back" in text
    assert not Endpoint.objects.in_use().exists()
    assert "Retire this endpoint" in client.post(ACTS[2], follow=True).text
    assert Endpoint.objects.in_use().exists()


# --- Testing ------------------------------------------------------------------------------------------------------


def test_a_test_is_a_job_that_the_page_follows(sign_in, ada, local):
    client = sign_in(ada)
    assert "Nobody has tested this endpoint yet" in client.get(PAGE).text
    response = client.post(ACTS[0])
    assert (response.status_code, response.url) == (302, PAGE)
    [job] = Job.objects.all()
    assert (job.task, job.owner, job.back_url) == ("llm.test_endpoint", ada, PAGE)
    text = client.get(PAGE).text
    assert f'hx-get="{PAGE}" hx-trigger="every 1s"' in text
    assert '<meta http-equiv="refresh"' in text
    assert "Waiting for its turn" in text
    assert "Test again" not in text
    client.post(ACTS[0])
    assert EndpointTest.objects.count() == 1


def test_htmx_gets_the_moving_part_which_stops_when_over(sign_in, rosa, ada, local):
    client, headers = sign_in(rosa), {"HX-Request": "true"}
    test = make_test(local, ada, state=JobState.RUNNING)
    part = client.get(PAGE, headers=headers)
    assert "<h1>" not in part.text
    assert "hx-trigger" in part.text
    assert "HX-Request" in part.headers["Vary"]
    Job.objects.update(state=JobState.DONE)
    EndpointTest.objects.filter(pk=test.pk).update(reply=GOOD_REPLY, score="4", latency_ms=1234)
    part = client.get(PAGE, headers=headers).text
    assert "hx-trigger" not in part
    assert 'hx-swap-oob="innerHTML:#test-news"' in part
    assert "It says what is missed." in part


def test_with_no_worker_it_says_so(sign_in, ada, local):
    make_test(local, ada, state=JobState.QUEUED)
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    text = sign_in(ada).get(PAGE).text
    assert "Queued, no worker seen for 30 s" in text
    assert "/jobs/" in text


def test_it_shows_words_reading_evidence_time_and_cost(sign_in, rosa, ada):
    local = make_endpoint("local", price_input=Decimal("2"), price_output=Decimal("10"))
    make_test(local, ada, reply=GOOD_REPLY, score="4")
    text = sign_in(rosa).get(PAGE).text
    for words in ("1234 ms", "0.002000 USD", "turn 4", "not in the conversation", "the whole reply"):
        assert words in text
    assert "&quot;rationale&quot;" in text


def test_an_invalid_answer_says_why(sign_in, rosa, ada, local):
    make_test(local, ada, reply="I would say 4 out of 5.", problem="The reply holds no JSON object.")
    text = sign_in(rosa).get(PAGE).text
    assert "The reply holds no JSON object." in text
    assert "invalid answer" in text
    make_test(local, ada, reply="")
    assert "The answer was empty." in sign_in(rosa).get(PAGE).text


def test_a_failure_says_what_to_do(sign_in, rosa, ada, local):
    make_test(local, ada, state=JobState.FAILED, problem="Name the key.\n\nThe server said 401.")
    text = sign_in(rosa).get(PAGE).text
    assert "<p>Name the key.</p>" in text
    assert "<p>The server said 401.</p>" in text
    make_test(local, ada, state=JobState.CANCELLED)
    assert "Cancelled" in sign_in(rosa).get(PAGE).text


def test_what_a_model_says_is_no_markup(sign_in, rosa, ada):
    script = "<script>alert(1)</script>"
    local = make_endpoint("local", url="https://example.org/<script>", model=script)
    reply = '{"rationale": "<script>alert(1)</script>", "evidence": ["<script>alert(1)</script>"], "score": "4"}'
    make_test(local, ada, reply=reply, score="4")
    make_test(local, ada, state=JobState.FAILED, problem=script)
    make_test(local, ada, reply=reply, score="4")
    for address in (LIST, PAGE):
        text = sign_in(rosa).get(address).text
        assert script not in text
        assert "&lt;script&gt;" in text
