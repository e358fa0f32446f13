"""The pair statistics written out from their definitions, item by item: slow, and nothing shared with the product."""

from collections.abc import Callable

import numpy as np


def kappa(a: np.ndarray, b: np.ndarray, disagreement: Callable[[float, float], float]) -> float:
    """1 - mean disagreement of the items / mean disagreement of every a with every b."""
    observed = np.mean([disagreement(x, y) for x, y in zip(a, b, strict=True)])
    expected = np.mean([disagreement(x, y) for x in a for y in b])
    return float("nan") if expected == 0 else float(1 - observed / expected)


def unweighted(x: float, y: float) -> float:
    return float(x != y)


def linear(x: float, y: float) -> float:
    return abs(x - y)


def quadratic(x: float, y: float) -> float:
    return (x - y) ** 2


def ranks_of_observed(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values as ranks among those that the two used, after times 100 and rounding."""
    a, b = np.round(a * 100), np.round(b * 100)
    used = sorted({*a, *b})
    rank = {value: place for place, value in enumerate(used)}
    return np.array([rank[x] for x in a], dtype=float), np.array([rank[y] for y in b], dtype=float)


def midranks(values: np.ndarray) -> np.ndarray:
    return np.array([np.mean(values < x) + np.mean(values == x) / 2 for x in values])


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    x, y = midranks(a) - midranks(a).mean(), midranks(b) - midranks(b).mean()
    if len(set(a)) < 2 or len(set(b)) < 2:
        return float("nan")
    return float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))


def kendall_tau_b(a: np.ndarray, b: np.ndarray) -> float:
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    in_a = np.array([np.sign(a[i] - a[j]) for i, j in pairs])
    in_b = np.array([np.sign(b[i] - b[j]) for i, j in pairs])
    if not in_a.any() or not in_b.any():
        return float("nan")
    return float((in_a * in_b).sum() / np.sqrt((in_a != 0).sum() * (in_b != 0).sum()))


def f1_weighted(a: np.ndarray, b: np.ndarray) -> float:
    """F1 by precision and recall of each value of a, weighted by how often a gave it."""
    total = 0.0
    for value in set(a):
        hits = np.sum((a == value) & (b == value))
        if hits:
            precision, recall = hits / np.sum(b == value), hits / np.sum(a == value)
            total += np.mean(a == value) * 2 * precision * recall / (precision + recall)
    return total


def all_statistics(a: np.ndarray, b: np.ndarray, *, observed: bool = False) -> dict[str, float]:
    """Every pair statistic of complete ratings (n,) on a scale whose points are one apart; NaN for undefined."""
    x, y = ranks_of_observed(a, b) if observed else (a, b)
    return {
        "kappa_unweighted": kappa(a, b, unweighted),
        "kappa_linear": kappa(x, y, linear),
        "kappa_quadratic": kappa(x, y, quadratic),
        "percent_agreement": float(np.mean(a == b)),
        "within_one": float(np.mean(np.abs(a - b) <= 1 + 1e-9)),
        "spearman": spearman(a, b),
        "kendall_tau_b": kendall_tau_b(a, b),
        "mae": float(np.mean(np.abs(a - b))),
        "bias": float(np.mean(b) - np.mean(a)),
        "f1_weighted": f1_weighted(a, b),
    }
