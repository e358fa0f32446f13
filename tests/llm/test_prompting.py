"""Prompt versions: one for each content, numbered, with the frameworks frozen and the examples as they were."""

import pytest

from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.common.models import AuditEntry
from apps.corpus.models import Conversation, Turn
from apps.frameworks.models import Dimension
from apps.llm.default_templates import DEFAULT_TEMPLATES
from apps.llm.models import Endpoint, ModelRater, Prompt, PromptVersion
from apps.llm.services.example_choice import candidates_of, pick_version_examples
from apps.llm.services.prompting import (
    LONGEST_TEXT,
    NewVersion,
    PromptingError,
    create_version,
    default_version,
    delete_version,
    leaked_items,
)
from apps.llm.templates import TemplateError, Use
from apps.studies.models import Item, Rater, Study
from apps.studies.services.deleting import delete_study
from tests.conftest import make_dataset, make_framework, make_study
from tests.simultaneous import at_once

TEMPLATE = DEFAULT_TEMPLATES[Use.SCALE]


def new_version(framework, **changes) -> NewVersion:
    given = {"use": Use.SCALE, "system": TEMPLATE.system, "user": TEMPLATE.user, "frameworks": (framework,)}
    return NewVersion(**{**given, **changes})


def rate(study, dimension, values, raters=("expert1", "expert2", "expert3")) -> list[Item]:
    """Every rater gives each main item, in order, its value."""
    items = list(Item.objects.filter(block__study=study, role="main").order_by("pk"))
    entries = [
        RatingEntry(item.pk, Rater.objects.get(study=study, name=name).pk, dimension.pk, value)
        for item, value in zip(items, values, strict=False)
        for name in raters
        if value is not None
    ]
    record_ratings(entries=entries, origin=Origin.IMPORT)
    return items


@pytest.fixture
def rated(rosa, framework):
    """A study of eight conversations, rated 1 1 2 3 3 4 5 5 on both scales."""
    study = make_study("rated", owner=rosa, dataset=make_dataset("talks", conversations=8), frameworks=[framework])
    for dimension in framework.dimensions.all():
        rate(study, dimension, [1, 1, 2, 3, 3, 4, 5, 5])
    return study


def test_a_version_keeps_what_it_is_given_and_freezes_its_frameworks(grief, framework, rosa):
    version = create_version(study=grief, name="  Plain \n prompt", new=new_version(framework, note=" first "), by=rosa)
    version = PromptVersion.objects.get(pk=version.pk)
    assert (str(version), version.use, version.note, version.created_by) == ("Plain prompt v1", "scale", "first", rosa)
    assert version.template == TEMPLATE
    assert [*version.frameworks.all()] == [framework]
    framework.refresh_from_db()
    assert framework.is_frozen
    entry = AuditEntry.objects.get(action="prompt.version")
    assert (entry.actor, entry.subject) == (rosa, "grief/Plain prompt v1")


