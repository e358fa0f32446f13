import pytest
from django.db.models import F

from apps.annotation.models import RatingEvent
from apps.corpus.models import Conversation
from apps.reliability.accounting import (
    LISTED,
    Account,
    BlockAccount,
    ItemsAccount,
    ItemUse,
    RaterAccount,
    RaterUse,
    RatingCounts,
    SingleExclusion,
)
from apps.reliability.selection import DataSelection
from apps.reliability.services.accounts import account_of
from apps.reliability.services.loading import load_tables
from apps.studies.models import (
    Assignment,
    AssignmentState,
    ExclusionReason,
    Item,
    ItemRole,
    Rater,
    RaterKind,
)
from apps.studies.services.exclusions import exclude, revert
from apps.studies.services.raters import add_rater
from tests.conftest import make_dataset

pytestmark = pytest.mark.django_db


def account(study, **selection) -> Account:
    return account_of(study=study, tables=load_tables(study=study, selection=DataSelection.of(**selection)))


def rater(account: Account, name: str) -> RaterAccount:
    [found] = [one for one in account.raters if one.name == name]
    return found


def beside(account: Account) -> dict[ItemUse, tuple[str, ...]]:
    [block] = account.blocks
    return {items.use: items.items for items in block.beside}


def add_items(study, role: str, *, names: tuple[str, ...]) -> list[Item]:
    block = study.blocks.get()
    return [
        Item.objects.create(
            block=block,
            conversation=block.dataset.conversations.get(external_id=name),
            role=role,
            position=block.items.count(),
        )
        for name in names
    ]


def assert_balanced(counts: RatingCounts) -> None:
    assert counts.stored == counts.drafts + counts.finished
    assert counts.finished == (
        counts.used
        + counts.second
        + counts.cannot_tell
        + counts.of_excluded_raters
        + counts.of_other_items
        + counts.excluded_singly
    )


def test_a_study_without_a_rating_has_items_and_raters_of_which_none_is_used(grief):
    found = account(grief)
    assert {one.use for one in found.raters} == {RaterUse.NOTHING_FINISHED}
    assert found.blocks == (
        BlockAccount("main", 3, 0, (ItemsAccount(ItemUse.NOBODY, 3, ("letters-001", "letters-002", "letters-003")),)),
    )
    assert found.ratings == RatingCounts()


def test_raters_who_took_part_and_who_did_not(grief, rate, rosa):
    add_rater(study=grief, kind=RaterKind.CROWD, name="crowd", is_aggregate=True)
    add_rater(study=grief, kind=RaterKind.LLM, name="gpt")
    Rater.objects.filter(study=grief, name="gpt").update(is_simulated=True, left_at="2026-01-01T00:00Z")
    rate(grief, {"expert1": [1, 2, "?"], "expert2": [1, 1, 1], "crowd": [1.5, 2, 3], "gpt": [2, 2, 2]})
    exclude(rater=grief.raters.get(name="expert2"), reason=ExclusionReason.RULE, explanation="too fast", by=rosa)
    found = account(grief)
    assert [one.name for one in found.raters_used()] == ["crowd", "expert1", "gpt"]
    assert [one.name for one in found.raters_not_used()] == ["expert2", "expert3"]
    assert rater(found, "crowd") == RaterAccount(
        "crowd", "crowd", RaterUse.USED, 3, is_aggregate=True, origins=("import",)
    )
    assert rater(found, "expert1") == RaterAccount("expert1", "expert", RaterUse.USED, 2, origins=("import",))
    assert rater(found, "gpt") == RaterAccount(
        "gpt", "llm", RaterUse.USED, 3, is_simulated=True, has_left=True, origins=("import",)
    )
    assert rater(found, "expert2") == RaterAccount(
        "expert2", "expert", RaterUse.EXCLUDED, reason="rule", explanation="too fast", origins=("import",)
    )
    assert rater(found, "expert3") == RaterAccount("expert3", "expert", RaterUse.NOTHING_FINISHED)


