"""A prompt version at an endpoint with its parameters is one rater of a study: made once, described, and not misled by
its own examples."""

import pytest

from apps.frameworks.models import ScalePoint
from apps.llm.models import ModelRater, PromptExample
from apps.llm.services.model_raters import (
    LONGEST_NAME,
    ModelRaterError,
    content_of,
    described,
    ensure_model_rater,
    sampling_doubt,
    suggested_name,
)
from apps.llm.templates import Use
from apps.studies.models import Exclusion, ExclusionReason, Item, Rater, RaterKind
from tests.llm.worlds import make_endpoint, make_version


@pytest.fixture
def endpoint(db):
    return make_endpoint(model="org/qwen3-8b", takes_seed=True)


@pytest.fixture
def version(grief):
    return make_version(grief, name="warm", number=2)


def test_it_is_a_rater_of_the_study(grief, rosa, version, endpoint):
    made = ensure_model_rater(version=version, endpoint=endpoint, temperature=0.7, seed=5, samples=5, by=rosa)
    assert made.rater.study == grief
    assert made.rater.kind == RaterKind.LLM
    assert made.rater.name == "qwen3-8b warm v2 x5"
    assert made.rater.source == (
        "org/qwen3-8b (openai), prompt warm v2, one scale a call, max_tokens 1000, temperature 0.7, seed 5, 5 samples"
    )
    assert made.parameters == {"max_tokens": 1000, "temperature": 0.7, "seed": 5}
    assert (made.model, made.base_url, made.samples) == ("org/qwen3-8b", endpoint.base_url, 5)
    assert len(made.content_hash) == 64


def test_the_same_is_the_same_rater(rosa, version, endpoint):
    first = ensure_model_rater(version=version, endpoint=endpoint, temperature=1, by=rosa)
    assert ensure_model_rater(version=version, endpoint=endpoint, temperature=1.0, name="another", by=rosa) == first
    twin = make_endpoint("twin", model="org/qwen3-8b", takes_seed=True, key_variable="OTHER_KEY")
    assert ensure_model_rater(version=version, endpoint=twin, temperature=1, by=rosa) == first
    assert Rater.objects.filter(kind=RaterKind.LLM).count() == 1


def test_a_version_that_says_the_same_is_the_same_rater(grief, rosa, version, endpoint):
    first = ensure_model_rater(version=version, endpoint=endpoint, by=rosa)
    again = make_version(grief, name="warm", number=3)
    assert ensure_model_rater(version=again, endpoint=endpoint, by=rosa) == first


@pytest.mark.parametrize(
    "changed",
    [
        {"endpoint": {"model": "other"}},
        {"endpoint": {"base_url": "http://127.0.0.1:9/v2"}},
        {"endpoint": {"response_format": "none"}},
        {"endpoint": {"reply_tokens": 2000}},
        {"version": {"user": "{{question}} {{points}} {{conversation}} {{answer_form}}"}},
        {"version": {"cannot_tell": False}},
        {"version": {"use": Use.FRAMEWORK}},
        {"samples": 2},
        {"temperature": 0.0},
        {"seed": 0},
    ],
)
def test_whatever_is_asked_otherwise_is_another_rater(grief, rosa, version, endpoint, changed):
    asked = {"version": version, "endpoint": endpoint}
    first = ensure_model_rater(**asked, by=rosa)
    if "endpoint" in changed:
        fields = {"model": endpoint.model, "takes_seed": True, **changed["endpoint"]}
        changed = {"endpoint": make_endpoint("changed", **fields)}
    if "version" in changed:
        changed = {"version": make_version(grief, name="warm", number=3, **changed["version"])}
    other = ensure_model_rater(**{**asked, **changed}, by=rosa)
    assert other.content_hash != first.content_hash
    assert other.rater.name != first.rater.name


def test_an_example_makes_another_rater_and_is_excluded_for_it(grief, rosa, version, endpoint):
    plain = ensure_model_rater(version=version, endpoint=endpoint, by=rosa)
    shown = make_version(grief, name="warm", number=3)
    item = Item.objects.filter(block__study=grief)[1]
    PromptExample.objects.create(
        version=shown, dimension=shown.frameworks.get().dimensions.first(), item=item, slot="low", score=1
    )
    made = ensure_model_rater(version=shown, endpoint=endpoint, by=rosa)
    assert made.rater != plain.rater
    [exclusion] = Exclusion.objects.in_force().filter(rater__study=grief)
    assert (exclusion.rater, exclusion.item, exclusion.reason) == (made.rater, item, ExclusionReason.LEAKAGE)
    assert "warm v3" in exclusion.explanation
    ensure_model_rater(version=shown, endpoint=endpoint, by=rosa)
    assert Exclusion.objects.count() == 1
    exclusion.item.conversation.refresh_from_db()
    [content] = content_of(made)
    assert content.examples[0][:3] == ("scale_1", "low", "letters-002")
    assert content_of(plain)[0].examples == ()


