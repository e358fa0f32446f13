"""What a run asks, what it leaves out and why, and what it is expected to take."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from apps.common.models import AuditEntry
from apps.corpus.models import Conversation, SpeakerRole, Turn
from apps.frameworks.models import Framework
from apps.llm.models import Call, CallState, Exchange, PromptExample, Run, RunState
from apps.llm.services import planning, run_items
from apps.llm.services.estimating import duration_in_words
from apps.llm.services.model_raters import ensure_model_rater
from apps.llm.services.planning import (
    LeftOut,
    PlanError,
    RunSelection,
    create_reversed_run,
    create_run,
    plan_run,
)
from apps.llm.services.rendering import Renderer, turns_of
from apps.llm.services.run_items import Question, RunItem, Scale, _drawn, in_asking_order
from apps.llm.templates import Use
from apps.studies.models import Item, ItemRole, StudyStatus
from tests.conftest import make_dataset, make_framework, make_study
from tests.llm.made import property_test
from tests.llm.worlds import answer_all, make_endpoint, make_run, make_version

PRICES = {"price_input": Decimal("2"), "price_output": Decimal("8")}


@pytest.fixture
def endpoint(db):
    return make_endpoint()


@pytest.fixture
def version(grief):
    return make_version(grief)


@pytest.fixture
def model_rater(version, endpoint, rosa):
    return ensure_model_rater(version=version, endpoint=endpoint, by=rosa)


def planned(version, endpoint, *, samples=1, model_rater=None, **selection):
    return plan_run(
        study=version.prompt.study,
        version=version,
        endpoint=endpoint,
        samples=samples,
        selection=RunSelection(**selection),
        model_rater=model_rater,
    )


def ids(plan):
    return [item.external_id for item in plan.items]


def left(plan):
    return {item.external_id: reason for item, reason in plan.left_out}


def show_as_example(version, item, slot="low"):
    dimension = version.frameworks.first().dimensions.first()
    return PromptExample.objects.create(version=version, dimension=dimension, item=item, slot=slot, score=1)


# --- What is asked ----------------------------------------------------------------------------------------------------


def test_each_item_on_each_scale_in_the_order_of_the_study(version, endpoint):
    plan = planned(version, endpoint, samples=3)
    assert ids(plan) == ["letters-001", "letters-002", "letters-003"]
    assert [(question.item.external_id[-1], question.scale.dimension) for question in plan.questions] == [
        (item, scale) for item in "123" for scale in ("scale_1", "scale_2")
    ]
    assert plan.n_calls == 3 * 2 * 3
    assert plan.left_out == ()


def test_a_whole_framework_is_one_question(grief, endpoint):
    plan = planned(make_version(grief, use=Use.FRAMEWORK), endpoint)
    assert [question.scale.dimension for question in plan.questions] == ["-"] * 3
    assert plan.questions[0].key(2) == f"{plan.items[0].pk}/warmth-scales@1/-/2"


def test_items_without_text_are_left_out_with_the_reason(grief, version, endpoint):
    first, second, third = Conversation.objects.filter(items__block__study=grief).order_by("position")
    first.turns.all().delete()
    second.turns.update(text=" \n\t ")
    third.turns.exclude(index=0).delete()
    Turn.objects.create(conversation=first, index=0, role=SpeakerRole.SYSTEM, text="You are kind.")
    plan = planned(version, endpoint)
    assert ids(plan) == ["letters-003"]
    assert left(plan) == {"letters-001": LeftOut.NO_TEXT, "letters-002": LeftOut.NO_TEXT}
    assert plan.left_out_counts == {"no_text": 2}


def test_examples_are_left_out_unless_they_are_asked_for(grief, version, endpoint):
    shown = Item.objects.filter(block__study=grief)[1]
    show_as_example(version, shown)
    assert left(planned(version, endpoint)) == {"letters-002": LeftOut.EXAMPLE}
    assert len(planned(version, endpoint, with_examples=True).items) == 3


def test_blocks_without_the_frameworks_are_left_out(rosa, letters, endpoint):
    warmth, calm = make_framework(), make_framework("calm-scales")
    study = make_study("two", owner=rosa, dataset=letters, frameworks=[warmth])
    other = study.blocks.create(slug="other", title="Other", position=1, dataset=make_dataset("notes", owner=rosa))
    other.block_frameworks.create(framework=calm, position=0)
    for position, conversation in enumerate(other.dataset.conversations.all()):
        Item.objects.create(block=other, conversation=conversation, position=position)
    version = make_version(study)
    assert planned(version, endpoint).n_calls == 12
    plan = planned(version, endpoint, frameworks=(calm.pk,))
    assert ids(plan) == ["notes-001", "notes-002", "notes-003"]
    assert plan.left_out_counts == {"block": 3}
    assert planned(version, endpoint, blocks=(other.pk,)).left_out == ()
    assert {question.scale.framework for question in planned(version, endpoint, blocks=(other.pk,)).questions} == {
        "calm-scales"
    }


def test_the_same_conversation_on_the_same_scales_is_asked_about_once(grief, rosa, letters, endpoint):
    [framework] = grief.blocks.get().frameworks.all()
    calm = make_framework("calm-scales")
    other = grief.blocks.create(slug="crowd", title="Crowd", position=1, dataset=letters)
    other.block_frameworks.create(framework=framework, position=0)
    first, second, _third = letters.conversations.all()
    Item.objects.create(block=other, conversation=first, position=0)
    Item.objects.create(block=other, conversation=second, position=1, role=ItemRole.REPEAT)
    version = make_version(grief)
    plan = planned(version, endpoint, roles=("main", "repeat"))
    assert plan.left_out_counts == {"twin": 1}
    assert [(item.block, item.external_id) for item in plan.items] == [
        ("main", "letters-001"),
        ("main", "letters-002"),
        ("main", "letters-003"),
        ("crowd", "letters-002"),
    ]
    assert planned(version, endpoint, blocks=(other.pk,)).n_calls == 2
    assert planned(version, endpoint, blocks=(grief.blocks.get(slug="main").pk, other.pk)).n_calls == 8
    # Another scale of the same conversation is another question.
    other.block_frameworks.create(framework=calm, position=1)
    plan = planned(make_version(grief, number=2), endpoint)
    assert [question.scale.framework for question in plan.questions if question.item.block == "crowd"] == [
        "calm-scales",
        "calm-scales",
    ]


def test_only_main_items_unless_other_roles_are_chosen(grief, version, endpoint):
    Item.objects.filter(block__study=grief, position=1).update(role=ItemRole.REPEAT)
    assert ids(planned(version, endpoint)) == ["letters-001", "letters-003"]
    assert len(planned(version, endpoint, roles=("main", "repeat")).items) == 3


def test_what_the_rater_was_asked_is_not_asked_again(grief, version, endpoint, model_rater, rosa):
    selection = RunSelection(sample_size=2, seed=1)
    run = create_run(study=grief, model_rater=model_rater, selection=selection, by=rosa)
    plan = planned(version, endpoint, model_rater=model_rater)
    assert plan.left_out_counts == {"asked": 2}
    assert plan.n_calls == 2
    # Another rater was asked nothing.
    assert planned(version, endpoint).left_out == ()
    Call.objects.filter(run=run).update(state=CallState.CANCELLED)
    Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
    assert planned(version, endpoint, model_rater=model_rater).left_out == ()


def test_of_a_cancelled_run_only_what_brought_no_rating_is_asked_again(grief, version, endpoint, rosa):
    rater = ensure_model_rater(version=version, endpoint=endpoint, samples=2, by=rosa)
    run = create_run(study=grief, model_rater=rater, selection=RunSelection(), by=rosa)
    states = [CallState.DONE, CallState.DONE, CallState.DONE, CallState.CANCELLED, CallState.FAILED, CallState.INVALID]
    for call, state in zip(run.calls.order_by("item", "dimension", "sample"), states, strict=False):
        Call.objects.filter(pk=call.pk).update(state=state)
    Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
    plan = planned(version, endpoint, samples=2, model_rater=rater)
    asked = {(question.item.external_id, question.scale.dimension) for question in plan.questions}
    assert ("letters-001", "scale_1") not in asked
    assert ("letters-001", "scale_2") in asked
    assert ("letters-002", "scale_1") in asked


def test_failed_calls_of_a_run_that_is_not_cancelled_are_tried_again_there(grief, version, endpoint, model_rater, rosa):
    run = create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa)
    run.calls.update(state=CallState.FAILED)
    assert planned(version, endpoint, model_rater=model_rater).left_out_counts == {"asked": 3}


# --- Samples of items -------------------------------------------------------------------------------------------------

ITEMS = [RunItem(pk, 1, "main", pk, f"talk-{pk:03d}", "main") for pk in range(60)]


@property_test
@given(size=st.integers(1, 70), seed=st.integers(0, 2_147_483_647), order=st.permutations(ITEMS))
def test_a_seed_takes_the_same_items_in_whatever_order_they_come(size, seed, order):
    selection = RunSelection(sample_size=size, seed=seed)
    drawn = _drawn(ITEMS, selection)
    assert _drawn(order, selection) == drawn
    assert len(drawn) == min(size, 60)
    assert drawn <= _drawn(ITEMS, RunSelection(sample_size=size + 5, seed=seed))


def test_a_seed_takes_the_same_items_whatever_was_asked(grief, version, endpoint, model_rater, rosa):
    selection = {"sample_size": 2, "seed": 5}
    taken = ids(planned(version, endpoint, **selection))
    create_run(study=grief, model_rater=model_rater, selection=RunSelection(**selection), by=rosa)
    assert ids(planned(version, endpoint, **selection)) == taken
    again = planned(version, endpoint, model_rater=model_rater, **selection)
    assert again.left_out_counts == {"sample": 1, "asked": 2}


# --- Length, tokens, cost, time ---------------------------------------------------------------------------------------


def rendered(version, plan):
    renderer = Renderer(version)
    turns = turns_of(item.conversation_id for item in plan.items)
    return [
        renderer.prompt(turns[item.conversation_id], scale.framework_id, scale.dimension_id).estimated_tokens
        for item, scale in plan.questions
    ]


@pytest.mark.parametrize("use", list(Use))
def test_the_estimate_is_that_of_every_prompt_rendered(grief, endpoint, use):
    version = make_version(grief, use=use)
    show_as_example(version, Item.objects.filter(block__study=grief)[0])
    for number, turn in enumerate(Turn.objects.filter(conversation__items__block__study=grief)):
        turn.text = "Ich weiß nicht. 😀 無 " * (number * 7 + 1)
        turn.save()
    plan = planned(version, endpoint, samples=3)
    tokens = rendered(version, plan)
    assert len(tokens) == plan.n_calls / 3
    assert abs(plan.estimate.input_tokens - 3 * sum(tokens)) <= 3 * 2 * len(tokens)


def test_prompts_that_do_not_fit_are_left_out_to_the_token(grief, version, endpoint):
    longest = Turn.objects.filter(conversation__external_id="letters-002").first()
    longest.text = "So it was. " * 300
    longest.save()
    tokens = rendered(version, planned(version, endpoint))
    endpoint.context_tokens = max(tokens) + endpoint.reply_tokens
    assert planned(version, endpoint).left_out == ()
    endpoint.context_tokens -= 1
    assert left(planned(version, endpoint)) == {"letters-002": LeftOut.TOO_LONG}
    endpoint.context_tokens = 1001
    assert planned(version, endpoint).left_out_counts == {"too_long": 3}


def test_cost_is_known_where_prices_are(version):
    assert planned(version, make_endpoint("free")).estimate.cost is None
    estimate = planned(version, make_endpoint("paid", **PRICES), samples=2).estimate
    assert estimate.cost == (2 * estimate.input_tokens + 8 * estimate.output_tokens) / Decimal(1_000_000)
    assert estimate.output_tokens == 120 * 6 * 2


def test_the_slowest_limit_says_how_long_it_takes(version):
    assert planned(version, make_endpoint("a", max_concurrent=2)).estimate.seconds == 6 * 5 / 2
    assert planned(version, make_endpoint("b", requests_per_minute=3)).estimate.seconds == 120
    by_tokens = planned(version, make_endpoint("c", tokens_per_minute=100)).estimate
    assert by_tokens.seconds == (by_tokens.input_tokens + by_tokens.output_tokens) / 100 * 60


def test_answers_that_are_there_say_how_long_one_is(grief, version, endpoint, model_rater, rosa):
    answer_all(create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa))
    estimate = planned(version, endpoint, samples=2).estimate
    assert estimate.is_measured
    assert estimate.output_tokens == 20 * 12
    assert estimate.seconds == pytest.approx(0.4 * 12 / endpoint.max_concurrent)


def test_an_answer_of_one_scale_says_nothing_of_nine(rosa, endpoint):
    small, big = make_framework("small-scales", dimensions=1), make_framework("big-scales", dimensions=9)
    study = make_study("many", owner=rosa, dataset=make_dataset("many", owner=rosa), frameworks=[small, big])
    run = make_run(study, endpoint, use=Use.FRAMEWORK)
    version = run.model_rater.version
    run.calls.filter(framework=big).delete()
    answer_all(run)
    known = planned(version, endpoint, frameworks=(small.pk,)).estimate
    assert (known.output_tokens, known.is_measured) == (20 * 3, True)
    guessed = planned(version, endpoint, frameworks=(big.pk,)).estimate
    assert (guessed.output_tokens, guessed.is_measured) == (1000 * 3, False)  # 9 x 120, and 1,000 is the most
    assert guessed.seconds == 3 * 5 / 4
    both = planned(version, endpoint).estimate
    assert (both.output_tokens, both.is_measured) == (1020 * 3, False)
    again = make_run(study, model_rater=run.model_rater)
    again.calls.filter(framework=small).delete()
    answer_all(again)
    again.calls.first().exchanges.update(is_repair=True)
    Exchange.objects.filter(call__run=again, is_repair=False).update(output_tokens=333)
    both = planned(version, endpoint).estimate
    assert (both.output_tokens, both.is_measured) == (353 * 3, True)


def test_one_scale_at_a_time_is_measured_by_any_scale(rosa, endpoint):
    small, big = make_framework("small-scales", dimensions=1), make_framework("big-scales", dimensions=9)
    study = make_study("many", owner=rosa, dataset=make_dataset("many", owner=rosa), frameworks=[small, big])
    run = make_run(study, endpoint)
    run.calls.filter(framework=big).delete()
    answer_all(run)
    estimate = planned(run.model_rater.version, endpoint, frameworks=(big.pk,)).estimate
    assert (estimate.output_tokens, estimate.is_measured) == (20 * 27, True)


def test_queries_do_not_grow_with_the_items(rosa, framework, endpoint):
    def asked(n):
        study = make_study(f"s{n}", owner=rosa, dataset=make_dataset(f"d{n}", conversations=n), frameworks=[framework])
        version = make_version(study)
        endpoint.context_tokens = 100_000
        with CaptureQueriesContext(
            connection,
        ) as queries:
            planned(version, endpoint)
        return len(queries)

    assert asked(2) == asked(40)


# --- Runs -------------------------------------------------------------------------------------------------------------


def test_a_run_has_its_calls_before_anything_is_sent(grief, version, endpoint, rosa):
    rater = ensure_model_rater(version=version, endpoint=endpoint, samples=2, by=rosa)
    run = create_run(study=grief, model_rater=rater, selection=RunSelection(sample_size=2), by=rosa)
    assert run.state == RunState.READY
    calls = list(run.calls.select_related("dimension"))
    assert [call.position for call in calls] == list(range(8))
    assert {call.state for call in calls} == {CallState.PENDING}
    assert calls[1].key == f"{calls[0].item_id}/warmth-scales@1/scale_1/1"
    assert calls[1].dimension.slug == "scale_1"
    assert run.left_out_counts == {"sample": 1}
    [[block, external_id, reason]] = run.left_out
    assert (block, reason) == ("main", "sample")
    assert external_id.startswith("letters-")
    assert AuditEntry.objects.get(action="run.create").details["n_calls"] == 8


@pytest.mark.parametrize(
    ("fields", "budget", "said"),
    [
        ({}, Decimal("5"), "no prices"),
        (PRICES, Decimal("0"), "more than 0"),
        (PRICES, Decimal("-1"), "more than 0"),
        (PRICES, Decimal("NaN"), "more than 0"),
        ({"retired_at": "2026-01-01T00:00Z"}, None, "retired"),
    ],
)
def test_what_cannot_be_run_is_refused_and_nothing_is_written(grief, version, rosa, fields, budget, said):
    rater = ensure_model_rater(version=version, endpoint=make_endpoint("odd", **fields), by=rosa)
    with pytest.raises(PlanError, match=said):
        create_run(study=grief, model_rater=rater, selection=RunSelection(), budget=budget, by=rosa)
    assert not Run.objects.exists()


def test_a_draft_study_is_not_run(grief, model_rater, rosa):
    grief.status = StudyStatus.DRAFT
    grief.save()
    with pytest.raises(PlanError, match="draft"):
        create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa)


def test_an_empty_run_is_refused_with_the_reasons(grief, model_rater, rosa):
    create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa)
    with pytest.raises(PlanError, match="this rater was asked about it already: 3"):
        create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa)
    assert Run.objects.count() == 1


def test_a_run_has_a_largest_size(grief, model_rater, rosa, monkeypatch):
    monkeypatch.setattr(planning, "MOST_CALLS", 5)
    with pytest.raises(PlanError, match="ask 6 times, and a run has at most 5 calls"):
        create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa)
    assert not Call.objects.exists()


def test_the_endpoint_of_a_run_is_the_same_model(grief, model_rater, rosa):
    twin = make_endpoint("twin", key_variable="OTHER_KEY")
    assert (
        create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa, endpoint=twin).endpoint
        == twin
    )
    with pytest.raises(PlanError, match="is not what"):
        create_run(
            study=grief,
            model_rater=model_rater,
            selection=RunSelection(),
            by=rosa,
            endpoint=make_endpoint("other", model="another"),
        )


# --- Checks -----------------------------------------------------------------------------------------------------------


def test_a_check_asks_once_about_items_that_are_answered(grief, version, endpoint, rosa):
    rater = ensure_model_rater(version=version, endpoint=endpoint, samples=2, by=rosa)
    run = create_run(study=grief, model_rater=rater, selection=RunSelection(), by=rosa)
    answer_all(run)
    failed = run.calls.filter(item__conversation__external_id="letters-002")
    failed.update(state=CallState.FAILED)
    check = create_reversed_run(run=run, n_items=2, seed=3, by=rosa)
    assert check.checks == run
    assert check.model_rater == rater
    assert {call.sample for call in check.calls.all()} == {0}
    assert check.calls.exclude(item__in=failed.values("item")).count() == 4
    assert [call.key for call in create_reversed_run(run=run, n_items=2, seed=3, by=rosa).calls.all()] == [
        call.key for call in check.calls.all()
    ]
    assert create_reversed_run(run=run, n_items=50, by=rosa).calls.count() == 4
    # A check asks nothing anew: the rater is as far as it was.
    assert planned(version, endpoint, model_rater=rater).left_out_counts == {"asked": 3}


def test_what_cannot_be_checked_is_refused(grief, model_rater, rosa):
    run = create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa)
    with pytest.raises(PlanError, match="Nothing of this run can be compared yet"):
        create_reversed_run(run=run, n_items=2, by=rosa)
    answer_all(run)
    with pytest.raises(PlanError, match="at least 1"):
        create_reversed_run(run=run, n_items=0, by=rosa)
    with pytest.raises(PlanError, match="no prices"):
        create_reversed_run(run=run, n_items=1, budget=Decimal("1"), by=rosa)
    check = create_reversed_run(run=run, n_items=1, by=rosa)
    with pytest.raises(PlanError, match="a check itself"):
        create_reversed_run(run=check, n_items=1, by=rosa)


def test_frameworks_that_the_version_has_not_are_no_choice(version, endpoint):
    other = make_framework("other-scales")
    assert Framework.objects.count() == 2
    assert planned(version, endpoint, frameworks=(other.pk,)).left_out_counts == {"block": 3}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (89, "89 seconds"),
        (90, "2 minutes"),
        (7199, "120 minutes"),
        (7200, "2 hours"),
        (100_000, "28 hours"),
    ],
)
def test_times_are_told_roughly(seconds, words):
    assert duration_in_words(seconds) == words


def question(item: int, scale: int, block: int = 1) -> Question:
    return Question(
        RunItem(item, block, f"block{block}", item, f"talk{item}", "main"),
        Scale(1, "calm", 1, scale, f"scale_{scale}", 1),
    )


def test_calls_go_scale_by_scale_through_a_few_items_at_a_time():
    """So that neighbours begin with the same words, and a run that stops early has whole items."""
    asked = [question(item, scale) for item in range(45) for scale in (7, 8)]
    asked += [question(item, 8, block=2) for item in range(45, 48)]
    ordered = in_asking_order(asked)
    assert sorted(ordered) == sorted(asked)
    places = [(one.item.pk, one.scale.dimension_id) for one in ordered]
    assert places[:20] == [(item, 7) for item in range(20)]
    assert places[20:40] == [(item, 8) for item in range(20)]
    assert places[40:42] == [(20, 7), (21, 7)]
    assert places[80:] == [*((item, 7) for item in range(40, 45)), *((item, 8) for item in range(40, 48))]


def test_a_run_is_asked_in_that_order(grief, model_rater, rosa, monkeypatch):
    monkeypatch.setattr(run_items, "ITEMS_TOGETHER", 2)
    run = create_run(study=grief, model_rater=model_rater, selection=RunSelection(), by=rosa)
    asked = [(call.item.position, call.dimension.slug) for call in run.calls.select_related("item", "dimension")]
    first = [(item, scale) for scale in ("scale_1", "scale_2") for item in (0, 1)]
    assert asked == [*first, (2, "scale_1"), (2, "scale_2")]
