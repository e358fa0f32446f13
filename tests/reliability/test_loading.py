import numpy as np
import pytest
from django.db.models import F
from numpy.testing import assert_array_equal

from apps.corpus.models import Conversation
from apps.frameworks.models import Dimension, ScalePoint
from apps.frameworks.models import Level as DimensionLevel
from apps.measures.scale import Level
from apps.reliability.matrix import RatingTable, TableKey
from apps.reliability.selection import DataSelection
from apps.reliability.services import loading
from apps.reliability.services.loading import Tally, load_tables, scale_of
from apps.studies.models import Block, BlockFramework, Item, ItemRole, Rater, RaterKind
from apps.studies.services.exclusions import exclude, revert
from apps.studies.services.raters import add_rater
from tests.conftest import make_dataset, make_framework

pytestmark = pytest.mark.django_db


def tables(study, **narrowed) -> dict[str, RatingTable]:
    return {table.key.dimension: table for table in load_tables(study=study, **narrowed)}


def column(table: RatingTable, name: str) -> np.ndarray:
    return table.values[:, [rater.name for rater in table.raters].index(name)]


def add_items(study, role: str, *, count: int = 3) -> None:
    block = study.blocks.get()
    conversations = block.dataset.conversations.all()[:count]
    Item.objects.bulk_create(
        Item(block=block, conversation=conversation, role=role, position=block.items.count() + position)
        for position, conversation in enumerate(conversations)
    )


def test_a_table_holds_the_ratings_of_one_scale_aligned_by_conversation(grief, rate):
    rate(grief, {"expert1": [1, 2, None], "expert2": [3, "?", 5]})
    rate(grief, {"expert1": [4, None, None]}, dimension="scale_2")
    first, second = load_tables(study=grief)
    assert first.key == TableKey("main", "warmth-scales", "scale_1")
    assert first.items == ("letters-001", "letters-002", "letters-003")
    assert_array_equal(column(first, "expert1"), [1, 2, np.nan])
    assert_array_equal(column(first, "expert2"), [3, np.nan, 5])
    assert first.scale.points == (1, 2, 3, 4, 5)
    assert_array_equal(column(second, "expert1"), [4, np.nan, np.nan])


def test_who_rated_nothing_in_a_block_has_no_column_and_who_rated_there_has_one_in_each_table(grief, rate):
    rate(grief, {"expert1": [1, 2, 3], "expert2": [3, 2, 5]})
    rate(grief, {"expert1": [4, 4, 4]}, dimension="scale_2")
    for narrowed in ({}, {"dimension": "scale_2"}, {"framework": "warmth-scales"}, {"block": "main"}):
        table = tables(grief, **narrowed)["scale_2"]
        assert [rater.name for rater in table.raters] == ["expert1", "expert2"]
        assert np.isnan(column(table, "expert2")).all()


def test_a_scale_that_nobody_used_has_no_table(grief, rate):
    assert tables(grief) == {}
    rate(grief, {"expert1": [1, 2, 3]})
    assert list(tables(grief)) == ["scale_1"]


def test_an_excluded_rater_is_gone_until_the_exclusion_is_taken_back(grief, rate, rosa):
    rate(grief, {"expert1": [1, 2, 3], "expert2": [3, 2, 5]})
    exclusion = exclude(rater=grief.raters.get(name="expert2"), by=rosa)
    assert [rater.name for rater in tables(grief)["scale_1"].raters] == ["expert1"]
    revert(exclusion=exclusion, by=rosa)
    assert [rater.name for rater in tables(grief)["scale_1"].raters] == ["expert1", "expert2"]


def test_a_single_excluded_item_is_missing_for_that_rater_only(grief, rate, rosa):
    rate(grief, {"expert1": [1, 2, 3], "expert2": [3, 2, 5]})
    item = Item.objects.get(block__study=grief, conversation__external_id="letters-002")
    exclude(rater=grief.raters.get(name="expert2"), item=item, by=rosa)
    table = tables(grief)["scale_1"]
    assert_array_equal(column(table, "expert1"), [1, 2, 3])
    assert_array_equal(column(table, "expert2"), [3, np.nan, 5])


