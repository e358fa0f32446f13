"""Endpoints over REST."""

import pytest

from apps.accounts.services.keys import create_key
from tests.llm.worlds import make_endpoint

LIST, ONE = "/api/v1/endpoints/", "/api/v1/endpoints/local/"


@pytest.fixture
def local(db):
    return make_endpoint("local", key_variable="ACORN_KEY")


def test_researchers_read_them_without_the_variable(sign_in, rosa, local):
    answer = sign_in(rosa).get(LIST).json()
    assert answer["count"] == 1
    [row] = answer["results"]
    assert (row["name"], row["model"], row["stays_on_this_machine"]) == ("local", "fake", True)
    assert row["key_variable"] is None
    assert sign_in(rosa).get(ONE).json() == row


def test_admins_read_the_name_of_the_variable_and_nobody_its_value(sign_in, ada, local, monkeypatch):
    monkeypatch.setenv("ACORN_KEY", "not-a-real-key-51c7")
    response = sign_in(ada).get(ONE)
    assert response.json()["key_variable"] == "ACORN_KEY"
    assert "51c7" not in response.text


def test_a_key_of_the_api_reads_them_too(client, rosa, local):
    _row, token = create_key(user=rosa, name="notebook")
    assert client.get(ONE, headers={"Authorization": f"Token {token}"}).status_code == 200


def test_raters_find_none(sign_in, emil, local):
    assert sign_in(emil).get(LIST).json()["count"] == 0
    assert sign_in(emil).get(ONE).status_code == 404


@pytest.mark.parametrize("address", [LIST, ONE])
def test_nobody_is_refused_and_nothing_is_written(client, sign_in, ada, local, address):
    assert client.get(address).status_code in (401, 403)
    for method in ("post", "put", "patch", "delete"):
        assert getattr(sign_in(ada), method)(address).status_code == 405


def test_more_endpoints_cost_no_more_queries(sign_in, rosa, local, django_assert_num_queries):
    client = sign_in(rosa)
    client.get(LIST)
    with django_assert_num_queries(4):
        client.get(LIST)
    for number in range(20):
        make_endpoint(f"more-{number}")
    with django_assert_num_queries(4):
        client.get(LIST)
