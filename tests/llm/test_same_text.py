"""What a model cannot tell apart: leaked, and asked about once, whatever titles and metadata say."""

import pytest

from apps.corpus.models import Conversation, SpeakerRole, Turn
from apps.llm.services import same_text
from apps.llm.services.model_raters import ensure_model_rater
from apps.llm.services.planning import RunSelection, create_run, plan_run
from apps.llm.services.prompt_listing import n_left_out
from apps.llm.services.prompting import create_version, leaked_items
from apps.llm.services.same_text import items_like, text_key
from apps.llm.transcript import PromptTurn
from apps.studies.models import Block, BlockFramework, Exclusion, Item, ItemRole
from apps.studies.services.exclusions import exclude, revert
from tests.conftest import make_dataset, make_study
from tests.llm.test_prompting import new_version, rate
from tests.llm.worlds import make_endpoint, make_version

pytestmark = pytest.mark.django_db

TURNS = [(SpeakerRole.SEEKER, "I lost letter 1."), (SpeakerRole.SUPPORTER, "That must be hard. What was in it?")]
SAME = {
    "as it stands": TURNS,
    "white space": [(TURNS[0][0], "  I lost\n\tletter\u00a01. "), TURNS[1]],
    "a system turn": [(SpeakerRole.SYSTEM, "You are kind."), *TURNS],
    "an empty turn": [TURNS[0], (SpeakerRole.SEEKER, " \r\n\t"), TURNS[1]],
}
OTHER = {
    "a word": [(TURNS[0][0], "I lost letter 2."), TURNS[1]],
    "a capital": [(TURNS[0][0], "I LOST letter 1."), TURNS[1]],
    "roles": [(TURNS[1][0], TURNS[0][1]), (TURNS[0][0], TURNS[1][1])],
    "order": TURNS[::-1],
    "one turn more": [*TURNS, TURNS[0]],
    "one turn less": TURNS[:1],
    "two turns in one": [(TURNS[0][0], "\n".join(text for _role, text in TURNS))],
    "nothing": [],
}


@pytest.fixture
def rated(rosa, framework):
    """Four conversations, rated 1 2 3 5 on the first scale."""
    study = make_study("rated", owner=rosa, dataset=make_dataset("talks", conversations=4), frameworks=[framework])
    rate(study, framework.dimensions.first(), [1, 2, 3, 5])
    return study


def add(study, turns, *, block="main", name="again", role=ItemRole.MAIN) -> Item:
    """An item of a conversation with a title and factors of its own."""
    found = study.blocks.get(slug=block)
    conversation = Conversation.objects.create(
        dataset=found.dataset,
        external_id=name,
        position=found.dataset.conversations.count() + 50,
        content_hash=name,
        title="Another title",
        factors={"label": "AI"},
    )
    for index, (speaker, text) in enumerate(turns):
        Turn.objects.create(conversation=conversation, index=index, role=speaker, text=text)
    return Item.objects.create(block=found, conversation=conversation, role=role, position=found.items.count())


def shown(study, framework, by):
    """A version that shows the first conversation."""
    first = Item.objects.filter(block__study=study).order_by("pk").first()
    new = new_version(framework, examples={framework.dimensions.first().pk: {"low": first.pk}})
    return first, create_version(study=study, name="Shown", new=new, by=by)


@pytest.mark.parametrize("role", [ItemRole.MAIN, ItemRole.REPEAT])
@pytest.mark.parametrize("turns", SAME.values(), ids=SAME)
def test_the_same_turns_under_another_title_leak(rated, framework, rosa, turns, role):
    twin = add(rated, turns, role=role)
    first, version = shown(rated, framework, rosa)
    assert leaked_items(version) == {first.pk, twin.pk}
    assert n_left_out(version) == 2
    rater = ensure_model_rater(version=version, endpoint=make_endpoint(), by=rosa)
    excluded = Exclusion.objects.in_force().filter(rater=rater.rater, reason="leakage")
    assert {*excluded.values_list("item", flat=True)} == {first.pk, twin.pk}
    run = create_run(study=rated, model_rater=rater, selection=RunSelection(roles=("main", "repeat")), by=rosa)
    assert run.left_out_counts == {"example": 2}
    assert not run.calls.filter(item__in=[first, twin]).exists()