def test_what_it_freezes_can_be_read_again(rosa, version, endpoint):
    made = ensure_model_rater(version=version, endpoint=endpoint, seed=3, by=rosa)
    endpoint.price_input, endpoint.timeout_seconds = 3, 5
    endpoint.save()
    [content] = content_of(ModelRater.objects.get(pk=made.pk))
    assert content.parameters == {"max_tokens": 1000, "seed": 3}
    assert list(content.schemas) == ["scale_1", "scale_2"]
    assert content.schemas["scale_1"]["properties"]["score"]["enum"] == ["1", "2", "3", "4", "5", "cannot_tell"]
    lines = dict(described(made))
    assert lines["Model"] == "org/qwen3-8b"
    assert lines["Prompt"] == "warm v2"
    assert lines["Temperature"] == "not sent"
    assert lines["Seed"] == "3"


def test_a_whole_framework_has_one_schema(grief, rosa, endpoint):
    version = make_version(grief, use=Use.FRAMEWORK)
    [content] = content_of(ensure_model_rater(version=version, endpoint=endpoint, by=rosa))
    assert list(content.schemas) == ["-"]


def test_a_scale_that_says_something_else_is_another_rater(grief, rosa, version, endpoint):
    first = ensure_model_rater(version=version, endpoint=endpoint, by=rosa)
    ScalePoint.objects.filter(value=3).update(label="so so")
    assert ensure_model_rater(version=version, endpoint=endpoint, by=rosa) != first


@pytest.mark.parametrize(
    ("asked", "field", "said"),
    [
        ({"temperature": -0.1}, "temperature", "from 0 to 2"),
        ({"temperature": 2.1}, "temperature", "from 0 to 2"),
        ({"temperature": float("nan")}, "temperature", "from 0 to 2"),
        ({"samples": 0}, "samples", "from 1 to 25"),
        ({"samples": 26}, "samples", "from 1 to 25"),
        ({"seed": -1}, "seed", "from 0"),
        ({"seed": 2**31}, "seed", "from 0"),
        ({"name": "x" * 81}, "name", "at most 80"),
        ({"name": "tab\x07"}, "name", "in one line"),
        ({"name": "expert1"}, "name", "has a rater expert1 already"),
        ({"name": "experts"}, "name", "cannot be called experts"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(rosa, version, endpoint, asked, field, said):
    with pytest.raises(ModelRaterError, match=said) as refusal:
        ensure_model_rater(version=version, endpoint=endpoint, by=rosa, **asked)
    assert refusal.value.field == field
    assert str(refusal.value)[0].isupper()
    assert str(refusal.value).endswith(".")
    assert not Rater.objects.filter(kind=RaterKind.LLM).exists()


def test_only_what_the_endpoint_takes_is_sent(rosa, version):
    plain = make_endpoint("plain", takes_temperature=False)
    with pytest.raises(ModelRaterError, match="plain takes no temperature"):
        ensure_model_rater(version=version, endpoint=plain, temperature=1.0, by=rosa)
    with pytest.raises(ModelRaterError, match="plain takes no seed"):
        ensure_model_rater(version=version, endpoint=plain, seed=1, by=rosa)
    assert ensure_model_rater(version=version, endpoint=plain, by=rosa).parameters == {"max_tokens": 1000}


def test_no_two_raters_differ_in_what_is_never_sent(rosa, version):
    old = make_endpoint("claude", provider="anthropic", url="", takes_seed=True)  # made before it was refused
    for asked in ({"temperature": 0.7}, {"seed": 5}):
        with pytest.raises(ModelRaterError, match="claude takes no"):
            ensure_model_rater(version=version, endpoint=old, by=rosa, **asked)
    assert ensure_model_rater(version=version, endpoint=old, by=rosa).parameters == {"max_tokens": 1000}


def test_names_are_short_and_no_two_the_same(grief, endpoint):
    version = make_version(grief, name="p" * 60, number=123)
    endpoint.model = "m" * 200
    taken: list[str] = []
    for _number in range(12):
        name = suggested_name(version, endpoint, 25, taken)
        assert len(name) <= LONGEST_NAME
        assert name not in taken
        taken.append(name)
    assert taken[0].startswith("mmm")
    assert "v123 x25" in taken[0]
    endpoint.model = "models/"
    assert suggested_name(version, endpoint, 1).startswith("models ")


@pytest.mark.parametrize(
    ("temperature", "seed", "samples", "said"),
    [
        (None, None, 1, ""),
        (0, None, 1, ""),
        (0, 5, 3, "At temperature 0"),
        (None, None, 3, "left to the provider"),
        (None, 5, 3, ""),
        (0.5, None, 3, ""),
    ],
)
def test_samples_that_may_not_differ_are_doubted(temperature, seed, samples, said):
    doubt = sampling_doubt(temperature=temperature, seed=seed, samples=samples)
    assert said in doubt
    assert bool(said) == bool(doubt)
