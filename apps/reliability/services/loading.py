"""A study's finished ratings from the database as tables, with the exclusions in force left out.

Few queries, whatever the size, and compact arrays: a million ratings take about 30 MB on their way into the tables.
Drafts, that is ratings on items that their rater has not handed in, never enter. Raters who left the study stay;
ratings marked "cannot tell" are missing values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from django.db.models import QuerySet

from apps.annotation.models import Rating
from apps.corpus.models import Conversation
from apps.frameworks.models import Dimension
from apps.measures.arrays import BoolArray, FloatArray, IntArray
from apps.measures.scale import Level, Scale
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey
from apps.reliability.selection import DataSelection
from apps.studies.models import BlockFramework, Exclusion, Item, ItemRole, Rater, Study
from apps.studies.selection import Traits, is_taken

# Rows fetched and encoded at a time.
CHUNK_ROWS = 20_000


@dataclass(frozen=True)
class _Slot:
    """A scale of a block: one table to be."""

    key: TableKey
    block_id: int
    dimension_id: int
    scale: Scale


@dataclass(frozen=True)
class _Items:
    """Main and repeat items. Arrays (k,) by ascending item id; `row` is the place of the conversation in its block.

    `keys`: the external ids of a block's rows; `not_chosen`: those of main items that the selection leaves out.
    """

    ids: IntArray
    block_ids: IntArray
    rows: IntArray
    is_repeat: BoolArray
    keys: dict[int, tuple[str, ...]]
    not_chosen: dict[int, list[str]]


@dataclass(frozen=True)
class _Ratings:
    """Ratings (r,) as places: in `_Items`, among the raters, and the dimension's id; value NaN for "cannot tell"."""

    items: IntArray
    raters: IntArray
    dimensions: IntArray
    values: FloatArray


@dataclass
class Tally:
    """Finished ratings that were read, and why some of them are in no table: of whom, on what, or singly."""

    read: int = 0
    of_excluded_raters: int = 0
    of_other_items: int = 0
    excluded_singly: int = 0


@dataclass(frozen=True)
class StudyTables:
    """A study's ratings as they were when they were read.

    Iterating gives the tables, each made when it is asked for, and anew with every pass: no query. Memory holds the
    ratings once and one table.
    """

    slots: list[_Slot]
    raters: list[Rater]
    items: _Items
    ratings: _Ratings
    present: set[tuple[int, int]]
    tally: Tally

    def __iter__(self) -> Iterator[RatingTable]:
        for slot, chosen in self.parts:
            yield _table(slot, self.raters, self._columns(slot), self.items, self.ratings, chosen)

    def __len__(self) -> int:
        return len(self.parts)

    def raters_by_table(self) -> list[list[RaterKey]]:
        """The raters of each table, in its order, without making the tables."""
        keys = [_rater_key(rater) for rater in self.raters]
        return [
            sorted((keys[place] for place in self._columns(slot)), key=lambda rater: rater.order)
            for slot, _chosen in self.parts
        ]

    def _columns(self, slot: _Slot) -> list[int]:
        return [place for place in range(len(self.raters)) if (slot.block_id, place) in self.present]

    @cached_property
    def parts(self) -> list[tuple[_Slot, IntArray]]:
        """Each scale that somebody used, with the places of its ratings."""
        parts = []
        order = np.argsort(self.ratings.dimensions, kind="stable")
        dimensions = self.ratings.dimensions[order]
        for slot in self.slots:
            start, end = np.searchsorted(dimensions, [slot.dimension_id, slot.dimension_id + 1])
            chosen = order[start:end]
            chosen = chosen[self.items.block_ids[self.ratings.items[chosen]] == slot.block_id]
            if len(chosen):
                parts.append((slot, chosen))
        return parts


def load_tables(
    *,
    study: Study,
    block: str | None = None,
    framework: str | None = None,
    dimension: str | None = None,
    selection: DataSelection | None = None,
) -> StudyTables:
    """The tables of a study, by block, framework and dimension in the order of the study.

    `block`, `framework` and `dimension` are slugs that narrow what is loaded; nothing matches an unknown slug.
    `selection` says which conversations take part, and whether what is excluded does. Only
    main items enter a table; repeats of them stand beside. A rater has a column in every table of a block in which
    they rated anything; a table nobody rated in is left out.
    """
    slots = _slots(study, block, framework, dimension)
    chosen = selection or DataSelection()
    found = study.raters.order_by("pk")
    if not chosen.with_excluded:
        found = found.exclude(pk__in=Exclusion.objects.in_force().filter(item=None).values("rater_id"))
    raters = list(found)
    items = _load_items(study, block, chosen)
    wanted = Rating.objects.finished().filter(rater__study=study)
    if block is not None:
        wanted = wanted.filter(item__block__slug=block)
    narrowed = wanted
    if framework is not None or dimension is not None:
        narrowed = wanted.filter(dimension__in=[slot.dimension_id for slot in slots])
    tally = Tally()
    ratings = _load_ratings(narrowed, items, raters, tally)
    present = _present(ratings, items) if narrowed is wanted else _present_in_database(wanted, raters)
    if not chosen.with_excluded:
        ratings = _without_excluded(ratings, items, raters, study)
        tally.excluded_singly = tally.read - tally.of_excluded_raters - tally.of_other_items - len(ratings.values)
    return StudyTables(slots, raters, items, ratings, present, tally)


