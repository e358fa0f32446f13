"""One figure in a table: how it is shaded, starred, and whether the other convention would tell another story. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from apps.reliability.benchmarks import Estimate

SIGNIFICANT = 0.05
STARS = ((0.001, "***"), (0.01, "**"), (SIGNIFICANT, "*"))
STEPS = 5
# Two conventions reach one kappa by different sums.
NOISE = 1e-9
# Where 1 is full agreement; the others are distances, or have a sign that means something else.
SHADED = frozenset(
    {
        "kappa_unweighted",
        "kappa_linear",
        "kappa_quadratic",
        "percent_agreement",
        "within_one",
        "spearman",
        "kendall_tau_b",
        "f1_weighted",
    }
)
# Only these have a threshold to stand on one side of.
JUDGED = frozenset({"kappa_unweighted", "kappa_linear", "kappa_quadratic"})
TESTED = JUDGED | {"spearman", "kendall_tau_b"}


class Flip(StrEnum):
    """Another conclusion, as the other convention has it."""

    DEFINED = "defined"
    UNDEFINED = "undefined"
    SIGNIFICANT = "significant"
    NOT_SIGNIFICANT = "not significant"
    REACHES = "reaches the threshold"
    BELOW = "below the threshold"


@dataclass(frozen=True, slots=True)
class Other:
    """What the other convention gives where that differs. `flips`: in what the conclusion would be another one.

    is_test_only: the value is the same, and only the test that goes with the convention ends otherwise.
    """

    value: float | None
    reason: str
    flips: tuple[Flip, ...]
    is_test_only: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One comparison. shade: 1 to STEPS by fifths of the way from 0 to 1, 0 for none. other: None where it agrees."""

    estimate: Estimate
    stars: str
    shade: int
    other: Other | None

    @property
    def is_at_odds(self) -> bool:
        """Whether the test calls the figure other than 0, and its interval holds 0 all the same."""
        low, high = self.estimate.ci_low, self.estimate.ci_high
        return bool(self.stars) and low is not None and high is not None and low <= 0 <= high


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over the scales of a framework; `value` is None where none is defined."""

    value: float | None
    n_scales: int
    n_undefined: int
    shade: int


def cell_of(estimate: Estimate, other: Estimate | None, *, statistic: str, threshold: float) -> Cell:
    """`other`: the same comparison in the other convention, None where there is none."""
    judged = threshold if statistic in JUDGED else None
    return Cell(
        estimate,
        stars_of(estimate.p_adjusted),
        shade_of(estimate.value, statistic),
        None if other is None else _difference(estimate, other, judged),
    )


def stars_of(p_value: float | None) -> str:
    if p_value is None:
        return ""
    return next((stars for limit, stars in STARS if p_value < limit), "")


def shade_of(value: float | None, statistic: str) -> int:
    if value is None or value <= 0 or statistic not in SHADED:
        return 0
    return min(STEPS, 1 + int(value * STEPS))


def average_of(values: list[float | None], statistic: str) -> Average:
    defined = [value for value in values if value is not None]
    mean = sum(defined) / len(defined) if defined else None
    return Average(mean, len(defined), len(values) - len(defined), shade_of(mean, statistic))


def at_two_decimals(value: float) -> str:
    """As it is shown: no minus sign before a zero, and a true one."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def _difference(here: Estimate, there: Estimate, threshold: float | None) -> Other | None:
    flips = _flips(here, there, threshold)
    same = here.value == there.value or (
        here.value is not None
        and there.value is not None
        and at_two_decimals(here.value) == at_two_decimals(there.value)
    )
    return None if same and not flips else Other(there.value, there.reason, flips, _is_of_test(here, there, flips))


def _is_of_test(here: Estimate, there: Estimate, flips: tuple[Flip, ...]) -> bool:
    if here.value is None or there.value is None or not flips:
        return False
    return abs(here.value - there.value) < NOISE and set(flips) <= {Flip.SIGNIFICANT, Flip.NOT_SIGNIFICANT}


def _flips(here: Estimate, there: Estimate, threshold: float | None) -> tuple[Flip, ...]:
    """Whether one is defined and the other not, one significant and the other not, or they stand on two sides."""
    if here.value is None or there.value is None:
        if (here.value is None) == (there.value is None):
            return ()
        return (Flip.UNDEFINED if there.value is None else Flip.DEFINED,)
    flips = []
    # A test that does not exist says nothing: full agreement has none where its variance is 0.
    if here.p_adjusted is not None and there.p_adjusted is not None and _is_significant(here) != _is_significant(there):
        flips.append(Flip.SIGNIFICANT if _is_significant(there) else Flip.NOT_SIGNIFICANT)
    if threshold is not None and (here.value >= threshold) != (there.value >= threshold):
        flips.append(Flip.REACHES if there.value >= threshold else Flip.BELOW)
    return tuple(flips)


def _is_significant(estimate: Estimate) -> bool:
    return estimate.p_adjusted is not None and estimate.p_adjusted < SIGNIFICANT
