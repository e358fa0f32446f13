import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from apps.measures.aggregates import (
    Aggregate,
    group_mean,
    group_median,
    group_value,
    leave_one_out,
    lower_median,
    lowest_mode,
)

nan = np.nan
property_test = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7),
    elements=st.sampled_from([nan, 1.0, 2.0, 3.0, 5.0]),
)


def test_the_median_of_two_lies_between_them_and_one_rater_is_no_group() -> None:
    values = [[1, 2, 5], [1, nan, 2], [nan, nan, 4], [nan, nan, nan]]
    np.testing.assert_array_equal(group_median(values), [2, 1.5, nan, nan])
    np.testing.assert_array_equal(group_mean(values), [8 / 3, 1.5, nan, nan])


def test_the_least_number_of_raters_can_be_set() -> None:
    values = [[1, 2, 5], [1, nan, 2], [nan, nan, 4], [nan, nan, nan]]
    np.testing.assert_array_equal(group_median(values, min_raters=1), [2, 1.5, 4, nan])
    np.testing.assert_array_equal(group_mean(values, min_raters=3), [8 / 3, nan, nan, nan])
    np.testing.assert_array_equal(group_mean(values, min_raters=0)[3:], [nan])


@property_test
@given(tables)
def test_medians_and_means_are_those_of_the_ratings_given(values: np.ndarray) -> None:
    for row, median, mean in zip(values, group_median(values), group_mean(values), strict=True):
        present = row[~np.isnan(row)]
        if present.size < 2:
            assert np.isnan([median, mean]).all()
        else:
            assert median == np.median(present)
            assert mean == pytest.approx(present.mean(), abs=1e-12)


@property_test
@given(tables, st.integers(0, 6), st.sampled_from(Aggregate))
def test_a_group_without_a_rater_does_not_depend_on_that_rater(values: np.ndarray, column: int, how: Aggregate) -> None:
    column %= values.shape[1]
    others = leave_one_out(values, column, how)
    changed = values.copy()
    changed[:, column] = 3
    np.testing.assert_array_equal(others, leave_one_out(changed, column, how))
    np.testing.assert_array_equal(others, group_value(np.delete(values, column, axis=1), how))


def test_a_rater_that_does_not_exist_cannot_be_left_out() -> None:
    for column in (3, -1):
        with pytest.raises(IndexError, match="no rater"):
            leave_one_out([[1, 2, 3]], column, Aggregate.MEDIAN)


def test_a_pair_without_one_of_them_is_no_group() -> None:
    assert np.isnan(leave_one_out([[1, 2]], 0, Aggregate.MEAN)).all()
    assert np.isnan(leave_one_out([[1]], 0, Aggregate.MEDIAN)).all()


@property_test
@given(tables)
def test_lower_medians_and_modes_are_ratings_that_were_given(values: np.ndarray) -> None:
    for row, median, mode in zip(values, lower_median(values), lowest_mode(values), strict=True):
        present = sorted(row[~np.isnan(row)])
        if not present:
            assert np.isnan([median, mode]).all()
            continue
        assert median == present[(len(present) - 1) // 2]
        assert mode == min(present, key=lambda value: (-present.count(value), value))


def test_ratings_must_be_a_table() -> None:
    with pytest.raises(ValueError, match="items x raters"):
        group_median([1, 2, 3])