def _slots(study: Study, block: str | None, framework: str | None, dimension: str | None) -> list[_Slot]:
    used = (
        BlockFramework.objects.filter(block__study=study)
        .select_related("block", "framework")
        .prefetch_related("framework__dimensions__points")
        .order_by("block__position", "position")
    )
    return [
        _Slot(
            key=TableKey(one.block.slug, one.framework.slug, scale.slug),
            block_id=one.block_id,
            dimension_id=scale.pk,
            scale=scale_of(scale),
        )
        for one in used
        if block in (None, one.block.slug) and framework in (None, one.framework.slug)
        for scale in one.framework.dimensions.all()
        if dimension in (None, scale.slug)
    ]


def scale_of(dimension: Dimension) -> Scale:
    """The declared points of a dimension, in ascending order of their values."""
    points = sorted(point.value for point in dimension.points.all())
    return Scale(tuple(points), Level(dimension.level))


def _load_items(study: Study, block: str | None, selection: DataSelection) -> _Items:
    """Main items numbered in their block by external id, and repeats under the number of their main item."""
    found = Item.objects.filter(block__study=study, role__in=[ItemRole.MAIN, ItemRole.REPEAT])
    if block is not None:
        found = found.filter(block__slug=block)
    columns = found.order_by("pk").values_list("pk", "block_id", "role", "conversation_id", "conversation__external_id")
    numbers: list[IntArray] = []
    names: list[str] = []
    not_chosen: dict[int, list[str]] = {}
    taken = taken_conversations(study, selection) if selection.metadata else None
    for rows in _chunks(columns):
        if taken is not None:
            for _pk, block_id, role, talk, name in rows:
                if talk not in taken and role == ItemRole.MAIN:
                    not_chosen.setdefault(block_id, []).append(name)
            rows = [row for row in rows if row[3] in taken]
            if not rows:
                continue
        numbers.append(
            np.array([(pk, block_id, role == ItemRole.REPEAT, talk) for pk, block_id, role, talk, _ in rows], np.int64)
        )
        names += [row[4] for row in rows]
    table = np.concatenate(numbers) if numbers else np.empty((0, 4), np.int64)
    ids, block_ids, is_repeat, conversation_ids = table.T
    places = np.full(len(ids), -1, np.int64)
    keys: dict[int, tuple[str, ...]] = {}
    for block_id in np.unique(block_ids):
        main = np.flatnonzero((block_ids == block_id) & (is_repeat == 0))
        order = np.array(sorted(main, key=names.__getitem__), np.int64)
        places[order] = np.arange(len(order))
        keys[int(block_id)] = tuple(names[item] for item in order)
        repeats = np.flatnonzero((block_ids == block_id) & (is_repeat == 1))
        row_of = dict(zip(conversation_ids[order], range(len(order)), strict=True)) if len(repeats) else {}
        places[repeats] = [row_of.get(conversation, -1) for conversation in conversation_ids[repeats]]
    kept = places >= 0
    return _Items(ids[kept], block_ids[kept], places[kept], is_repeat[kept] == 1, keys, not_chosen)


def taken_conversations(study: Study, selection: DataSelection) -> set[int]:
    """Keys of the study's conversations that the selection's metadata choose. One query."""
    found = Conversation.objects.filter(items__block__study=study).distinct().order_by("pk")
    rows = found.values_list("pk", "metadata", "factors", "language").iterator(chunk_size=CHUNK_ROWS)
    choice = dict(selection.metadata)
    return {pk for pk, *traits in rows if is_taken(Traits(*traits), choice)}


