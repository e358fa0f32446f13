"""The fake model: what it answers, how it fails, and what it counts. OpenAI's provider asks it in earnest."""

import http.client
import json
import threading
import time
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from apps.llm.answers import AllowedAnswers
from apps.llm.default_templates import DEFAULT_TEMPLATES
from apps.llm.fake_answers import MALFORMATIONS, Answering, Question, lot, written
from apps.llm.fake_model import FAULTS, FakeModel, FakeScript, ScriptError, parse_faults
from apps.llm.fake_server import FakeReply, FakeServer
from apps.llm.faults import Fault
from apps.llm.json_reading import Reading
from apps.llm.prompts import (
    Example,
    Prompt,
    PromptOptions,
    PromptTurn,
    render_framework_prompt,
    render_scale_prompt,
)
from apps.llm.providers.openai_provider import OpenAIProvider
from apps.llm.providers.protocol import Completion, ErrorKind, Parameters, ProviderError, Target
from apps.llm.replies import parse_framework_reply, parse_scale_reply
from apps.llm.templates import PromptTemplate, Use
from tests.llm.made import FRAMEWORK, TURNS

PARAMETERS = Parameters(max_tokens=400)
FORMS = ("json_schema", "json_object_schema", "json_object", "none")


def scale_prompt(turns=TURNS, *, slug: str = "calm", template=None, **options: Any) -> Prompt:
    template = template or DEFAULT_TEMPLATES[Use.SCALE]
    return render_scale_prompt(template, FRAMEWORK, slug, turns, PromptOptions(**options))


def framework_prompt(**options: Any) -> Prompt:
    return render_framework_prompt(DEFAULT_TEMPLATES[Use.FRAMEWORK], FRAMEWORK, TURNS, PromptOptions(**options))


def provider_of(server: FakeServer, *, form: str = "json_schema", key: str = "", timeout: float = 30):
    return OpenAIProvider(Target("openai", server.url, "fake", response_format=form, timeout_seconds=timeout), key)


def ask(server: FakeServer, prompt: Prompt, **how: Any) -> Completion:
    with closing(provider_of(server, **how)) as provider:
        return provider.complete(prompt.messages, prompt.schema, PARAMETERS)


