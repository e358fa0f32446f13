"""`create_endpoint`: the same rules as the page, from the command line."""

import pytest
from django.core.management import CommandError, call_command

from apps.common.models import AuditEntry
from apps.llm.models import Endpoint, ResponseFormat

pytestmark = pytest.mark.django_db
LOCAL = ("--base-url", "http://127.0.0.1:8001/v1/", "--model", "small")


def test_an_endpoint_is_made_with_what_is_said_and_the_defaults_of_the_page(capsys):
    call_command("create_endpoint", "local", *LOCAL, "--takes-seed", "--response-format", "json_object_schema")
    endpoint = Endpoint.objects.get()
    assert (endpoint.name, endpoint.base_url, endpoint.model) == ("local", "http://127.0.0.1:8001/v1", "small")
    assert endpoint.response_format == ResponseFormat.JSON_OBJECT_SCHEMA
    assert endpoint.takes_seed
    assert endpoint.takes_temperature
    assert (endpoint.max_concurrent, endpoint.requests_per_minute, endpoint.price_input) == (4, None, None)
    assert "Created the endpoint local (small)." in capsys.readouterr().out
    assert AuditEntry.objects.get().action == "endpoint.create"


def test_numbers_prices_and_what_the_model_does_not_take(db):
    call_command(
        "create_endpoint", "paid", *LOCAL, "--no-temperature", "--max-concurrent", "9", "--context-tokens", "4096",
        "--price-input", "0.25", "--price-output", "2",
    )  # fmt: skip
    endpoint = Endpoint.objects.get()
    assert not endpoint.takes_temperature
    assert (endpoint.max_concurrent, endpoint.context_tokens) == (9, 4096)
    assert (float(endpoint.price_input), float(endpoint.price_output)) == (0.25, 2.0)


def test_a_name_that_is_taken_is_refused_unless_it_only_has_to_be_there(capsys):
    call_command("create_endpoint", "local", *LOCAL)
    capsys.readouterr()
    call_command("create_endpoint", "local", "--model", "other", "--if-missing")
    assert capsys.readouterr().out == ""
    assert Endpoint.objects.get().model == "small"
    with pytest.raises(CommandError, match="name: Another endpoint is called local already"):
        call_command("create_endpoint", "local", *LOCAL)


def test_what_the_protocol_has_not_is_not_taken_unasked():
    call_command("create_endpoint", "claude", "--provider", "anthropic", "--model", "large")
    endpoint = Endpoint.objects.get()
    assert (endpoint.takes_temperature, endpoint.takes_seed) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--base-url", "http://127.0.0.1:8001/v1"), "--model: This field is required"),
        (("--model", "small", "--base-url", "nowhere"), "--base-url: "),
        ((*LOCAL, "--max-concurrent", "0"), "--max-concurrent: "),
        ((*LOCAL, "--max-concurrent", "many"), "--max-concurrent: "),
        ((*LOCAL, "--key-variable", "SECRET_KEY"), "--key-variable: "),
        ((*LOCAL, "--timeout-seconds", "-1"), "--timeout-seconds: "),
        ((*LOCAL, "--price-input", "NaN"), "--price-input: "),
        (("--model", "m", "--provider", "anthropic", "--takes-seed"), "--takes-seed: Anthropic's protocol has no seed"),
        ((*LOCAL, "--price-input", "1"), "--price-output: Give both prices"),
    ],
)
def test_what_the_page_refuses_is_refused_with_the_option_it_is_about(arguments, said):
    with pytest.raises(CommandError, match=said) as refused:
        call_command("create_endpoint", "local", *arguments)
    assert refused.value.returncode == 1
    assert "\n" not in str(refused.value)
    assert not Endpoint.objects.exists()
