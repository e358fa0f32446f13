"""Numbers beyond what a database or a process takes, in every place of the models' pages that takes one."""

import pytest
from django.urls import reverse

from apps.llm.models import Endpoint, RunState
from apps.llm.templates import Use
from tests.llm.test_prompt_views import form, new_address
from tests.llm.worlds import answer_all, make_endpoint, make_run

pytestmark = pytest.mark.django_db

# Beyond 64 bits, and more digits than Python turns into a number.
LARGE = {"20 digits": "9" * 20, "5000 digits": "9" * 5000, "negative": "-" + "9" * 20, "power": "1e400"}
FINE = {200, 302, 400, 404, 422}


@pytest.fixture(params=LARGE.values(), ids=LARGE)
def large(request):
    return request.param


@pytest.fixture
def run(grief):
    run = make_run(grief, make_endpoint(price_input=1, price_output=2))
    answer_all(run)
    return run


@pytest.mark.parametrize("field", ["frameworks", "seed"])
def test_a_new_prompt(grief, framework, rosa, sign_in, large, field):
    response = sign_in(rosa).post(new_address(grief), form(framework, **{field: large, "examples": "lot"}))
    assert response.status_code == 422
    assert response.context["form"].errors[field]
    assert len(response.content) < 200_000


@pytest.mark.parametrize("slot", ["low", "middle", "high"])
@pytest.mark.parametrize("act", ["", "draw"])
def test_an_example_by_hand(grief, framework, rosa, sign_in, large, slot, act):
    name = f"example-{framework.dimensions.first().pk}-{slot}"
    data = form(framework, **{name: large, "examples": "hand", "act": act})
    assert sign_in(rosa).post(new_address(grief), data).status_code == (200 if act else 422)


@pytest.mark.parametrize("field", ["preview-item", "preview-scale", "preview-endpoint", "base", "frameworks", "use"])
def test_a_preview(grief, framework, run, rosa, sign_in, large, field):
    version, item = run.model_rater.version, run.calls.first().item
    scale = f"{framework.pk}/{framework.dimensions.first().pk}"
    asked = {"preview-item": item.pk, "preview-scale": scale, "preview-endpoint": run.endpoint_id, "use": Use.SCALE}
    client = sign_in(rosa)
    data = form(framework, **asked | {field: large})
    assert client.post(reverse("llm:prompt-preview", args=["grief"]), data).status_code in FINE
    stored = client.get(reverse("llm:prompt-version", args=["grief", version.pk]), asked | {field: large})
    assert stored.status_code in FINE
    for scale in (f"{large}/{large}", f"{framework.pk}/{large}"):
        data = form(framework, **asked | {"preview-scale": scale})
        assert client.post(reverse("llm:prompt-preview", args=["grief"]), data).status_code in FINE


@pytest.mark.parametrize(
    "field",
    [
        *("endpoint", "version", "samples", "temperature", "seed", "blocks", "frameworks", "roles"),
        *("sample_size", "lot", "budget"),
    ],
)
def test_a_new_run(grief, run, rosa, sign_in, large, field):
    given = {
        "endpoint": run.endpoint_id,
        "version": run.model_rater.version_id,
        "samples": 1,
        "lot": 7,
        "make": "make",
    }
    client, there = sign_in(rosa), reverse("llm:run-new", args=["grief"])
    assert client.post(there, given | {field: large}).status_code in FINE
    assert client.get(there, {"version": large, "endpoint": large}).status_code == 200
    assert grief.runs.count() == 1


