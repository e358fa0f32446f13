"""Which items are disputed most."""

from itertools import combinations

import numpy as np
import pytest

from apps.measures.aggregates import Aggregate
from apps.measures.results import Reason
from apps.measures.scale import Level
from apps.reliability.disputes import Measure, mean_difference, most_disputed, side_of_kind, widest_gaps
from apps.reliability.matrix import Kind, Side
from tests.reliability.conftest import make_table


def test_the_most_disputed_come_first_and_ties_by_item():
    # Pairs of item 0: 0, 4, 4; of 1: only one rating; of 2: 1; of 3: 0, 4, 4; of 4: none apart.
    table = make_table(
        {"expert1": [1, None, 2, 5, 3], "expert2": [1, 4, 3, 1, 3], "expert3": [5, None, None, 5, 3]},
    )
    found = most_disputed(table, (0, 1, 2))
    assert [(one.item, one.value, one.n_ratings) for one in found] == [
        ("i000", pytest.approx(8 / 3), 3),
        ("i003", pytest.approx(8 / 3), 3),
        ("i002", 1.0, 2),
        ("i004", 0.0, 3),
    ]
    assert [one.row for one in found] == [0, 3, 2, 4]


def test_only_the_raters_asked_for_count():
    table = make_table({"expert1": [1, 1], "expert2": [1, 2], "model": [5, 1]}, kinds={"model": Kind.LLM})
    assert [one.value for one in most_disputed(table, (0, 1))] == [1.0, 0.0]
    assert [one.item for one in most_disputed(table, (0, 1))] == ["i001", "i000"]
    assert most_disputed(table, (0,)) == []
    assert most_disputed(table, ()) == []


def test_variance_is_that_of_a_sample():
    table = make_table({"a": [1, 3], "b": [5, 3], "c": [3, 4]})
    found = most_disputed(table, (0, 1, 2), Measure.VARIANCE)
    assert [one.value for one in found] == [pytest.approx(4.0), pytest.approx(1 / 3)]


def test_means_that_are_equal_but_for_rounding_are_ties():
    third = 1 + 1 / 3
    table = make_table({"a": [third, 3.0], "b": [third + 0.1 + 0.2, 3.3], "c": [None, None]}, aggregates=("a", "b"))
    assert [one.item for one in most_disputed(table, (0, 1))] == ["i000", "i001"]


def test_names_differ_or_do_not():
    table = make_table({"a": [1, 1], "b": [5, 2], "c": [5, 3]}, level=Level.NOMINAL)
    found = most_disputed(table, (0, 1, 2))
    assert [(one.item, one.value) for one in found] == [("i001", 1.0), ("i000", pytest.approx(2 / 3))]
    with pytest.raises(ValueError, match="nominal"):
        most_disputed(table, (0, 1), Measure.VARIANCE)


@pytest.mark.parametrize("seed", range(20))
def test_the_sorted_form_is_the_mean_over_pairs(seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.uniform(1, 5, size=(30, 6)), 2)
    values[rng.random(values.shape) < 0.4] = np.nan
    values = values[(~np.isnan(values)).sum(axis=1) >= 2]
    for row, value in zip(values, mean_difference(values), strict=True):
        apart = [abs(a - b) for a, b in combinations(row[~np.isnan(row)], 2)]
        assert value == pytest.approx(sum(apart) / len(apart))


def test_what_stands_for_a_kind():
    table = make_table(
        {"expert1": [1], "expert2": [3], "crowd": [2.5], "w1": [2], "m": [4], "me": [1]},
        kinds={"crowd": Kind.CROWD, "w1": Kind.CROWD, "m": Kind.LLM, "me": Kind.SELF},
        aggregates=("crowd",),
    )
    places = {rater.name: column for column, rater in enumerate(table.raters)}
    experts = side_of_kind(table, Kind.EXPERT)
    assert experts == Side("experts:median", (places["expert1"], places["expert2"]), Aggregate.MEDIAN)
    assert side_of_kind(table, Kind.CROWD) == Side("crowd", (places["crowd"],))
    assert side_of_kind(table, Kind.LLM) == Side("m", (places["m"],))
    assert side_of_kind(table, Kind.BASELINE) is Reason.NO_RATINGS


def test_the_widest_gap_between_experts_and_models_comes_first():
    table = make_table(
        {"expert1": [1, 3, 5, 2], "expert2": [1, 4, 5, None], "gemini": [5, 1, 5, 1], "claude": [4, 2, 5, 1]},
        kinds={"gemini": Kind.LLM, "claude": Kind.LLM},
    )
    experts, models = side_of_kind(table, Kind.EXPERT), side_of_kind(table, Kind.LLM)
    assert isinstance(experts, Side)
    assert isinstance(models, Side)
    assert (models.name, models.how) == ("llms:median", Aggregate.MEDIAN)
    gaps = widest_gaps(table, experts, models)
    assert [(gap.item, gap.a, gap.b, gap.difference) for gap in gaps] == [
        ("i000", 1.0, 4.5, 3.5),
        ("i001", 3.5, 1.5, -2.0),
        ("i002", 5.0, 5.0, 0.0),
    ]


def test_names_have_no_median_to_be_compared():
    table = make_table({"a": [1], "b": [2], "m": [2]}, kinds={"m": Kind.LLM}, level=Level.NOMINAL)
    assert side_of_kind(table, Kind.EXPERT) is Reason.NOT_FOR_NOMINAL
    [gap] = widest_gaps(table, Side("a", (0,)), Side("m", (2,)))
    assert (gap.a, gap.b) == (1.0, 2.0)
