"""The pair statistics against statsmodels, scikit-learn and scipy on random tables."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import cohens_kappa

from apps.measures.contingency import PairTable
from apps.measures.pairs import Convention, pair_statistics
from apps.measures.ranks import MOST_PAIRS, kendall_can_resample, kendall_tau_b
from apps.measures.scale import Scale

WEIGHTS = {"kappa_unweighted": None, "kappa_linear": "linear", "kappa_quadratic": "quadratic"}


def raters(seed: int) -> tuple[np.ndarray, np.ndarray, Scale]:
    """Two raters who agree by half, on 2 to 7 points, of whom neither is constant."""
    rng = np.random.default_rng(seed)
    points = int(rng.integers(2, 8))
    n = int(rng.integers(6, 80))
    a = rng.integers(1, points + 1, size=n).astype(float)
    b = np.where(rng.random(n) < 0.5, a, rng.integers(1, points + 1, size=n))
    a[:2], b[:2] = (1, 2), (2, 1)
    return a, b, Scale(tuple(map(float, range(1, points + 1))))


def table_of(a: np.ndarray, b: np.ndarray, points: tuple[float, ...]) -> np.ndarray:
    return np.array([[np.sum((a == x) & (b == y)) for y in points] for x in points])


@pytest.mark.parametrize("seed", range(40))
def test_kappas_and_their_null_tests_are_those_of_statsmodels(seed: int) -> None:
    """Its weights are category ranks, which on points one apart are the values."""
    a, b, scale = raters(seed)
    found = pair_statistics(a, b, scale)
    for name, weights in WEIGHTS.items():
        theirs = cohens_kappa(table_of(a, b, scale.points), wt=weights)
        assert found[name].value == pytest.approx(theirs.kappa, abs=1e-10)
        z = theirs.kappa / np.sqrt(theirs.var_kappa0)
        assert found[name].z == pytest.approx(z, abs=1e-8)
        assert found[name].p_value == pytest.approx(2 * stats.norm.sf(abs(z)), abs=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_observed_kappas_and_their_plain_tests_are_those_of_statsmodels(seed: int) -> None:
    a, b, scale = raters(seed)
    # Stretch the points, so that values and ranks differ.
    squares = Scale(tuple(point**2 for point in scale.points))
    found = pair_statistics(a**2, b**2, squares, convention=Convention.OBSERVED)
    used = tuple(np.unique([a, b]))
    for name, weights in WEIGHTS.items():
        theirs = cohens_kappa(table_of(a, b, used), wt=weights)
        assert found[name].value == pytest.approx(theirs.kappa, abs=1e-10)
        assert found[name].z == pytest.approx(theirs.kappa / np.sqrt(theirs.var_kappa), abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_kappas_on_uneven_points_are_those_of_statsmodels_with_our_weights(seed: int) -> None:
    a, b, scale = raters(seed)
    points = tuple(point**2 for point in scale.points)
    distance = np.abs(np.subtract.outer(points, points))
    found = pair_statistics(a**2, b**2, Scale(points))
    for name, weights in (("kappa_linear", distance), ("kappa_quadratic", distance**2)):
        theirs = cohens_kappa(table_of(a**2, b**2, points), weights=weights)
        assert found[name].value == pytest.approx(theirs.kappa, abs=1e-10)
        assert found[name].z == pytest.approx(theirs.kappa / np.sqrt(theirs.var_kappa0), abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_kappas_and_f1_are_those_of_scikit_learn(seed: int) -> None:
    a, b, scale = raters(seed)
    found = pair_statistics(a, b, scale)
    for name, weights in WEIGHTS.items():
        theirs = cohen_kappa_score(a, b, weights=weights, labels=scale.points)
        assert found[name].value == pytest.approx(theirs, abs=1e-10)
    f1 = f1_score(a, b, average="weighted", zero_division=0)
    assert found["f1_weighted"].value == pytest.approx(f1, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("continuous", [False, True], ids=["points", "continuous"])
def test_rank_correlations_and_their_p_values_are_those_of_scipy(seed: int, continuous: bool) -> None:
    """Without ties and with few items, scipy's tau has an exact p."""
    a, b, scale = raters(seed)
    if continuous:
        rng = np.random.default_rng(seed)
        scale = Scale((0.0, 10.0))
        a, b = a + rng.random(a.size), b + rng.random(b.size)
    found = pair_statistics(a, b, scale)
    for name, theirs in (("spearman", stats.spearmanr(a, b)), ("kendall_tau_b", stats.kendalltau(a, b))):
        assert found[name].value == pytest.approx(theirs.statistic, abs=1e-12)
        assert found[name].p_value == pytest.approx(theirs.pvalue, abs=1e-10)


def test_two_items_have_a_rank_correlation_but_no_test() -> None:
    found = pair_statistics([1, 2], [2, 1], Scale((1, 2)))["spearman"]
    assert (found.value, found.p_value) == (-1.0, None)


def test_a_slider_of_101_points_is_resampled_from_its_full_table() -> None:
    """Many distinct pairs on few values: the other way of counting concordant pairs."""
    rng = np.random.default_rng(12)
    a = rng.integers(0, 101, size=6000).astype(float)
    b = np.clip(a + rng.integers(-60, 61, size=6000), 0, 100)
    pairs, counts = np.unique(np.stack([a, b], axis=1), axis=0, return_counts=True)
    table = PairTable(pairs[:, 0], pairs[:, 1])
    assert table.a.size > MOST_PAIRS
    assert kendall_can_resample(table)
    drawn = rng.multinomial(6000, counts / 6000, size=2)
    found = kendall_tau_b(table, drawn.astype(float))
    for weights, tau in zip(drawn, found, strict=True):
        theirs = stats.kendalltau(np.repeat(pairs[:, 0], weights), np.repeat(pairs[:, 1], weights))
        assert tau == pytest.approx(theirs.statistic, abs=1e-12)
    result = pair_statistics(a, b, Scale(tuple(range(101))), statistics=("kendall_tau_b",), resamples=20)
    theirs = stats.kendalltau(a, b)
    assert result["kendall_tau_b"].value == pytest.approx(theirs.statistic, abs=1e-12)
    assert result["kendall_tau_b"].p_value == pytest.approx(theirs.pvalue, rel=1e-6)
    assert result["kendall_tau_b"].n_resamples == 20


def test_too_many_continuous_values_leave_tau_without_an_interval_and_nothing_else() -> None:
    rng = np.random.default_rng(13)
    a = rng.uniform(1, 5, size=5000)
    b = np.clip(a + rng.normal(size=5000), 1, 5)
    found = pair_statistics(a, b, Scale((1, 2, 3, 4, 5)), resamples=10)
    tau = found["kendall_tau_b"]
    assert tau.value == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)
    assert (tau.ci_low, tau.n_resamples) == (None, 0)
    for name in ("kappa_linear", "kappa_quadratic", "spearman", "mae"):
        assert found[name].n_resamples == 10
    assert found["spearman"].value == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
    with pytest.raises(ValueError, match="too many distinct pairs"):
        kendall_tau_b(PairTable(a, b), np.ones((1, 5000)))
