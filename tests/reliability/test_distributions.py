"""How a scale is used, by group and by rater."""

import numpy as np
import pandas as pd
import pytest

from apps.measures.results import Reason
from apps.measures.scale import Level, OffScale, Scale
from apps.reliability.distributions import distribution_of, group_distributions, rater_distributions
from apps.reliability.matrix import Kind
from tests.reliability.conftest import FIVE_POINTS, make_table


def test_counts_and_shares_by_point():
    found = distribution_of(np.array([1, 1, 3, np.nan, 5, 4, 1, 3, 3, 5.0]), FIVE_POINTS, name="expert1")
    assert found.counts == (3, 0, 3, 1, 2)
    assert found.n_ratings == 9
    assert found.shares == pytest.approx((3 / 9, 0, 3 / 9, 1 / 9, 2 / 9))
    assert found.floor.value == pytest.approx(3 / 9)
    assert found.ceiling.value == pytest.approx(2 / 9)
    assert found.extremes.value == pytest.approx(5 / 9)
    assert found.middle is not None
    assert found.middle.value == pytest.approx(3 / 9)
    assert found.n_between == 0


def test_values_between_points_are_counted_at_the_nearest_and_halfway_at_the_higher_one():
    values = np.array([1.5, 2.5, 3.5, 3.33, 4.9, 1.0, 5.0, 2.0000000001])
    found = distribution_of(values, FIVE_POINTS, name="crowd")
    assert found.counts == (1, 2, 2, 1, 2)
    assert found.n_between == 5


def test_uneven_points_take_the_nearest_in_value():
    scale = Scale((0.0, 1.0, 10.0))
    found = distribution_of(np.array([0.4, 0.6, 5.4, 5.5, 6.0, 10.0]), scale, name="crowd")
    assert found.counts == (1, 2, 3)
    assert found.n_between == 5


def test_an_even_number_of_points_has_no_middle():
    assert distribution_of(np.array([1.0, 4.0]), Scale((1.0, 2.0, 3.0, 4.0)), name="a").middle is None


def test_no_ratings_have_no_shares_but_a_reason():
    found = distribution_of(np.full(3, np.nan), FIVE_POINTS, name="expert1")
    assert found.shares is None
    assert found.n_raters == 0
    for share in (found.floor, found.ceiling, found.extremes, found.middle):
        assert share is not None
        assert share.value is None
        assert share.reason == Reason.NO_RATINGS


def test_names_have_no_floor_and_no_middle():
    scale = Scale((1.0, 2.0, 3.0), Level.NOMINAL)
    found = distribution_of(np.array([1.0, 2.0]), scale, name="expert1")
    assert found.counts == (1, 1, 0)
    assert found.floor.reason == Reason.NOT_FOR_NOMINAL
    assert found.middle is not None
    assert found.middle.reason == Reason.NOT_FOR_NOMINAL


def test_a_value_off_the_scale_is_refused():
    with pytest.raises(OffScale, match="6 is outside the scale 1 to 5"):
        distribution_of(np.array([6.0]), FIVE_POINTS, name="expert1")


def test_groups_pool_their_raters_and_aggregates_stand_for_themselves():
    table = make_table(
        {
            "expert1": [1, 2, None],
            "expert2": [1, 5, 5],
            "median": [1, 3.5, 5],
            "w1": [4, None, None],
            "w2": [4, 4, None],
            "model": [None, None, 3],
        },
        kinds={"w1": Kind.CROWD, "w2": Kind.CROWD, "model": Kind.LLM},
        aggregates=("median",),
    )
    found = {one.name: one for one in group_distributions(table)}
    assert list(found) == ["experts", "median", "crowd", "llms"]
    assert found["experts"].counts == (2, 1, 0, 0, 2)
    assert found["experts"].n_raters == 2
    assert found["median"].counts == (1, 0, 0, 1, 1)
    assert found["median"].n_between == 1
    assert not found["median"].is_group
    assert found["crowd"].counts == (0, 0, 0, 3, 0)
    assert found["llms"].n_raters == 1
    assert [one.name for one in rater_distributions(table)] == [rater.name for rater in table.raters]


def test_random_tables_count_as_pandas_does():
    rng = np.random.default_rng(5)
    for _ in range(30):
        values = rng.integers(1, 6, size=(rng.integers(1, 40), 4)).astype(float)
        values[rng.random(values.shape) < 0.3] = np.nan
        table = make_table({f"r{column}": list(values[:, column]) for column in range(4)})
        [experts] = group_distributions(table)
        melted = pd.DataFrame(table.values).melt()["value"]
        counts = melted.value_counts().reindex(range(1, 6), fill_value=0)
        assert experts.counts == tuple(counts)
        for column, one in enumerate(rater_distributions(table)):
            alone = pd.Series(table.values[:, column]).value_counts().reindex(range(1, 6), fill_value=0)
            assert one.counts == tuple(alone)
            assert one.n_ratings == int(np.isfinite(table.values[:, column]).sum())
