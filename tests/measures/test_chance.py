"""Coefficients on categories against published values, statsmodels and their definitions."""

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from apps.measures.groups import group_statistics
from apps.measures.scale import Level, Scale
from tests.measures.definitions import chance_corrected
from tests.measures.published import FLEISS, GWET, GWET_OBSERVERS, KRIPPENDORFF

FIVE = Scale((1, 2, 3, 4, 5))
COEFFICIENTS = ("fleiss_kappa", "conger_kappa", "ac1", "ac2_linear", "ac2_quadratic", "brennan_prediger")


@pytest.mark.parametrize(
    ("name", "published"),
    [
        # README of the R package irrCAC 1.0 (K. Gwet; CRAN and github.com/kgwet/irrCAC), data cac.raw4raters.
        ("ac1", 0.77544),
        ("fleiss_kappa", 0.76117),
        ("conger_kappa", 0.76282),
        ("brennan_prediger", 0.77273),  # (0.8181818 - 0.2) / 0.8
        ("percent_agreement", 0.81818),
        ("alpha_nominal", 0.74342),
        # Documentation of its Python port (github.com/afergadis/irrCAC, usage_raw_data), weights "quadratic".
        ("ac2_quadratic", 0.91400),
    ],
)
def test_gwets_twelve_units(name, published):
    assert group_statistics(GWET, FIVE)[name].value == pytest.approx(published, abs=5e-6)


@pytest.mark.parametrize(
    ("name", "published"),
    # Tests of github.com/afergadis/irrCAC, checked there against R to three digits.
    [("ac2_linear", 0.859), ("ac2_quadratic", 0.914), ("ac1", 0.775), ("conger_kappa", 0.763)],
)
def test_weighted_values_of_the_port(name, published):
    assert group_statistics(GWET, FIVE)[name].value == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "published"),
    # The same tests, data raw_5observers: many gaps.
    [
        ("percent_agreement", 0.616),
        ("ac1", 0.497),
        ("fleiss_kappa", 0.458),
        ("conger_kappa", 0.469),
        ("brennan_prediger", 0.487),
    ],
)
def test_gwets_five_observers(name, published):
    assert group_statistics(GWET_OBSERVERS, Scale((0, 1, 2, 3)))[name].value == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "published"),
    # README of irrCAC, data distrib.6raters.
    [
        ("ac1", 0.4448007),
        ("fleiss_kappa", 0.4139265),
        ("brennan_prediger", 0.4388889),
        ("percent_agreement", 0.5511111),
    ],
)
def test_six_psychiatrists(name, published):
    assert group_statistics(FLEISS, FIVE)[name].value == pytest.approx(published, abs=5e-8)


@pytest.mark.parametrize("seed", range(8))
def test_fleiss_on_complete_tables_is_that_of_statsmodels(seed):
    rng = np.random.default_rng(seed)
    values = np.clip(rng.integers(1, 6, size=(40, 1)) + rng.integers(-1, 2, size=(40, 2 + seed)), 1, 5).astype(float)
    expected = fleiss_kappa(aggregate_raters(values.astype(int))[0], method="fleiss")
    assert group_statistics(values, FIVE)["fleiss_kappa"].value == pytest.approx(expected, abs=1e-12)


def test_conger_of_two_raters_is_cohens_kappa():
    # They agree on 4 of 6; their margins are (3, 1, 2) and (2, 3, 1), so p_e = (6 + 3 + 2) / 36.
    values = np.array([[1, 1], [1, 1], [1, 2], [2, 2], [3, 2], [3, 3]], dtype=float)
    expected = (4 / 6 - 11 / 36) / (1 - 11 / 36)
    assert group_statistics(values, FIVE)["conger_kappa"].value == pytest.approx(expected, abs=1e-12)


def test_unused_points_count_as_categories():
    """q is the number of declared points: 4 of 6 pairs agree on two of them."""
    values = np.array([[1, 1], [1, 1], [2, 2], [2, 2], [1, 2], [2, 1]], dtype=float)
    found = group_statistics(values, FIVE)
    # p_a = 2/3; pi = (1/2, 1/2), so AC1's p_e = (1/4 + 1/4) / 4 = 1/8, and Brennan-Prediger's is 1/5.
    assert found["ac1"].value == pytest.approx((2 / 3 - 1 / 8) / (7 / 8))
    assert found["brennan_prediger"].value == pytest.approx((2 / 3 - 1 / 5) / (4 / 5))
    # Of two declared points only: p_e = 1/2 for both.
    found = group_statistics(values, Scale((1, 2)))
    assert found["ac1"].value == found["brennan_prediger"].value == pytest.approx(1 / 3)


def test_ac2_weighs_by_the_values_of_the_points_not_their_ranks():
    values = np.array([[0, 1], [1, 1], [10, 10], [0, 0], [1, 10]], dtype=float)
    scale = Scale((0, 1, 10))
    for name in ("ac2_linear", "ac2_quadratic"):
        expected = chance_corrected(values.tolist(), scale.points, name)
        assert group_statistics(values, scale)[name].value == pytest.approx(expected, abs=1e-12)


def test_an_item_with_one_rating_enters_the_shares_but_not_the_agreement():
    found = group_statistics(KRIPPENDORFF, FIVE)
    assert (found["ac1"].n_items, found["ac1"].n_raters, found["ac1"].n_ratings) == (12, 4, 41)
    assert (found["percent_agreement"].n_items, found["percent_agreement"].n_ratings) == (11, 40)


def test_names_instead_of_numbers():
    found = group_statistics(GWET, Scale((1, 2, 3, 4, 5), Level.NOMINAL))
    assert found["ac1"].value == pytest.approx(0.77544, abs=5e-6)
    assert found["ac2_linear"].reason == "not defined for nominal scales"
