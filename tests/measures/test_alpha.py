"""Krippendorff's alpha against its definition, the `krippendorff` library and published values."""

import krippendorff
import numpy as np
import pytest

from apps.measures import alpha
from apps.measures.alpha import Metric, alpha_at_point, alpha_kernel
from apps.measures.groups import group_statistics
from apps.measures.patterns import patterns_of
from apps.measures.scale import Scale
from apps.measures.units import Units
from tests.measures.published import FLEISS, KRIPPENDORFF

FIVE = Scale((1, 2, 3, 4, 5))
ALPHAS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "alpha_ratio")


def sparse_table(seed: int, *, items: int, raters: int, points: int, missing: float) -> np.ndarray:
    """Ratings that agree somewhat: an item's level plus noise, with gaps."""
    rng = np.random.default_rng(seed)
    level = rng.integers(1, points + 1, size=(items, 1))
    values = np.clip(level + rng.integers(-1, 2, size=(items, raters)), 1, points).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return values


def by_library(values: np.ndarray, metric: Metric) -> float:
    return float(krippendorff.alpha(values.T, level_of_measurement=metric.value))


def by_kernel(values: np.ndarray, scale: Scale, metric: Metric) -> float:
    patterns = patterns_of(values, scale)
    return float(alpha_kernel(metric, Units.of(patterns.values))(patterns.weights)[0])


@pytest.mark.parametrize(
    ("name", "published"),
    # Krippendorff 2011 prints .743, .815, .849 and .797; the fourth digits are those of CASES 21.
    [("alpha_nominal", 0.7434), ("alpha_ordinal", 0.8154), ("alpha_interval", 0.8491), ("alpha_ratio", 0.7974)],
)
def test_krippendorffs_example_case_21(name, published):
    result = group_statistics(KRIPPENDORFF, FIVE, resamples=1000, seed=3, statistics=[name])[name]
    assert result.value == pytest.approx(published, abs=5e-5)
    assert result.ci_low < result.value < result.ci_high
    # Twelve units, of which the last has a single rating: 11 units with 40 pairable ratings.
    assert (result.n_items, result.n_raters, result.n_ratings) == (11, 4, 40)
    assert (result.n_resamples, result.n_degenerate) == (1000, 0)


def test_example_of_six_psychiatrists():
    # irrCAC's README prints krippen.alpha.dist(distrib.6raters) = 0.4204384.
    result = group_statistics(FLEISS, FIVE, statistics=["alpha_nominal"])["alpha_nominal"]
    assert result.value == pytest.approx(0.4204384, abs=5e-8)


@pytest.mark.parametrize("metric", Metric)
@pytest.mark.parametrize("seed", range(12))
def test_kernel_and_point_agree_with_the_library(metric, seed):
    values = sparse_table(seed, items=5 + 9 * seed, raters=2 + seed % 4, points=3 + seed % 5, missing=0.3)
    scale = Scale(tuple(range(1, 9)))
    expected = by_library(values, metric)
    assert by_kernel(values, scale, metric) == pytest.approx(expected, abs=1e-9)
    assert group_statistics(values, scale)[f"alpha_{metric}"].value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("metric", Metric)
def test_a_crowd_of_116_raters_on_50_items(metric):
    """Many raters, few of whom rated an item: nobody shares a pattern, and the counts of values do the work."""
    values = sparse_table(5, items=50, raters=116, points=5, missing=0.96)
    assert by_kernel(values, FIVE, metric) == pytest.approx(by_library(values, metric), abs=1e-9)
    result = group_statistics(values, FIVE, resamples=200, seed=1)[f"alpha_{metric}"]
    assert result.ci_low < result.value < result.ci_high


