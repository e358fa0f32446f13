"""Intraclass correlations against Shrout and Fleiss 1979 and their definitions."""

import numpy as np
import pytest

from apps.measures.groups import FORMS, group_statistics
from apps.measures.icc import Form, icc_kernel
from apps.measures.scale import Scale
from apps.measures.units import Units
from tests.measures.definitions import icc
from tests.measures.published import SHROUT_FLEISS

TEN = Scale(tuple(range(1, 11)))
FIVE = Scale((1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    ("name", "printed", "exact"),
    # Printed in the paper's table 4. The sums of squares of table 3 are 1349/24 between targets, 2339/24 between
    # judges and 367/24 residual (5, 3 and 15 degrees of freedom), which gives the fractions.
    [
        ("icc_1_1", 0.17, 448 / 2703),
        ("icc_2_1", 0.29, 184 / 635),
        ("icc_3_1", 0.71, 920 / 1287),
        ("icc_1_k", 0.44, 1792 / 4047),
        ("icc_2_k", 0.62, 736 / 1187),
        ("icc_3_k", 0.91, 3680 / 4047),
    ],
)
def test_six_targets_and_four_judges(name, printed, exact):
    result = group_statistics(SHROUT_FLEISS, TEN)[name]
    assert result.value == pytest.approx(exact, abs=1e-12)
    assert round(result.value, 2) == printed
    assert (result.n_items, result.n_raters, result.n_ratings) == (6, 4, 24)


@pytest.mark.parametrize("seed", range(6))
def test_only_complete_items_enter(seed):
    rng = np.random.default_rng(seed)
    values = np.clip(rng.integers(1, 6, size=(40, 1)) + rng.integers(-1, 2, size=(40, 3)), 1, 5).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    expected = icc([[None if np.isnan(x) else float(x) for x in row] for row in values])
    found = group_statistics(values, FIVE, statistics=list(FORMS))
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=1e-10)
        assert found[name].n_items == (~np.isnan(values).any(axis=1)).sum()


@pytest.mark.parametrize("form", Form)
def test_each_row_of_weights_is_the_table_with_items_repeated(form):
    rng = np.random.default_rng(3)
    values = np.clip(rng.integers(1, 6, size=(25, 1)) + rng.integers(-1, 2, size=(25, 4)), 1, 5).astype(float)
    weights = rng.multinomial(25, np.full(25, 1 / 25), size=20).astype(float)
    for row, value in zip(weights, icc_kernel(form, Units.of(values))(weights), strict=True):
        assert value == pytest.approx(icc(np.repeat(values, row.astype(int), axis=0).tolist())[form], abs=1e-10)


def test_negative_values_are_not_clipped():
    """Raters who contradict each other: MSB is 0.125, MSW 2.875, and (0.125 - 2.875) / (0.125 + 2.875) = -0.917."""
    values = np.array([[1, 4], [4, 1], [2, 4], [3, 2]], dtype=float)
    assert group_statistics(values, FIVE)["icc_1_1"].value == pytest.approx(-11 / 12)


def test_without_variation_between_items_there_is_nothing_to_divide():
    """Each rater holds on to a point of their own: no item differs from another, yet the ratings vary."""
    found = group_statistics(np.array([[1, 3], [1, 3], [1, 3]], dtype=float), FIVE)
    assert found["icc_3_1"].reason == found["icc_1_k"].reason == "no positive variance to divide by"
    assert found["icc_1_1"].value == -1  # MSB = 0: -MSW / MSW
    assert found["icc_2_1"].value == 0  # nothing between items, all between raters


def test_a_negative_variance_is_no_divisor():
    """With MSB 0.15, MSJ 0 and MSE 1.25, ICC(2,k) would be -1.1 / (0.15 - 1.25 / 5) = 11."""
    values = np.array([[1, 3], [3, 1], [2, 3], [3, 2], [2, 2]], dtype=float)
    table = icc(values.tolist())
    assert table["icc_2_k"] is None
    assert group_statistics(values, FIVE)["icc_2_k"].reason == "no positive variance to divide by"


@pytest.mark.parametrize("name", FORMS)
def test_one_complete_item_is_too_few(name):
    nan = np.nan
    found = group_statistics(np.array([[1, 3], [1, nan], [nan, 2]]), FIVE, statistics=[name])[name]
    assert (found.reason, found.n_items) == ("too few items", 1)


@pytest.mark.parametrize("name", FORMS)
def test_no_complete_item(name):
    nan = np.nan
    values = np.array([[1, 3, nan], [1, nan, 4], [nan, 2, 2]])
    found = group_statistics(values, FIVE, statistics=[name])[name]
    assert (found.reason, found.n_items) == ("no items rated by all raters", 0)