def test_the_same_content_is_the_same_version_and_any_change_the_next(grief, framework, rosa):
    def create(**changes) -> PromptVersion:
        return create_version(study=grief, name="Plain", new=new_version(framework, **changes), by=rosa)

    first = create()
    assert create(note="other words about it", example_seed=7) == first
    assert create(user=TEMPLATE.user.replace("\n", "\r\n")) == first
    second = create(cannot_tell=False)
    assert (second.number, second.prompt) == (2, first.prompt)
    # Back to the first: the newest says something else, so it is a version of its own.
    assert create().number == 3
    assert create(system="").number == 4
    assert PromptVersion.objects.count() == 4
    assert AuditEntry.objects.filter(action="prompt.version").count() == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user": "{{question}} {{points}} {{answer_form}}"}, "{{conversation}} is missing"),
        ({"user": TEMPLATE.user + "{{colour}}"}, "Unknown placeholders: {{colour}}"),
        ({"system": "{{conversation"}, "opens a placeholder"),
        ({"system": "x" * (LONGEST_TEXT + 1)}, "The system message has at most 50,000 characters, and this has 50,001"),
        ({"note": "a\0b"}, "The note holds a NUL byte"),
        ({"frameworks": ()}, "at least one framework"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(grief, framework, rosa, changes, message):
    with pytest.raises((PromptingError, TemplateError), match=message.replace("{", r"\{")):
        create_version(study=grief, name="Plain", new=new_version(framework, **changes), by=rosa)
    assert not Prompt.objects.exists()


def test_a_name_is_needed_and_a_framework_of_the_study(grief, framework, rosa):
    with pytest.raises(PromptingError, match="has a name"):
        create_version(study=grief, name="  ", new=new_version(framework), by=rosa)
    with pytest.raises(PromptingError, match="No block of the study uses Foreign"):
        create_version(study=grief, name="Plain", new=new_version(make_framework("foreign")), by=rosa)


def test_the_default_version_is_made_once_and_the_newest_is_taken(grief, framework, rosa):
    second = default_version(study=grief, by=rosa)
    assert (str(second), second.use, second.cannot_tell) == ("Default, one scale v1", "scale", True)
    assert default_version(study=grief, by=rosa) == second
    whole = default_version(study=grief, use=Use.FRAMEWORK, by=None)
    assert (str(whole), whole.template) == ("Default, whole framework v1", DEFAULT_TEMPLATES[Use.FRAMEWORK])
    mine = create_version(study=grief, name="Mine", new=new_version(framework, system="Rate."), by=rosa)
    assert default_version(study=grief, by=rosa) == mine


# --- Examples -------------------------------------------------------------------------------------------------------


def test_examples_are_drawn_with_few_conversations_for_many_scales(rated, framework, rosa):
    candidates = candidates_of(study=rated, frameworks=[framework])
    choices = pick_version_examples(candidates, seed=7)
    first, second = framework.dimensions.all()
    assert choices[first.pk] == choices[second.pk]
    assert set(choices[first.pk]) == {"low", "middle", "high"}
    version = create_version(
        study=rated, name="Shown", new=new_version(framework, examples=choices, example_seed=7), by=rosa
    )
    assert version.example_seed == 7
    scores = version.examples.order_by("dimension_id", "pk").values_list("slot", "score")
    assert [*scores] == [("low", 1.0), ("middle", 3.0), ("high", 5.0)] * 2
    assert leaked_items(version) == {*choices[first.pk].values()}


def test_a_choice_by_hand_is_shown_for_other_scales_too(rated, framework):
    candidates = candidates_of(study=rated, frameworks=[framework])
    first, second = framework.dimensions.all()
    [*items] = Item.objects.filter(block__study=rated).order_by("pk")
    for item in items[:2]:
        choices = pick_version_examples(candidates, seed=7, overrides={second.pk: {"low": item.pk}})
        assert choices[first.pk]["low"] == choices[second.pk]["low"] == item.pk


def test_medians_are_the_lower_and_of_main_items_with_text_only(grief, framework):
    dimension, _other = framework.dimensions.all()
    rate(grief, dimension, [1, 2, 3], raters=["expert1"])
    rate(grief, dimension, [4, 2, 3], raters=["expert2"])
    items = Item.objects.filter(block__study=grief).order_by("pk")
    found = candidates_of(study=grief, frameworks=[framework])
    assert found.of(dimension.pk) == {items[0].pk: 1, items[1].pk: 2, items[2].pk: 3}
    Turn.objects.filter(conversation=items[1].conversation).update(text=" \n ")
    items.filter(pk=items[2].pk).update(role="practice")
    found = candidates_of(study=grief, frameworks=[framework])
    assert found.of(dimension.pk) == {items[0].pk: 1}


def test_a_conversation_that_is_there_twice_is_one_candidate_and_leaks_as_two(rated, framework, rosa):
    items = list(Item.objects.filter(block__study=rated).order_by("pk"))
    Conversation.objects.filter(pk=items[1].conversation_id).update(content_hash=items[0].conversation.content_hash)
    Turn.objects.filter(conversation=items[1].conversation_id, index=0).update(text="I lost letter 1.")
    candidates = candidates_of(study=rated, frameworks=[framework])
    dimension = framework.dimensions.first()
    assert items[1].pk not in candidates.of(dimension.pk)
    new = new_version(framework, examples={dimension.pk: {"low": items[0].pk}})
    version = create_version(study=rated, name="Shown", new=new, by=rosa)
    assert leaked_items(version) == {items[0].pk, items[1].pk}


def test_nominal_scales_have_no_examples(rated, framework):
    Dimension.objects.filter(framework=framework, slug="scale_1").update(level="nominal")
    first, second = framework.dimensions.all()
    candidates = candidates_of(study=rated, frameworks=[framework])
    assert candidates.of(first.pk) == {}
    assert [*pick_version_examples(candidates, seed=1)] == [second.pk]


def test_examples_that_cannot_be_shown_are_refused(rated, framework, rosa, grief):
    dimension = framework.dimensions.first()
    items = list(Item.objects.filter(block__study=rated).order_by("pk"))
    foreign = Item.objects.filter(block__study=grief).first()

    def create(examples, **changes):
        new = new_version(framework, examples=examples, **changes)
        create_version(study=rated, name="Shown", new=new, by=rosa)

    with pytest.raises(PromptingError, match="On Scale 1, an example is chosen that has no text"):
        create({dimension.pk: {"low": foreign.pk}})
    with pytest.raises(PromptingError, match="one conversation is chosen for two"):
        create({dimension.pk: {"low": items[0].pk, "high": items[0].pk}})
    with pytest.raises(PromptingError, match="does not ask for"):
        create({make_framework("foreign").dimensions.first().pk: {"low": items[0].pk}})
    with pytest.raises(TemplateError, match="to show them"):
        create({dimension.pk: {"low": items[0].pk}}, user=TEMPLATE.user.replace("{{examples}}", ""))
    assert not Prompt.objects.filter(study=rated).exists()


# --- Deleted --------------------------------------------------------------------------------------------------------


def test_only_a_version_that_no_rater_uses_can_be_deleted(grief, framework, rosa):
    first = create_version(study=grief, name="Plain", new=new_version(framework), by=rosa)
    second = create_version(study=grief, name="Plain", new=new_version(framework, system="Rate."), by=rosa)
    use(first)
    with pytest.raises(PromptingError, match="Plain v1 is a rater of the study and stays"):
        delete_version(version=first, by=rosa)
    delete_version(version=second, by=rosa)
    assert [*PromptVersion.objects.all()] == [first]
    assert AuditEntry.objects.filter(action="prompt.delete_version", subject="grief/Plain v2").exists()
    ModelRater.objects.all().delete()
    delete_version(version=first, by=rosa)
    assert not Prompt.objects.exists()


def use(version: PromptVersion, name: str = "Small model") -> ModelRater:
    """A rater of the version."""
    endpoint, _made = Endpoint.objects.get_or_create(name="here", base_url="http://127.0.0.1:8139/v1", model="small")
    rater = Rater.objects.create(study=version.prompt.study, name=name, kind="llm")
    return ModelRater.objects.create(
        rater=rater,
        version=version,
        endpoint=endpoint,
        provider=endpoint.provider,
        base_url=endpoint.base_url,
        model=endpoint.model,
        response_format=endpoint.response_format,
        content_hash="0" * 64,
    )


def test_versions_made_at_the_same_moment_are_numbered_one_after_the_other(transactional_db, grief, framework, rosa):
    def creating(number: int):
        new = new_version(framework, system=f"Number {number % 2}")
        return lambda: create_version(study=grief, name="Plain", new=new, by=rosa)

    first, second = at_once(creating(0), creating(1))
    assert {first.number, second.number} == {1, 2}
    assert Prompt.objects.count() == 1


def test_a_draft_with_a_prompt_can_be_deleted(rosa, framework):
    study = make_study("plan", owner=rosa, dataset=make_dataset("notes"), frameworks=[framework])
    default_version(study=study, by=rosa)
    Study.objects.filter(pk=study.pk).update(status="draft")
    delete_study(study=study, by=rosa)
    assert not Prompt.objects.exists()
