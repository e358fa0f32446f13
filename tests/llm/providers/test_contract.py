"""What the three providers send, read and raise alike."""

import json
import logging

import httpx2
import pytest

from apps.llm.answers import MEMBERS
from apps.llm.prompts import Message
from apps.llm.providers.failures import HIDDEN, LONGEST_SAID
from apps.llm.providers.protocol import ErrorKind, Parameters, ProviderError
from apps.llm.providers.sdk_provider import LONGEST_SENTENCE
from apps.llm.sent_requests import sent_messages
from tests.llm.providers.made import (
    ANTHROPIC,
    GOOGLE,
    KEY,
    KINDS,
    MESSAGES,
    OPENAI,
    PARAMETERS,
    SCHEMA,
    TEXT,
    Kind,
    Server,
)

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
FORMS = ("json_schema", "json_object_schema", "json_object", "none")


def failure_of(answer: httpx2.Response | Exception, kind: Kind = OPENAI) -> ProviderError:
    server = Server(answer)
    with pytest.raises(ProviderError) as caught:
        server.provider(kind).complete(MESSAGES, SCHEMA, PARAMETERS)
    assert len(server.requests) == 1  # nothing is tried again here
    return caught.value


# --- What is sent ---------------------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parameters", [PARAMETERS, Parameters(9, temperature=0.0, seed=7)])
def test_what_is_sent_is_the_body_that_is_kept(kind, form, parameters):
    server = Server(kind.answer(TEXT))
    provider = server.provider(kind, response_format=form)
    provider.complete(MESSAGES, SCHEMA, parameters)
    (request,) = server.requests
    assert request.url.path == kind.path
    assert KEY in "".join(request.headers.values())
    # As texts: the order of members counts.
    assert json.dumps(json.loads(request.content)) == json.dumps(provider.request_body(MESSAGES, SCHEMA, parameters))


@each_kind
def test_the_members_of_the_schema_keep_their_order(kind):
    server = Server(kind.answer(TEXT))
    server.provider(kind).complete(MESSAGES, SCHEMA, PARAMETERS)
    sent = server.requests[0].content.decode()
    places = [sent.index(f'"{member}"') for member in MEMBERS]
    assert places == sorted(places)


@each_kind
def test_every_message_is_sent_once_and_whole(kind):
    body = json.dumps(Server(kind.answer(TEXT)).provider(kind).request_body(MESSAGES, SCHEMA, PARAMETERS))
    for message in MESSAGES:
        assert body.count(json.dumps(message.content)) == 1


@each_kind
@pytest.mark.parametrize("form", FORMS)
def test_without_a_schema_and_without_a_system_message(kind, form):
    server = Server(kind.answer("hello"))
    answer = server.provider(kind, response_format=form).complete(MESSAGES[1:], None, PARAMETERS)
    assert answer.text == "hello"
    assert b"schema" not in server.requests[0].content
    assert b"ystem" not in server.requests[0].content


@each_kind
def test_what_the_model_said_is_sent_as_its_own(kind):
    messages = (*MESSAGES, Message("assistant", "Five."), Message("user", "That is no point."))
    body = Server({}).provider(kind).request_body(messages, SCHEMA, PARAMETERS)
    model = "model" if kind is GOOGLE else "assistant"
    assert [message.role for message in sent_messages(json.dumps(body))] == ["system", "user", model, "user"]
    server = Server(kind.answer(TEXT))
    server.provider(kind).complete(messages, SCHEMA, PARAMETERS)
    assert json.dumps(json.loads(server.requests[0].content)) == json.dumps(body)


