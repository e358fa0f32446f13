"""An endpoint is tried by a worker: what is sent, what is kept of the answer, and what is said of a failure."""

import json
import re

import pytest

from apps.common.models import Job, JobState
from apps.common.services.jobs import request_cancel, run_job
from apps.frameworks.models import Framework
from apps.llm import tasks
from apps.llm.fake_server import FakeReply, FakeScript, FakeServer
from apps.llm.models import Endpoint, EndpointTest, Exchange
from apps.llm.providers.protocol import ErrorKind, ProviderError
from apps.llm.services import trying
from apps.llm.services.made_up import TURNS, allowed_answers, prompt_for, scale
from apps.llm.services.trying import advice_for, read_test, request_test, run_test
from tests.llm.tried import GOOD_REPLY
from tests.llm.worlds import make_endpoint

KEY = "not-a-real-key-8d04aa"


@pytest.fixture
def try_it(ada):
    """`try_it(endpoint)` is the test after its job has run in this process."""

    def tried(endpoint: Endpoint) -> EndpointTest:
        test = request_test(endpoint=endpoint, by=ada)
        run_job(pk=test.job_id, work=run_test)
        return EndpointTest.objects.select_related("job", "endpoint").get(pk=test.pk)

    return tried


def test_the_made_up_conversation_is_asked_about_one_scale_of_the_catalog(db):
    prompt = prompt_for(Endpoint())
    assert all(turn.text in prompt.messages[-1].content for turn in TURNS)
    assert scale().question in prompt.messages[-1].content
    assert allowed_answers().words == ("1", "2", "3", "4", "5", "cannot_tell")
    assert not Framework.objects.exists()


def test_a_good_answer_is_kept_with_what_it_took(try_it):
    with FakeServer(FakeScript(replies=[GOOD_REPLY])) as server:
        test = try_it(make_endpoint(url=server.url, price_input=2, price_output=10))
        [body] = server.bodies
    assert (test.job.state, test.job.message) == (JobState.DONE, "The model answered as it was asked to.")
    assert (test.reply, test.score, test.problem) == (GOOD_REPLY, "4", "")
    assert test.latency_ms is not None
    assert None not in (test.input_tokens, test.output_tokens)
    assert test.job.result_url == test.job.back_url == f"/endpoints/{test.endpoint.name}/"
    read = read_test(test)
    assert read.answer.score == 4
    assert [(quote.is_absent, quote.place.turn if quote.place else None) for quote in read.quotes] == [
        (False, 3),
        (True, None),
    ]
    assert read.cost == test.endpoint.cost_of(test.input_tokens, test.output_tokens)
    assert (body["model"], body["temperature"], body["max_tokens"], "seed" in body) == ("fake", 0, 1000, False)
    assert TURNS[0].text in json.dumps(body)
    assert not Exchange.objects.exists()


@pytest.mark.parametrize(
    ("reply", "score", "problem"),
    [
        ("I would say 4 out of 5.", "", "no JSON object"),
        ('{"score": "9"}', "", "none of the allowed answers"),
        ('```json\n{"score": "2"}\n```', "2", ""),
        ('{"score": "cannot_tell"}', "cannot_tell", ""),
        ("", "", "empty"),
    ],
)
def test_an_answer_is_read_as_strictly_as_in_a_run(try_it, reply, score, problem):
    with FakeServer(FakeScript(replies=[reply])) as server:
        test = try_it(make_endpoint(url=server.url))
    assert test.job.state == JobState.DONE
    assert (test.reply, test.score) == (reply, score)
    assert problem in test.problem
    assert bool(test.problem) == bool(problem) == ("invalid" in test.job.message)
    assert read_test(test).answer.is_valid == (not problem)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (FakeReply(status=401, text="Incorrect API key provided."), "names no variable"),
        (FakeReply(status=404, text="There is no such model."), "The address or the model is not there"),
        (FakeReply(status=429, text="Slow down."), "asks to wait"),
        (FakeReply(status=400, text="Unknown field: seed"), "refused the request"),
        (FakeReply(status=503, text="Overloaded."), "an error of its own"),
        (FakeReply(drop=True), "Nothing answered"),
    ],
)
def test_a_failure_says_of_which_kind_it_is_and_what_to_do(try_it, reply, words):
    with FakeServer(FakeScript(replies=[reply])) as server:
        test = try_it(make_endpoint(url=server.url))
    assert test.job.state == JobState.FAILED
    assert words in test.job.message
    assert test.problem.startswith(test.job.message)
    assert (test.reply, test.score) == ("", "")
    read = read_test(test)
    assert (read.answer, read.quotes, read.cost) == (None, [], None)


