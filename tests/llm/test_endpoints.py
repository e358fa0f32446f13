"""Endpoints are set up, changed, retired and brought back; what was done is remembered, and never a key."""

from decimal import Decimal

import pytest

from apps.common.models import AuditEntry
from apps.llm.models import Endpoint
from apps.llm.services.endpoints import (
    EndpointError,
    create_endpoint,
    identity_is_fixed,
    key_is_set,
    retire_endpoint,
    return_endpoint,
    target_of,
    update_endpoint,
)
from tests.llm.worlds import make_endpoint, make_run

KEY = "not-a-real-key-2fb1c9"


def test_a_new_endpoint_is_remembered_with_the_name_of_its_variable(ada, monkeypatch):
    monkeypatch.setenv("ACORN_KEY", KEY)
    values = {"name": "acorn", "model": "m", "key_variable": "ACORN_KEY", "price_input": Decimal("0.5")}
    endpoint = create_endpoint(by=ada, **values)
    assert (endpoint.created_by, endpoint.model) == (ada, "m")
    [entry] = AuditEntry.objects.all()
    assert (entry.action, entry.subject, entry.details["key_variable"]) == ("endpoint.create", "acorn", "ACORN_KEY")
    assert entry.details["price_input"] == "0.5"
    assert KEY not in str(entry.details)


def test_a_target_says_what_a_provider_has_to_know():
    endpoint = Endpoint(name="x", base_url="http://127.0.0.1:1/v1", model="m", key_variable="K", timeout_seconds=7)
    target = target_of(endpoint)
    assert (target.provider, target.base_url, target.model) == ("openai", "http://127.0.0.1:1/v1", "m")
    assert (target.key_variable, target.response_format, target.max_tokens_name) == ("K", "json_schema", "max_tokens")
    assert target.timeout_seconds == 7


def test_whether_a_key_is_there(monkeypatch):
    monkeypatch.delenv("ACORN_KEY", raising=False)
    assert key_is_set(Endpoint())
    assert not key_is_set(Endpoint(key_variable="ACORN_KEY"))
    monkeypatch.setenv("ACORN_KEY", "  ")
    assert not key_is_set(Endpoint(key_variable="ACORN_KEY"))
    monkeypatch.setenv("ACORN_KEY", KEY)
    assert key_is_set(Endpoint(key_variable="ACORN_KEY"))


def test_what_changed_is_remembered_and_only_that(ada):
    endpoint = make_endpoint(price_input=Decimal("1.5"))
    update_endpoint(endpoint=endpoint, by=ada, price_input=Decimal("1.500000"), timeout_seconds=120)
    assert not AuditEntry.objects.exists()
    update_endpoint(endpoint=endpoint, by=ada, price_input=Decimal("2"), takes_seed=True, timeout_seconds=120)
    [entry] = AuditEntry.objects.all()
    assert entry.details == {"price_input": ["1.500000", "2"], "takes_seed": [False, True]}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("provider", "anthropic"),
        ("base_url", "http://127.0.0.1:8/v1"),
        ("model", "another"),
        ("response_format", "none"),
    ],
)
def test_what_makes_it_another_rater_stays_once_a_rater_uses_it(grief, ada, field, value):
    endpoint = make_endpoint()
    update_endpoint(endpoint=endpoint, by=ada, **{field: value})
    endpoint.refresh_from_db()
    assert getattr(endpoint, field) == value
    assert not identity_is_fixed(endpoint)
    used = make_endpoint("used")
    make_run(grief, used)
    assert identity_is_fixed(used)
    with pytest.raises(EndpointError, match="Set up another endpoint") as caught:
        update_endpoint(endpoint=used, by=ada, **{field: value, "timeout_seconds": 5})
    assert caught.value.field == field
    used.refresh_from_db()
    assert (getattr(used, field) != value, used.timeout_seconds) == (True, 120)


def test_prices_limits_and_the_variable_of_one_in_use_may_change(grief, ada):
    endpoint = make_endpoint()
    make_run(grief, endpoint)
    changed = update_endpoint(
        endpoint=endpoint, by=ada, price_input=Decimal("1"), max_concurrent=9, key_variable="ACORN_KEY"
    )
    assert (changed.price_input, changed.max_concurrent, changed.key_variable) == (1, 9, "ACORN_KEY")


def test_whoever_asks_no_key_and_no_variable_of_accord_is_stored(ada):
    with pytest.raises(EndpointError) as caught:
        create_endpoint(by=ada, name="x", model="m", key_variable="SECRET_KEY")
    assert caught.value.field == "key_variable"
    with pytest.raises(EndpointError) as caught:
        create_endpoint(by=ada, name="x", model="m", base_url="https://a:b@example.org")
    assert caught.value.field == "base_url"
    endpoint = make_endpoint(url="http://example.org/v1")
    with pytest.raises(EndpointError):
        update_endpoint(endpoint=endpoint, by=ada, key_variable="ACORN_KEY")
    assert Endpoint.objects.count() == 1
    with pytest.raises(TypeError, match="retired_at"):
        update_endpoint(endpoint=endpoint, by=ada, retired_at=None)


@pytest.mark.parametrize("claim", ["takes_temperature", "takes_seed"])
def test_no_endpoint_claims_what_its_adapter_never_sends(ada, claim):
    with pytest.raises(EndpointError, match="Anthropic's protocol has no") as caught:
        create_endpoint(by=ada, name="x", model="m", provider="anthropic", **{claim: True})
    assert caught.value.field == claim
    made = create_endpoint(by=ada, name="claude", model="m", provider="anthropic")
    assert (made.takes_temperature, made.takes_seed) == (False, False)
    with pytest.raises(EndpointError):
        update_endpoint(endpoint=made, by=ada, **{claim: True})
    openai = make_endpoint(takes_seed=True)
    with pytest.raises(EndpointError):
        update_endpoint(endpoint=openai, by=ada, provider="anthropic", **{claim: True})
    changed = update_endpoint(endpoint=openai, by=ada, provider="anthropic")
    assert (changed.takes_temperature, changed.takes_seed) == (False, False)


def test_a_row_of_before_that_claims_too_much_may_change_its_price(ada):
    old = make_endpoint(provider="anthropic", takes_seed=True)
    assert (old.sends_temperature, old.sends_seed) == (False, False)
    update_endpoint(endpoint=old, by=ada, price_input=Decimal("2"), takes_seed=True, takes_temperature=True)
    update_endpoint(endpoint=old, by=ada, takes_seed=False)
    old.refresh_from_db()
    assert (old.price_input, old.takes_seed) == (Decimal("2"), False)


def test_retiring_and_bringing_back_are_remembered_once(ada):
    endpoint = make_endpoint()
    for act in (retire_endpoint, retire_endpoint, return_endpoint, return_endpoint):
        act(endpoint=endpoint, by=ada)
    endpoint.refresh_from_db()
    assert endpoint.retired_at is None
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "endpoint.retire",
        "endpoint.return",
    ]
    retire_endpoint(endpoint=endpoint, by=ada)
    assert not Endpoint.objects.in_use().exists()
