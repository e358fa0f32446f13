"""An exact test of whether paired answers moved one way."""

import numpy as np
import numpy.typing as npt

NAME = "exact sign-flip test, two-sided"


def sign_flip_p_value(differences: npt.ArrayLike) -> float | None:
    """Two-sided p of the sum of whole differences (n,): the share of the 2^n ways to choose their signs whose sum is at
    least as far from zero. None where there is no difference at all to look at.

    Fisher's randomization test of paired observations (Fisher 1935, The Design of Experiments, section 21; Pitman 1937,
    Supplement to the Journal of the Royal Statistical Society 4): where which of two answers came first does not
    matter, each difference is as likely as its negative. No distribution is assumed, and ties and zeros are exact. It
    is `scipy.stats.permutation_test` of pairs (permutation_type="samples") over every permutation, without listing
    them: the characteristic function of the sum is the product of cos(w d), and its inverse Fourier transform is the
    distribution itself.
    Raises ValueError for differences that are not whole numbers.
    """
    given = np.asarray(differences, dtype=np.float64)
    if given.ndim != 1 or not np.array_equal(given, np.round(given)):
        raise ValueError("differences are one row of whole numbers")
    if not given.size:
        return None
    sizes, counts = np.unique(np.abs(given[given != 0]).astype(np.int64), return_counts=True)
    if not sizes.size:
        return 1.0
    furthest = int(sizes @ counts)
    # A circle on which no two sums share a place.
    places = 2 * furthest + 1
    turns = 2 * np.pi * np.arange(places) / places
    waves = np.ones(places)
    for size, count in zip(sizes, counts, strict=True):
        waves *= np.cos(turns * size) ** count
    chances = np.fft.ifft(waves).real
    reached = abs(int(given.sum()))
    share = 1.0 if not reached else 2 * float(chances[reached : furthest + 1].sum())
    # At least the observed signs and their mirror image count; below is rounding noise of the transform.
    least = 2.0 ** (1 - int(counts.sum())) if reached else 1.0
    return min(max(share, least), 1.0)