def failure(server: FakeServer, prompt: Prompt, **how: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(server, prompt, **how)
    return caught.value


def raw_request(server: FakeServer, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(server.url.split("/")[2])
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.fixture
def serve():
    started = []

    def serving(**script: Any) -> FakeServer:
        started.append(FakeServer(FakeScript(**script)).start())
        return started[-1]

    yield serving
    for server in started:
        server.stop()


# --- Answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_it_answers_for_one_scale(serve, form):
    prompt = scale_prompt(cannot_tell=True)
    completion = ask(serve(), prompt, form=form)
    reply = parse_scale_reply(completion.text, prompt.scales[0])
    (answer,) = reply.answers
    assert (answer.is_valid, reply.reading, reply.extra) == (True, Reading.SCHEMA, ())
    assert answer.rationale
    assert answer.evidence == ("What did you lose? 😀",)  # the supporter's words, not the seeker's
    assert completion.finish_reason == "stop"
    assert completion.input_tokens > 100
    assert completion.output_tokens > 10


@pytest.mark.parametrize("form", FORMS)
def test_it_answers_for_a_whole_framework(serve, form):
    prompt = framework_prompt(cannot_tell=True)
    reply = parse_framework_reply(ask(serve(), prompt, form=form).text, prompt.scales)
    assert [answer.slug for answer in reply.answers if answer.is_valid] == ["calm", "kind"]
    assert reply.extra == ()


def answered(prompt: Prompt, *, seed: int = 0, noise: float = 0, draw: str = "") -> str:
    question = Question.of([message._asdict() for message in prompt.messages])
    return Answering(question, seed, noise, draw).value(prompt.schema)["score"]


def conversation(number: int) -> tuple[PromptTurn, ...]:
    return (PromptTurn("seeker", f"It is the {number}th time."), PromptTurn("supporter", "Tell me more."))


def test_the_score_does_not_hang_on_what_stands_around_the_conversation():
    example = Example("e", (PromptTurn("supporter", "Well."),), {"calm": 3.0})
    terse = PromptTemplate(Use.SCALE, "", "{{answer_form}}\n{{points}}\n{{conversation}}\nQuestion: {{question}}")
    for number in range(10):
        score = answered(scale_prompt(conversation(number)))
        assert score == answered(scale_prompt(conversation(number), is_reversed=True))
        assert score == answered(scale_prompt(conversation(number), cannot_tell=True))
        assert score == answered(scale_prompt(conversation(number), examples=(example,)))
        assert score == answered(scale_prompt(conversation(number), template=terse))


def test_without_a_named_scale_the_order_of_points_still_makes_no_difference():
    bare = PromptTemplate(Use.SCALE, "", "{{question}}\n{{points}}\n{{conversation}}\n{{answer_form}}")
    for number in range(10):
        score = answered(scale_prompt(conversation(number), template=bare))
        assert score == answered(scale_prompt(conversation(number), template=bare, is_reversed=True))


def test_scores_differ_by_conversation_scale_and_seed():
    conversations = [conversation(number) for number in range(60)]
    calm = [answered(scale_prompt(turns)) for turns in conversations]
    assert set(calm) == {"1", "2", "3"}
    assert calm != [answered(scale_prompt(turns), seed=1) for turns in conversations]
    kinds = [answered(scale_prompt(turns, slug="kind")) for turns in conversations]
    assert set(kinds) == {"0", "0.5", "1"}
    assert [float(score) - 1 for score in calm] != [2 * float(score) for score in kinds]


def test_noise_moves_some_scores_by_one_point():
    quiet = [answered(scale_prompt(conversation(number))) for number in range(100)]
    noisy = [answered(scale_prompt(conversation(number)), noise=0.3, draw=str(number)) for number in range(100)]
    steps = Counter(abs(int(one) - int(other)) for one, other in zip(quiet, noisy, strict=True))
    assert set(steps) == {0, 1}
    assert steps[1] < 50


def test_a_prompt_of_another_kind_is_answered_all_the_same():
    assert Answering(Question.of([{"role": "user", "content": "Hello"}, 3, {}]), 0).value(
        {"properties": {"a": {"type": "string"}, "b": {"type": "array"}, "c": {"type": "integer"}, "d": {"enum": []}}}
    ) == {"a": "A made-up reason: the supporter's words were weighed by lot.", "b": [], "c": 0, "d": ""}


def test_a_long_turn_is_quoted_in_part():
    turns = (PromptTurn("supporter", "\n" + "word " * 60),)
    question = Question.of([message._asdict() for message in scale_prompt(turns).messages])
    assert 80 < len(question.quote) <= 100
    assert question.quote.endswith("word")


def test_lots_are_numbers_from_0_to_1():
    lots = [lot("x", number) for number in range(500)]
    assert 0 <= min(lots) < 0.05
    assert 0.95 < max(lots) < 1
    assert lot("\ud83d") == lot("\ud83d")


# --- Faults ---------------------------------------------------------------------------------------------------------

SPOILED = {
    "cut off": Fault.CUT_OFF,
    "not json": Fault.NOT_JSON,
    "ten": Fault.NOT_ALLOWED,
    "between": Fault.NOT_ALLOWED,
    "not": Fault.NOT_ALLOWED,
    "missing": Fault.MISSING,
    "empty": Fault.EMPTY,
}
ANSWER = {"rationale": "So it is.", "evidence": ["word"], "score": "3"}
FIVE = AllowedAnswers("calm", (1.0, 2.0, 3.0, 4.0, 5.0))


@pytest.mark.parametrize("malformation", MALFORMATIONS)
def test_a_malformed_answer_is_read_as_none(malformation):
    (answer,) = parse_scale_reply(written(ANSWER, fault=malformation), FIVE).answers
    assert answer.fault is SPOILED[malformation]


@pytest.mark.parametrize("malformation", ["ten", "between", "not", "missing"])
def test_one_scale_of_several_is_spoiled(malformation):
    text = written({"a": ANSWER, "b": ANSWER, "c": ANSWER}, fault=malformation, by=0.5)
    scales = [AllowedAnswers(slug, FIVE.points) for slug in "abc"]
    assert [answer.slug for answer in parse_framework_reply(text, scales).invalid] == ["b"]


@pytest.mark.parametrize("fault", ["fenced", "prose", "array"])
def test_an_answer_in_a_wrapping_is_read(serve, fault):
    prompt = scale_prompt()
    reply = parse_scale_reply(ask(serve(faults={fault: 1}), prompt).text, prompt.scales[0])
    assert (reply.reading, reply.invalid) == (Reading(fault), ())


@pytest.mark.parametrize(
    ("fault", "kind", "status"),
    [
        ("429", ErrorKind.RATE, 429),
        ("500", ErrorKind.PASSING, 500),
        ("503", ErrorKind.PASSING, 503),
        ("drop", ErrorKind.PASSING, None),
    ],
)
def test_a_fault_is_a_failure_of_its_kind(serve, fault, kind, status):
    server = serve(faults={fault: 1}, retry_after="4")
    caught = failure(server, scale_prompt())
    assert (caught.kind, caught.http_status) == (kind, status)
    assert caught.retry_after == (4.0 if fault == "429" else None)
    assert server.stats()["faults"] == {fault: 1}
    assert server.stats()["answered"] == 0


def test_a_server_that_hangs_is_given_up(serve):
    caught = failure(serve(faults={"hang": 1}), scale_prompt(), timeout=0.2)
    assert (caught.kind, caught.message) == (ErrorKind.PASSING, "No answer within 0.2 seconds.")


def test_a_server_that_hangs_closes_in_the_end(serve):
    caught = failure(serve(faults={"hang": 1}, hang_seconds=0.05), scale_prompt())
    assert caught.message.startswith("The connection broke")


def test_a_server_that_is_not_there():
    with FakeServer() as server:
        gone = server
    caught = failure(gone, scale_prompt())
    assert caught.kind is ErrorKind.PASSING
    assert caught.message.startswith("The server could not be reached")


def faults_met(model: FakeModel, n: int = 400) -> list[str]:
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    return [model.plan(json.dumps(body | {"seed": number % (n // 2)}).encode()).fault for number in range(n)]


def test_faults_come_about_as_often_as_asked_and_again_the_same():
    script = FakeScript(faults={"500": 0.2, "malformed": 0.3})
    met = faults_met(FakeModel(script))
    counts = Counter(met)
    assert 40 < counts["500"] < 120
    assert 70 < counts["malformed"] < 170
    assert met == faults_met(FakeModel(script))
    assert met != faults_met(FakeModel(FakeScript(faults=script.faults, seed=1)))
    # The second time a request is seen, it may go otherwise.
    assert any(first == "500" and not second for first, second in zip(met[:200], met[200:], strict=True))


# --- A script -------------------------------------------------------------------------------------------------------


def test_replies_are_given_in_turn(serve):
    replies = [
        "first",
        FakeReply("No.", status=418),
        FakeReply(status=503, headers={"Retry-After": "9"}, body="busy"),
        FakeReply(body='{"odd": true}'),
        FakeReply(drop=True),
    ]
    server = serve(replies=replies)
    prompt = scale_prompt()
    assert ask(server, prompt).text == "first"
    assert failure(server, prompt).message == "The server refused the request (status 418). It says: No."
    busy = failure(server, prompt)
    assert (busy.http_status, busy.retry_after, busy.raw) == (503, 9.0, "busy")
    assert failure(server, prompt).message == "The server's answer lacks the fields of a completion."
    assert failure(server, prompt).message.startswith("The connection broke")
    assert parse_scale_reply(ask(server, prompt).text, prompt.scales[0]).invalid == ()
    server.reset()
    assert ask(server, prompt).text == "first"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ({"faults": {"teapot": 0.1}}, "Unknown fault “teapot”: known are 429, "),
        ({"faults": {"429": 1.5}}, "The share of “429” must be from 0 to 1."),
        ({"faults": {"429": float("nan")}}, "The share of “429” must be from 0 to 1."),
        ({"faults": {"429": 0.6, "500": 0.6}}, "add up to more than 1"),
        ({"noise": -1}, "The noise must be from 0 to 1."),
        ({"latency_ms": -1}, "latency_ms must be from 0 to"),
        ({"hang_seconds": float("inf")}, "hang_seconds must be from 0 to"),
    ],
)
def test_a_script_that_cannot_be_played(script, sentence):
    with pytest.raises(ScriptError, match=sentence):
        FakeScript(**script)


def test_shares_are_read_from_a_line():
    assert parse_faults("") == {}
    assert parse_faults(" 429=0.05, malformed = 0.1,") == {"429": 0.05, "malformed": 0.1}
    assert set(parse_faults(",".join(f"{name}=0" for name in FAULTS))) == set(FAULTS)


@pytest.mark.parametrize("text", ["429", "429=", "429=often", "=0.1=", "429=0.1 500=0.1"])
def test_a_line_of_shares_that_is_none(text):
    with pytest.raises(ScriptError, match="is no fault: write a name and a share"):
        parse_faults(text)


# --- The server -----------------------------------------------------------------------------------------------------


def test_what_it_counts(serve):
    server = serve(replies=["a", FakeReply(drop=True)], faults={"500": 1})
    calm, kind = scale_prompt(), scale_prompt(slug="kind")
    assert ask(server, calm).text == "a"
    for prompt in (calm, kind):
        failure(server, prompt)
    expected = {
        "requests": 3,
        "answered": 1,
        "refused": 0,
        "faults": {"500": 1},
        "in_flight": 0,
        "max_in_flight": 1,
        "distinct": 2,
        "repeated": 1,
    }
    assert server.stats() == expected
    assert raw_request(server, "GET", "/stats") == (200, expected)
    assert [body["model"] for body in server.bodies] == ["fake"] * 3
    assert raw_request(server, "POST", "/reset")[1]["requests"] == 0
    assert server.bodies == []


def test_several_requests_are_in_flight_at_once_and_end_with_the_server():
    server = FakeServer(FakeScript(faults={"hang": 1}, hang_seconds=600)).start()
    failures: list[ProviderError] = []
    threads = [threading.Thread(target=lambda: failures.append(failure(server, scale_prompt()))) for _ in range(5)]
    for thread in threads:
        thread.start()
    while server.stats()["in_flight"] < 5:
        time.sleep(0.01)
    server.stop()
    for thread in threads:
        thread.join()
    assert [caught.kind for caught in failures] == [ErrorKind.PASSING] * 5
    assert server.stats()["max_in_flight"] == 5


def test_it_may_ask_for_a_key(serve):
    server = serve(api_key="right-key")
    assert failure(server, scale_prompt(), key="wrong-key").kind is ErrorKind.KEY
    assert ask(server, scale_prompt(), key="right-key").text
    assert (server.stats()["requests"], server.stats()["refused"], server.stats()["answered"]) == (2, 1, 1)


def test_one_connection_carries_several_requests(serve):
    connection = http.client.HTTPConnection(serve().url.split("/")[2])
    connection.request("GET", "/v1/models")
    first = connection.getresponse()
    assert [model["id"] for model in json.loads(first.read())["data"]] == ["fake"]
    before = connection.sock
    connection.request("POST", "/v1/chat/completions", b'{"model": "m", "messages": []}')
    assert json.loads(connection.getresponse().read())["model"] == "m"
    assert connection.sock is before
    connection.close()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"messages": "hello"}'])
def test_a_request_that_is_none(serve, body):
    status, answer = raw_request(serve(), "POST", "/v1/chat/completions", body)
    assert (status, answer["error"]["message"]) == (400, "The request holds no JSON object with messages.")


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/v1/embeddings"), ("GET", "/v1/chat")])
def test_other_addresses_are_not_there(serve, method, path):
    assert raw_request(serve(), method, path)[0] == 404


def test_it_listens_on_this_machine_only(serve):
    server = serve()
    assert server.url.startswith("http://127.0.0.1:")
    assert server._server.socket.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken(serve):
    port = int(serve().url.split(":")[2].split("/")[0])
    with pytest.raises(OSError, match="in use"):
        FakeServer(FakeScript(), port)
