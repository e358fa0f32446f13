"""The form of an endpoint: what it takes, what it refuses, and that a key typed by mistake is seen nowhere."""

import logging
from decimal import Decimal

import pytest
from django.urls import reverse

from apps.common.models import AuditEntry
from apps.llm.forms.endpoints import EndpointForm, initial_from, initial_of
from apps.llm.models import Endpoint
from apps.llm.presets import PRESETS
from tests.llm.tried import typed
from tests.llm.worlds import make_endpoint

KEY = "sk-not-a-real-key-77aa01"
NEW = "/endpoints/new/"


def form_of(**changed: str) -> EndpointForm:
    return EndpointForm(typed(**changed), initial=initial_of(Endpoint()))


def test_a_plain_server_on_this_machine(db):
    form = form_of()
    assert form.is_valid(), form.errors
    assert form.cleaned_data["takes_seed"] is False
    assert form.cleaned_data["context_tokens"] is None


def test_a_slash_at_the_end_is_no_other_address(db):
    form = form_of(base_url="http://127.0.0.1:8001/v1/")
    assert form.is_valid()
    assert form.cleaned_data["base_url"] == "http://127.0.0.1:8001/v1"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "Large Model", "small letters, digits and hyphens only"),
        ("name", "new", "is the name of a page"),
        ("name", "-x", "small letters"),
        ("provider", "other", "Select a valid choice"),
        ("base_url", "example.org/v1", "begins with http://"),
        ("base_url", "https://a:b@example.org/v1", "without a user name"),
        ("model", "", "required"),
        ("model", KEY, "looks like a key"),
        ("key_variable", KEY, "Give the NAME"),
        ("key_variable", "openai key", "Give the NAME"),
        ("key_variable", "k" * 5_000, "Give the NAME"),
        ("key_variable", "DATABASE_URL", "is a variable of Accord"),
        ("reply_tokens", "0", "greater than or equal to 1"),
        ("context_tokens", "800", "more than the answer alone"),
        ("max_concurrent", "0", "greater than or equal to 1"),
        ("timeout_seconds", "3601", "less than or equal to 3600"),
        ("price_input", "-1", "greater than or equal to 0"),
        ("price_input", "NaN", "Enter a number"),
        ("currency", "usd", "three capital letters"),
    ],
)
def test_what_is_refused_gets_its_sentence(db, field, value, words):
    form = form_of(**{field: value})
    assert words in str(form.errors[field])


def test_it_takes_no_more_than_the_protocol_has(db):
    form = form_of(provider="anthropic", base_url="", takes_temperature="on", takes_seed="on")
    assert list(form.errors) == ["takes_temperature", "takes_seed"]
    assert "Anthropic's protocol has no seed" in form.errors["takes_seed"][0]
    assert form_of(provider="google", base_url="", takes_temperature="on", takes_seed="on").is_valid()


@pytest.mark.parametrize(("given", "missing"), [("price_input", "price_output"), ("price_output", "price_input")])
def test_half_a_price_is_none(db, given, missing):
    form = form_of(**{given: "0"})
    assert "both prices, or neither" in str(form.errors[missing])
    assert form_of(price_input="0", price_output="0").is_valid()


def test_a_key_is_not_sent_in_the_open(db):
    form = form_of(base_url="http://llm.example.org/v1", key_variable="ACORN_KEY")
    assert "unprotected" in str(form.errors["base_url"])
    assert form_of(base_url="http://llm.example.org/v1").is_valid()
    # Where the address is fixed, the variable is what can be mended.
    endpoint = make_endpoint(url="http://llm.example.org/v1")
    form = EndpointForm(typed(key_variable="K"), initial=initial_of(endpoint), endpoint=endpoint, is_fixed=True)
    assert list(form.errors) == ["key_variable"]


def test_its_own_name_is_no_other_endpoints(db):
    endpoint = make_endpoint("local")
    assert EndpointForm(typed(), initial=initial_of(endpoint), endpoint=endpoint).is_valid()
    assert not form_of().is_valid()


@pytest.mark.parametrize(
    "wrong",
    [
        {"key_variable": KEY},
        {"key_variable": "notarealkey77aa01"},
        {"model": KEY},
        {"base_url": f"https://example.org/v1?key={KEY}"},
        {"base_url": f"https://{KEY}@example.org/v1"},
    ],
)
def test_a_key_typed_by_mistake_is_neither_stored_nor_shown(sign_in, ada, caplog, wrong):
    caplog.set_level(logging.DEBUG)
    make_endpoint("stored")
    for address in (NEW, "/endpoints/stored/edit/"):
        response = sign_in(ada).post(address, typed(**wrong))
        assert response.status_code == 422
        assert "is not kept" in response.text
        assert "77aa01" not in response.text
    assert "77aa01" not in caplog.text
    assert not AuditEntry.objects.exists()
    assert Endpoint.objects.count() == 1


def test_a_form_that_comes_back_shows_the_variable_that_is_stored(sign_in, ada):
    make_endpoint("stored", key_variable="ACORN_KEY")
    text = sign_in(ada).post("/endpoints/stored/edit/", typed(key_variable=KEY)).text
    assert 'value="ACORN_KEY"' in text


@pytest.mark.parametrize("preset", PRESETS, ids=str)
def test_a_preset_fills_the_form_which_then_wants_a_model_at_most(sign_in, ada, preset):
    response = sign_in(ada).get(f"{reverse('endpoints:new')}?{preset.query}")
    assert response.status_code == 200
    form = response.context["form"]
    shown = {name: value for name in form.fields if (value := form[name].value()) not in (None, False)}
    sent = {name: "on" if value is True else str(value) for name, value in shown.items()}
    assert set(EndpointForm(sent, initial={}).errors) <= {"model"}
    for name, value in preset.values.items():
        assert form[name].value() == ((value == "on") if name.startswith("takes_") else value)


def test_an_address_cannot_bring_a_key_into_the_form(sign_in, ada):
    given = {"key_variable": KEY, "base_url": f"https://example.org/?{KEY}", "model": KEY, "retired_at": "1"}
    assert initial_from(given) == initial_of(Endpoint())
    text = sign_in(ada).get(NEW, given).text
    assert KEY not in text


def test_what_an_address_brings_is_no_markup(sign_in, ada):
    text = sign_in(ada).get(NEW, {"name": '"><script>x</script>', "provider": "<b>"}).text
    assert "<script>x" not in text


def test_prices_come_back_as_they_were_typed(db):
    endpoint = Endpoint(price_input=Decimal("0.075000"), price_output=Decimal("12.000000"))
    initial = initial_of(endpoint)
    assert (initial["price_input"], initial["price_output"]) == ("0.075", "12.00")
