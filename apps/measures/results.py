"""What every statistic returns: a finite value, or the reason why there is none."""

import math
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a statistic is not defined, in the words shown to a reader."""

    NO_VARIATION = "no variation"
    FEWER_THAN_TWO_RATERS = "fewer than two raters"
    NO_SHARED_ITEMS = "no shared items"
    TOO_FEW_ITEMS = "too few items"
    NOT_FOR_NOMINAL = "not defined for nominal scales"
    BETWEEN_POINTS = "values between points"
    NEGATIVE_POINTS = "not defined for scales with negative points"
    NO_POSITIVE_VARIANCE = "no positive variance to divide by"
    NO_COMPLETE_ITEMS = "no items rated by all raters"
    NO_RATINGS = "no ratings"
    NO_REPEATS = "no items rated twice"
    NO_POSITIVES = "no ratings at or above the threshold"


# What a result holds beside counts and texts.
_FRACTIONS = ("value", "ci_low", "ci_high", "z", "p_value")


@dataclass(frozen=True, slots=True)
class Result:
    """One statistic.

    Exactly one of `value` and `reason` is None. The counts are of what was used: items, raters and ratings that
    entered the statistic. `ci_low` and `ci_high` are the limits of the percentile interval over `n_resamples`
    resamples of items, of which `n_degenerate` left the statistic undefined and were set aside. `convention` is a
    slug, or empty where there is only one.

    Raises ValueError when a number is NaN or infinite, or when value and reason contradict each other.
    """

    value: float | None
    reason: str | None
    n_items: int
    n_raters: int
    n_ratings: int
    ci_low: float | None = None
    ci_high: float | None = None
    n_resamples: int = 0
    n_degenerate: int = 0
    z: float | None = None
    p_value: float | None = None
    convention: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError(f"a result has either a value or a reason, not {self.value!r} and {self.reason!r}")
        for name in _FRACTIONS:
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{name} of a result must be finite, not {number}")

    @property
    def is_defined(self) -> bool:
        return self.value is not None


def undefined(
    reason: Reason, *, n_items: int = 0, n_raters: int = 0, n_ratings: int = 0, convention: str = ""
) -> Result:
    """A result without a value."""
    return Result(None, reason.value, n_items, n_raters, n_ratings, convention=convention)
