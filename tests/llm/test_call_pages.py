"""The calls of a run on pages: listed and filtered; one with its requests, its reply, and what it says."""

import json
from datetime import UTC, datetime

import pytest
from django.urls import reverse

from apps.llm.fault_words import FAULTS
from apps.llm.faults import Fault
from apps.llm.models import Call, CallAnswer, CallState, Exchange, ExchangeState, Pause, Run
from apps.llm.run_words import ERRORS, PAUSES
from apps.llm.sent_requests import indented, sent_messages
from apps.llm.services.call_export import call_lines
from apps.llm.services.call_reading import cut
from apps.llm.services.progress import KINDS
from apps.llm.templates import Use
from apps.studies.models import MemberRole, Rater, RaterKind, Study
from tests.conftest import make_user
from tests.llm.worlds import answer_all, make_run

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def run(grief) -> Run:
    found = make_run(grief)
    answer_all(found, 4.0, rationale="Warm throughout.")
    return found


def calls_page(run: Run) -> str:
    return reverse("llm:calls", args=[run.study.slug, run.pk])


def call_page(call: Call) -> str:
    return reverse("llm:call", args=[call.run.study.slug, call.run_id, call.pk])


def calls_file(run: Run) -> str:
    return reverse("llm:calls-file", args=[run.study.slug, run.pk])


@pytest.fixture
def addresses(run) -> list[str]:
    return [calls_page(run), call_page(run.calls.first()), calls_file(run)]


# --- Who ------------------------------------------------------------------------------------------------------------


def test_who_works_with_the_study_reads_them(run, addresses, sign_in, rosa, ada, grief):
    ruth = make_user("ruth@example.org", "researcher")
    grief.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    for person in (rosa, ada, ruth):
        for address in addresses:
            assert sign_in(person).get(address).status_code == 200


def test_without_login_one_is_asked_to_sign_in(addresses, client):
    for address in addresses:
        assert client.get(address).url == f"/accounts/sign-in/?next={address}"


def test_to_raters_and_strangers_they_are_not_there(addresses, sign_in, emil, otto):
    for person in (emil, otto):
        for address in addresses:
            assert sign_in(person).get(address).status_code == 404


def test_an_owner_who_rates_is_told_why_they_are_hidden(run, addresses, sign_in, rosa, grief):
    Rater.objects.create(study=grief, user=rosa, name="expert9", kind=RaterKind.EXPERT)
    for is_open in (False, True):
        Study.objects.update(discussion_open=is_open)
        for address in addresses:
            answer = sign_in(rosa).get(address)
            assert answer.status_code == 403
            assert "Warm throughout" not in answer.text
    assert "the models’ scores are sealed" in answer.text
    Study.objects.update(model_scores_sealed=False)
    assert sign_in(rosa).get(addresses[0]).status_code == 200


def test_a_run_is_found_by_way_of_its_study_and_a_call_by_way_of_its_run(run, strangers, sign_in, rosa, otto):
    foreign = make_run(strangers, run.endpoint, name="foreign")
    call = run.calls.first()
    assert sign_in(rosa).get(reverse("llm:calls", args=["grief", foreign.pk])).status_code == 404
    assert sign_in(rosa).get(reverse("llm:calls-file", args=["grief", foreign.pk])).status_code == 404
    assert sign_in(rosa).get(reverse("llm:call", args=["grief", run.pk, foreign.calls.first().pk])).status_code == 404
    assert sign_in(otto).get(reverse("llm:call", args=["strangers", foreign.pk, call.pk])).status_code == 404


def test_they_are_only_read(addresses, sign_in, rosa):
    for method in ("post", "put", "patch", "delete"):
        for address in addresses:
            assert getattr(sign_in(rosa), method)(address).status_code == 405


# --- The list ---------------------------------------------------------------------------------------------------------


def listed(client, run, **chosen) -> list[int]:
    page = client.get(calls_page(run), chosen)
    assert page.status_code == 200
    return [row.call.position for row in page.context["rows"]]


