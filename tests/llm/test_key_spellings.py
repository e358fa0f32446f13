"""A key that a model spells with escapes stands in nothing that is kept: no answer, no rating, no page, no export."""

import json

import pytest
from django.core import serializers
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from apps.annotation.models import Rating
from apps.common.models import Job
from apps.common.services.jobs import run_job
from apps.llm.models import CallAnswer, Exchange, Run, RunState
from apps.llm.providers.failures import HIDDEN, scrubbed
from apps.llm.services import trying
from apps.llm.services.storing import store
from apps.llm.services.trying import request_test, run_test
from tests.llm.engine.stubs import claims, outcomes
from tests.llm.made import property_test
from tests.llm.providers.made import KEY, KINDS, MESSAGES, OPENAI, PARAMETERS, SCHEMA, Server
from tests.llm.worlds import make_endpoint, make_run

each_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


def spelled(text: str, form: str = "\\u{:04x}") -> str:
    """As JSON may spell it, each character by its number."""
    return "".join(form.format(ord(sign)) for sign in text)


def reply(score: str = '"3"') -> str:
    """An answer that has the key, spelled, wherever a reply can have a text."""
    key, again = spelled(KEY), spelled(KEY, "\\u{:04X}")
    return f'{{"rationale": "It is {key}.", "evidence": ["{key}"], "score": {score}, "{again}": 1}}'


def everything() -> str:
    """All rows of the apps that keep something of a reply, as JSON with and without escapes."""
    models = (Exchange, CallAnswer, Rating, Job, trying.EndpointTest)
    rows = [row for model in models for row in model.objects.all()]
    rows += [row for rating in Rating.objects.all() for row in (*rating.events.all(), *rating.evidence.all())]
    text = serializers.serialize("json", rows)
    return text + text.encode().decode("unicode_escape", errors="replace")


@property_test
@given(
    st.text(alphabet=st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=4, max_size=30),
    st.lists(st.sampled_from(["plain", "lower", "upper", "slash"]), min_size=30, max_size=30),
    st.integers(0, 2),
)
def test_however_json_spells_it_nothing_read_has_it(key, forms, depth):
    written = ""
    for sign, form in zip(key, forms, strict=False):
        plain = json.dumps(sign)[1:-1]
        number = f"{ord(sign):04x}"
        found = {"plain": plain, "lower": f"\\u{number}", "upper": f"\\u{number.upper()}"}
        written += found.get(form, "\\/" if sign == "/" else plain)
    text = f'{{"a": "so {written} it"}}'
    for _level in range(depth):
        text = json.dumps({"a": text})
    kept = scrubbed(text, key)
    for _level in range(depth + 1):
        kept = json.loads(kept)["a"]
    assert kept == f"so {HIDDEN} it"


def test_a_long_run_of_backslashes_takes_no_time():
    text = "\\" * 200_000
    assert scrubbed(text, KEY) == text
    assert scrubbed(text, "\\" * 4).count(HIDDEN)


@each_kind
def test_a_provider_keeps_no_spelling_of_it(kind):
    completion = Server(kind.answer(reply())).provider(kind).complete(MESSAGES, SCHEMA, PARAMETERS)
    assert HIDDEN in completion.text
    assert spelled(KEY) not in completion.text
    assert spelled(KEY)[1:] not in completion.raw
    assert KEY not in str(json.loads(completion.text)) + str(json.loads(completion.raw))


@pytest.fixture
def run(grief) -> Run:
    return make_run(grief, make_endpoint(), state=RunState.RUNNING)


@pytest.mark.parametrize("score", ['"3"', '"9"', f'"{spelled(KEY)}"'], ids=["valid", "invalid", "the key itself"])
def test_nothing_that_is_stored_has_it(run, monkeypatch, sign_in, rosa, score):
    server = Server(OPENAI.answer(reply(score)))
    monkeypatch.setattr("apps.llm.services.claiming.provider_for", lambda target: server.provider(OPENAI))
    for _attempt in range(2):  # the second asks to repair what is invalid
        found = claims(run, 1)
        asked = found.claimed[0].asked
        result = found.claimed[0].provider.complete(asked.messages, asked.schema, asked.parameters)
        store(outcomes(found, result))
    answers = CallAnswer.objects.all()
    assert all(HIDDEN in answer.rationale for answer in answers)
    assert KEY not in everything()
    page = reverse("llm:call", args=[run.study.slug, run.pk, answers[0].call_id])
    shown = sign_in(rosa).get(page).content.decode()
    assert HIDDEN in shown
    assert KEY not in shown.replace("&quot;", '"')
    assert spelled(KEY) not in shown


def test_no_test_of_an_endpoint_has_it(ada, monkeypatch, sign_in):
    server = Server(OPENAI.answer(reply()))
    monkeypatch.setattr("apps.llm.services.trying.provider_for", lambda target: server.provider(OPENAI))
    endpoint = make_endpoint()
    test = request_test(endpoint=endpoint, by=ada)
    run_job(pk=test.job_id, work=run_test)
    test.refresh_from_db()
    assert HIDDEN in test.reply
    assert KEY not in everything()
    shown = sign_in(ada).get(reverse("endpoints:endpoint", args=[endpoint.name])).content.decode()
    assert HIDDEN in shown
    assert KEY not in shown
    assert spelled(KEY) not in shown
