"""Addresses of endpoints are read strictly: no program takes another host for what is taken for this machine."""

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.addresses import address_of, is_loopback, without_version
from apps.llm.models import Endpoint
from apps.llm.providers import registry
from apps.llm.providers.protocol import ErrorKind, ProviderError, Target
from apps.llm.services.endpoint_rules import base_url_problem, is_unprotected
from tests.llm.made import property_test

NOT_THIS_MACHINE = [
    "http://[::1]evil.com/v1",
    "http://[::1].evil.com/v1",
    "http://[::1]:80evil.com/v1",
    "http://evil.com[::1]/v1",
    "http://127.0.0.1.evil.com/v1",
    "http://127.0.0.1\\@evil.com/v1",
    "http://127.0.0.1:8001@evil.com/v1",
    "http://localhost.evil.com/v1",
    "http://localhost%2eevil.com/v1",
    "http://127.0.0.1\tevil.com/v1",
    "//127.0.0.1/v1",
    "http:127.0.0.1/v1",
    "http:///127.0.0.1/v1",
    "http://[::1%25eth0]/v1",
    "http://[127.0.0.1]/v1",
    "",
]


@pytest.mark.parametrize("url", NOT_THIS_MACHINE)
def test_what_only_looks_like_this_machine_is_not(url):
    assert not is_loopback(url)
    assert not Endpoint(base_url=url).is_loopback


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8001/v1", "http://[::1]:8001/v1", "HTTP://LocalHost/v1", "https://127.9.9.9", "http://[::1]"],
)
def test_this_machine(url):
    assert is_loopback(url)
    assert Endpoint(base_url=url).is_loopback


@pytest.mark.parametrize("url", [url for url in NOT_THIS_MACHINE if url and "evil.com/v1" not in url.split("]")[0]])
def test_the_form_refuses_what_is_no_address_or_sends_no_key_there(url):
    assert base_url_problem(url, key_variable="MY_KEY")


@pytest.mark.parametrize("url", ["http://[::1]evil.com/v1", "http://host:0/v1", "http://host:65536/v1", "http://-a/v1"])
def test_no_address(url):
    assert address_of(url) is None
    assert "This is not an address" in base_url_problem(url, key_variable="")
    with pytest.raises(ProviderError, match="is no address") as failure:
        registry.provider_for(Target("openai", url, "made-up"))
    assert failure.value.kind is ErrorKind.SETUP


@pytest.mark.parametrize("scheme", ["http", "HTTP", "Http"])
def test_no_key_travels_in_the_open_however_it_is_spelled(scheme, monkeypatch):
    url = f"{scheme}://llm.example.org/v1"
    assert "unprotected" in base_url_problem(url, key_variable="MY_KEY")
    assert is_unprotected(Endpoint(base_url=url))
    monkeypatch.setenv("MY_KEY", "not-a-real-key")
    with pytest.raises(ProviderError, match="unprotected") as failure:
        registry.provider_for(Target("openai", url, "made-up", key_variable="MY_KEY"))
    assert failure.value.kind is ErrorKind.SETUP


@pytest.mark.parametrize(
    "url",
    ["https://example.org/sk-not-a-real-key/v1", "https://sk-not-a-real-key/v1", "https://example.org/key=sk-abc"],
)
def test_a_key_in_an_address_is_refused(url):
    assert "looks like a key" in base_url_problem(url, key_variable="")


@property_test
@given(st.text(alphabet="htps:/[]@.1270localhost\\%#?evilcom", max_size=40).map(lambda text: f"http://{text}"))
def test_the_host_is_the_one_that_is_asked(url):
    address = address_of(url)
    if address is not None:
        assert httpx2.URL(url).host.lower() == address.host


@pytest.mark.parametrize(
    ("url", "rest"),
    [
        ("", ""),
        ("https://a.example", "https://a.example"),
        ("https://a.example/v1/", "https://a.example"),
        ("https://a.example/x/v1beta", "https://a.example/x"),
        ("https://a.example/v10", "https://a.example/v10"),
    ],
)
def test_a_version_at_the_end_is_taken_away(url, rest):
    assert without_version(url, "v1beta", "v1") == rest
