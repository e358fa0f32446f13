"""What took part in an analysis and what did not, and why: raters and items by name, ratings by number. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

# Of one reason in one block. More names than these nobody reads, and the number says it.
LISTED = 10_000


class RaterUse(StrEnum):
    """What became of a rater."""

    USED = "used"
    EXCLUDED = "excluded"
    NOTHING_FINISHED = "no finished rating takes part"


class ItemUse(StrEnum):
    """Why an item is no row of a table, or a row without a value."""

    PRACTICE = "practice"
    GOLD = "gold"
    ATTENTION = "attention check"
    REPEAT = "repeat: its ratings are second ratings of the main item"
    LONE_REPEAT = "repeats an item that takes no part"
    NOT_CHOSEN = "its conversation is not among those chosen"
    NOBODY = "no rating of it takes part"


@dataclass(frozen=True, slots=True)
class RaterAccount:
    """A rater of the study. `n_values`: how many of their values stand in the tables, second ratings included.

    `reason` and `explanation` are those of the exclusion in force, also where the selection takes excluded raters in.
    `origins`: the ways by which their ratings came (annotation `Origin`), empty where none is known. `source`: where
    imported ratings come from, empty for single crowd workers, whom it might name.
    """

    name: str
    kind: str
    use: RaterUse
    n_values: int = 0
    is_aggregate: bool = False
    is_simulated: bool = False
    has_left: bool = False
    reason: str = ""
    explanation: str = ""
    origins: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class ItemsAccount:
    """Items of a block that share a reason: `items` are their external ids, empty where there are too many to list."""

    use: ItemUse
    n: int
    items: tuple[str, ...] = ()

    @classmethod
    def of(cls, use: ItemUse, items: Iterable[str]) -> Self:
        names = tuple(items)
        return cls(use, len(names), names if len(names) <= LISTED else ())


@dataclass(frozen=True, slots=True)
class BlockAccount:
    """A block: how many items have a row in its tables, how many of these have a value, and which have no part.

    Second ratings (`ItemUse.REPEAT`) take part, beside the tables.
    """

    block: str
    n_rows: int
    n_rated: int
    beside: tuple[ItemsAccount, ...] = ()


@dataclass(frozen=True, slots=True)
class SingleExclusion:
    """A rater's ratings of one item, left out."""

    rater: str
    block: str
    item: str
    reason: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """Numbers of ratings.

    stored = drafts + finished; finished = used + second + cannot_tell + of_excluded_raters + of_other_items +
    excluded_singly. `used` are the values in the tables, `second` those beside them; `between_points` are among both.
    """

    stored: int = 0
    drafts: int = 0
    finished: int = 0
    used: int = 0
    second: int = 0
    cannot_tell: int = 0
    between_points: int = 0
    of_excluded_raters: int = 0
    of_other_items: int = 0
    excluded_singly: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """The account of one analysis. `n_single` counts `single`, of which no more than LISTED are named."""

    raters: tuple[RaterAccount, ...] = ()
    blocks: tuple[BlockAccount, ...] = ()
    single: tuple[SingleExclusion, ...] = ()
    n_single: int = 0
    ratings: RatingCounts = field(default_factory=RatingCounts)

    def raters_used(self) -> list[RaterAccount]:
        return [rater for rater in self.raters if rater.use is RaterUse.USED]

    def raters_not_used(self) -> list[RaterAccount]:
        return [rater for rater in self.raters if rater.use is not RaterUse.USED]

    def raters_excluded(self) -> list[RaterAccount]:
        return [rater for rater in self.raters if rater.use is RaterUse.EXCLUDED]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them; what is as usual is left out, for there may be thousands of raters."""
        stored = asdict(self)
        for rater in stored["raters"]:
            for name in [name for name, value in rater.items() if value in (False, "", 0, ())]:
                del rater[name]
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            raters=tuple(map(_rater, stored["raters"])),
            blocks=tuple(_block(one) for one in stored["blocks"]),
            single=tuple(SingleExclusion(**one) for one in stored["single"]),
            n_single=stored["n_single"],
            ratings=RatingCounts(**stored["ratings"]),
        )


def _rater(stored: Mapping[str, Any]) -> RaterAccount:
    origins = tuple(stored.get("origins", ()))
    return RaterAccount(**{**stored, "use": RaterUse(stored["use"]), "origins": origins})


def _block(stored: Mapping[str, Any]) -> BlockAccount:
    beside = tuple(ItemsAccount(ItemUse(one["use"]), one["n"], tuple(one["items"])) for one in stored["beside"])
    return BlockAccount(**{**stored, "beside": beside})
