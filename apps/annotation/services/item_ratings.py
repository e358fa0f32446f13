"""The ratings of one item side by side: every scale of its block, every rater who has finished it.

Only finished ratings are read, and only those of raters who are in the reader's sight (`studies.services.blindness`).
The number of queries is the same for any number of raters, scales and remarks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Length

from apps.annotation.evidence import Quote, TurnText, place_quote
from apps.annotation.models import Evidence, Rating
from apps.annotation.services.screens import FrameworkPart, frameworks_of, turns_shown
from apps.corpus.models import SpeakerRole, Turn
from apps.frameworks.models import Dimension, Framework, ScalePoint
from apps.studies.models import Exclusion, Item, Rater, RaterKind
from apps.studies.services.blindness import Sight

MOST_CROWD_COLUMNS = 12
CROWD_ON_A_PAGE = 25


class Left(StrEnum):
    """Whether a rater's ratings of the item are left out of statistics."""

    NOT = ""
    RATER = "rater"
    ITEM = "item"


@dataclass(frozen=True, slots=True)
class Column:
    """A rater who has finished the item. `excluded` is told only to whoever works with the study."""

    rater: Rater
    is_own: bool
    excluded: Left


@dataclass(frozen=True, slots=True)
class Passage:
    """Evidence. `turn` is the index of the turn it was found in, `number` that turn's place among those shown."""

    text: str
    turn: int | None
    number: int | None


@dataclass(slots=True)
class Cell:
    """One rater's answer on one scale. `value_text` is "" where they cannot tell."""

    column: Column
    value_text: str
    label: str
    comment: str
    quotes: list[Passage] = field(default_factory=list)

    @property
    def has_remark(self) -> bool:
        return bool(self.comment or self.quotes)


@dataclass(frozen=True, slots=True)
class Spread:
    """How many raters of a group gave each point of a scale, in the order of the scale, and how many gave none."""

    points: list[tuple[str, str, int]]
    """Value, label, how many."""
    n_cannot_tell: int
    n_missing: int


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """One scale. `cells` has one entry for each column, None where the rater gave no rating."""

    dimension: Dimension
    cells: list[Cell | None]
    spread: Spread | None

    @property
    def remarks(self) -> list[Cell]:
        return [cell for cell in self.cells if cell is not None and cell.has_remark]

    @property
    def n_comments(self) -> int:
        return sum(bool(cell.comment) for cell in self.remarks)

    @property
    def n_quotes(self) -> int:
        return sum(len(cell.quotes) for cell in self.remarks)


@dataclass(frozen=True, slots=True)
class FrameworkRows:
    framework: Framework
    rows: list[ScaleRow]


@dataclass(frozen=True, slots=True)
class RatingsTable:
    """Scales x raters. `n_summed`: raters of the crowd who are summed up in a last column, 0 where there is none."""

    columns: list[Column]
    frameworks: list[FrameworkRows]
    n_summed: int = 0

    @property
    def width(self) -> int:
        """In columns, that of the scales included."""
        return 1 + len(self.columns) + (self.n_summed > 0)

    @property
    def has_remarks(self) -> bool:
        return any(row.remarks for part in self.frameworks for row in part.rows)


@dataclass(frozen=True, slots=True)
class ItemRatings:
    """An item's conversation and ratings. `crowd` and `page` hold the single raters of a crowd that is summed up."""

    turns: list[Turn]
    table: RatingsTable
    n_excluded: int
    crowd: RatingsTable | None = None
    page: Page[Rater] | None = None


def load_item_ratings(*, sight: Sight, item: Item, page: str | None = None) -> ItemRatings:
    """The ratings of an item in sight. `page` is of the crowd's single raters, where they are summed up.

    The crowd is summed up where it has more than `MOST_CROWD_COLUMNS` raters; aggregates keep their columns, and so
    does the reader's own rater, who counts in the sum as well.
    """
    present = sight.raters().filter(pk__in=Rating.objects.finished().filter(item=item).order_by().values("rater"))
    crowd = present.filter(kind=RaterKind.CROWD, is_aggregate=False).order_by(Length("name"), "name")
    n_crowd = crowd.count()
    own_pk = sight.rater.pk if sight.rater else None
    loader = _Loader(sight, item)
    n_excluded = loader.count_excluded(present)
    if n_crowd <= MOST_CROWD_COLUMNS:
        return ItemRatings(loader.turns, loader.table(sorted(present, key=_order(own_pk))), n_excluded)
    single = present.filter(~Q(kind=RaterKind.CROWD) | Q(is_aggregate=True) | Q(pk=own_pk))
    table = loader.table(sorted(single, key=_order(own_pk)), loader.spreads(crowd, n_crowd), n_crowd)
    part = Paginator(crowd, CROWD_ON_A_PAGE).get_page(page)
    return ItemRatings(loader.turns, table, n_excluded, loader.table(list(part)), part)


def _order(own_pk: int | None) -> Callable[[Rater], tuple[bool, int, int, str]]:
    """One's own first, then by kind; expert2 before expert10."""
    kinds = list(RaterKind.values)
    return lambda rater: (rater.pk != own_pk, kinds.index(rater.kind), len(rater.name), rater.name)


