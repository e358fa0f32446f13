"""The figures of the checks for bias: what there is of each check, and what to go by where two ways disagree. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Protocol, Self

from apps.measures.results import Result

SIGNIFICANT = 0.05
# A slope or a test over fewer says nothing.
FEWEST_ITEMS = 10


class Check(StrEnum):
    ORDER = "order"
    DRAWS = "draws"
    LENGTH = "length"


class Why(StrEnum):
    """Why a figure of these checks is not there, beside the reasons of the statistics themselves."""

    NOT_REVERSED = "not asked again with the points reversed"
    ONE_SAMPLE = "one answer to each question"
    NO_SUPPORTER = "no text of a supporter"
    NO_EXPERTS = "no ratings of experts"
    FEWER_THAN_TEN = "fewer than ten items"


ORDER_STATISTICS = (
    "shift_mean",
    "share_equal",
    "share_within_one",
    "kappa_quadratic",
    "share_towards_first",
    "share_towards_last",
)
DRAW_STATISTICS = ("draws_alpha", "draws_sd", "draws_equal")
LENGTH_STATISTICS = ("slope_model", "slope_experts", "slope_difference")
# Those that are tested against 0.
TESTED = frozenset({"shift_mean", *LENGTH_STATISTICS})


class Place(Protocol):
    """A scale, as a figure names it."""

    @property
    def framework(self) -> str: ...

    @property
    def dimension(self) -> str: ...


class Doubt(StrEnum):
    """Why the interval of a figure and its p point different ways. Where there is a p, it is what to go by.

    A percentile interval of few items is too narrow, and where one item holds a line almost by itself, a third of the
    resamples are without it and have another line: the percentiles are of a mixture, and may even leave out the slope.
    HC3 answers such an item with a large standard error, and the sign-flip test is exact for any number of items.
    """

    NO_TEST = "the interval leaves out 0, and no test can be made"
    INTERVAL_ALONE = "the interval leaves out 0, the test does not"
    TEST_ALONE = "the test leaves out 0, the interval does not"
    OF_MANY = "only the p that allows for the number of scales does not leave out 0"


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic of a check: a value, or the reason why there is none.

    dimension: empty where it is over all scales, of which `n_scales` had a part in it. The interval is the percentile
    interval over `n_resamples` resamples of items, `n_degenerate` of which left it undefined. p_adjusted: false
    discovery rate over the scales of the statistic; a test over all scales is one, and has nothing to correct for.
    """

    check: str
    framework: str
    dimension: str
    statistic: str
    value: float | None
    reason: str
    n_items: int
    n_ratings: int
    n_scales: int = 1
    ci_low: float | None = None
    ci_high: float | None = None
    n_resamples: int = 0
    n_degenerate: int = 0
    p_value: float | None = None
    p_adjusted: float | None = None
    convention: str = ""

    @classmethod
    def of(
        cls,
        check: Check,
        statistic: str,
        result: Result,
        scale: Place | None = None,
        n_scales: int = 1,
        convention: str = "",
    ) -> Self:
        return cls(
            check=check.value,
            framework=scale.framework if scale else "",
            dimension=scale.dimension if scale else "",
            statistic=statistic,
            value=result.value,
            reason=result.reason or "",
            n_items=result.n_items,
            n_ratings=result.n_ratings,
            n_scales=n_scales,
            ci_low=result.ci_low,
            ci_high=result.ci_high,
            n_resamples=result.n_resamples,
            n_degenerate=result.n_degenerate,
            p_value=result.p_value,
            convention=convention or result.convention,
        )

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`. Raises KeyError, TypeError for what is none."""
        return cls(**{one.name: stored[one.name] for one in fields(cls)})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def p_told(self) -> float | None:
        """The p to go by: corrected where it is one of several scales."""
        return self.p_adjusted if self.dimension else self.p_value

    @property
    def is_told(self) -> bool:
        """Whether the figure can be told from 0."""
        return self.p_told is not None and self.p_told < SIGNIFICANT

    @property
    def doubt(self) -> Doubt | None:
        """None where interval and p point the same way, or one of them was never to be had."""
        if self.statistic not in TESTED or self.value is None or self.ci_low is None or self.ci_high is None:
            return None
        apart = not self.ci_low <= 0 <= self.ci_high
        if self.p_value is None:
            return Doubt.NO_TEST if apart and self.n_items >= FEWEST_ITEMS else None
        if apart != (self.p_value < SIGNIFICANT):
            return Doubt.INTERVAL_ALONE if apart else Doubt.TEST_ALONE
        return Doubt.OF_MANY if apart and not self.is_told else None