def test_nobody_at_the_address(try_it):
    test = try_it(make_endpoint())
    assert "Nothing answered at this address" in test.problem
    assert "could not be reached" in test.problem


def test_a_key_that_the_worker_does_not_have(try_it, monkeypatch):
    monkeypatch.delenv("ACORN_KEY", raising=False)
    test = try_it(make_endpoint(key_variable="ACORN_KEY"))
    assert "The worker has no usable key" in test.job.message
    assert "key is not set where the workers run" in test.problem
    assert "ACORN_KEY" not in f"{test.problem} {test.job.message} {test.job.problems}"


def test_a_key_that_the_server_refuses_and_repeats_is_kept_nowhere(try_it, monkeypatch):
    monkeypatch.setenv("ACORN_KEY", KEY)
    replies = [FakeReply(status=401, text=f"Wrong key: {KEY}"), f'{{"rationale": "{KEY}", "score": "3"}}']
    with FakeServer(FakeScript(replies=replies)) as server:
        endpoint = make_endpoint(url=server.url, key_variable="ACORN_KEY")
        refused, echoed = try_it(endpoint), try_it(endpoint)
    assert "Compare what the worker's environment holds" in refused.job.message
    assert echoed.score == "3"
    rows = [*EndpointTest.objects.values(), *Job.objects.values()]
    assert KEY not in str(rows)
    assert "ACORN_KEY" not in str(rows)


def test_a_package_that_is_missing(try_it, monkeypatch):
    def missing(target: object) -> object:
        raise ProviderError(ErrorKind.SETUP, "Models of Anthropic need the package anthropic.")

    monkeypatch.setattr(trying, "provider_for", missing)
    test = try_it(make_endpoint(provider="anthropic", url=""))
    assert "A package may be missing" in test.job.message
    assert "need the package anthropic" in test.problem


def test_a_prompt_that_does_not_fit_is_not_sent(try_it):
    test = try_it(make_endpoint(context_tokens=500, reply_tokens=400))
    assert test.job.state == JobState.FAILED
    assert "context holds 500" in test.problem
    assert test.latency_ms is None


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_of_failure_has_its_advice(kind):
    for status in (None, 500):
        advice = advice_for(Endpoint(key_variable="K"), ProviderError(kind, "what the server said", http_status=status))
        assert re.match(r"[A-Z].*\.$", advice)
        assert "what the server said" not in advice


def test_two_clicks_are_one_test(ada, rosa):
    endpoint = make_endpoint()
    first = request_test(endpoint=endpoint, by=ada)
    assert request_test(endpoint=endpoint, by=ada) == first
    assert (first.job.owner, first.job.state, first.job.task) == (ada, JobState.QUEUED, "llm.test_endpoint")
    assert request_test(endpoint=make_endpoint("other"), by=ada) != first
    request_cancel(job=first.job, by=ada)
    assert request_test(endpoint=endpoint, by=ada) != first


def test_the_task_does_it_once(ada):
    with FakeServer(FakeScript(replies=[GOOD_REPLY, "never asked for"])) as server:
        test = request_test(endpoint=make_endpoint(url=server.url), by=ada)
        tasks.test_endpoint_task(test.job_id)
        tasks.test_endpoint_task(test.job_id)
        assert server.stats()["requests"] == 1
    test.refresh_from_db()
    assert test.score == "4"


def test_what_is_cancelled_while_the_model_thinks_is_not_kept(ada, monkeypatch):
    test = request_test(endpoint=make_endpoint(), by=ada)
    real = trying.parse_scale_reply

    def cancelled_meanwhile(*given):
        Job.objects.filter(pk=test.job_id).update(cancel_asked_at=test.created_at)
        return real(*given)

    monkeypatch.setattr(trying, "parse_scale_reply", cancelled_meanwhile)
    with FakeServer(FakeScript(replies=[GOOD_REPLY])) as server:
        Endpoint.objects.update(base_url=server.url)
        run_job(pk=test.job_id, work=run_test)
    test.refresh_from_db()
    test.job.refresh_from_db()
    assert (test.job.state, test.reply) == (JobState.CANCELLED, "")