@pytest.mark.parametrize("turns", OTHER.values(), ids=OTHER)
def test_other_turns_do_not(rated, framework, rosa, turns):
    add(rated, turns)
    first, version = shown(rated, framework, rosa)
    assert leaked_items(version) == {first.pk}


def test_an_item_that_came_later_is_excluded_with_the_next_run_unless_taken_back(rated, framework, rosa):
    first, version = shown(rated, framework, rosa)
    endpoint = make_endpoint()
    rater = ensure_model_rater(version=version, endpoint=endpoint, by=rosa)
    twin, by_hand = add(rated, TURNS), add(rated, TURNS, name="third")
    exclude(rater=rater.rater, item=by_hand, by=rosa)
    assert ensure_model_rater(version=version, endpoint=endpoint, by=rosa) == rater
    known = Exclusion.objects.in_force().filter(rater=rater.rater)
    assert {*known.values_list("item", "reason")} == {
        (first.pk, "leakage"),
        (twin.pk, "leakage"),
        (by_hand.pk, "hand"),
    }
    revert(exclusion=known.get(item=twin), by=rosa)
    ensure_model_rater(version=version, endpoint=endpoint, by=rosa)
    assert not known.filter(item=twin).exists()


def test_few_texts_are_read_and_few_at_a_time(rated, grief, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(same_text, "CONVERSATIONS_AT_ONCE", 2)
    first = Item.objects.filter(block__study=rated).order_by("pk").first().conversation_id
    for number in range(3):
        add(rated, TURNS, name=f"same{number}")
        add(rated, OTHER["one turn more"], name=f"longer{number}")
    # The one shown, those with as many turns, seven of them in four parts, and items of four that are the same.
    with django_assert_num_queries(2 + 4 + 2):
        assert len(items_like(rated.pk, {first})) == 4
    with django_assert_num_queries(0):
        assert items_like(rated.pk, set()) == set()
    assert items_like(grief.pk, {first}) == {*Item.objects.filter(block__study=grief)[:1].values_list("pk", flat=True)}


def test_no_two_lists_of_turns_have_one_key():
    lists = [
        [PromptTurn("seeker", "a"), PromptTurn("supporter", "b")],
        [PromptTurn("seeker", "a supporter b")],
        [PromptTurn("seeker", "a\nsupporter\nb")],
        [PromptTurn("supporter", "a"), PromptTurn("seeker", "b")],
        [PromptTurn("seeker", "ab")],
        [],
    ]
    assert len({text_key(turns) for turns in lists}) == len(lists) - 1
    assert text_key(lists[1]) == text_key(lists[2])
    assert text_key([PromptTurn("seeker", "a")]) == text_key([PromptTurn("seeker", " a\n"), PromptTurn("other", " ")])


# --- Asked about once -------------------------------------------------------------------------------------------------


def plan(study, **chosen):
    return plan_run(
        study=study,
        version=make_version(study, number=study.blocks.count() + len(chosen)),
        endpoint=make_endpoint(f"here{len(chosen)}"),
        samples=1,
        selection=RunSelection(**chosen),
    )


def test_the_same_text_of_another_block_is_asked_about_once(grief, framework):
    block = Block.objects.create(
        study=grief, slug="crowd", title="Crowd", position=9, dataset=make_dataset("diaries", conversations=0)
    )
    BlockFramework.objects.create(block=block, framework=framework, position=0)
    add(grief, SAME["white space"], block="crowd")
    add(grief, OTHER["a word"] + TURNS, block="crowd", name="longer")
    found = plan(grief)
    assert found.left_out_counts == {"twin": 1}
    assert {item.external_id for item in found.items} >= {"letters-001", "longer"}
    assert plan(grief, blocks=(block.pk,)).left_out_counts == {}


def test_two_of_one_text_in_one_block_are_two(grief):
    """Conditions of an experiment, for example: people tell them apart."""
    add(grief, TURNS)
    assert plan(grief).left_out_counts == {}
    assert len(plan(grief, seed=3).items) == 4