def test_calls_are_filtered_by_state_scale_fault_and_conversation(run, sign_in, rosa):
    client = sign_in(rosa)
    second = run.calls.get(position=1)
    Call.objects.filter(pk=second.pk).update(state=CallState.INVALID)
    CallAnswer.objects.filter(call=second).update(value=None, fault=Fault.NOT_ALLOWED, reason="None of them.")
    assert listed(client, run) == [0, 1, 2, 3, 4, 5]
    assert listed(client, run, state="invalid") == [1]
    assert listed(client, run, fault="not_allowed") == [1]
    assert listed(client, run, fault="cut_off") == []
    assert listed(client, run, scale=second.dimension_id) == [1, 3, 5]
    assert listed(client, run, q="RS-002") == [2, 3]
    assert listed(client, run, q="-002", scale=second.dimension_id) == [3]
    assert "No such calls" in client.get(calls_page(run), {"q": "nowhere"}).text


def test_a_choice_that_is_not_there_is_named_and_narrows_nothing(run, sign_in, rosa):
    page = sign_in(rosa).get(calls_page(run), {"state": "asleep", "scale": "x", "page": "minus"})
    assert page.status_code == 200
    assert len(page.context["rows"]) == 6
    assert "asleep is not one of the available choices" in page.text


def test_the_list_comes_in_pages_and_as_a_fragment(run, sign_in, rosa, monkeypatch):
    monkeypatch.setattr("apps.llm.views.calls.CALLS_ON_A_PAGE", 4)
    client = sign_in(rosa)
    assert listed(client, run, page=2) == [4, 5]
    part = client.get(calls_page(run), headers={"HX-Request": "true"}).text.strip()
    assert part.startswith('<div id="call-list"')
    assert "<html" not in part


def test_whole_frameworks_say_how_many_scales_are_valid(grief, sign_in, rosa):
    run = make_run(grief, use=Use.FRAMEWORK)
    answer_all(run)
    scale = run.calls.first().framework.dimensions.first()
    CallAnswer.objects.filter(dimension=scale, call__position=0).update(value=None, fault=Fault.MISSING)
    client = sign_in(rosa)
    text = client.get(calls_page(run)).text
    assert "1 of 2 scales valid" in text
    assert "2 of 2 scales valid" in text
    assert listed(client, run, scale=scale.pk) == [0, 1, 2]


def test_the_queries_of_the_list_do_not_grow(run, sign_in, rosa, django_assert_max_num_queries, grief):
    client = sign_in(rosa)

    def count() -> int:
        with django_assert_max_num_queries(60) as captured:
            client.get(calls_page(run))
        return len(captured)

    count()  # the first page of all asks more
    everything = count()
    run.calls.filter(position__gt=0).update(run=make_run(grief, run.endpoint, name="other", items=[]))
    assert count() == everything


# --- All of them as a file --------------------------------------------------------------------------------------------


def lines_of(answer) -> list[dict]:
    return [json.loads(line) for line in answer.getvalue().decode().splitlines()]