def test_each_rater_has_the_ways_by_which_ratings_came(grief, rate):
    add_rater(study=grief, kind=RaterKind.CROWD, name="crowd", is_aggregate=True, source="Somebody (2021)")
    add_rater(study=grief, kind=RaterKind.CROWD, name="w1", source="annotator 7")
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 1, 1], "crowd": [1, 2, 3], "w1": [1, 1, 2]})
    RatingEvent.objects.filter(rating__rater__name="expert1").update(origin="screen")
    events = RatingEvent.objects.filter(rating__rater__name="expert2").order_by("pk")
    RatingEvent.objects.filter(pk=events.first().pk).update(origin="screen")
    found = account(grief)
    assert rater(found, "expert1").origins == ("screen",)
    assert rater(found, "expert2").origins == ("import", "screen")
    assert rater(found, "expert3").origins == ()
    assert rater(found, "crowd").source == "Somebody (2021)"
    # Where a single worker comes from might name them.
    assert rater(found, "w1").source == ""


def test_excluded_raters_that_are_taken_in_are_used_and_keep_their_reason(grief, rate, rosa):
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 1, 1]})
    exclusion = exclude(rater=grief.raters.get(name="expert2"), reason=ExclusionReason.LEAKAGE, by=rosa)
    taken_in = rater(account(grief, with_excluded=True), "expert2")
    assert (taken_in.use, taken_in.n_values, taken_in.reason) == (RaterUse.USED, 3, "leakage")
    revert(exclusion=exclusion, by=rosa)
    assert rater(account(grief), "expert2") == RaterAccount("expert2", "expert", RaterUse.USED, 3, origins=("import",))


def test_whoever_could_never_tell_took_part_without_a_value(grief, rate):
    rate(grief, {"expert1": [1, 2, 3], "expert2": ["?", "?", None]})
    found = account(grief)
    assert rater(found, "expert2") == RaterAccount("expert2", "expert", RaterUse.USED, 0, origins=("import",))
    assert found.ratings.cannot_tell == 2


def test_single_exclusions_are_named_with_their_reason(grief, rate, rosa):
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 1, 1]})
    item = Item.objects.get(block__study=grief, conversation__external_id="letters-002")
    exclude(rater=grief.raters.get(name="expert2"), item=item, reason=ExclusionReason.LEAKAGE, by=rosa)
    found = account(grief)
    assert found.single == (SingleExclusion("expert2", "main", "letters-002", "leakage"),)
    assert (found.n_single, found.ratings.excluded_singly, found.ratings.used) == (1, 1, 5)
    assert rater(found, "expert2").use is RaterUse.USED
    assert_balanced(found.ratings)


def test_items_of_other_roles_are_named_by_role(grief, rate):
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 1, 1]})
    add_items(grief, ItemRole.PRACTICE, names=("letters-002", "letters-001"))
    add_items(grief, ItemRole.GOLD, names=("letters-003",))
    add_items(grief, ItemRole.ATTENTION, names=("letters-001",))
    add_items(grief, ItemRole.REPEAT, names=("letters-002",))
    rate(grief, {"expert1": [5, 5]}, role=ItemRole.PRACTICE)
    rate(grief, {"expert1": [3]}, role=ItemRole.REPEAT)
    found = account(grief)
    assert beside(found) == {
        ItemUse.PRACTICE: ("letters-001", "letters-002"),
        ItemUse.GOLD: ("letters-003",),
        ItemUse.ATTENTION: ("letters-001",),
        ItemUse.REPEAT: ("letters-002",),
    }
    assert (found.blocks[0].n_rows, found.blocks[0].n_rated) == (3, 3)
    assert (found.ratings.used, found.ratings.second, found.ratings.of_other_items) == (6, 1, 2)
    assert rater(found, "expert1").n_values == 4
    assert_balanced(found.ratings)


def test_a_repeat_of_what_takes_no_part_is_said_to_be_one(grief, rate):
    rate(grief, {"expert1": [1, 2, 3]})
    Item.objects.filter(block__study=grief, conversation__external_id="letters-003").update(role=ItemRole.REPEAT)
    assert beside(account(grief)) == {ItemUse.LONE_REPEAT: ("letters-003",)}


