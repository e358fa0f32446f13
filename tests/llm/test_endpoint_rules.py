"""What an endpoint may say of its address and of its key's variable."""

import re
from pathlib import Path

import pytest

from apps.llm.models import Endpoint
from apps.llm.services.endpoint_rules import base_url_problem, is_unprotected, key_variable_problem, looks_like_a_key

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["", "OPENAI_API_KEY", "K", "GEMINI_API_KEY", "A" + "_B" * 49, "KEY_OF_2026"])
def test_a_variable_of_its_own_is_fine(name):
    assert key_variable_problem(name) == ""


@pytest.mark.parametrize(
    "given",
    [
        "sk-proj-abcdefghijklmnop",
        "openai_api_key",
        "OPENAI API KEY",
        "1KEY",
        "_ACORN",
        "KEY-1",
        "ÄPFEL",
        "A" * 101,
        "OPENAI_API_KEY\n",
        "AKIA1234567890ABCDEF",
        "AIzaSyA1234567890",
        "$OPENAI_API_KEY",
    ],
)
def test_what_is_no_name_is_refused_without_being_repeated(given):
    problem = key_variable_problem(given)
    assert "Give the NAME of an environment variable" in problem
    assert given not in problem


def variables_of_accord() -> set[str]:
    """Every variable that the settings read, that the start takes, and that docs/running.md lists."""
    settings = (ROOT / "config/settings.py").read_text()
    docs = (ROOT / "docs/running.md").read_text()
    compose = (ROOT / "docker-compose.yml").read_text()
    read = set(re.findall(r"env\.\w+\(\s*\"([A-Z][A-Z0-9_]*)\"", settings))
    listed = set(re.findall(r"^\| (`[A-Z].*?) \|", docs, re.MULTILINE))
    named = {name for cell in listed for name in re.findall(r"`([A-Z][A-Z0-9_]+)`", cell)}
    return read | named | set(re.findall(r"\$\{([A-Z][A-Z0-9_]*)", compose))


def test_no_variable_of_accord_can_be_named():
    known = variables_of_accord()
    assert {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "EMAIL_URL", "POSTGRES_PASSWORD", "ACCORD_VAR"} <= known
    assert [name for name in sorted(known) if not key_variable_problem(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LD_PRELOAD",
        "PYTHONPATH",
        "DJANGO_SETTINGS_MODULE",
        "CELERY_BROKER_URL",
        "PGPASSWORD",
        "HTTPS_PROXY",
        "SECRET_KEY_FALLBACKS",
    ],
)
def test_no_variable_of_the_system_can_be_named(name):
    assert "is a variable of Accord or of the system" in key_variable_problem(name)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://127.0.0.1:8001/v1",
        "http://localhost/v1",
        "http://[::1]:8001/v1",
        "https://api.example.org/v1",
        "http://ollama:11434/v1",
        "http://10.0.0.7:8000/v1",
    ],
)
def test_an_address_that_may_be(url):
    assert base_url_problem(url, key_variable="") == ""


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("127.0.0.1:8001", "begins with http://"),
        ("ftp://example.org/v1", "begins with http://"),
        ("file:///etc/passwd", "begins with http://"),
        ("https:///v1", "begins with http://"),
        ("javascript:alert(1)", "begins with http://"),
        ("https://exa mple.org", "begins with http://"),
        ("https://example.org\\@evil.example", "begins with http://"),
        ("https://example.org\n/v1", "begins with http://"),
        ("https://example.org:port/v1", "This is not an address"),
        ("https://[::1/v1", "This is not an address"),
        ("https://example.org:/v1", "colon"),
        ("https://rosa@example.org/v1", "without a user name"),
        ("https://rosa:secret@example.org/v1", "without a user name"),
        ("https://example.org/v1?key=secret", "without a user name"),
        ("https://example.org/v1#secret", "without a user name"),
        ("https://example.org/v1?", "without a user name"),
    ],
)
def test_an_address_that_may_not_be_gets_its_sentence(url, words):
    problem = base_url_problem(url, key_variable="")
    assert words in problem
    assert "secret" not in problem


@pytest.mark.parametrize("host", ["example.org", "10.0.0.7", "ollama", "127.0.0.1.example.org"])
def test_a_key_is_not_sent_in_the_open(host):
    assert "unprotected" in base_url_problem(f"http://{host}/v1", key_variable="MY_KEY")
    assert base_url_problem(f"https://{host}/v1", key_variable="MY_KEY") == ""


def test_a_key_may_be_sent_to_this_machine():
    assert base_url_problem("http://127.0.0.1:8001/v1", key_variable="MY_KEY") == ""


@pytest.mark.parametrize(
    ("url", "open_to_see"),
    [
        ("", False),
        ("https://example.org/v1", False),
        ("http://127.0.0.1/v1", False),
        ("http://localhost:8001/v1", False),
        ("http://192.168.1.9/v1", False),
        ("http://8.8.8.8/v1", True),
        ("http://llm.example.org/v1", True),
    ],
)
def test_what_travels_in_the_open_is_known(url, open_to_see):
    assert is_unprotected(Endpoint(base_url=url)) == open_to_see


def test_keys_of_well_known_providers_are_told_from_names():
    assert looks_like_a_key(" sk-ant-123")
    assert not looks_like_a_key("gpt-small")
