"""Several p-values at once."""

from collections.abc import Sequence

import numpy as np


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that control the false discovery rate (Benjamini and Hochberg 1995), in the given order.

    With m values in ascending order, the adjusted k-th is the least of p_j m / j over j >= k, at most 1. None stands
    for a test that was not made: it stays None and does not count towards m.
    Raises ValueError for a p-value outside [0, 1].
    """
    places = [place for place, p in enumerate(p_values) if p is not None]
    p = np.array([p for p in p_values if p is not None], dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p-values lie between 0 and 1")
    ascending = np.argsort(p, kind="stable")
    scaled = p[ascending] * p.size / np.arange(1, p.size + 1)
    adjusted = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    answer: list[float | None] = [None] * len(p_values)
    for rank, place in enumerate(ascending):
        answer[places[place]] = float(adjusted[rank])
    return answer