def test_addresses_of_rows_that_cannot_be(grief, run, rosa, sign_in, large):
    if not large.isdigit():
        return
    client, there = sign_in(rosa), reverse("llm:home", args=["grief"])
    for part in ("prompts/{}/", "prompts/{}/edit/", "prompts/{}/delete/", "prompts/{}/diff/{}/", "runs/{}/"):
        assert client.get(there + part.format(large, large)).status_code == 404
    for part in ("runs/{}/calls/", "runs/{}/checks/", f"runs/{run.pk}/calls/{{}}/"):
        assert client.get(there + part.format(large)).status_code == 404
    for act in ("start", "pause", "resume", "cancel", "retry", "reversed", "budget"):
        assert client.post(f"{there}runs/{large}/{act}/").status_code == 404


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("home", ["page", "prompts"]),
        ("run", ["standing"]),
        ("calls", ["page", "scale", "state", "fault", "q"]),
        ("run-checks", ["page"]),
        ("prompt-new", ["use"]),
    ],
)
def test_parameters_of_pages(grief, run, rosa, sign_in, large, page, names):
    args = ["grief"] if page in ("home", "prompt-new") else ["grief", run.pk]
    for name in names:
        assert sign_in(rosa).get(reverse(f"llm:{page}", args=args), {name: large}).status_code == 200
    prompt = reverse("llm:prompt-version", args=["grief", run.model_rater.version_id])
    assert sign_in(rosa).get(prompt, {"page": large}).status_code == 200


def test_what_is_sent_to_a_run(grief, run, rosa, sign_in, large):
    client = sign_in(rosa)
    assert client.post(reverse("llm:run-reversed", args=["grief", run.pk]), {"n_items": large}).status_code in FINE
    assert client.post(reverse("llm:seal", args=["grief"]), {"to": "sealed", "run": large}).status_code == 302
    assert client.post(reverse("llm:baselines", args=["grief"]), {"rule": large}).status_code in FINE
    open_run = make_run(grief, run.endpoint, name="second", state=RunState.PAUSED)
    assert client.post(reverse("llm:run-budget", args=["grief", open_run.pk]), {"budget": large}).status_code in FINE
    open_run.refresh_from_db()
    assert open_run.budget is None


@pytest.mark.parametrize(
    "field",
    [
        *("reply_tokens", "context_tokens", "price_input", "price_output", "max_concurrent"),
        *("requests_per_minute", "tokens_per_minute", "timeout_seconds"),
    ],
)
def test_an_endpoint(ada, sign_in, large, field):
    given = {
        "name": "near",
        "provider": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "fake",
        "response_format": "json_schema",
        "max_tokens_name": "max_tokens",
        "reply_tokens": 100,
        "max_concurrent": 1,
        "timeout_seconds": 10,
        "currency": "USD",
    }
    client = sign_in(ada)
    response = client.post(reverse("endpoints:new"), given | {field: large})
    assert response.status_code == 422
    assert response.context["form"].errors[field]
    assert not Endpoint.objects.exists()
    assert client.get(reverse("endpoints:new"), {field: large}).status_code == 200
    assert client.get(reverse("endpoints:list"), {"page": large}).status_code == 200


def test_a_block_of_a_draft(grief, framework, rosa, sign_in, large):
    type(grief).objects.update(status="draft")
    given = {
        "title": "Main",
        "slug": "main",
        "take": "sample",
        "sample_size": 1,
        "who-expert": "exactly",
        "overlap-expert": 1,
        f"framework-{framework.pk}": "on",
        f"place-{framework.pk}": 1,
    }
    client = sign_in(rosa)
    for name in ("sample_size", "overlap-expert", f"place-{framework.pk}"):
        response = client.post(reverse("studies:block", args=["grief", "main"]), given | {name: large})
        assert response.status_code == 422
        assert name in response.context["form"].errors
    added = f"framework-{large}"
    assert client.post(reverse("studies:block", args=["grief", "main"]), given | {added: "on"}).status_code in FINE


def test_settings_and_people_of_a_study(grief, rosa, sign_in, large):
    client = sign_in(rosa)
    for section, name in (("options", "reservation_hours"), ("seed", "seed")):
        response = client.post(reverse("studies:settings", args=["grief"]), {"section": section, name: large})
        assert response.status_code in FINE
    invite = {"role": "rater", "rater_kind": "expert", "number": 1, "days": 1}
    for name in ("number", "days"):
        response = client.post(reverse("studies:invite", args=["grief"]), invite | {name: large})
        assert response.status_code == 422
    for page in ("exclusions", "raters", "skipped", "people", "invitations"):
        assert client.get(reverse(f"studies:{page}", args=["grief"]), {"page": large}).status_code == 200
    if large.isdigit():
        for part in ("people/{}/", "people/{}/role/", "people/{}/remove/"):
            assert client.get(f"/studies/grief/{part.format(large)}").status_code in (404, 405)