def test_a_rater_who_left_stays(grief, rate, django_user_model):
    """CASES 27."""
    rate(grief, {"expert1": [1, 2, 3], "expert2": [3, 2, 5]})
    before = tables(grief)["scale_1"]
    Rater.objects.filter(study=grief, name="expert2").update(left_at="2026-01-01T00:00Z")
    after = tables(grief)["scale_1"]
    assert after.raters == before.raters
    assert_array_equal(after.values, before.values)


@pytest.mark.parametrize("role", [ItemRole.PRACTICE, ItemRole.GOLD, ItemRole.ATTENTION])
def test_only_main_items_enter(grief, rate, role):
    add_items(grief, role)
    rate(grief, {"expert1": [1, 2, 3]})
    rate(grief, {"expert1": [5, 5, 5]}, role=role)
    table = tables(grief)["scale_1"]
    assert_array_equal(column(table, "expert1"), [1, 2, 3])
    assert table.repeats is None


def test_a_repeat_stands_beside_the_main_item_of_its_conversation(grief, rate):
    add_items(grief, ItemRole.REPEAT, count=2)
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 1, 1]})
    rate(grief, {"expert1": [5, None]}, role=ItemRole.REPEAT)
    table = tables(grief)["scale_1"]
    assert_array_equal(column(table, "expert1"), [1, 2, 3])
    assert_array_equal(table.repeats, [[5, np.nan], [np.nan, np.nan], [np.nan, np.nan]])


def test_a_rater_of_repeats_alone_has_a_column_of_missing_values(grief, rate):
    add_items(grief, ItemRole.REPEAT, count=1)
    rate(grief, {"expert1": [1, 2, 3]})
    rate(grief, {"expert3": [5]}, role=ItemRole.REPEAT)
    for narrowed in ({}, {"dimension": "scale_1"}):
        table = tables(grief, **narrowed)["scale_1"]
        assert np.isnan(column(table, "expert3")).all()
        assert_array_equal(table.repeats[0], [np.nan, 5])


def test_blocks_with_one_framework_keep_their_ratings_apart(grief, rate, framework, rosa):
    dataset = make_dataset("poems", conversations=2, owner=rosa)
    block = Block.objects.create(study=grief, slug="poems", title="Poems", position=1, dataset=dataset)
    BlockFramework.objects.create(block=block, framework=framework, position=0)
    Item.objects.bulk_create(
        Item(block=block, conversation=one, position=place) for place, one in enumerate(dataset.conversations.all())
    )
    rate(grief, {"expert1": [1, 2, 3]})
    rate(grief, {"expert2": [4, 5]}, block="poems")
    first, second = load_tables(study=grief)
    assert (first.key.block, second.key.block) == ("main", "poems")
    assert [rater.name for rater in first.raters] == ["expert1"]
    assert [rater.name for rater in second.raters] == ["expert2"]
    assert_array_equal(second.values, [[4], [5]])
    [only] = load_tables(study=grief, block="poems")
    assert only.key.block == "poems"
    assert_array_equal(only.values, second.values)


def test_another_study_is_not_looked_at(grief, strangers, rate):
    rate(grief, {"expert1": [1, 2, 3]})
    rate(strangers, {"expert1": [5, 5, 5]})
    assert_array_equal(column(tables(grief)["scale_1"], "expert1"), [1, 2, 3])
    assert_array_equal(column(tables(strangers)["scale_1"], "expert1"), [5, 5, 5])


def test_aggregates_keep_their_half_points(grief, rate):
    """CASES 25."""
    add_rater(study=grief, kind=RaterKind.CROWD, name="crowd", is_aggregate=True)
    rate(grief, {"crowd": [1.5, 3.33, 2]})
    table = tables(grief)["scale_1"]
    assert_array_equal(column(table, "crowd"), [1.5, 3.33, 2])
    assert table.raters[0].is_aggregate


