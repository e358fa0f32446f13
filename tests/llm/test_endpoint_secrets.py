"""The value of a key is on no page, in no log, in no row and in no answer of the API."""

import logging

import pytest
from django.urls import reverse

from apps.common.models import Job
from apps.common.services.jobs import run_job
from apps.llm.fake_server import FakeReply, FakeScript, FakeServer
from apps.llm.models import Endpoint
from apps.llm.services.trying import run_test
from tests.llm.tried import typed
from tests.walking import Walker, dump, every_route, furnish, objects_of

KEY = "kv9-distinctive-value-of-a-key-03e1"


@pytest.fixture
def site(sign_in, ada, rosa, grief, strangers, monkeypatch, caplog):
    """An endpoint whose server repeats the key it was sent: once in an answer, once in a refusal."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ACORN_KEY", KEY)
    furnish(grief, rosa)
    client = sign_in(ada)
    replies = [f'{{"rationale": "{KEY}", "evidence": ["{KEY}"], "score": "3"}}', FakeReply(status=401, text=KEY)]
    with FakeServer(FakeScript(api_key=KEY, replies=replies)) as server:
        client.post(reverse("endpoints:new"), typed(base_url=server.url, key_variable="ACORN_KEY"))
        for _turn in replies:
            client.post(reverse("endpoints:test", args=["local"]))
            run_job(pk=Job.objects.filter(kind="endpoint.test").latest("pk").pk, work=run_test)
    client.post(reverse("endpoints:edit", args=["local"]), typed(key_variable="ACORN_KEY", timeout_seconds="9"))
    return grief


def test_the_key_was_sent_and_is_nowhere(site, sign_in, ada, rosa, caplog):
    tests = list(Endpoint.objects.get(name="local").tests.order_by("pk"))
    assert [bool(test.score) for test in tests] == [True, False]
    objects = objects_of(site, ada, rosa).sampled(2)
    objects.values["endpoint"] = ["local"]
    objects.values["job"] = list(Job.objects.values_list("pk", flat=True))
    read = 0
    for person in (ada, rosa):
        walker = Walker(sign_in(person))
        for route in every_route():
            if not objects.values.keys() >= {meaning for _name, meaning in route.parts}:
                continue
            for address in objects.addresses(route):
                answer = walker.ask("get", address)
                read += answer.status == 200
                assert KEY.encode() not in answer.body, address
    assert read > 50
    assert KEY not in str(dump())
    assert KEY not in caplog.text
