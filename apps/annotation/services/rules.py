"""What may be recorded: a declared point of a scale of the item's block, by a rater of the item's study."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apps.frameworks.models import Dimension, Level, ScalePoint
from apps.studies.models import Block, Item, Rater

# What decides of a dimension and its framework. Their texts, which are long, do not.
DECISIVE_FIELDS = ("slug", "level", "minimum", "maximum", "framework__slug", "framework__frozen_at")


class InvalidRating(ValueError):  # noqa: N818 - reads as what happened
    """A rating that is not allowed. The message names the item, the dimension, the value and what was expected."""

    def __init__(self, item: str, dimension: str, value: object, expected: str) -> None:
        super().__init__(f"item {item}, {dimension}: {_shown(value)} is not allowed; expected {expected}")
        self.item = item
        self.dimension = dimension
        self.value = value
        self.expected = expected


@dataclass(frozen=True, slots=True)
class _ItemFacts:
    block_id: int
    conversation_id: int


@dataclass(frozen=True, slots=True)
class _BlockFacts:
    study_id: int
    frameworks: set[int]


@dataclass(frozen=True, slots=True)
class _RaterFacts:
    name: str
    study_id: int
    is_aggregate: bool


@dataclass(frozen=True, slots=True)
class _DimensionFacts:
    name: str
    framework_id: int
    is_frozen: bool
    level: str
    minimum: float
    maximum: float
    points: tuple[float, ...]

    def expected(self, *, from_aggregate: bool) -> str:
        if from_aggregate and self.level == Level.ORDINAL:
            return f"a number from {self.minimum:g} to {self.maximum:g}"
        return "one of " + ", ".join(f"{point:g}" for point in self.points)

    def allows(self, value: float, *, from_aggregate: bool) -> bool:
        if isinstance(value, bool) or not math.isfinite(value):
            return False
        if from_aggregate and self.level == Level.ORDINAL:
            return self.minimum <= value <= self.maximum
        return value in self.points


class RuleBook:
    """The facts that decide whether a rating is allowed, read from the database once for many ratings."""

    def __init__(self) -> None:
        self._items: dict[int, _ItemFacts] = {}
        self._raters: dict[int, _RaterFacts] = {}
        self._dimensions: dict[int, _DimensionFacts] = {}
        self._blocks: dict[int, _BlockFacts] = {}

    def know(self, *, item: Item, rater: Rater, dimension: Dimension) -> None:
        """Takes over what these rows say themselves; asks only for the scale's points, and for what was not loaded."""
        self._items[item.pk] = _ItemFacts(item.block_id, item.conversation_id)
        self._raters[rater.pk] = _RaterFacts(rater.name, rater.study_id, rater.is_aggregate)
        points = ScalePoint.objects.filter(dimension=dimension).order_by("value").values_list("value", flat=True)
        self._dimensions[dimension.pk] = _facts_of(dimension, points)

    def learn(self, *, item_ids: Iterable[int], rater_ids: Iterable[int], dimension_ids: Iterable[int]) -> None:
        """Reads what is not known yet, in at most five queries."""
        self._learn_raters(set(rater_ids) - self._raters.keys())
        self._learn_dimensions(set(dimension_ids) - self._dimensions.keys())
        self._learn_items(set(item_ids) - self._items.keys())
        self._learn_blocks({item.block_id for item in self._items.values()} - self._blocks.keys())

    def frameworks_to_freeze(self) -> set[int]:
        """The frameworks of the dimensions learned that no rating had used before."""
        return {facts.framework_id for facts in self._dimensions.values() if not facts.is_frozen}

    def check(
        self, *, item_id: int, rater_id: int, dimension_id: int, answers: Iterable[tuple[float | None, bool]]
    ) -> None:
        """Raises InvalidRating unless every answer (value, cannot tell) may be recorded there."""
        item = self._items.get(item_id)
        dimension = self._dimensions.get(dimension_id)
        rater = self._raters.get(rater_id)
        dimension_name = dimension.name if dimension else f"dimension number {dimension_id}"

        def invalid(value: float | None, expected: str) -> InvalidRating:
            return InvalidRating(_name_of_item(item_id), dimension_name, value, expected)

        block = self._blocks[item.block_id] if item else None
        if block is None or dimension is None or dimension.framework_id not in block.frameworks:
            raise invalid(None, "a dimension of a framework of the item's block")
        if rater is None or rater.study_id != block.study_id:
            raise invalid(None, "a rater of the item's study")
        for value, cannot_tell in answers:
            if (value is None) != cannot_tell:
                raise invalid(value, "either a value or cannot tell, not both")
            if value is not None and not dimension.allows(value, from_aggregate=rater.is_aggregate):
                raise invalid(value, dimension.expected(from_aggregate=rater.is_aggregate))

    def conversation_of(self, item_id: int) -> int:
        return self._items[item_id].conversation_id

    def forget_items(self) -> None:
        """Items are many and come in order: those of one batch are not needed for the next."""
        self._items.clear()

    def _learn_raters(self, ids: set[int]) -> None:
        if ids:
            rows = Rater.objects.filter(pk__in=ids).values_list("pk", "name", "study_id", "is_aggregate")
            self._raters |= {row[0]: _RaterFacts(*row[1:]) for row in rows}

    def _learn_dimensions(self, ids: set[int]) -> None:
        if not ids:
            return
        points: Mapping[int, list[float]] = defaultdict(list)
        for dimension_id, value in ScalePoint.objects.filter(dimension__in=ids).values_list("dimension_id", "value"):
            points[dimension_id].append(value)
        for dimension in Dimension.objects.filter(pk__in=ids).select_related("framework").only(*DECISIVE_FIELDS):
            self._dimensions[dimension.pk] = _facts_of(dimension, sorted(points[dimension.pk]))

    def _learn_items(self, ids: set[int]) -> None:
        if ids:
            rows = Item.objects.filter(pk__in=ids).values_list("pk", "block_id", "conversation_id")
            self._items |= {row[0]: _ItemFacts(*row[1:]) for row in rows}

    def _learn_blocks(self, ids: set[int]) -> None:
        if not ids:
            return
        # A block without a framework is a row, too.
        rows = Block.objects.filter(pk__in=ids).order_by().values_list("pk", "study_id", "block_frameworks__framework")
        for block_id, study_id, framework_id in rows:
            self._blocks.setdefault(block_id, _BlockFacts(study_id, set())).frameworks.add(framework_id)


def _name_of_item(item_id: int) -> str:
    """Asked for only where something is wrong with one."""
    found = Item.objects.filter(pk=item_id).values_list("conversation__external_id", flat=True).first()
    return f"number {item_id}" if found is None else found


def _facts_of(dimension: Dimension, points: Iterable[float]) -> _DimensionFacts:
    return _DimensionFacts(
        name=f"{dimension.framework.slug}/{dimension.slug}",
        framework_id=dimension.framework_id,
        is_frozen=dimension.framework.is_frozen,
        level=dimension.level,
        minimum=dimension.minimum,
        maximum=dimension.maximum,
        points=tuple(points),
    )


def _shown(value: object) -> str:
    return "an empty value" if value is None else f"{value:g}" if isinstance(value, float) else repr(value)
