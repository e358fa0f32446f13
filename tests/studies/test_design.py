"""Laying out a study: blocks, raters, assignments, exclusions."""

import pytest

from apps.common.models import AuditEntry
from apps.corpus.models import Dataset
from apps.studies.models import Exclusion, ExclusionReason, Item, MemberRole, Rater, Study
from apps.studies.services.design import DesignError, add_block, create_study
from apps.studies.services.exclusions import ExclusionError, exclude, revert
from apps.studies.services.raters import NewRater, RaterConflict, add_rater, ensure_raters
from tests.conftest import make_dataset, make_framework

# --- Studies and blocks -----------------------------------------------------------------------------------------------


def test_a_study_belongs_to_its_owner_and_its_making_is_remembered(rosa):
    study = create_study(slug="hope", title="Hope", owner=rosa, instructions="Read twice.")
    assert (study.status, study.seed, study.instructions) == ("draft", 2026, "Read twice.")
    assert study.memberships.get().role == MemberRole.OWNER
    assert AuditEntry.objects.get(action="study.create").actor == rosa


def test_a_slug_is_taken_once(grief, rosa):
    with pytest.raises(DesignError, match="there is a study grief already"):
        create_study(slug="grief", title="Again", owner=rosa)


def test_a_block_has_an_item_for_every_conversation_in_order(grief, framework):
    diaries = make_dataset("diaries", conversations=4)
    second = make_framework("second-scales")
    block = add_block(
        study=grief,
        slug="more",
        title="More",
        dataset=diaries,
        frameworks=[second, framework],
        groups={"expert": None, "crowd": 2},
    )
    assert block.position == 1
    assert dict(block.groups.values_list("kind", "overlap")) == {"expert": None, "crowd": 2}
    assert [item.conversation.external_id for item in block.items.all()] == [f"diaries-00{n}" for n in (1, 2, 3, 4)]
    assert [row.framework for row in block.block_frameworks.all()] == [second, framework]
    assert AuditEntry.objects.get(action="block.add").details["items"] == 4


def test_a_sample_is_drawn_by_the_seed_and_keeps_the_order(grief, framework):
    diaries = make_dataset("diaries", conversations=30)
    blocks = [
        add_block(study=grief, slug=slug, title=slug, dataset=diaries, frameworks=[framework], sample_size=7)
        for slug in ("first", "second")
    ]
    samples = [list(block.items.values_list("conversation__external_id", flat=True)) for block in blocks]
    assert samples[0] == samples[1] == sorted(samples[0])
    assert len(set(samples[0])) == 7


def test_making_a_block_takes_the_same_number_of_queries_for_any_size(grief, framework, django_assert_num_queries):
    small, large = make_dataset("small", conversations=2), make_dataset("large", conversations=40)
    with django_assert_num_queries(QUERIES_FOR_A_BLOCK):
        add_block(study=grief, slug="small", title="Small", dataset=small, frameworks=[framework])
    with django_assert_num_queries(QUERIES_FOR_A_BLOCK):
        add_block(study=grief, slug="large", title="Large", dataset=large, frameworks=[framework])


QUERIES_FOR_A_BLOCK = 14


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"slug": "main"}, "has a block main already"),
        ({"frameworks": []}, "at least one framework"),
        ({"sample_size": 4}, "a sample of 4 items was asked for, but there are only 3"),
    ],
)
def test_a_block_that_cannot_be_is_refused(grief, letters, framework, changes, words):
    asked = {"slug": "new", "title": "New", "dataset": letters, "frameworks": [framework]} | changes
    with pytest.raises(DesignError, match=words):
        add_block(study=grief, **asked)
    assert grief.blocks.count() == 1


def test_an_empty_dataset_and_two_versions_of_a_framework_are_refused(grief, letters, framework):
    empty = Dataset.objects.create(slug="empty", name="Empty")
    with pytest.raises(DesignError, match="the dataset empty has no conversations"):
        add_block(study=grief, slug="new", title="New", dataset=empty, frameworks=[framework])
    with pytest.raises(DesignError, match="warmth-scales comes twice"):
        add_block(study=grief, slug="new", title="New", dataset=letters, frameworks=[framework, framework])


# --- Raters -----------------------------------------------------------------------------------------------------------


def test_pseudonyms_go_on_after_the_highest_in_use(grief):
    grief.raters.filter(name="expert2").delete()
    assert add_rater(study=grief, kind="expert").name == "expert4"
    assert [add_rater(study=grief, kind="crowd").name for _ in range(2)] == ["crowd001", "crowd002"]
    assert add_rater(study=grief, kind="self").name == "self1"


def test_a_pseudonym_of_crowd_goes_beyond_its_padding(grief):
    add_rater(study=grief, kind="crowd", name="crowd999")
    assert add_rater(study=grief, kind="crowd").name == "crowd1000"


def test_a_name_and_a_person_are_taken_once(grief, emil):
    with pytest.raises(RaterConflict, match="has a rater expert1 already"):
        add_rater(study=grief, kind="expert", name="expert1")
    with pytest.raises(RaterConflict, match="Emil is a rater of grief already"):
        add_rater(study=grief, kind="expert", user=emil)