def test_the_forms_of_openai():
    def sent(form):
        return Server({}).provider(OPENAI, response_format=form).request_body(MESSAGES, SCHEMA, PARAMETERS)

    assert sent("json_schema")["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }
    assert sent("json_object_schema")["response_format"] == {"type": "json_object", "schema": SCHEMA}
    assert sent("json_object")["response_format"] == {"type": "json_object"}
    assert set(sent("none")) == {"model", "messages", "max_tokens"}


def test_openai_is_sent_only_the_parameters_that_are_given():
    provider = Server({}).provider(OPENAI, response_format="none", max_tokens_name="max_completion_tokens")
    assert set(provider.request_body(MESSAGES, None, PARAMETERS)) == {"model", "messages", "max_completion_tokens"}
    given = provider.request_body(MESSAGES, None, Parameters(12, temperature=0.0, seed=0))
    assert (given["temperature"], given["seed"], given["max_completion_tokens"]) == (0.0, 0, 12)


def test_the_forms_of_anthropic():
    def sent(form):
        body = Server({}).provider(ANTHROPIC, response_format=form).request_body(MESSAGES, SCHEMA, PARAMETERS)
        return {name: body[name] for name in body if name not in ("model", "max_tokens", "system", "messages")}

    assert sent("json_schema") == {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}
    assert sent("json_object_schema") == sent("json_object")
    assert sent("json_object")["tools"][0]["input_schema"] == SCHEMA
    assert sent("json_object")["tool_choice"] == {"type": "tool", "name": "answer"}
    assert sent("none") == {}


def test_anthropic_is_sent_neither_temperature_nor_seed():
    body = Server({}).provider(ANTHROPIC).request_body(MESSAGES, SCHEMA, Parameters(9, temperature=0.5, seed=3))
    assert set(body) == {"model", "max_tokens", "system", "messages", "output_config"}
    assert body["system"] == "You rate."
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_the_forms_of_google():
    def sent(form, parameters=PARAMETERS):
        body = Server({}).provider(GOOGLE, response_format=form).request_body(MESSAGES, SCHEMA, parameters)
        return body["generationConfig"]

    schema = {"maxOutputTokens": 321, "responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    assert sent("json_schema") == sent("json_object_schema") == schema
    assert sent("json_object") == {"maxOutputTokens": 321, "responseMimeType": "application/json"}
    assert sent("none") == {"maxOutputTokens": 321}
    assert sent("none", Parameters(5, 1.5, 8)) == {"maxOutputTokens": 5, "temperature": 1.5, "seed": 8}


@each_kind
def test_the_address_may_be_left_to_the_provider(kind, monkeypatch):
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, "https://elsewhere.example")
    server = Server(kind.answer(TEXT))
    server.provider(kind, base_url="").complete(MESSAGES, SCHEMA, PARAMETERS)
    hosts = {"openai": "api.openai.com", "anthropic": "api.anthropic.com"}
    assert server.requests[0].url.host == hosts.get(kind.name, "generativelanguage.googleapis.com")


@each_kind
def test_a_key_of_the_environment_is_not_taken_unasked(kind, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "of-the-environment")
    server = Server(kind.answer(TEXT))
    server.provider(kind, key="").complete(MESSAGES, SCHEMA, PARAMETERS)
    assert "of-the-environment" not in " ".join(server.requests[0].headers.values())


@each_kind
def test_an_account_of_the_environment_is_not_told_to_another_server(kind, monkeypatch):
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.setenv(name, "of-the-environment")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    server = Server(kind.answer(TEXT))
    server.provider(kind).complete(MESSAGES, SCHEMA, PARAMETERS)
    (request,) = server.requests
    assert request.url.path == kind.path
    assert "of-the-environment" not in " ".join(request.headers.values())


# --- What is read ---------------------------------------------------------------------------------------------------


@each_kind
def test_an_answer_is_read(kind):
    answer = Server(kind.answer(TEXT)).provider(kind).complete(MESSAGES, SCHEMA, PARAMETERS)
    assert (answer.text, answer.finish_reason) == (TEXT, "stop")
    assert (answer.input_tokens, answer.output_tokens) == (411, 23)
    assert json.loads(answer.raw) == kind.answer(TEXT)
    assert answer.http_status == 200
    assert answer.latency_ms >= 0


@each_kind
def test_what_is_not_counted_is_not_known(kind):
    found = kind.answer(TEXT)
    found.pop("usage", None)
    found.pop("usageMetadata", None)
    answer = Server(found).provider(kind).complete(MESSAGES, SCHEMA, PARAMETERS)
    assert (answer.text, answer.input_tokens, answer.output_tokens) == (TEXT, None, None)


@pytest.mark.parametrize("count", [-1, True, "12", 1.5])
def test_a_count_that_cannot_be_is_not_known(count):
    found = OPENAI.answer(TEXT) | {"usage": {"prompt_tokens": count}}
    assert Server(found).provider(OPENAI).complete(MESSAGES, SCHEMA, PARAMETERS).input_tokens is None


def test_a_refusal_of_openai_is_an_empty_text():
    message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    found = {"choices": [{"message": message, "finish_reason": "stop"}]}
    answer = Server(found).provider(OPENAI).complete(MESSAGES, SCHEMA, PARAMETERS)
    assert (answer.text, answer.finish_reason) == ("", "refusal")
    assert "I cannot help" in answer.raw


@each_kind
def test_an_empty_answer_is_an_empty_text(kind):
    assert Server(kind.answer("")).provider(kind).complete(MESSAGES, SCHEMA, PARAMETERS).text == ""


def test_openai_may_answer_in_parts():
    found = OPENAI.answer(TEXT)
    found["choices"][0]["message"]["content"] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert Server(found).provider(OPENAI).complete(MESSAGES, SCHEMA, PARAMETERS).text == "ab"


def test_what_anthropic_gives_its_tool_is_the_text():
    given = {"rationale": "é", "evidence": [], "score": "2"}
    found = {"content": [{"type": "text", "text": "Well."}, {"type": "tool_use", "name": "answer", "input": given}]}
    answer = Server(found).provider(ANTHROPIC, response_format="json_object")
    assert answer.complete(MESSAGES, SCHEMA, PARAMETERS).text == json.dumps(given, ensure_ascii=False)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY"),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "MAX_TOKENS"),
        ({"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}, "STOP"),
    ],
)
def test_google_may_answer_nothing(found, reason):
    answer = Server(found).provider(GOOGLE).complete(MESSAGES, SCHEMA, PARAMETERS)
    assert (answer.text, answer.finish_reason) == ("", reason)


def test_google_is_sent_one_request_even_where_its_answer_could_be_continued():
    found = GOOGLE.answer(TEXT)
    found["candidates"][0] |= {"finishReason": "CONTINUATION"}
    found["continuationToken"] = "bW9yZQ=="
    server = Server(found)
    assert server.provider(GOOGLE).complete(MESSAGES, SCHEMA, PARAMETERS).text == TEXT
    assert len(server.requests) == 1


@each_kind
def test_what_is_kept_can_be_stored(kind):
    answer = Server(kind.answer("a\x00b\ud83dc")).provider(kind).complete(MESSAGES, SCHEMA, PARAMETERS)
    assert answer.text == "a\ufffdb\ufffdc"
    answer.raw.encode()


# --- What goes wrong ------------------------------------------------------------------------------------------------

STATUSES = {
    307: ErrorKind.NOT_FOUND,
    400: ErrorKind.REFUSED,
    401: ErrorKind.KEY,
    402: ErrorKind.QUOTA,
    403: ErrorKind.KEY,
    404: ErrorKind.NOT_FOUND,
    408: ErrorKind.PASSING,
    409: ErrorKind.PASSING,
    413: ErrorKind.REFUSED,
    422: ErrorKind.REFUSED,
    429: ErrorKind.RATE,
    500: ErrorKind.PASSING,
    503: ErrorKind.PASSING,
    529: ErrorKind.PASSING,
}


@each_kind
@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_its_kind(kind, status):
    headers = {"location": "https://elsewhere.example/"} if status == 307 else {}
    body = {"error": {"message": "It is\n as it is.", "code": None}}
    failure = failure_of(httpx2.Response(status, json=body, headers=headers), kind)
    assert failure.kind is STATUSES[status]
    assert failure.http_status == status
    assert f"(status {status})" in failure.message
    assert failure.message.endswith("It says: It is as it is.")
    assert json.loads(failure.raw) == body


@each_kind
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (httpx2.ReadTimeout("slow"), "No answer within 120 seconds."),
        (httpx2.ConnectTimeout("slow"), "The server could not be reached in time."),
        (httpx2.ConnectError("refused"), "The server could not be reached: ConnectError, refused."),
        (httpx2.ReadError("reset"), "The connection broke: ReadError, reset."),
        (httpx2.RemoteProtocolError("gone"), "The connection broke: RemoteProtocolError, gone."),
        (httpx2.DecodingError("no gzip"), "The connection broke: DecodingError, no gzip."),
        (ConnectionResetError("reset"), "The connection broke: ConnectionResetError, reset."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_connection_that_fails_is_passing(kind, error, sentence):
    failure = failure_of(error, kind)
    assert (failure.kind, failure.message) == (ErrorKind.PASSING, sentence)
    assert failure.http_status is None


@each_kind
def test_nothing_else_escapes(kind):
    failure = failure_of(RuntimeError(f"who knows {KEY}"), kind)
    assert failure.kind is ErrorKind.REFUSED
    assert failure.message == f"The request could not be made: RuntimeError, who knows {HIDDEN}."
    assert failure.__cause__ is None
    assert failure.__suppress_context__


@each_kind
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("<html>Welcome</html>", "The server's answer is not JSON."),
        ("", "The server's answer is not JSON."),
        ("[" * 100_000, "The server's answer is not JSON."),
        ("[1]", "The server's answer is not a JSON object."),
        ("{}", "The server's answer lacks the fields of a completion."),
        (
            '{"choices": [], "content": [1], "candidates": []}',
            "The server's answer lacks the fields of a completion.",
        ),
        (
            '{"choices": [{"message": "hi"}], "content": [{"type": "text"}], "candidates": ["hi"]}',
            "The server's answer lacks the fields of a completion.",
        ),
    ],
)
def test_an_answer_that_is_none_is_passing(kind, content, sentence):
    failure = failure_of(httpx2.Response(200, text=content), kind)
    assert (failure.kind, failure.message) == (ErrorKind.PASSING, sentence)
    assert failure.http_status == 200
    assert failure.raw == content