class _Loader:
    """What all tables of one item share."""

    def __init__(self, sight: Sight, item: Item) -> None:
        self._sight = sight
        self._item = item
        self.turns = turns_shown(item)
        self._hidden = [] if sight.is_whole else self._system_turns()
        self._number = {turn.pk: number for number, turn in enumerate(self.turns, start=1)}
        self._parts = frameworks_of(item.block)
        self._points = {scale.dimension.pk: scale.points for part in self._parts for scale in part.scales}
        self._excluded = self._exclusions()

    def table(
        self, raters: Sequence[Rater], spreads: dict[int, Spread] | None = None, n_summed: int = 0
    ) -> RatingsTable:
        columns = [self._column(rater) for rater in raters]
        cells = self._cells(columns)
        parts = [FrameworkRows(part.framework, self._rows(part, columns, cells, spreads or {})) for part in self._parts]
        return RatingsTable(columns, parts, n_summed)

    def spreads(self, raters: QuerySet[Rater], n_raters: int) -> dict[int, Spread]:
        """By dimension."""
        ratings = Rating.objects.finished().filter(item=self._item, rater__in=raters.order_by()).order_by()
        counts: dict[int, dict[float | None, int]] = {pk: {} for pk in self._points}
        for dimension, value, n in ratings.values_list("dimension_id", "value").annotate(Count("pk")):
            counts.setdefault(dimension, {})[value] = n
        return {pk: self._spread(self._points[pk], counts[pk], n_raters) for pk in self._points}

    def count_excluded(self, present: QuerySet[Rater]) -> int:
        """How many raters of the item are left out of statistics; 0 where the reader is not to know."""
        return present.filter(pk__in=list(self._excluded)).count() if self._excluded else 0

    def _exclusions(self) -> dict[int, Left]:
        if not self._sight.is_whole:
            return {}
        rows = Exclusion.objects.in_force().filter(Q(item=None) | Q(item=self._item), rater__study=self._sight.study)
        found: dict[int, Left] = {}
        for rater, item in rows.values_list("rater_id", "item_id"):
            if found.get(rater) != Left.RATER:
                found[rater] = Left.RATER if item is None else Left.ITEM
        return found

    def _system_turns(self) -> list[TurnText]:
        """What raters are not shown, and so not as a quote either: a system turn may tell the condition."""
        turns = Turn.objects.filter(conversation=self._item.conversation_id, role=SpeakerRole.SYSTEM)
        return [TurnText(index, False, text) for index, text in turns.values_list("index", "text")]

    def _column(self, rater: Rater) -> Column:
        is_own = self._sight.rater is not None and rater.pk == self._sight.rater.pk
        return Column(rater, is_own, self._excluded.get(rater.pk, Left.NOT))

    def _rows(
        self,
        part: FrameworkPart,
        columns: Sequence[Column],
        cells: dict[tuple[int, int], Cell],
        spreads: dict[int, Spread],
    ) -> list[ScaleRow]:
        return [
            ScaleRow(
                scale.dimension,
                [cells.get((column.rater.pk, scale.dimension.pk)) for column in columns],
                spreads.get(scale.dimension.pk),
            )
            for scale in part.scales
        ]

    def _cells(self, columns: Sequence[Column]) -> dict[tuple[int, int], Cell]:
        """By rater and dimension."""
        by_rater = {column.rater.pk: column for column in columns}
        ratings = Rating.objects.finished().filter(item=self._item, rater__in=list(by_rater)).order_by()
        cells: dict[tuple[int, int], Cell] = {}
        by_rating: dict[int, Cell] = {}
        for pk, rater, dimension, value, comment in ratings.values_list(
            "pk", "rater_id", "dimension_id", "value", "comment"
        ):
            cell = self._cell(by_rater[rater], self._points.get(dimension, []), value, comment)
            cells[rater, dimension] = by_rating[pk] = cell
        self._add_quotes(list(by_rater), by_rating)
        return cells

    def _cell(self, column: Column, points: Sequence[ScalePoint], value: float | None, comment: str) -> Cell:
        if value is None:
            return Cell(column, "", "", comment)
        for point in points:
            if point.value == value:
                return Cell(column, point.value_text, point.label, comment)
        return Cell(column, f"{value:.2f}", "", comment)  # a mean, between the points

    def _add_quotes(self, raters: list[int], by_rating: dict[int, Cell]) -> None:
        rows = Evidence.objects.filter(rating__item=self._item, rating__rater__in=raters).order_by("pk")
        for rating, text, turn, index in rows.values_list("rating_id", "quote", "turn_id", "turn__index"):
            if rating not in by_rating or (turn is None and place_quote(Quote(text), self._hidden)):
                continue
            number = self._number.get(turn) if turn else None
            by_rating[rating].quotes.append(Passage(text, index if number else None, number))

    def _spread(self, points: Sequence[ScalePoint], counts: dict[float | None, int], n_raters: int) -> Spread:
        return Spread(
            points=[(point.value_text, point.label, counts.get(point.value, 0)) for point in points],
            n_cannot_tell=counts.get(None, 0),
            n_missing=n_raters - sum(counts.values()),
        )