def _load_ratings(ratings: QuerySet[Rating], items: _Items, raters: list[Rater], tally: Tally) -> _Ratings:
    """The ratings of those raters on those items, encoded chunk by chunk; the others are counted."""
    rater_ids = np.array([rater.pk for rater in raters], np.int64)
    chunks: list[_Ratings] = []
    for rows in _chunks(ratings.order_by().values_list("item_id", "rater_id", "dimension_id", "value")):
        # Ids are exact in float64 up to 2^53, and None becomes NaN.
        table = np.array(rows, dtype=np.float64)
        item_places = _places(items.ids, table[:, 0])
        rater_places = _places(rater_ids, table[:, 1])
        kept = (item_places >= 0) & (rater_places >= 0)
        tally.read += len(kept)
        tally.of_excluded_raters += int((rater_places < 0).sum())
        tally.of_other_items += int(((rater_places >= 0) & (item_places < 0)).sum())
        chunks.append(_Ratings(item_places[kept], rater_places[kept], table[kept, 2].astype(np.int64), table[kept, 3]))
    empty = np.empty(0, np.int64)
    chunks.append(_Ratings(empty, empty, empty, np.empty(0)))
    return _Ratings(
        np.concatenate([chunk.items for chunk in chunks]),
        np.concatenate([chunk.raters for chunk in chunks]),
        np.concatenate([chunk.dimensions for chunk in chunks]),
        np.concatenate([chunk.values for chunk in chunks]),
    )


def _chunks(rows: QuerySet[Any, tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    left = rows.iterator(chunk_size=CHUNK_ROWS)
    while chunk := list(islice(left, CHUNK_ROWS)):
        yield chunk


def _places(sorted_ids: IntArray, ids: FloatArray) -> IntArray:
    """Where each id stands in `sorted_ids`, -1 where it does not."""
    if len(sorted_ids) == 0:
        return np.full(len(ids), -1, np.int64)
    places = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
    return np.where(sorted_ids[places] == ids, places, -1)


def _present(ratings: _Ratings, items: _Items) -> set[tuple[int, int]]:
    """(block id, place of the rater) of everyone who rated in the block."""
    if not len(ratings.raters):
        return set()
    # As one number each: pairs take ten times as long to sort.
    width = int(ratings.raters.max()) + 1
    found = np.unique(items.block_ids[ratings.items] * width + ratings.raters)
    return {(int(code) // width, int(code) % width) for code in found}


def _present_in_database(ratings: QuerySet[Rating], raters: list[Rater]) -> set[tuple[int, int]]:
    place = {rater.pk: number for number, rater in enumerate(raters)}
    rated = ratings.filter(item__role__in=[ItemRole.MAIN, ItemRole.REPEAT]).order_by()
    pairs = rated.values_list("item__block_id", "rater_id").distinct()
    return {(block_id, place[rater_id]) for block_id, rater_id in pairs if rater_id in place}


def _without_excluded(ratings: _Ratings, items: _Items, raters: list[Rater], study: Study) -> _Ratings:
    """Without a rater's ratings of single items that are excluded."""
    excluded = Exclusion.objects.in_force().filter(rater__study=study, item__isnull=False)
    pairs = np.array(list(excluded.values_list("item_id", "rater_id")), dtype=np.float64).reshape(-1, 2)
    item_places = _places(items.ids, pairs[:, 0])
    rater_places = _places(np.array([rater.pk for rater in raters], np.int64), pairs[:, 1])
    known = (item_places >= 0) & (rater_places >= 0)
    width = len(raters)
    codes = item_places[known] * width + rater_places[known]
    kept = ~np.isin(ratings.items * width + ratings.raters, codes)
    return _Ratings(ratings.items[kept], ratings.raters[kept], ratings.dimensions[kept], ratings.values[kept])


def _table(
    slot: _Slot, raters: list[Rater], columns: list[int], items: _Items, ratings: _Ratings, chosen: IntArray
) -> RatingTable:
    """One dense table of the raters at `columns` from the chosen ratings."""
    column_of = np.full(len(raters), -1, np.int64)
    column_of[columns] = np.arange(len(columns))
    keys = items.keys[slot.block_id]
    is_repeat = items.is_repeat[ratings.items[chosen]]

    def dense(places: IntArray) -> FloatArray:
        values = np.full((len(keys), len(columns)), np.nan)
        values[items.rows[ratings.items[places]], column_of[ratings.raters[places]]] = ratings.values[places]
        return values

    return RatingTable.of(
        slot.key,
        slot.scale,
        keys,
        [_rater_key(raters[place]) for place in columns],
        dense(chosen[~is_repeat]),
        dense(chosen[is_repeat]) if is_repeat.any() else None,
    )


def _rater_key(rater: Rater) -> RaterKey:
    return RaterKey(rater.name, Kind(rater.kind), rater.is_aggregate)
