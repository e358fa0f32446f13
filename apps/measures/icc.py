"""Intraclass correlations of Shrout and Fleiss 1979, from the mean squares of items x raters, not clipped.

With n items rated by all k raters: MSB between items, MSJ between raters, MSE the residual, MSW within items.

    ICC(1,1) = (MSB - MSW) / (MSB + (k - 1) MSW)                        ICC(1,k) = (MSB - MSW) / MSB
    ICC(2,1) = (MSB - MSE) / (MSB + (k - 1) MSE + k (MSJ - MSE) / n)    ICC(2,k) = (MSB - MSE) / (MSB + (MSJ - MSE) / n)
    ICC(3,1) = (MSB - MSE) / (MSB + (k - 1) MSE)                        ICC(3,k) = (MSB - MSE) / MSB

The denominators estimate the variance of a rating (of a mean of ratings). An estimate that is not positive has no
share to divide, and the coefficient is undefined.
"""

from enum import StrEnum

import numpy as np

from apps.measures.arrays import FloatArray
from apps.measures.resampling import Kernel
from apps.measures.units import Units, by_rows, ratio

# Sums of squares below this share of the total are rounding noise of zero.
NOISE = 1e-12


class Form(StrEnum):
    ICC_1_1 = "icc_1_1"
    ICC_2_1 = "icc_2_1"
    ICC_3_1 = "icc_3_1"
    ICC_1_K = "icc_1_k"
    ICC_2_K = "icc_2_k"
    ICC_3_K = "icc_3_k"


def icc_kernel(form: Form, units: Units) -> Kernel:
    """weights (B, P) -> ICC (B,), NaN with fewer than two complete units or without a variance to divide by.

    Units that are not complete are left out.
    """
    raters = units.values.shape[1]

    def kernel(weights: FloatArray) -> FloatArray:
        n, squared_sums, squares, columns = np.split(units.complete_moments(weights), [1, 2, 3], axis=1)
        mean_squares = _mean_squares(n[:, 0], squared_sums[:, 0], squares[:, 0], columns)
        return _coefficient(form, raters, n[:, 0], *mean_squares)

    return by_rows(kernel, 3 + raters)


def _mean_squares(
    n: FloatArray, squared_sums: FloatArray, squares: FloatArray, columns: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """MSB, MSJ, MSE and MSW, each (B,), of n items (B,) from their squared sums, sums of squares and raters' sums."""
    k = columns.shape[1]
    items = np.where(n > 1, n, 2.0)  # rows with fewer are undefined and set aside later
    correction = columns.sum(axis=1) ** 2 / (items * k)
    total = _without_noise(squares - correction, squares)
    between = _without_noise(squared_sums / k - correction, total)
    judges = _without_noise(np.square(columns).sum(axis=1) / items - correction, total)
    within = _without_noise(total - between, total)
    residual = _without_noise(within - judges, total)
    others = max(1, k - 1)
    return between / (items - 1), judges / others, residual / ((items - 1) * others), within / (items * others)


def _without_noise(part: FloatArray, total: FloatArray) -> FloatArray:
    return np.where(part > NOISE * total, part, 0.0)


def _coefficient(
    form: Form, k: int, n: FloatArray, msb: FloatArray, msj: FloatArray, mse: FloatArray, msw: FloatArray
) -> FloatArray:
    error = msw if form in (Form.ICC_1_1, Form.ICC_1_K) else mse
    raters = (msj - mse) / np.where(n > 0, n, 1.0) if form in (Form.ICC_2_1, Form.ICC_2_K) else np.zeros_like(n)
    variance = msb + raters
    if form in (Form.ICC_1_1, Form.ICC_2_1, Form.ICC_3_1):
        variance = msb + (k - 1) * error + k * raters
    return ratio(msb - error, variance, (n > 1) & (k > 1) & (variance > NOISE * (msb + msj + msw)))
