"""How long computing an agreement takes, told beforehand from the sizes of its tables. Pure.

Measured on one core of a plain server, and rounded up: what is called quick must be so on a slower one as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.reliability.comparisons import study_plan
from apps.reliability.matrix import RaterKey

# Of one comparison with all its statistics in both conventions; of one of its resamples; of that for each pattern.
SECONDS_OF_COMPARISON = 3e-3
SECONDS_OF_RESAMPLE = 5e-6
SECONDS_OF_PATTERN = 1e-7
# Reading a rating and accounting for it; everything that is there whatever the size.
SECONDS_OF_RATING = 2e-5
SECONDS_ALWAYS = 0.05
# Up to this, a page computes in the request: on a machine half as fast, or half as busy, it is under a second still.
QUICK_SECONDS = 0.4
# Beyond these nobody counts: it is not quick.
MOST_RATERS = 100
MOST_RATINGS = 20_000


@dataclass(frozen=True, slots=True)
class TableSize:
    """What a table's comparisons depend on: its items, the points of its scale, and its raters."""

    n_items: int
    n_points: int
    raters: tuple[RaterKey, ...]


def seconds_to_compute(tables: Sequence[TableSize], *, n_ratings: int, resamples: int) -> float:
    """An upper estimate; infinite where there are more raters or ratings than anything quick has."""
    if n_ratings > MOST_RATINGS or any(len(table.raters) > MOST_RATERS for table in tables):
        return float("inf")
    return SECONDS_ALWAYS + SECONDS_OF_RATING * n_ratings + sum(_seconds_of_table(table, resamples) for table in tables)


def is_quick(tables: Sequence[TableSize], *, n_ratings: int, resamples: int) -> bool:
    return seconds_to_compute(tables, n_ratings=n_ratings, resamples=resamples) <= QUICK_SECONDS


def _seconds_of_table(table: TableSize, resamples: int) -> float:
    plan = study_plan(table.raters)
    comparisons = len(plan.pairs) + len(plan.groups) + len(plan.repeated)
    # Two raters who use the points have no more patterns than there are pairs of points; means lie between them.
    is_between = any(rater.is_aggregate for rater in table.raters)
    patterns = table.n_items if is_between else min(table.n_items, table.n_points**2)
    return comparisons * (SECONDS_OF_COMPARISON + resamples * (SECONDS_OF_RESAMPLE + patterns * SECONDS_OF_PATTERN))
