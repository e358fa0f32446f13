"""Slopes of what was rated on something known of each item, such as its length."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy import special

from apps.measures.arrays import FloatArray
from apps.measures.contingency import share
from apps.measures.estimates import intervals
from apps.measures.patterns import DECIMALS, Patterns
from apps.measures.resampling import Kernel
from apps.measures.results import Reason, Result, undefined

CONVENTION = "least squares, HC3"
# A line through two points fits them, whatever they are.
FEWEST_ITEMS = 3
# A mean square below this share of the squared range is rounding noise around zero.
NOISE = 1e-14
# Residuals below this share of what y spans are rounding noise of a line that goes through all items.
FULL_FIT = 1e-12
# An item with this leverage holds the line by itself: nothing tells how far it could be off.
FULL_LEVERAGE = 1 - 1e-9


def slopes(
    x: npt.ArrayLike, ys: Mapping[str, npt.ArrayLike], *, resamples: int = 0, seed: int = 0
) -> dict[str, Result]:
    """The least-squares slope of each y (n,) on x (n,), NaN for missing; used are items that have x and every y.

    All share the resamples, so the slope of a difference is the difference of slopes in each of them, too. p is that
    of slope = 0 by t on n - 2 degrees of freedom with the standard error HC3 (MacKinnon and White 1985), which does
    not ask that values scatter alike at each x, as a bootstrap of items does not; it is missing where one item holds
    the line by itself, or none lies beside it. A slope is undefined where x or y does not vary.
    Raises ValueError for unequal lengths.
    """
    columns = {name: np.asarray(y, dtype=np.float64) for name, y in ys.items()}
    first = np.asarray(x, dtype=np.float64)
    if first.ndim != 1 or any(column.shape != first.shape for column in columns.values()):
        raise ValueError("x and every y must be aligned by item")
    used = ~np.isnan(np.stack([first, *columns.values()])).any(axis=0)
    n = int(used.sum())
    # Centred: a slope does not change, and large numbers cost no digits.
    centred = {name: _centred(column[used]) for name, column in columns.items()}
    along = _centred(first[used])
    results = {name: _point(along, y) for name, y in centred.items()}
    items = Patterns(np.stack([along, *centred.values()], axis=1), np.ones(n, dtype=np.int64))
    kernels = {name: _kernel(along, y) for name, y in centred.items() if results[name].is_defined}
    return intervals(results, items, kernels, resamples, seed)


def _centred(values: FloatArray) -> FloatArray:
    """Without the mean; all zero where the values differ by rounding noise only."""
    exact = np.round(values, DECIMALS)
    return exact - exact.mean() if exact.size and np.ptp(exact) > 0 else np.zeros_like(exact)


def _kernel(x: FloatArray, y: FloatArray) -> Kernel:
    """weights (B, n) -> slopes (B,), NaN where the resample's x does not vary."""
    sums = np.stack([np.ones_like(x), x, y, x * x, x * y], axis=1)
    noise = NOISE * float(np.ptp(x)) ** 2

    def slope(weights: FloatArray) -> FloatArray:
        n, sum_x, sum_y, squares, products = (weights @ sums).T
        spread = n * squares - sum_x**2
        spread[spread <= noise * n * n] = 0.0
        return share(n * products - sum_x * sum_y, spread)

    return slope


def _point(x: FloatArray, y: FloatArray) -> Result:
    """The slope of all items with its test; x and y are centred."""
    n = x.size
    if n < FEWEST_ITEMS:
        return undefined(Reason.TOO_FEW_ITEMS, n_items=n, n_raters=1, n_ratings=n, convention=CONVENTION)
    if not (x.any() and y.any()):
        return undefined(Reason.NO_VARIATION, n_items=n, n_raters=1, n_ratings=n, convention=CONVENTION)
    slope = float(x @ y) / float(x @ x)
    error = _standard_error(x, y, slope)
    if error is None:
        return Result(slope, None, n, 1, n, convention=CONVENTION)
    p_value = float(2 * special.stdtr(n - 2, -abs(slope / error)))
    return Result(slope, None, n, 1, n, p_value=p_value, convention=CONVENTION)


def _standard_error(x: FloatArray, y: FloatArray, slope: float) -> float | None:
    """HC3: each squared residual is divided by (1 - leverage)^2. None where nothing tells it."""
    spread = float(x @ x)
    residuals = y - slope * x
    leverage = 1 / x.size + x**2 / spread
    if leverage.max() > FULL_LEVERAGE or np.abs(residuals).max() <= FULL_FIT * np.ptp(y):
        return None
    return float(np.sqrt(np.sum((x * residuals / (1 - leverage)) ** 2))) / spread
