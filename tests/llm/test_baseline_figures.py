"""What a baseline reaches: figures by hand, and beside what guessing reaches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.baseline_figures import MostFrequent, figures_of, medians, most_frequent
from apps.measures.scale import Level, Scale
from tests.llm.made import property_test

FIVE = Scale((1.0, 2.0, 3.0, 4.0, 5.0))
KINDS = Scale((1.0, 2.0, 3.0), Level.NOMINAL)


def test_the_most_frequent_point_is_over_all_ratings_and_the_lowest_of_those_that_tie():
    # Three 5s in one item weigh as much as three 2s in two.
    assert most_frequent({1: [5, 5, 5], 2: [2, 2], 3: [2, 4]}) == MostFrequent(2.0, 3, 7)
    assert most_frequent({1: [4]}) == MostFrequent(4.0, 1, 1)
    with pytest.raises(ValueError, match="no ratings"):
        most_frequent({1: []})


def test_the_median_of_an_even_number_is_the_lower_and_kinds_have_a_mode():
    experts = {1: [1, 4], 2: [2, 3, 3], 3: [5], 4: []}
    assert medians(experts, FIVE) == {1: 1.0, 2: 3.0, 3: 5.0}
    assert medians({1: [1, 3, 3], 2: [2, 3]}, KINDS) == {1: 3.0, 2: 2.0}
    assert medians({}, FIVE) == {}


def test_figures_of_a_constant():
    """Of four medians 2, 2, 2, 4 the constant 2 has three: agreement 3/4, F1 of 2 is 6/7, weighted 3/4 of that."""
    experts = {1: [2], 2: [2, 3], 3: [1, 2, 5], 4: [4]}
    found = figures_of(dict.fromkeys(range(1, 6), 2.0), experts, FIVE, seed=1)
    assert found["kappa"]["value"] == 0
    assert found["percent_agreement"]["value"] == 0.75
    assert found["f1_weighted"]["value"] == pytest.approx(0.75 * 6 / 7)
    assert {one["n_items"] for one in found.values()} == {4}
    assert found["percent_agreement"]["ci_low"] < 0.75 < found["percent_agreement"]["ci_high"]


def test_what_is_not_defined_says_why():
    alike = figures_of({1: 3.0, 2: 3.0}, {1: [3], 2: [3]}, FIVE, seed=1)
    assert (alike["kappa"]["value"], alike["kappa"]["reason"]) == (None, "no variation")
    assert alike["f1_weighted"]["value"] == 1
    apart = figures_of({1: 3.0}, {2: [3]}, FIVE, seed=1)
    assert {one["value"] for one in apart.values()} == {None}
    assert all(one["reason"] for one in apart.values())


def test_kinds_are_compared_without_weights():
    found = figures_of({1: 1.0, 2: 2.0, 3: 3.0}, {1: [1], 2: [2], 3: [1]}, KINDS, seed=1)
    # p_o 2/3; p_e = (2/3)(1/3) + (1/3)(1/3) = 1/3.
    assert found["kappa"]["value"] == pytest.approx(0.5)


@property_test
@given(st.lists(st.sampled_from(FIVE.points), min_size=2, max_size=30))
def test_no_constant_beats_guessing_and_the_best_is_as_good(values):
    experts = {number: [value] for number, value in enumerate(values)}
    best = most_frequent(experts)
    for point in FIVE.points:
        found = figures_of(dict.fromkeys(experts, point), experts, FIVE, seed=1)
        for name in ("f1_weighted", "percent_agreement"):
            limit = found[f"guess_{name}"]["value"]
            assert found[name]["value"] <= limit + 1e-12
            if point == best.point:
                assert found[name]["value"] == pytest.approx(limit)
        assert found["kappa"]["value"] in (0, None)
