"""What the SDKs read of the environment by themselves reaches no server, and makes none of them say more."""

import logging

import httpx2
import pytest

from apps.llm.providers.sdk_provider import HEADER_BEGINNINGS, HEADERS, keep_quiet
from tests.llm.providers.made import ANTHROPIC, GOOGLE, KEY, KINDS, MESSAGES, OPENAI, PARAMETERS, SCHEMA, TEXT, Server

each_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])

PLANTED = "of-the-environment"
LINES = f"X-Team: {PLANTED}\nAuthorization: Bearer {PLANTED}\nX-Api-Key: {PLANTED}\nx-goog-api-key: {PLANTED}"
VARIABLES = {
    "OPENAI_ADMIN_KEY": PLANTED,
    "OPENAI_BASE_URL": f"https://{PLANTED}.example/v1",
    "OPENAI_CUSTOM_HEADERS": LINES,
    "OPENAI_ORG_ID": PLANTED,
    "OPENAI_PROJECT_ID": PLANTED,
    "OPENAI_WEBHOOK_SECRET": PLANTED,
    "ANTHROPIC_AUTH_TOKEN": PLANTED,
    "ANTHROPIC_BASE_URL": f"https://{PLANTED}.example",
    "ANTHROPIC_CUSTOM_HEADERS": LINES,
    "ANTHROPIC_PROFILE": PLANTED,
    "ANTHROPIC_WEBHOOK_SIGNING_KEY": PLANTED,
    "GOOGLE_API_KEY": PLANTED,
    "GOOGLE_CLOUD_LOCATION": PLANTED,
    "GOOGLE_CLOUD_PROJECT": PLANTED,
    "GOOGLE_GEMINI_BASE_URL": f"https://{PLANTED}.example",
    "GOOGLE_GENAI_API_VERSION": PLANTED,
    "GOOGLE_GENAI_USE_ENTERPRISE": "true",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_VERTEX_BASE_URL": f"https://{PLANTED}.example",
}


def sent(kind, **changes) -> httpx2.Request:
    server = Server(kind.answer(TEXT))
    server.provider(kind, **changes).complete(MESSAGES, SCHEMA, PARAMETERS)
    (request,) = server.requests
    return request


@each_kind
@pytest.mark.parametrize("base_url", ["http://127.0.0.1:9/base", ""], ids=["own server", "the provider's"])
def test_no_variable_of_an_sdk_changes_what_is_sent(kind, base_url, monkeypatch):
    before = sent(kind, base_url=base_url)
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    after = sent(kind, base_url=base_url)
    assert (after.url, dict(after.headers)) == (before.url, dict(before.headers))
    assert after.content == before.content
    assert PLANTED not in f"{after.url} {after.headers.raw}"
    assert KEY in " ".join(after.headers.values())


@each_kind
def test_only_known_headers_are_sent(kind):
    names = {name.lower() for name in sent(kind).headers}
    assert [name for name in names if name not in HEADERS and not name.startswith(HEADER_BEGINNINGS)] == []


@each_kind
def test_a_header_that_an_sdk_adds_by_itself_is_left_out(kind):
    server = Server(kind.answer(TEXT))
    provider = server.provider(kind)
    provider._http.headers["X-Of-Tomorrow"] = PLANTED
    provider.complete(MESSAGES, SCHEMA, PARAMETERS)
    assert "x-of-tomorrow" not in server.requests[0].headers


@pytest.mark.parametrize("mode", ["replay", "record", "auto"])
def test_google_is_asked_and_not_replayed(mode, monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_GENAI_CLIENT_MODE", mode)
    monkeypatch.setenv("GOOGLE_GENAI_REPLAYS_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("GOOGLE_GENAI_REPLAY_ID", "made/up")
    assert sent(GOOGLE).url.path == GOOGLE.path
    assert list(tmp_path.iterdir()) == []


def test_the_loggers_of_an_sdk_say_no_texts(caplog):
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "anthropic", "google_genai", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
        keep_quiet(name)
    for kind in KINDS:
        sent(kind)
    assert "Rate this" not in caplog.text
    assert "Request options" not in caplog.text


@each_kind
def test_what_stands_at_the_end_of_an_address_is_not_there_twice(kind):
    versions = {OPENAI: [""], ANTHROPIC: ["/v1", "/v1/"], GOOGLE: ["/v1beta", "/v1", "/v1beta/"]}
    for version in versions[kind]:
        assert sent(kind, base_url=f"http://127.0.0.1:9/base{version}").url.path == kind.path
