import numpy as np
import pytest
from numpy.testing import assert_array_equal

from apps.measures.aggregates import Aggregate
from apps.measures.scale import OffScale, Scale
from apps.reliability.matrix import Kind, RaterKey, RatingTable, Side, TableKey, content_hash, table_hash
from apps.studies.models import RaterKind
from tests.reliability.conftest import make_table

KEY = TableKey("main", "warmth", "empathy")
SCALE = Scale((1.0, 2.0, 3.0))


def test_kinds_are_those_of_the_study():
    assert set(Kind) == set(RaterKind.values)


def test_items_and_raters_come_into_one_order_whatever_order_they_had():
    values = np.array([[1.0, 2.0], [3.0, np.nan]])
    raters = [RaterKey("gpt", Kind.LLM), RaterKey("zoe", Kind.EXPERT)]
    table = RatingTable.of(KEY, SCALE, ["b", "a"], raters, values)
    assert table.items == ("a", "b")
    assert [rater.name for rater in table.raters] == ["zoe", "gpt"]
    assert_array_equal(table.values, [[np.nan, 3.0], [2.0, 1.0]])


def test_repeats_are_put_into_the_same_order():
    table = RatingTable.of(
        KEY,
        SCALE,
        ["b", "a"],
        [RaterKey("y", Kind.EXPERT), RaterKey("x", Kind.EXPERT)],
        np.array([[1.0, 2.0], [3.0, 1.0]]),
        np.array([[1.0, np.nan], [np.nan, 2.0]]),
    )
    assert_array_equal(table.repeats, [[2.0, np.nan], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("items", "names", "shape"), [(["a", "a"], ["x"], (2, 1)), (["a"], ["x", "x"], (1, 2)), (["a"], ["x"], (2, 1))]
)
def test_repeated_keys_and_wrong_shapes_are_refused(items, names, shape):
    raters = [RaterKey(name, Kind.EXPERT) for name in names]
    with pytest.raises(ValueError, match=r"twice|shape"):
        RatingTable.of(KEY, SCALE, items, raters, np.ones(shape))


def test_a_value_outside_the_scale_is_refused():
    with pytest.raises(OffScale, match="4 is outside the scale 1 to 3"):
        RatingTable.of(KEY, SCALE, ["a"], [RaterKey("x", Kind.EXPERT)], np.array([[4.0]]))


def test_a_group_value_needs_two_raters():
    table = make_table({"x": [1, 1, None], "y": [2, None, None], "z": [5, None, 3]})
    median = table.column(Side("experts:median", (0, 1, 2), Aggregate.MEDIAN))
    assert_array_equal(median, [2, np.nan, np.nan])
    mean = table.column(Side("crowd:mean", (0, 2), Aggregate.MEAN))
    assert_array_equal(mean, [3, np.nan, np.nan])


def test_a_group_without_a_rater_has_values_on_their_items_only():
    table = make_table({"x": [1, None, 1], "y": [2, 2, None], "z": [4, 4, 4]})
    others = Side("experts-without-x:median", (1, 2), Aggregate.MEDIAN, without=0)
    assert_array_equal(table.column(others), [3, np.nan, np.nan])


def test_the_hash_depends_on_what_is_said_and_not_on_order():
    columns = {"x": [1, 2, None], "y": [3, None, 2]}
    turned = dict(reversed(columns.items()))
    same = table_hash(make_table(columns))
    assert table_hash(make_table(turned)) == same
    others = [
        make_table(columns | {"y": [3, None, 3]}),
        make_table(columns, points=(1.0, 2.0, 3.0)),
        make_table(columns, kinds={"y": Kind.LLM}),
        make_table(columns, aggregates=("y",)),
        make_table(columns, key=TableKey("main", "warmth", "fluency")),
        make_table(columns, repeats={"x": [1, None, None]}),
    ]
    assert len({same, *(table_hash(other) for other in others)}) == len(others) + 1
    assert content_hash(["a", "b"]) == content_hash(["b", "a"]) != content_hash(["a", "c"])


def test_missing_values_and_zeros_have_one_bit_pattern_in_the_hash():
    raters = [RaterKey("x", Kind.EXPERT)]
    scale = Scale((0.0, 1.0))
    plain = RatingTable.of(KEY, scale, ["a", "b"], raters, np.array([[0.0], [np.nan]]))
    odd = RatingTable.of(KEY, scale, ["a", "b"], raters, np.array([[-0.0], [-np.nan]]))
    assert table_hash(plain) == table_hash(odd)