@pytest.mark.parametrize("name", ["experts:median", "crowd:mean", "llms-without-gpt:median"])
def test_no_rater_has_the_name_of_a_groups_value(grief, name):
    """A report would hold two different figures under one name; so would it of an aggregate beside its group."""
    with pytest.raises(RaterConflict, match=f"no rater can be called {name}"):
        add_rater(study=grief, kind="expert", name=name)
    with pytest.raises(RaterConflict, match=f"no rater can be called {name}"):
        ensure_raters(study=grief, raters=[NewRater("llm", name)])
    with pytest.raises(RaterConflict, match=f"no rater can be called {name}"):
        add_rater(study=grief, kind="crowd", name=name, is_aggregate=True)
    assert add_rater(study=grief, kind="expert", name=f"my-{name}").is_aggregate is False


def test_the_name_of_a_group_is_left_to_its_own_kind(grief):
    with pytest.raises(RaterConflict, match="a rater of the kind llm cannot be called experts"):
        add_rater(study=grief, kind="llm", name="experts")
    assert add_rater(study=grief, kind="crowd", name="crowd", is_aggregate=True).name == "crowd"


def test_raters_that_are_there_are_kept_and_the_others_added(grief):
    known = grief.raters.get(name="expert1")
    raters = ensure_raters(
        study=grief,
        raters=[
            NewRater("expert", "expert1"),
            NewRater("llm", "gpt", source="a file"),
            NewRater("crowd"),
            NewRater("crowd"),
        ],
    )
    assert raters["expert1"] == known
    assert raters["gpt"].pk is not None
    assert {"crowd001", "crowd002"} < set(raters)
    assert AuditEntry.objects.get(action="rater.add").details["raters"] == ["gpt", "crowd001", "crowd002"]


def test_ensuring_raters_that_are_there_leaves_no_trace(grief):
    ensure_raters(study=grief, raters=[NewRater("expert", "expert1")])
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (NewRater("llm", "expert1"), "expert1 already, which is expert, not llm"),
        (NewRater("expert", "expert1", is_aggregate=True), "which is expert, not expert aggregate"),
        (NewRater("expert", "expert1", is_simulated=True), "which is expert, not simulated expert"),
    ],
)
def test_two_different_raters_never_share_a_name(grief, wanted, words):
    with pytest.raises(RaterConflict, match=words):
        ensure_raters(study=grief, raters=[wanted])


def test_ensuring_many_raters_takes_few_queries(grief, django_assert_max_num_queries):
    with django_assert_max_num_queries(7):
        ensure_raters(study=grief, raters=[NewRater("crowd") for _ in range(150)])
    assert grief.raters.filter(kind="crowd").count() == 150


# --- Exclusions -------------------------------------------------------------------------------------------------------


def test_an_exclusion_is_made_and_taken_back_and_both_are_remembered(grief, rosa):
    rater = grief.raters.first()
    exclusion = exclude(rater=rater, reason=ExclusionReason.RULE, explanation="too fast", by=rosa)
    assert list(Exclusion.objects.in_force()) == [exclusion]
    reverted = revert(exclusion=exclusion, by=rosa)
    assert reverted.reverted_by == rosa
    assert not Exclusion.objects.in_force().exists()
    assert Exclusion.objects.count() == 1
    assert set(AuditEntry.objects.values_list("action", "subject")) == {
        ("rater.exclude", f"grief/{rater.name}"),
        ("exclusion.revert", f"grief/{rater.name}"),
    }


def test_a_rater_is_excluded_once_and_again_after_it_was_taken_back(grief, rosa):
    rater, item = grief.raters.first(), Item.objects.filter(block__study=grief).first()
    first = exclude(rater=rater, item=item, by=rosa)
    exclude(rater=rater, by=rosa)
    with pytest.raises(ExclusionError, match="is excluded already"):
        exclude(rater=rater, item=item, by=rosa)
    revert(exclusion=first, by=rosa)
    with pytest.raises(ExclusionError, match="taken back already"):
        revert(exclusion=first, by=rosa)
    exclude(rater=rater, item=item, by=rosa)
    assert Exclusion.objects.in_force().count() == 2


def test_an_item_of_another_study_cannot_be_excluded(grief, strangers, rosa):
    item = Item.objects.filter(block__study=strangers).first()
    with pytest.raises(ExclusionError, match="not of one study"):
        exclude(rater=grief.raters.first(), item=item, by=rosa)


# --- Who may read -----------------------------------------------------------------------------------------------------


def test_reading_needs_the_right_role_in_the_same_membership(grief, strangers, ada, rosa, emil, otto):
    assert set(Study.objects.readable_by(ada)) == {grief, strangers}
    assert set(Study.objects.readable_by(rosa)) == {grief}
    assert set(Study.objects.readable_by(emil)) == set()
    assert set(Study.objects.visible_to(emil)) == {grief}
    assert set(Study.objects.readable_by(otto)) == {strangers}
    assert [grief.is_readable_by(user) for user in (ada, rosa, emil, otto)] == [True, True, False, False]


def test_who_was_deactivated_reads_nothing(grief, rosa):
    rosa.is_active = False
    assert not Study.objects.readable_by(rosa).exists()
    assert not Study.objects.visible_to(rosa).exists()


def test_counts_do_not_multiply_each_other(grief, framework):
    add_block(study=grief, slug="two", title="Two", dataset=make_dataset("diaries"), frameworks=[framework])
    study = Study.objects.with_counts().get()
    assert (study.n_blocks, study.n_items, study.n_raters) == (2, 6, 3)
    assert Rater.objects.filter(study=study).summed_by_kind()[0].n_raters == 3
