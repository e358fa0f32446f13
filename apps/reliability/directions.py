"""What more of a statistic of two raters means. Pure."""

from enum import StrEnum

# The one statistic whose sign tells who of two comes first.
SIGNED = "bias"
DISTANCE = "mae"


class Direction(StrEnum):
    """What more of a statistic of two raters says of how far they agree."""

    MORE = "more is more agreement"
    LESS = "more is less agreement"
    NONE = "says nothing of agreement"


def direction_of(statistic: str) -> Direction:
    """A distance is the smaller the more two agree. A bias says who rates higher, and not how far two agree."""
    return {DISTANCE: Direction.LESS, SIGNED: Direction.NONE}.get(statistic, Direction.MORE)


def is_at_least(value: float, other: float, direction: Direction) -> bool:
    """Whether the one is as much agreement as the other, or more. Never where there is no direction."""
    if direction is Direction.NONE:
        return False
    return value <= other if direction is Direction.LESS else value >= other