def test_an_error_within_a_good_answer_of_openai():
    limited = {"error": {"code": 429, "message": "Slow down."}}
    assert failure_of(httpx2.Response(200, json=limited)).kind is ErrorKind.RATE
    vague = failure_of(httpx2.Response(200, json={"error": {"message": "No provider."}}))
    assert (vague.kind, vague.message) == (ErrorKind.PASSING, "The server's answer is an error: No provider.")


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"code": 502, "message": "Upstream error"}, ErrorKind.PASSING, 502),
        ({"code": "429", "message": "Slow down"}, ErrorKind.RATE, 429),
        ({"code": 403, "message": "Flagged", "metadata": {"reasons": ["violence"]}}, ErrorKind.REFUSED, 403),
        ({"code": "server_error", "message": "Broken"}, ErrorKind.PASSING, 200),
        ("Broken", ErrorKind.PASSING, 200),
    ],
)
@pytest.mark.parametrize("place", ["choice", "answer"])
def test_an_error_beside_a_choice_is_no_empty_reply(error, kind, status, place):
    found = OPENAI.answer("")
    (found["choices"][0] if place == "choice" else found)["error"] = error
    failure = failure_of(httpx2.Response(200, json=found))
    assert (failure.kind, failure.http_status) == (kind, status)
    assert (error if isinstance(error, str) else error["message"]) in failure.message
    assert json.loads(failure.raw) == found