def test_points_come_from_the_scale_in_the_order_of_their_values():
    """CASES 23: never from sorting texts, nor from the order of the rows."""
    framework = make_framework("eleven", dimensions=1, low=0, high=10)
    dimension = Dimension.objects.get(framework=framework)
    assert scale_of(dimension).points == tuple(float(point) for point in range(11))
    low, high = dimension.points.get(value=0), dimension.points.get(value=10)
    ScalePoint.objects.filter(pk=low.pk).update(position=99)
    ScalePoint.objects.filter(pk=high.pk).update(position=0)
    dimension = Dimension.objects.get(pk=dimension.pk)
    assert scale_of(dimension).points == tuple(float(point) for point in range(11))


def test_a_nominal_dimension_is_loaded_as_one(grief, rate):
    Dimension.objects.filter(slug="scale_1").update(level=DimensionLevel.NOMINAL)
    rate(grief, {"expert1": [1, 2, 3]})
    assert tables(grief)["scale_1"].scale.level is Level.NOMINAL


def test_queries_do_not_grow_with_the_study(grief, rate, rosa, django_assert_num_queries):
    rate(grief, {"expert1": [1, 2, 3]})
    with django_assert_num_queries(7):
        small = list(load_tables(study=grief))
    block = grief.blocks.get()
    make_dataset("more", conversations=20, owner=rosa)
    Conversation.objects.filter(dataset__slug="more").update(dataset=block.dataset, position=F("position") + 100)
    Item.objects.bulk_create(
        Item(block=block, conversation=one, position=10 + place)
        for place, one in enumerate(block.dataset.conversations.filter(external_id__startswith="more"))
    )
    for number in range(4, 12):
        add_rater(study=grief, kind=RaterKind.EXPERT, name=f"expert{number}")
    rate(grief, {f"expert{number}": [number % 5 + 1] * 23 for number in range(2, 12)})
    rate(grief, {"expert2": [1] * 23}, dimension="scale_2")
    with django_assert_num_queries(7):
        large = list(load_tables(study=grief))
    assert (len(small), len(large)) == (1, 2)


def test_ratings_arrive_whole_when_they_take_several_chunks(grief, rate, monkeypatch):
    rate(grief, {"expert1": [1, 2, 3], "expert2": [3, 2, 5]})
    whole = tables(grief)["scale_1"]
    monkeypatch.setattr(loading, "CHUNK_ROWS", 2)
    chunked = tables(grief)["scale_1"]
    assert_array_equal(chunked.values, whole.values)


def test_tables_can_be_gone_through_again_and_ask_nothing(grief, rate, django_assert_num_queries):
    rate(grief, {"expert2": [3, 2, 5], "expert1": [1, 2, 3]})
    rate(grief, {"expert1": [4, None, None]}, dimension="scale_2")
    loaded = load_tables(study=grief)
    with django_assert_num_queries(0):
        first, second = list(loaded), list(loaded)
        assert len(loaded) == len(first) == 2
        assert loaded.raters_by_table() == [list(table.raters) for table in first]
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one.values, other.values)


def test_ratings_in_no_table_are_counted_by_what_keeps_them_out(grief, rate, rosa):
    add_items(grief, ItemRole.GOLD, count=3)
    rate(grief, {"expert1": [1, 2, 3], "expert2": [3, "?", 5], "expert3": [4, None, 4]})
    rate(grief, {"expert1": [5, 5, 5], "expert3": [None, 5, None]}, role=ItemRole.GOLD)
    exclude(rater=grief.raters.get(name="expert3"), by=rosa)
    exclude(rater=grief.raters.get(name="expert2"), item=grief.blocks.get().items.first(), by=rosa)
    loaded = load_tables(study=grief)
    assert loaded.tally == Tally(read=12, of_excluded_raters=3, of_other_items=3, excluded_singly=1)
    assert sum(int((~np.isnan(table.values)).sum()) for table in loaded) == 4
    everything = load_tables(study=grief, selection=DataSelection(with_excluded=True))
    assert everything.tally == Tally(read=12, of_other_items=4)
