"""The sign-flip test against counting by hand, scipy's permutation test of pairs, and the binomial distribution."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from apps.measures.sign_flips import sign_flip_p_value


def counted(differences: list[int]) -> float:
    """Every choice of signs, one by one."""
    reached = abs(sum(differences))
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(abs(one) >= reached for one in sums) / len(sums)


def test_by_hand() -> None:
    # Of eight choices of signs only +++ and --- reach 4.
    assert sign_flip_p_value([1, 2, 1]) == pytest.approx(0.25)
    # A zero has no sign: twice as many choices, the same share.
    assert sign_flip_p_value([1, 0, 2, 1]) == pytest.approx(0.25)
    assert sign_flip_p_value([1, -1]) == 1.0
    assert sign_flip_p_value([0, 0, 0]) == 1.0
    assert sign_flip_p_value([]) is None


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_permutation_test_of_scipy(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    original, again = drawn.integers(1, 6, size=(2, 10))
    expected = stats.permutation_test(
        (again, original),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    differences = again - original
    assert sign_flip_p_value(differences) == pytest.approx(expected.pvalue, abs=1e-12)
    assert sign_flip_p_value(differences) == pytest.approx(counted(differences.tolist()), abs=1e-12)
    assert sign_flip_p_value(-differences) == sign_flip_p_value(differences)


@pytest.mark.parametrize(("up", "down"), [(8, 2), (60, 40), (3000, 2900), (400, 0)])
def test_steps_of_one_are_the_sign_test(up: int, down: int) -> None:
    expected = stats.binomtest(up, up + down).pvalue
    assert sign_flip_p_value([1] * up + [-1] * down) == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_many_items_come_near_to_student() -> None:
    steps = np.random.default_rng(3).choice([-2, -1, 0, 1, 2], p=[0.1, 0.2, 0.35, 0.23, 0.12], size=3000)
    assert sign_flip_p_value(steps) == pytest.approx(stats.ttest_1samp(steps, 0).pvalue, abs=0.003)


def test_what_is_not_whole_is_refused() -> None:
    for wrong in ([0.5], [np.nan], [[1, 2]]):
        with pytest.raises(ValueError, match="whole numbers"):
            sign_flip_p_value(wrong)