def test_no_error_beside_a_choice_is_none():
    found = OPENAI.answer(TEXT) | {"error": None}
    found["choices"][0]["error"] = {}
    assert Server(found).provider(OPENAI).complete(MESSAGES, SCHEMA, PARAMETERS).text == TEXT


def test_a_prompt_that_cannot_be_sent_is_refused():
    messages = [MESSAGES[0], MESSAGES[1]._replace(content="\ud83d")]
    server = Server(OPENAI.answer(TEXT))
    with pytest.raises(ProviderError) as caught:
        server.provider(OPENAI).complete(messages, SCHEMA, PARAMETERS)
    assert caught.value.kind is ErrorKind.REFUSED


# --- The key --------------------------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("status", [401, 500])
def test_a_key_that_the_server_repeats_is_not_kept(kind, status):
    body = {"error": {"message": f"Incorrect key {KEY} provided"}}
    failure = failure_of(httpx2.Response(status, json=body), kind)
    assert KEY not in failure.message + failure.raw
    assert f"Incorrect key {HIDDEN} provided" in failure.message


@each_kind
def test_a_key_that_the_model_repeats_is_not_kept(kind, caplog):
    caplog.set_level(logging.INFO)
    answer = Server(kind.answer(f"It is {KEY}")).provider(kind)
    completion = answer.complete(MESSAGES, SCHEMA, PARAMETERS)
    assert completion.text == f"It is {HIDDEN}"
    assert KEY not in completion.raw + repr(completion) + repr(answer) + caplog.text


@each_kind
def test_no_part_of_a_key_is_kept_where_a_sentence_is_cut(kind):
    for length in range(LONGEST_SAID - len(KEY), LONGEST_SAID + 1):
        body = {"error": {"message": f"{'x' * length}{KEY}"}}
        failure = failure_of(httpx2.Response(500, json=body), kind)
        assert KEY[:5] not in failure.message + failure.raw


def test_a_long_story_is_cut():
    failure = failure_of(httpx2.Response(200, json={"error": {"message": "x" * 5000}}))
    assert len(failure.message) == LONGEST_SENTENCE
