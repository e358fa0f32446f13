"""What must hold for any table of ratings."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.measures.groups import FORMS, GROUP_STATISTICS, group_kernel, group_statistics
from apps.measures.patterns import patterns_of
from apps.measures.scale import Level, Scale
from apps.measures.units import Units
from tests.measures import definitions

POINTS = (1, 2, 3, 4, 5)
FIVE = Scale(POINTS)
BY_CATEGORY = ("alpha_nominal", "fleiss_kappa", "conger_kappa", "ac1", "brennan_prediger", "percent_agreement")
BY_DISTANCE = ("alpha_interval", "ac2_linear", "ac2_quadratic", *FORMS)
property_test = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    raters = draw(st.integers(2, 5))
    rating = st.none() | st.sampled_from(POINTS)
    rows = draw(st.lists(st.lists(rating, min_size=raters, max_size=raters), min_size=1, max_size=12))
    return np.array(rows, dtype=float)


def as_lists(values: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]


def values_of(values: np.ndarray, scale: Scale = FIVE) -> dict[str, float | None]:
    return {name: result.value for name, result in group_statistics(values, scale).items()}


def assert_same(found: dict[str, float | None], expected: dict[str, float | None], names=GROUP_STATISTICS) -> None:
    for name in names:
        if expected[name] is None or found[name] is None:
            assert found[name] == expected[name], name
        else:
            assert found[name] == pytest.approx(expected[name], abs=1e-9), name


@property_test
@given(tables())
def test_patterns_give_what_the_definition_gives(values):
    expected = definitions.all_of(as_lists(values), POINTS)
    shared = ((~np.isnan(values)).sum(axis=1) >= 2).sum()
    if shared < 2:  # from one item only raw agreement can be told
        expected = dict.fromkeys(expected) | {"percent_agreement": expected["percent_agreement"]}
    assert_same(values_of(values), expected, tuple(expected))


@property_test
@given(tables(), st.integers(0, 2**32 - 1))
def test_weights_give_what_repeated_items_give(values, seed):
    """Pattern form = long form, in a resample as at a point, undefined ones included."""
    patterns = patterns_of(values, FIVE)
    units = Units.of(patterns.values)
    if units.values.shape[1] < 2:
        return
    weights = np.random.default_rng(seed).integers(0, 3, size=len(patterns.counts)).astype(float)
    repeated = as_lists(np.repeat(patterns.values, weights.astype(int), axis=0))
    for name, expected in definitions.all_of(repeated, POINTS).items():
        value = group_kernel(name, units, FIVE)(weights[None, :])[0]
        assert (None if np.isnan(value) else value) == (None if expected is None else pytest.approx(expected, abs=1e-9))


@property_test
@given(tables())
def test_iccs_give_what_the_definition_gives(values):
    complete = values[:, ~np.isnan(values).all(axis=0)]
    complete = complete[~np.isnan(complete).any(axis=1)]
    if len(complete) < 2 or complete.shape[1] < 2:
        expected = dict.fromkeys(FORMS)
    else:
        expected = definitions.icc(as_lists(complete))
    assert_same(values_of(values), expected, tuple(FORMS))


@property_test
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_raters_and_items_does_not_matter(values, random):
    rows, columns = list(range(values.shape[0])), list(range(values.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    assert_same(values_of(values[rows][:, columns]), values_of(values))


@property_test
@given(tables(), st.integers(0, 1000))
def test_the_order_of_items_changes_no_interval(values, seed):
    forward = group_statistics(values, FIVE, resamples=20, seed=seed)
    assert group_statistics(values[::-1], FIVE, resamples=20, seed=seed) == forward


@property_test
@given(tables(), st.permutations(POINTS))
def test_relabelling_changes_nothing_nominal(values, labels):
    scale = Scale(POINTS, Level.NOMINAL)
    renamed = np.where(np.isnan(values), np.nan, np.array([np.nan, *labels])[np.nan_to_num(values).astype(int)])
    assert_same(values_of(renamed, scale), values_of(values, scale), BY_CATEGORY)


@property_test
@given(tables(), st.sampled_from([0.25, 1.0, 7.0, 1000.0]), st.integers(-50, 1000))
def test_an_affine_change_of_the_scale_changes_nothing_interval(values, factor, shift):
    scale = Scale(tuple(factor * point + shift for point in POINTS))
    assert_same(values_of(factor * values + shift, scale), values_of(values), BY_DISTANCE)


@property_test
@given(tables())
def test_a_monotone_change_of_the_points_changes_nothing_ordinal(values):
    assert_same(values_of(values**3, Scale(tuple(p**3 for p in POINTS))), values_of(values), ("alpha_ordinal",))


@property_test
@given(tables(), st.integers(2, 4))
def test_a_table_repeated_keeps_shares_and_chance(values, times):
    """Coefficients of shares do not depend on the number of items; alpha does, by its n - 1."""
    values = np.vstack([values, np.array([[1, 2] + [np.nan] * (values.shape[1] - 2)] * 2)])  # never too few
    repeated = values_of(np.tile(values, (times, 1)))
    assert_same(repeated, values_of(values), tuple(set(BY_CATEGORY) - {"alpha_nominal"}))


@property_test
@given(tables())
def test_no_coefficient_exceeds_one(values):
    for result in group_statistics(values, FIVE, resamples=10).values():
        for number in (result.value, result.ci_low, result.ci_high):
            assert number is None or number <= 1 + 1e-9
        assert (result.value is None) == (result.reason is not None)
