import numpy as np
import pytest
from scipy import stats

from apps.measures.ranks import fisher_interval


def test_the_interval_is_that_of_scipy_for_pearsons_r() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    theirs = stats.pearsonr(x, y)
    for level in (0.9, 0.95):
        found = fisher_interval(float(theirs.statistic), 30, level)
        assert found == pytest.approx(tuple(theirs.confidence_interval(level)), abs=1e-9)


def test_a_published_row_by_hand() -> None:
    """Kumar et al. 2026, advice_giving, experts 1 and 2: rho 0.79 on 50 items, printed 0.66 to 0.88.
    atanh(0.79) = 1.0714, 1.96 / sqrt(47) = 0.2859; tanh(0.7855) = 0.656, tanh(1.3573) = 0.876."""
    assert fisher_interval(0.79, 50) == pytest.approx((0.656, 0.876), abs=5e-4)


def test_a_perfect_or_a_tiny_correlation() -> None:
    assert fisher_interval(1.0, 10) == (1.0, 1.0)
    assert fisher_interval(-1.0, 10) == (-1.0, -1.0)
    assert fisher_interval(0.5, 3) is None
