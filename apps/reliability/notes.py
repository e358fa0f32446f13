"""Sentences beside figures that are true and yet easily misread."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from apps.measures.arrays import FloatArray
from apps.measures.results import Reason, Result
from apps.reliability.comparisons import GroupMembers
from apps.reliability.matrix import RatingTable

# From this raw agreement on, an alpha of zero or less asks for an explanation.
HIGH_AGREEMENT = 0.8
# Alphas this close to zero are zero: what is left is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence on one group's rows."""

    block: str
    framework: str
    dimension: str
    a: str
    text: str


def notes_on_group(table: RatingTable, group: GroupMembers, results: Mapping[str, Result]) -> list[Note]:
    """At most one note: that nothing varied, or why alpha is 0 or less where raters mostly give the same value."""
    alpha = results["alpha_nominal" if table.scale.is_nominal else "alpha_interval"]
    agreement = results["percent_agreement"].value
    if alpha.reason == Reason.NO_VARIATION:
        raw = "" if agreement is None else f" ({agreement:.0%} raw agreement)"
        _, share = _most_frequent(table.values[:, list(group.members)])
        # Ratings of items that only one rater rated cannot be compared; they may well differ.
        which = "every rating" if share == 1 else "every rating of an item that two raters or more rated"
        return [_note(table, group, f"Not defined: no variation{raw}: {which} is the same value.")]
    if alpha.value is None or alpha.value > ROUNDING or agreement is None or agreement < HIGH_AGREEMENT:
        return []
    point, share = _most_frequent(table.values[:, list(group.members)])
    text = (
        f"Alpha is {_signed(alpha.value)} although {agreement:.1%} of the pairs of ratings are equal: {share:.1%} of "
        f"all ratings are {point:g}, so that nearly as much agreement is expected by chance, and a single difference "
        f"weighs heavily; ac1 and ac2 (ac1 {_shown(results['ac1'])}) depend less on how often each value is used."
    )
    return [_note(table, group, text)]


def _note(table: RatingTable, group: GroupMembers, text: str) -> Note:
    return Note(table.key.block, table.key.framework, table.key.dimension, group.name, text)


def _most_frequent(values: FloatArray) -> tuple[float, float]:
    """The value given most often, and its share of all ratings."""
    points, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    most = int(counts.argmax())
    return float(points[most]), float(counts[most] / counts.sum())


def _shown(result: Result) -> str:
    return result.reason or "" if result.value is None else _signed(result.value)


def _signed(value: float) -> str:
    """Two decimals, and no minus sign before a zero."""
    return f"{round(value, 2) + 0.0:.2f}"