def test_every_call_is_a_line_with_its_requests_and_its_answers(call, run, sign_in, rosa):
    answer = sign_in(rosa).get(calls_file(run))
    assert answer.headers["Content-Type"] == "application/x-ndjson; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="grief-run-{run.pk}-calls.jsonl"'
    lines = lines_of(answer)
    assert [line["call"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert {(line["run"], line["rater"], line["model"]) for line in lines} == {(run.pk, "model1", "fake")}
    third = lines[2]
    assert (third["key"], third["item"], third["dimension"]) == (call.key, "letters-002", "scale_1")
    assert (third["state"], third["sample"], third["framework_version"]) == ("done", 1, 1)
    [said] = third["answers"]
    assert (said["value"], said["rationale"], said["fault"]) == (4.0, "Warm throughout.", "")
    assert said["evidence"][0]["text"] == "must be hard"
    lost, invalid, repaired = third["exchanges"]
    assert (lost["state"], lost["reply"], lost["cost"]) == ("lost", "", None)
    assert invalid["reply"] == "I would say <script>4</script>"
    assert json.loads(invalid["request"])["messages"][1]["content"] == "Rate <b>this</b> one."
    assert (repaired["is_repair"], repaired["raw"], repaired["cost"]) == (True, '{"id":"fake-77"}', "0.00421000")
    assert (repaired["input_tokens"], repaired["output_tokens"], repaired["latency_ms"]) == (818, 77, 2345)
    assert repaired["sent_at"] == NOW.isoformat()


def test_what_was_never_sent_is_a_line_too_and_a_framework_has_all_its_scales(grief, sign_in, rosa):
    run = make_run(grief, use=Use.FRAMEWORK)
    first = lines_of(sign_in(rosa).get(calls_file(run)))[0]
    assert (first["state"], first["dimension"], first["answers"], first["exchanges"]) == ("pending", None, [], [])
    answer_all(run, 2.0)
    first = lines_of(sign_in(rosa).get(calls_file(run)))[0]
    assert [answer["dimension"] for answer in first["answers"]] == ["scale_1", "scale_2"]


def test_the_file_holds_few_calls_at_a_time_and_a_head_reads_none(
    run, sign_in, rosa, monkeypatch, django_assert_num_queries
):
    monkeypatch.setattr("apps.llm.services.call_export.CALLS_AT_ONCE", 4)
    lines = call_lines(Run.objects.select_related("model_rater__rater", "endpoint").get(pk=run.pk))
    with django_assert_num_queries(3):
        next(lines)
    with django_assert_num_queries(4):  # three for the other two calls, and one that finds no more
        assert len(list(lines)) == 5
    head = sign_in(rosa).head(calls_file(run))
    assert (head.status_code, head.getvalue()) == (200, b"")
    assert calls_file(run) in sign_in(rosa).get(calls_page(run)).text


# --- One call ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def call(run) -> Call:
    """Asked three times: lost, then invalid, then repaired; with a quote that is there, twice there, and nowhere."""
    found = run.calls.get(position=2)
    found.exchanges.all().delete()
    request = {
        "model": "fake",
        "messages": [{"role": "system", "content": "You rate."}, {"role": "user", "content": "Rate <b>this</b> one."}],
    }
    common = {"call": found, "endpoint": run.endpoint, "sent_at": NOW, "request": json.dumps(request)}
    Exchange.objects.create(**common, state=ExchangeState.LOST)
    Exchange.objects.create(**common, state=ExchangeState.ANSWERED, reply="I would say <script>4</script>", raw="{}")
    Exchange.objects.create(
        **common,
        state=ExchangeState.ANSWERED,
        is_repair=True,
        reply='{"score": "4"}',
        raw='{"id":"fake-77"}',
        finish_reason="stop",
        latency_ms=2345,
        input_tokens=818,
        output_tokens=77,
        cost="0.00421",
        http_status=200,
    )
    quotes = [
        {"text": "must be hard", "turn": 1, "start": 5, "end": 17, "match": "exact"},
        {"text": "WHAT", "turn": 1, "start": 19, "end": 23, "match": "caseless", "ambiguous": True},
        {"text": "never <i>said</i>", "turn": None, "start": None, "end": None, "match": "", "absent": True},
    ]
    CallAnswer.objects.filter(call=found).update(evidence=quotes, notes=["“mood” was not asked for."])
    return found


def test_a_call_shows_its_requests_its_reply_and_what_it_says(call, sign_in, rosa):
    text = sign_in(rosa).get(call_page(call)).text
    for words in ("letters-002", "Scale 1", "Warm throughout.", "“mood” was not asked for.", "2345", "818", "0.004210"):
        assert words in text
    for words in ("Lost on its way", "may have been billed", "repair", "fake-77", "You rate.", "stop"):
        assert words in text
    assert '<strong class="number">4</strong>' in text


def test_quotes_are_marked_where_they_stand_and_say_where_they_do_not(call, sign_in, rosa):
    text = sign_in(rosa).get(call_page(call)).text
    assert 'That <mark class="quoted">must be hard</mark>. <mark class="quoted">What</mark> was in it?' in text
    assert '<a href="#turn-1">message 2</a>, and elsewhere: it stands there more than once, not to the letter' in text
    assert "stands nowhere in the conversation" in text


def test_whatever_the_model_wrote_is_text(call, sign_in, rosa):
    text = sign_in(rosa).get(call_page(call)).text
    assert "&lt;script&gt;4&lt;/script&gt;" in text
    assert "never &lt;i&gt;said&lt;/i&gt;" in text
    assert "Rate &lt;b&gt;this&lt;/b&gt; one." in text


def test_a_call_leads_to_its_neighbours(call, run, sign_in, rosa):
    client = sign_in(rosa)
    page = client.get(call_page(call)).context["shown"]
    assert (page.previous, page.next) == tuple(run.calls.filter(position__in=(1, 3)).values_list("pk", flat=True))
    first, last = client.get(call_page(run.calls.first())), client.get(call_page(run.calls.last()))
    assert first.context["shown"].previous is None
    assert last.context["shown"].next is None


def test_neighbours_are_those_of_the_list_that_one_came_from(call, run, sign_in, rosa):
    client = sign_in(rosa)
    first, *_others, last = run.calls.all()
    Call.objects.filter(pk__in=[first.pk, call.pk, last.pk]).update(state=CallState.FAILED)
    listed = client.get(calls_page(run), {"state": "failed"}).text
    assert f"{call_page(call)}?state=failed" in listed
    answer = client.get(call_page(call), {"state": "failed"})
    assert (answer.context["shown"].previous, answer.context["shown"].next) == (first.pk, last.pk)
    assert f"{call_page(last)}?state=failed" in answer.text
    assert f"{calls_page(run)}?state=failed" in answer.text


def test_a_call_that_was_never_sent(grief, sign_in, rosa):
    text = sign_in(rosa).get(call_page(make_run(grief).calls.first())).text
    assert "Nothing was sent for this call yet." in text
    assert "Nothing was read from a reply so far." in text


def test_the_queries_of_a_call_do_not_grow(call, run, sign_in, rosa, django_assert_max_num_queries):
    client = sign_in(rosa)

    def count(one: Call) -> int:
        with django_assert_max_num_queries(60) as captured:
            client.get(call_page(one))
        return len(captured)

    count(call)  # the first page of all asks more
    assert count(call) == count(run.calls.get(position=3))


# --- Pieces -----------------------------------------------------------------------------------------------------------


def test_a_text_is_cut_at_the_edges_of_its_quotes():
    assert cut("abcdef", []) == [("abcdef", False)]
    assert cut("abcdef", [(1, 3), (2, 4)]) == [("a", False), ("bcd", True), ("ef", False)]
    assert cut("abc", [(0, 99)]) == [("abc", True)]
    assert cut("", []) == []


def test_messages_are_found_in_the_request_of_every_provider():
    openai = {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]}
    anthropic = {"system": "S", "messages": [{"role": "user", "content": [{"type": "text", "text": "U"}]}]}
    google = {
        "systemInstruction": {"parts": [{"text": "S"}]},
        "contents": [{"role": "user", "parts": [{"text": "U"}]}],
    }
    for body in (openai, anthropic, google):
        assert sent_messages(json.dumps(body)) == [("system", "S"), ("user", "U")]


@pytest.mark.parametrize("text", ["", "no json", "[]", "3", '{"messages": 3}', '{"messages": [3]}', "[" * 100_000])
def test_a_request_of_another_form_has_no_messages_and_stays_as_it_is(text):
    assert sent_messages(text) == []
    assert indented(text).replace("\n", "").replace(" ", "") == text.replace(" ", "")


def test_half_a_surrogate_pair_can_be_shown():
    indented('{"a": "\\ud800"}').encode()
    [message] = sent_messages('{"messages": [{"role": "user", "content": "x\\ud800"}]}')
    message.text.encode()


def test_everything_has_its_words():
    assert set(FAULTS) == set(Fault)
    assert set(PAUSES) == set(Pause.values)
    assert set(ERRORS) == {*KINDS.values(), "server", "refused", "no_answer", "lost"}
