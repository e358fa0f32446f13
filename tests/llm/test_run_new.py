"""The form of a new run: what is chosen, what it would take, and what it makes."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.llm.models import Endpoint, ModelRater, Prompt, PromptExample, PromptVersion, Run, RunState, TextConsent
from apps.llm.services.consent import ConsentError
from apps.llm.services.making_runs import RunOrder, make_run
from apps.llm.services.model_raters import ensure_model_rater
from apps.llm.services.planning import PlanError, RunSelection, create_run
from apps.llm.templates import Use
from apps.studies.models import Item, ItemRole, MemberRole, Membership, StudyStatus
from tests.conftest import make_dataset, make_framework
from tests.llm.worlds import make_endpoint, make_version

NEW = "/studies/grief/llm/runs/new/"
PAID = {"price_input": Decimal("2"), "price_output": Decimal("8")}


@pytest.fixture
def endpoint(db):
    return make_endpoint()


@pytest.fixture
def version(grief):
    return make_version(grief)


@pytest.fixture
def owner(sign_in, rosa, grief):
    return sign_in(rosa)


def choices(endpoint, version="own-scale", **changed):
    chosen = {"endpoint": endpoint.pk, "version": getattr(version, "pk", version), "samples": 1, "lot": 2026}
    return {name: value for name, value in {**chosen, **changed}.items() if value is not None}


def estimated(client, data, **headers):
    return client.post(NEW, {**data, "estimate": "1"}, headers=headers)


def made(client, data, make="only"):
    """Estimated first, then made, as a person does it."""
    plan = estimated(client, data)
    assert plan.status_code == 200, plan.content.decode()
    return client.post(NEW, {**data, "seen": plan.context["form"].digest, "make": make})


# --- Who comes here ---------------------------------------------------------------------------------------------------


def test_its_address(grief):
    assert reverse("llm:run-new", args=["grief"]) == NEW


def test_nobody_signs_in_first(client, grief):
    assert client.get(NEW).status_code == 302
    assert client.post(NEW).status_code == 302


def test_only_managers_make_runs(sign_in, grief, endpoint, emil, otto, ada):
    assert sign_in(emil).get(NEW).status_code == 404
    assert sign_in(otto).get(NEW).status_code == 404
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    assert sign_in(otto).get(NEW).status_code == 403
    assert sign_in(otto).post(NEW, choices(endpoint)).status_code == 403
    assert sign_in(ada).get(NEW).status_code == 200
    assert not Run.objects.exists()


def test_other_methods_are_not_there(owner, endpoint):
    assert owner.put(NEW).status_code == 405
    assert owner.delete(NEW).status_code == 405


def test_drafts_and_sites_without_an_endpoint_are_told_why(owner, grief):
    response = owner.get(NEW, follow=True)
    assert response.redirect_chain == [("/studies/grief/llm/", 302)]
    assert "There is no endpoint yet" in response.content.decode()
    make_endpoint()
    grief.status = StudyStatus.DRAFT
    grief.save()
    assert "activate it first" in owner.get(NEW, follow=True).content.decode()


# --- Estimating -------------------------------------------------------------------------------------------------------


def test_the_plan_is_a_page_or_a_part_and_writes_nothing(owner, endpoint):
    page = estimated(owner, choices(endpoint))
    assert page.status_code == 200
    assert "<html" in page.content.decode()
    part = estimated(owner, choices(endpoint), HX_Request="true").content.decode()
    assert part.strip().startswith('<form id="run-form"')
    for said in (page.content.decode(), part):
        assert "What it takes" in said
        assert "3 of 3" in said
        assert "unknown: the endpoint has no prices" in said
        assert "fake Default, one scale v1" in said
        assert "It becomes a rater" in said
    assert not Prompt.objects.exists()
    assert not ModelRater.objects.exists()


def test_the_plan_names_what_is_left_out_by_reason(owner, grief, endpoint, version):
    items = list(Item.objects.filter(block__study=grief))
    items[0].conversation.turns.all().delete()
    dimension = version.frameworks.get().dimensions.first()
    PromptExample.objects.create(version=version, dimension=dimension, item=items[1], slot="low", score=1)
    page = estimated(owner, choices(endpoint, version)).content.decode()
    assert "no text to rate" in page
    assert "main/letters-001" in page
    assert "shown to the model as an example" in page
    assert "main/letters-002" in page
    page = estimated(owner, choices(endpoint, version, with_examples="on")).content.decode()
    assert "shown to the model as an example" not in page


def test_which_conversations_are_examples_is_hidden_from_who_rates(owner, grief, rosa, endpoint, version):
    item = Item.objects.filter(block__study=grief)[1]
    dimension = version.frameworks.get().dimensions.first()
    PromptExample.objects.create(version=version, dimension=dimension, item=item, slot="low", score=1)
    grief.raters.filter(name="expert2").update(user=rosa)
    page = estimated(owner, choices(endpoint, version)).content.decode()
    assert "shown to the model as an example" in page
    assert "letters-002" not in page


def test_no_other_list_tells_by_what_it_lacks_which_one_is_an_example(owner, grief, rosa, endpoint, version):
    """Of three, one has no text and two are left: whoever rates reads of no reason which conversations it is about."""
    items = list(Item.objects.filter(block__study=grief))
    items[0].conversation.turns.all().delete()
    dimension = version.frameworks.get().dimensions.first()
    PromptExample.objects.create(version=version, dimension=dimension, item=items[1], slot="low", score=1)
    grief.raters.filter(name="expert2").update(user=rosa)
    page = estimated(owner, choices(endpoint, version)).content.decode()
    assert "no text to rate" in page
    assert "letters-00" not in page


def test_a_known_rater_is_asked_the_rest(owner, grief, rosa, endpoint, version):
    rater = ensure_model_rater(version=version, endpoint=endpoint, name="the known one", by=rosa)
    create_run(study=grief, model_rater=rater, selection=RunSelection(sample_size=2), by=rosa)
    page = estimated(owner, choices(endpoint, version)).content.decode()
    assert "the known one" in page
    assert "It is a rater of this study already" in page
    assert "1 of 3" in page
    create_run(study=grief, model_rater=rater, selection=RunSelection(), by=rosa)
    page = estimated(owner, choices(endpoint, version)).content.decode()
    assert "There is nothing to ask" in page
    assert 'name="make"' not in page


def test_more_samples_that_show_little_are_a_warning(owner, endpoint, version):
    assert "left to the provider" in estimated(owner, choices(endpoint, version, samples=5)).content.decode()
    cold = estimated(owner, choices(endpoint, version, samples=5, temperature=0))
    assert cold.status_code == 200
    assert "At temperature 0" in cold.content.decode()
    warm = estimated(owner, choices(endpoint, version, samples=5, temperature=0.7)).content.decode()
    assert "message--warning" not in warm


def test_a_budget_below_the_cost_is_a_warning(owner, version):
    paid = make_endpoint("paid", price_input=Decimal(1000), price_output=Decimal(1000))
    assert "expected to cost more" in estimated(owner, choices(paid, version, budget="0.01")).content.decode()
    assert "expected to cost more" not in estimated(owner, choices(paid, version, budget="99999")).content.decode()


@pytest.mark.parametrize(
    ("fields", "changed", "field", "said"),
    [
        ({}, {"samples": 26}, "samples", "25"),
        ({}, {"samples": 0}, "samples", "1"),
        ({}, {"temperature": "2.1"}, "temperature", "2"),
        ({}, {"temperature": "nan"}, "temperature", "number"),
        ({"takes_temperature": False}, {"temperature": "1"}, "temperature", "takes no temperature"),
        ({}, {"seed": 7}, "seed", "takes no seed"),
        ({"takes_seed": True}, {"seed": -1}, "seed", "0"),
        ({}, {"budget": "5"}, "budget", "no prices"),
        (PAID, {"budget": "0"}, "budget", "more than 0"),
        (PAID, {"budget": "-3"}, "budget", "more than 0"),
        ({}, {"sample_size": 0}, "sample_size", "1"),
        ({}, {"name": "x" * 81}, "name", "80"),
        ({}, {"name": "a\0b"}, "name", "Null"),
        ({}, {"version": "12345"}, "version", "valid choice"),
        ({}, {"lot": None}, "lot", "required"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(owner, fields, changed, field, said):
    response = estimated(owner, choices(make_endpoint("odd", **fields), **changed))
    assert response.status_code == 422
    [error] = response.context["form"].errors[field]
    assert said in error
    assert not Run.objects.exists()


def test_frameworks_and_blocks_are_chosen_where_there_are_several(owner, rosa, grief, endpoint):
    page = owner.get(NEW)
    assert not {"blocks", "frameworks", "roles"} & page.context["form"].fields.keys()
    version = make_version(grief)
    calm = make_framework("calm-scales")
    other = grief.blocks.create(slug="other", title="Other", position=1, dataset=make_dataset("notes", owner=rosa))
    other.block_frameworks.create(framework=calm, position=0)
    for position, conversation in enumerate(other.dataset.conversations.all()):
        Item.objects.create(block=other, conversation=conversation, position=position, role=ItemRole.GOLD)
    assert {"blocks", "frameworks", "roles"} <= owner.get(NEW).context["form"].fields.keys()
    refused = estimated(owner, choices(endpoint, version, frameworks=[calm.pk], roles=["main"]))
    assert "does not ask about each of these" in str(refused.context["form"].errors["frameworks"])
    wide = make_version(grief, number=2)
    plan = estimated(owner, choices(endpoint, wide, blocks=[other.pk], frameworks=[calm.pk], roles=["main", "gold"]))
    assert [item.external_id for item in plan.context["plan"].preview.plan.items] == [
        "notes-001",
        "notes-002",
        "notes-003",
    ]


def test_the_address_chooses_beforehand(owner, grief, endpoint, version):
    other = make_endpoint("another")
    second = make_version(grief, number=2, use=Use.FRAMEWORK)
    form = owner.get(f"{NEW}?endpoint=local&version={version.pk}").context["form"]
    assert form["endpoint"].value() == str(endpoint.pk)
    assert form["version"].value() == str(version.pk)
    form = owner.get(f"{NEW}?endpoint=%00&version=x").context["form"]
    assert form["endpoint"].value() == str(other.pk)
    assert form["version"].value() == str(second.pk)


def test_retired_endpoints_are_not_offered(owner, endpoint, version):
    gone = make_endpoint("gone", retired_at="2026-01-01T00:00Z")
    assert "gone: fake" not in owner.get(NEW).content.decode()
    assert estimated(owner, choices(gone, version)).status_code == 422


def test_prompts_of_another_study_are_not_there(owner, strangers, endpoint):
    foreign = make_version(strangers, name="Foreign prompt")
    assert "Foreign prompt" not in owner.get(NEW).content.decode()
    assert estimated(owner, choices(endpoint, foreign)).status_code == 422


# --- Making -----------------------------------------------------------------------------------------------------------


def test_a_run_is_made_and_waits(owner, rosa, grief, endpoint):
    response = made(owner, choices(endpoint, samples=2, temperature=0.5, sample_size=2, name="  judge   one "))
    run = Run.objects.get()
    assert response.url == reverse("llm:run", args=["grief", run.pk])
    assert run.state == RunState.READY
    assert run.created_by == rosa
    assert run.calls.count() == 8
    assert run.model_rater.rater.name == "judge one"
    assert run.model_rater.parameters == {"max_tokens": 1000, "temperature": 0.5}
    assert PromptVersion.objects.get().prompt.name == "Default, one scale"


def test_a_run_is_made_and_started(owner, endpoint, version, monkeypatch, django_capture_on_commit_callbacks):
    triggered = []
    monkeypatch.setattr("apps.llm.views.making_runs.trigger_endpoint", triggered.append)
    made(owner, choices(endpoint, version), make="start")
    assert Run.objects.get().state == RunState.RUNNING
    assert triggered == [endpoint.pk]


def test_a_run_that_cannot_start_is_there_and_says_why(owner, version):
    keyed = make_endpoint("keyed", key_variable="NO_SUCH_KEY_ANYWHERE")
    response = made(owner, choices(keyed, version), make="start")
    assert Run.objects.get().state == RunState.READY
    page = owner.get(response.url).content.decode()
    assert "The endpoint&#x27;s key is not set: please tell whoever runs this site." in page
    assert "NO_SUCH_KEY_ANYWHERE" not in page


def test_a_key_that_is_missing_is_said_before_the_run_is_made(owner, sign_in, ada, endpoint, version):
    keyed = make_endpoint("keyed", key_variable="NO_SUCH_KEY_ANYWHERE")
    page = estimated(owner, choices(keyed, version)).content.decode()
    assert "The key of this endpoint is not set in the web process." in page
    assert "NO_SUCH_KEY_ANYWHERE" not in page
    assert "NO_SUCH_KEY_ANYWHERE is not set" in estimated(sign_in(ada), choices(keyed, version)).content.decode()
    assert "is not set" not in estimated(owner, choices(endpoint, version)).content.decode()


def test_nothing_is_made_that_was_not_estimated(owner, endpoint, version):
    response = owner.post(NEW, {**choices(endpoint, version), "make": "start"})
    assert response.status_code == 200
    assert "others than those that were estimated" in response.content.decode()
    seen = response.context["form"].digest
    response = owner.post(NEW, {**choices(endpoint, version, samples=3), "seen": seen, "make": "start"})
    assert "others than those that were estimated" in response.content.decode()
    assert not Run.objects.exists()


def test_a_name_that_is_taken_is_refused_and_nothing_is_written(owner, endpoint):
    response = made(owner, choices(endpoint, name="expert1"))
    assert response.status_code == 422
    assert "has a rater expert1 already" in str(response.context["form"].errors["name"])
    assert not Run.objects.exists()
    assert not Prompt.objects.exists()


# --- Privacy ----------------------------------------------------------------------------------------------------------


def test_text_leaves_only_where_somebody_confirms_it(owner, grief, rosa, version):
    far = make_endpoint("far", url="https://models.example.org/v1")
    plan = estimated(owner, choices(far, version))
    assert "would be sent to far" in plan.content.decode()
    assert "https://models.example.org/v1" in plan.content.decode()
    refused = made(owner, choices(far, version))
    assert refused.status_code == 422
    assert "Confirm that the text may be sent there" in str(refused.context["form"].errors["confirm"])
    assert "What it takes" in refused.content.decode()
    assert not Run.objects.exists()
    assert not TextConsent.objects.exists()
    assert made(owner, choices(far, version, confirm="on")).status_code == 302  # ticked once it was seen
    assert TextConsent.objects.get().given_by == rosa
    assert "would be sent to far" not in estimated(owner, choices(far, version, samples=2)).content.decode()


ELSEWHERE = {
    "address": {"base_url": "https://b.evil.example/v1"},
    "provider": {"provider": "anthropic"},
    "model": {"model": "another"},
    "form": {"response_format": "none"},
    "prices": {"price_input": Decimal(2000), "price_output": Decimal(8000)},
    "currency": {"currency": "EUR"},
}


@pytest.mark.parametrize("changed", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("make", ["only", "start"])
def test_what_an_admin_changes_after_the_estimate_is_estimated_and_confirmed_anew(owner, version, changed, make):
    far = make_endpoint("far", url="https://a.example.org/v1", **PAID)
    data = choices(far, version, confirm="on")
    seen = estimated(owner, data).context["form"].digest
    Endpoint.objects.filter(pk=far.pk).update(**changed)
    response = owner.post(NEW, {**data, "seen": seen, "make": make})
    page = response.content.decode()
    assert response.status_code == 200
    assert "An admin has changed the endpoint since the estimate." in page
    assert changed.get("base_url", "https://a.example.org/v1") in page
    assert not response.context["form"]["confirm"].value()
    assert [model for model in (Run, ModelRater, TextConsent) if model.objects.exists()] == []
    # The page as it came back says yes to nothing by itself.
    seen = response.context["form"].digest
    unconfirmed = owner.post(NEW, {**choices(far, version), "seen": seen, "make": "only"})
    assert "confirm" in unconfirmed.context["form"].errors
    assert owner.post(NEW, {**data, "seen": seen, "make": "only"}).status_code == 302
    assert TextConsent.objects.get().endpoint == far


def test_a_tick_for_one_endpoint_is_none_for_another(owner, version):
    near, far = (make_endpoint(name, url=f"https://{name}.example.org/v1") for name in ("near", "far"))
    seen = estimated(owner, choices(near, version)).context["form"].digest
    for act in ({"estimate": "1"}, {"make": "only"}):
        response = owner.post(NEW, {**choices(far, version, confirm="on"), "seen": seen, **act})
        assert response.status_code == 200
        assert not response.context["form"]["confirm"].value()
    assert "others than those that were estimated" in response.content.decode()
    # Other choices at the same endpoint leave the tick where it is.
    response = owner.post(NEW, {**choices(near, version, samples=3, confirm="on"), "seen": seen, "make": "only"})
    assert response.context["form"]["confirm"].value()
    assert not TextConsent.objects.exists()


def test_one_that_changes_while_the_run_is_made_is_refused(grief, rosa, version):
    far = make_endpoint("far", url="https://a.example.org/v1", **PAID)
    order = RunOrder(endpoint=far, version=version, confirms=True)
    Endpoint.objects.update(base_url="https://b.evil.example/v1")
    with pytest.raises(ConsentError, match="has another address by now"):
        make_run(study=grief, order=order, by=rosa)
    Endpoint.objects.update(base_url=far.base_url, price_input=Decimal(2000))
    with pytest.raises(PlanError, match="was changed just now"):
        make_run(study=grief, order=order, by=rosa)
    assert [model for model in (Run, ModelRater, TextConsent) if model.objects.exists()] == []


def test_nothing_is_confirmed_for_this_machine(owner, endpoint, version):
    assert "would be sent" not in estimated(owner, choices(endpoint, version)).content.decode()


def test_a_study_for_this_machine_asks_no_other(owner, grief, version):
    grief.local_only = True
    grief.save()
    far = make_endpoint("far", url="https://models.example.org/v1")
    response = estimated(owner, choices(far, version, confirm="on"))
    assert response.status_code == 422
    assert "stays on this machine" in str(response.context["form"].errors["endpoint"])
    assert not TextConsent.objects.exists()


# --- House ------------------------------------------------------------------------------------------------------------


def test_names_are_escaped(owner, grief, endpoint):
    make_endpoint("loud", model="<b>fake</b>")
    version = make_version(grief, name="<u>warm</u>")
    page = estimated(owner, choices(endpoint, version, name="<i>loud</i>")).content.decode()
    for tag in ("<b>fake", "<u>warm", "<i>loud"):
        assert tag not in page


def test_queries_do_not_grow(owner, grief, rosa, endpoint, version):
    def asked(method, *args):
        with CaptureQueriesContext(connection) as queries:
            assert getattr(owner, method)(NEW, *args).status_code == 200
        return len(queries)

    data = {**choices(endpoint, version, roles=["main"]), "estimate": "1"}
    Item.objects.filter(block__study=grief, position=2).update(role=ItemRole.GOLD)
    few = asked("get"), asked("post", data)
    for number in range(12):
        make_endpoint(f"other-{number}")
        make_version(grief, number=number + 2)
    block = grief.blocks.get()
    for number, conversation in enumerate(make_dataset("more", conversations=20, owner=rosa).conversations.all()):
        Item.objects.create(block=block, conversation=conversation, position=10 + number)
    assert (asked("get"), asked("post", data)) == few


def test_the_page_does_not_read_the_texts_of_every_version(owner, endpoint, version, django_assert_max_num_queries):
    with django_assert_max_num_queries(60) as read:
        assert owner.get(NEW).status_code == 200
    [query] = [one["sql"] for one in read.captured_queries if 'FROM "llm_promptversion"' in one["sql"]]
    assert '"llm_promptversion"."number"' in query
    assert '"llm_promptversion"."user"' not in query
    assert '"llm_promptversion"."system"' not in query
