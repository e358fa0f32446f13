"""Which provider a target gets, and what is missing where it gets none."""

import subprocess
import sys

import pytest

from apps.llm.fake_server import FakeScript, FakeServer
from apps.llm.providers import registry
from apps.llm.providers.protocol import ErrorKind, Parameters, ProviderError, Target
from apps.llm.providers.registry import KEPT_CLIENTS, is_installed, key_of, provider_for
from tests.llm.providers.made import KINDS, MESSAGES, SCHEMA, target_of

VARIABLE = "ACCORD_TEST_MODEL_KEY"
TARGET = Target("openai", "http://127.0.0.1:9/v1", "made-up", key_variable=VARIABLE)


@pytest.fixture(autouse=True)
def _forget_clients():
    yield
    registry._made.cache_clear()


def failure_for(target: Target) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider_for(target)
    return caught.value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_target_gets_its_provider(kind):
    assert is_installed(kind.name)
    assert type(provider_for(target_of(kind))) is kind.make


def test_the_same_target_has_the_same_client_while_its_key_is_the_same(monkeypatch):
    monkeypatch.setenv(VARIABLE, "first-key")
    first = provider_for(TARGET)
    assert provider_for(Target("openai", "http://127.0.0.1:9/v1", "made-up", key_variable=VARIABLE)) is first
    monkeypatch.setenv(VARIABLE, "second-key")
    assert provider_for(TARGET) is not first


def test_few_clients_are_kept(monkeypatch):
    monkeypatch.setattr(registry, "import_module", lambda name: FakeModule)
    for number in range(3 * KEPT_CLIENTS):
        provider_for(Target("openai", "http://127.0.0.1:9/v1", f"made-up-{number}"))
    assert registry._made.cache_info().currsize == KEPT_CLIENTS


class FakeModule:
    """Stands for the module of a provider."""

    @staticmethod
    def OpenAIProvider(target: Target, key: str) -> object:
        return object()


@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_a_missing_key_is_said_without_its_variable(monkeypatch, value):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    failure = failure_for(TARGET)
    assert failure.kind is ErrorKind.KEY
    assert failure.message == "The endpoint's key is not set where the workers run."


@pytest.mark.parametrize("value", ["se\ncret", "sécret", "se\x7fcret"])
def test_a_key_that_cannot_be_one_is_not_shown(monkeypatch, value):
    monkeypatch.setenv(VARIABLE, value)
    failure = failure_for(TARGET)
    assert failure.kind is ErrorKind.KEY
    assert "characters that no key has" in failure.message
    assert VARIABLE not in failure.message
    assert "cret" not in failure.message


def test_white_space_around_a_key_is_none_of_it(monkeypatch):
    monkeypatch.setenv(VARIABLE, " a-key\n")
    assert key_of(VARIABLE) == "a-key"
    assert key_of("") == ""


def test_an_unknown_provider():
    assert not is_installed("elsewhere")
    failure = failure_for(Target("elsewhere", "", "made-up"))
    assert failure.kind is ErrorKind.SETUP
    assert "known are openai, anthropic, google" in failure.message


@pytest.mark.parametrize(("provider", "package"), [("anthropic", "anthropic"), ("google", "google-genai")])
@pytest.mark.parametrize("parent_is_missing", [False, True])
def test_a_missing_package_says_how_to_install_it(monkeypatch, provider, package, parent_is_missing):
    def nothing_found(name):
        if parent_is_missing:
            raise ModuleNotFoundError(name)

    monkeypatch.setattr(registry, "find_spec", nothing_found)
    assert not is_installed(provider)
    failure = failure_for(Target(provider, "", "made-up"))
    assert failure.kind is ErrorKind.SETUP
    assert f"need the package {package}." in failure.message
    assert failure.message.endswith("pip install -r requirements-llm.txt")


def test_a_package_that_does_not_load(monkeypatch):
    def broken(name):
        raise ImportError("half of it is missing")

    monkeypatch.setattr(registry, "import_module", broken)
    failure = failure_for(Target("google", "", "made-up"))
    assert failure.kind is ErrorKind.SETUP
    assert "google-genai" in failure.message


def test_no_sdk_is_loaded_before_it_is_asked_for():
    check = (
        "import sys, apps.llm.providers.registry as registry; registry.is_installed('openai'); "
        "sys.exit(any(name in sys.modules for name in ('openai', 'anthropic', 'google.genai', 'httpx2')))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_key_from_the_environment_opens_a_server(monkeypatch):
    with FakeServer(FakeScript(api_key="right-key")) as server:
        target = Target("openai", server.url, "fake", key_variable=VARIABLE)
        monkeypatch.setenv(VARIABLE, "wrong-key")
        with pytest.raises(ProviderError) as caught:
            provider_for(target).complete(MESSAGES, SCHEMA, Parameters(100))
        assert caught.value.kind is ErrorKind.KEY
        monkeypatch.setenv(VARIABLE, "right-key")
        assert provider_for(target).complete(MESSAGES, SCHEMA, Parameters(100)).text