@pytest.mark.parametrize("metric", [Metric.ORDINAL, Metric.INTERVAL, Metric.RATIO])
def test_means_of_a_crowd_make_a_fine_scale_case_25(metric):
    """Halves and thirds: more values than points."""
    rng = np.random.default_rng(8)
    truth = rng.uniform(1, 5, size=(80, 1))
    values = np.clip(truth + rng.normal(0, 0.4, size=(80, 3)), 1, 5)
    values = np.round(values * [2, 3, 6]) / [2, 3, 6]
    assert by_kernel(values, FIVE, metric) == pytest.approx(by_library(values, metric), abs=1e-9)


@pytest.mark.parametrize("metric", [Metric.ORDINAL, Metric.RATIO])
@pytest.mark.parametrize("raters", [3, 30])
def test_the_forms_for_fine_scales_agree_with_those_for_few_values(metric, raters, monkeypatch):
    values = sparse_table(2, items=70, raters=raters, points=9, missing=0.4)
    scale = Scale(tuple(range(1, 10)))
    patterns = patterns_of(values, scale)
    weights = np.random.default_rng(1).integers(0, 4, size=(40, len(patterns.counts))).astype(float)
    usual = alpha_kernel(metric, Units.of(patterns.values))(weights)
    monkeypatch.setattr(alpha, "DENSE_CELLS", 0)
    monkeypatch.setattr("apps.measures.units.DENSE_CELLS", 0)
    monkeypatch.setattr(alpha, "CHUNK_CELLS", 300)
    monkeypatch.setattr("apps.measures.units.CHUNK_CELLS", 300)
    np.testing.assert_allclose(alpha_kernel(metric, Units.of(patterns.values))(weights), usual, atol=1e-12)


@pytest.mark.parametrize("metric", Metric)
def test_each_row_of_weights_is_the_table_with_items_repeated(metric):
    """The bootstrap by patterns is the bootstrap by items; the ordinal metric is taken anew in every resample."""
    values = sparse_table(11, items=30, raters=3, points=5, missing=0.25)
    patterns = patterns_of(values, FIVE)
    weights = np.random.default_rng(7).multinomial(30, patterns.counts / 30, size=25).astype(float)
    by_weights = alpha_kernel(metric, Units.of(patterns.values))(weights)
    for row, value in zip(weights, by_weights, strict=True):
        repeated = np.repeat(patterns.values, row.astype(int), axis=0)
        assert value == pytest.approx(by_library(repeated, metric), abs=1e-9)


@pytest.mark.parametrize("metric", Metric)
def test_large_tables_do_without_the_library(metric, monkeypatch):
    """The library would build a million tables of values x values."""
    values = np.tile(KRIPPENDORFF, (20_000, 1))
    patterns = patterns_of(values, FIVE)
    units = Units.of(patterns.values)
    monkeypatch.setattr(alpha.krippendorff, "alpha", lambda **_: pytest.fail("the library was asked"))
    found = alpha_at_point(metric, units, patterns.counts)
    assert found == pytest.approx(by_kernel(values, FIVE, metric), abs=1e-12)


@pytest.mark.parametrize("metric", Metric)
def test_rows_without_variation_are_not_a_number(metric):
    values = np.array([[0.1, 0.1, 0.1], [0.3, 0.3, np.nan], [0.2, np.nan, np.nan], [0.1, 0.3, 0.3]])
    kernel = alpha_kernel(metric, Units.of(values))
    weights = np.array([[3, 0, 0, 0], [0, 7, 0, 0], [0, 0, 4, 0], [2, 0, 5, 0], [1, 1, 0, 0], [0, 0, 0, 1.0]])
    defined = ~np.isnan(kernel(weights))
    assert defined.tolist() == [False, False, False, False, True, True]
    assert kernel(weights)[4] == 1.0


def test_interval_alpha_keeps_its_digits_far_from_zero():
    values = sparse_table(4, items=40, raters=3, points=5, missing=0.2)
    shifted = alpha_kernel(Metric.INTERVAL, Units.of(values / 1024 + 1e6))(np.ones((1, 40)))[0]
    assert shifted == pytest.approx(by_library(values, Metric.INTERVAL), abs=1e-9)