def test_what_the_metadata_leave_out_and_what_nobody_rated(grief, rate):
    Conversation.objects.filter(external_id__in=["letters-001", "letters-002"]).update(metadata={"topic": "loss"})
    add_items(grief, ItemRole.REPEAT, names=("letters-003",))
    rate(grief, {"expert1": [1, None, 3], "expert2": [1, "?", None], "expert3": [None, None, 1]})
    found = account(grief, metadata={"meta.topic": ["loss"]})
    assert beside(found) == {
        ItemUse.NOT_CHOSEN: ("letters-003",),
        ItemUse.NOBODY: ("letters-002",),
        ItemUse.LONE_REPEAT: ("letters-003",),
    }
    assert (found.blocks[0].n_rows, found.blocks[0].n_rated) == (2, 1)
    assert rater(found, "expert3").use is RaterUse.NOTHING_FINISHED
    assert found.ratings.of_other_items == 2
    assert_balanced(found.ratings)


def test_ratings_are_counted_once_each(grief, rate, rosa):
    add_rater(study=grief, kind=RaterKind.CROWD, name="crowd", is_aggregate=True)
    add_rater(study=grief, kind=RaterKind.EXPERT, name="expert4")
    rate(grief, {"expert1": [1, 2, "?"], "expert2": [1, 1, 1], "expert3": [2, 3, None], "crowd": [1.5, 3.33, 2]})
    rate(grief, {"expert4": [5, 5, 5], "expert1": [1, None, None]}, dimension="scale_2")
    add_items(grief, ItemRole.GOLD, names=("letters-001",))
    rate(grief, {"expert1": [5], "expert2": [5]}, role=ItemRole.GOLD)
    item = grief.blocks.get().items.get(position=0)
    Assignment.objects.create(
        rater=grief.raters.get(name="expert3"), item=item, position=0, state=AssignmentState.IN_PROGRESS
    )
    exclude(rater=grief.raters.get(name="expert2"), by=rosa)
    exclude(rater=grief.raters.get(name="expert4"), item=item, by=rosa)
    found = account(grief)
    assert found.ratings == RatingCounts(
        stored=17,
        drafts=1,
        finished=16,
        used=9,
        cannot_tell=1,
        between_points=2,
        of_excluded_raters=4,
        of_other_items=1,
        excluded_singly=1,
    )
    assert_balanced(found.ratings)


def test_too_many_items_are_counted_rather_than_listed():
    many = ItemsAccount.of(ItemUse.NOBODY, (f"i{number}" for number in range(LISTED + 1)))
    assert (many.n, many.items) == (LISTED + 1, ())
    few = ItemsAccount.of(ItemUse.NOBODY, (f"i{number}" for number in range(LISTED)))
    assert (few.n, len(few.items)) == (LISTED, LISTED)


def test_an_account_is_stored_and_read_again(grief, rate, rosa):
    rate(grief, {"expert1": [1, 2, None], "expert2": [1, 1, None], "expert3": [1, 1, None]})
    exclude(rater=grief.raters.get(name="expert2"), explanation="away", by=rosa)
    exclude(rater=grief.raters.get(name="expert3"), item=grief.blocks.get().items.first(), by=rosa)
    found = account(grief)
    assert Account.from_dict(found.as_dict()) == found
    assert found.as_dict()["raters"][0] == {
        "name": "expert1",
        "kind": "expert",
        "use": "used",
        "n_values": 2,
        "origins": ("import",),
    }


def test_queries_do_not_grow_with_the_study(grief, rate, rosa, django_assert_num_queries):
    rate(grief, {"expert1": [1, 2, 3]})
    tables = load_tables(study=grief)
    with django_assert_num_queries(6):
        account_of(study=grief, tables=tables)
    block = grief.blocks.get()
    make_dataset("more", conversations=20, owner=rosa)
    Conversation.objects.filter(dataset__slug="more").update(dataset=block.dataset, position=F("position") + 100)
    for role in ItemRole:
        more = block.dataset.conversations.filter(external_id__startswith="more")
        start = block.items.count()
        Item.objects.bulk_create(
            Item(block=block, conversation=one, role=role, position=start + place) for place, one in enumerate(more)
        )
    for number in range(4, 12):
        exclude(rater=add_rater(study=grief, kind=RaterKind.EXPERT, name=f"expert{number}"), by=rosa)
    for item in block.items.all():
        exclude(rater=grief.raters.get(name="expert1"), item=item, by=rosa)
    tables = load_tables(study=grief)
    with django_assert_num_queries(6):
        account_of(study=grief, tables=tables)
