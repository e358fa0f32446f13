"""The group statistics written out from their definitions, rating by rating: slow, and independent of `apps.measures`.

A table is a list of items, each a list of ratings, None where a rater gave none.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations

Table = Sequence[Sequence[float | None]]


def given(item: Sequence[float | None]) -> list[float]:
    return [value for value in item if value is not None]


def alpha(table: Table, level: str) -> float | None:
    """Krippendorff: observed over expected disagreement of pairable ratings, by explicit pairs."""
    units = [given(item) for item in table if len(given(item)) >= 2]
    pool = [value for unit in units for value in unit]
    distance = metric(level, pool)
    n = len(pool)
    observed = sum(distance(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2)) / max(n, 1)
    # Every rating met by every other, its own place excepted.
    expected = sum(distance(a, b) for a, b in permutations(pool, 2)) / (n * (n - 1)) if n else 0.0
    return 1 - observed / expected if expected else None


def metric(level: str, pool: list[float]) -> Callable[[float, float], float]:
    frequency = Counter(pool)

    def ordinal(a: float, b: float) -> float:
        low, high = min(a, b), max(a, b)
        between = sum(count for value, count in frequency.items() if low <= value <= high)
        return (between - (frequency[a] + frequency[b]) / 2) ** 2 if a != b else 0.0

    return {
        "nominal": lambda a, b: float(a != b),
        "ordinal": ordinal,
        "interval": lambda a, b: (a - b) ** 2,
        "ratio": lambda a, b: ((a - b) / (a + b)) ** 2 if a != b else 0.0,
    }[level]


def agreement(table: Table, weight: Callable[[float, float], float]) -> float | None:
    """Mean over items of the mean weight of ordered pairs of ratings."""
    shares = []
    for item in table:
        pairs = list(permutations(given(item), 2))
        if pairs:
            shares.append(sum(weight(a, b) for a, b in pairs) / len(pairs))
    return sum(shares) / len(shares) if shares else None


def category_shares(table: Table, points: Sequence[float]) -> list[float]:
    rated = [given(item) for item in table if given(item)]
    return [sum(item.count(point) / len(item) for item in rated) / len(rated) for point in points]


def chance_corrected(table: Table, points: Sequence[float], name: str) -> float | None:
    span, q = max(points) - min(points), len(points)
    power = {"ac2_linear": 1, "ac2_quadratic": 2}.get(name)

    def weight(a: float, b: float) -> float:
        return float(a == b) if power is None else 1 - (abs(a - b) / span) ** power

    observed = agreement(table, weight)
    if observed is None or len({value for item in table for value in given(item)}) < 2:
        return None
    pi = category_shares(table, points)
    if name == "fleiss_kappa":
        chance = sum(share**2 for share in pi)
    elif name == "brennan_prediger":
        chance = 1 / q
    elif name == "conger_kappa":
        chance = mean_cohen_chance(table, points)
    else:
        total = sum(weight(a, b) for a in points for b in points)
        chance = total * sum(share * (1 - share) for share in pi) / (q * (q - 1))
    return (observed - chance) / (1 - chance)


def mean_cohen_chance(table: Table, points: Sequence[float]) -> float:
    """Conger: the chance agreement of Cohen's kappa, averaged over ordered pairs of raters who rated."""
    raters = [[value for value in column if value is not None] for column in zip(*table, strict=True)]
    shares = [[column.count(point) / len(column) for point in points] for column in raters if column]
    pairs = list(permutations(shares, 2))
    return sum(a * b for first, second in pairs for a, b in zip(first, second, strict=True)) / len(pairs)


def icc(table: Table) -> dict[str, float | None]:
    """Shrout and Fleiss by deviations from means, on items that every rater rated."""
    rows = [given(item) for item in table if None not in item]
    n, k = len(rows), len(rows[0])
    grand = sum(map(sum, rows)) / (n * k)
    items = [sum(row) / k for row in rows]
    raters = [sum(column) / n for column in zip(*rows, strict=True)]
    msb = k * sum((mean - grand) ** 2 for mean in items) / (n - 1)
    msj = n * sum((mean - grand) ** 2 for mean in raters) / (k - 1)
    msw = sum((x - mean) ** 2 for row, mean in zip(rows, items, strict=True) for x in row) / (n * (k - 1))
    mse = sum((x - items[i] - raters[j] + grand) ** 2 for i, row in enumerate(rows) for j, x in enumerate(row)) / (
        (n - 1) * (k - 1)
    )
    parts = {
        "icc_1_1": (msb - msw, msb + (k - 1) * msw),
        "icc_2_1": (msb - mse, msb + (k - 1) * mse + k * (msj - mse) / n),
        "icc_3_1": (msb - mse, msb + (k - 1) * mse),
        "icc_1_k": (msb - msw, msb),
        "icc_2_k": (msb - mse, msb + (msj - mse) / n),
        "icc_3_k": (msb - mse, msb),
    }
    return {name: top / bottom if bottom > 1e-9 else None for name, (top, bottom) in parts.items()}


def all_of(table: Table, points: Sequence[float]) -> dict[str, float | None]:
    """Every group statistic but the ICCs."""
    found = {f"alpha_{level}": alpha(table, level) for level in ("nominal", "ordinal", "interval", "ratio")}
    names = ("fleiss_kappa", "conger_kappa", "ac1", "ac2_linear", "ac2_quadratic", "brennan_prediger")
    found |= {name: chance_corrected(table, points, name) for name in names}
    return found | {"percent_agreement": agreement(table, lambda a, b: float(a == b))}
