import numpy as np
import pytest

from apps.measures import resampling
from apps.measures.patterns import Patterns, patterns_of
from apps.measures.resampling import Shared, pattern_weights, percentile_interval, resample, weight_chunks
from apps.measures.scale import Scale

FIVE = Scale((1, 2, 3, 4, 5))


def drawn(n: int, raters: int = 2, seed: int = 0) -> Patterns:
    return patterns_of(np.random.default_rng(seed).integers(1, 6, size=(n, raters)).astype(float), FIVE)


FEW_ITEMS = drawn(40)  # nearly as many patterns as items: items are drawn
MANY_ITEMS = drawn(5000)  # 25 patterns: counts are drawn


@pytest.mark.parametrize("patterns", [FEW_ITEMS, MANY_ITEMS], ids=["items", "counts"])
def test_a_resample_has_as_many_items_as_the_data(patterns: Patterns) -> None:
    weights = pattern_weights(patterns, 300, seed=1)
    assert weights.shape == (300, patterns.counts.size)
    assert (weights.sum(axis=1) == patterns.n_items).all()


@pytest.mark.parametrize("patterns", [FEW_ITEMS, MANY_ITEMS], ids=["items", "counts"])
def test_the_draws_have_the_moments_of_a_multinomial(patterns: Patterns) -> None:
    """Mean n p, variance n p (1 - p), covariance -n p_j p_k; each within 5 standard errors of 20,000 draws."""
    resamples = 20_000
    weights = pattern_weights(patterns, resamples, seed=2)
    n, p = patterns.n_items, patterns.counts / patterns.n_items
    variance = n * p * (1 - p)
    assert (np.abs(weights.mean(axis=0) - n * p) < 5 * np.sqrt(variance / resamples)).all()
    np.testing.assert_allclose(weights.var(axis=0), variance, rtol=0.1)
    j, k = np.argsort(patterns.counts)[-2:]
    covariance = np.cov(weights[:, j], weights[:, k])[0, 1]
    assert abs(covariance + n * p[j] * p[k]) < 5 * np.sqrt(variance[j] * variance[k] / resamples)


@pytest.mark.parametrize("patterns", [FEW_ITEMS, MANY_ITEMS], ids=["items", "counts"])
def test_the_same_seed_draws_the_same_whatever_the_chunks(patterns: Patterns, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pattern_weights(patterns, 101, seed=3)
    monkeypatch.setattr(resampling, "CHUNK_CELLS", 7 * patterns.counts.size)
    chunks = list(weight_chunks(patterns, 101, seed=3))
    assert len(chunks) > 10
    np.testing.assert_array_equal(np.concatenate(chunks), whole)
    assert (pattern_weights(patterns, 101, seed=4) != whole).any()


def test_the_order_of_items_changes_no_draw() -> None:
    values = np.random.default_rng(8).integers(1, 6, size=(60, 3)).astype(float)
    one = pattern_weights(patterns_of(values, FIVE), 50, seed=5)
    other = pattern_weights(patterns_of(values[::-1], FIVE), 50, seed=5)
    np.testing.assert_array_equal(one, other)


def test_chunks_stay_small_however_many_patterns() -> None:
    patterns = Patterns(np.arange(400_000.0)[:, None], np.ones(400_000, dtype=np.int64))
    sizes = [chunk.size for chunk in weight_chunks(patterns, 25, seed=0)]
    assert max(sizes) <= resampling.CHUNK_CELLS
    assert sum(sizes) == 25 * 400_000


def test_kernels_see_the_same_resamples() -> None:
    kernels = {"first": lambda weights: weights[:, 0], "minus": lambda weights: -weights[:, 0]}
    found = resample(MANY_ITEMS, kernels, resamples=20, seed=1)
    np.testing.assert_array_equal(found["first"], -found["minus"])
    assert np.ptp(found["first"]) > 0


def test_without_items_or_resamples_there_is_nothing_to_draw() -> None:
    empty = Patterns(np.empty((0, 2)), np.empty(0, dtype=np.int64))
    assert resample(empty, {"sum": lambda weights: weights.sum(axis=1)}, resamples=9, seed=0)["sum"].size == 0
    assert pattern_weights(MANY_ITEMS, 0, seed=0).shape == (0, 25)


def test_the_interval_is_the_percentiles_of_what_is_defined() -> None:
    values = np.random.default_rng(3).normal(size=999)
    low, high, degenerate = percentile_interval(np.append(values, [np.nan] * 10))
    assert (low, high) == pytest.approx(tuple(np.percentile(values, [2.5, 97.5])))
    assert degenerate == 10
    assert percentile_interval(values, 0.9)[:2] == pytest.approx(tuple(np.percentile(values, [5, 95])))


def test_there_is_no_interval_when_most_resamples_are_degenerate() -> None:
    assert percentile_interval(np.array([0.5, 0.5, np.nan, np.nan])) == (0.5, 0.5, 2)
    assert percentile_interval(np.array([0.5, np.nan, np.nan])) == (None, None, 2)
    assert percentile_interval(np.full(3, np.nan)) == (None, None, 3)


@pytest.mark.parametrize("size", [1, 2, 39, 41, 1000])
def test_the_interval_is_that_of_numpy_to_the_last_bit(size: int) -> None:
    values = np.random.default_rng(size).normal(size=size)
    places = np.array([1 - 0.95, 1 + 0.95]) / 2 * (size - 1)
    expected = np.interp(places, np.arange(size), np.sort(values))
    assert percentile_interval(values) == (*expected, 0)


def test_a_shared_step_is_taken_once_for_each_array_of_weights() -> None:
    taken = []
    step = Shared(lambda weights: taken.append(weights) or weights.sum())
    first, equal = np.ones((2, 3)), np.ones((2, 3))
    assert [step(first), step(first), step(equal), step(2 * first)] == [6, 6, 6, 12]
    assert len(taken) == 3
