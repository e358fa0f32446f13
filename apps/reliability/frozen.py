"""Tables of ratings as bytes that are kept: what a snapshot was computed from, to the last bit.

The bytes are a Parquet file with one row group for each table, so that one scale is read without the others. Its
metadata hold what is no rating: scales, raters, and items, also those without a rating.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from apps.measures.arrays import FloatArray
from apps.measures.scale import Level, Scale
from apps.reliability import kept
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey

KIND = "ratings"
# item, rater: places in the table's items and raters; repeat: the rater's second rating of the item.
SCHEMA = pa.schema(
    [("item", pa.int32()), ("rater", pa.int32()), ("repeat", pa.bool_()), ("value", pa.float64())],
)


@dataclass(frozen=True, slots=True)
class FrozenScale:
    """One table's head: which scale it is, its declared points, and which block its raters and items are those of."""

    key: TableKey
    scale: Scale


class Freezer:
    """Takes tables as they pass, and gives the bytes at the end.

    freezer = Freezer()
    agreement = analyse(freezer.passing(tables), settings)
    data = freezer.bytes()
    """

    def __init__(self) -> None:
        self._file = io.BytesIO()
        self._writer = kept.writer(self._file, SCHEMA)
        self._tables: list[dict[str, Any]] = []
        self._blocks: dict[str, dict[str, Any]] = {}

    def passing(self, tables: Iterable[RatingTable]) -> Iterator[RatingTable]:
        for table in tables:
            self.add(table)
            yield table

    def add(self, table: RatingTable) -> None:
        """Raises ValueError where two tables of one block differ in their items or raters."""
        block = {
            "items": list(table.items),
            "raters": [[rater.name, rater.kind, rater.is_aggregate] for rater in table.raters],
        }
        name = _block_name(table.key)
        if self._blocks.setdefault(name, block) != block:
            raise ValueError(f"the tables of block {name} differ in their items or raters")
        self._tables.append(
            {
                "key": list(table.key),
                "points": table.scale.points,
                "level": table.scale.level,
                "block": name,
                "has_repeats": table.repeats is not None,
            }
        )
        self._writer.write_table(_long(table), row_group_size=max(1, table.values.size * 2))

    def bytes(self) -> bytes:
        head = {"tables": self._tables, "blocks": self._blocks}
        self._writer.add_key_value_metadata(kept.packed_head(KIND, head))
        self._writer.close()
        return kept.sealed(self._file.getvalue())


class FrozenTables:
    """The tables in the bytes of a Freezer. Raises kept.UnreadableError for bytes that are not whole or not known."""

    def __init__(self, data: bytes) -> None:
        self._file, head = kept.opened(data, KIND)
        self._heads: list[dict[str, Any]] = head["tables"]
        self._blocks: dict[str, dict[str, Any]] = head["blocks"]

    def scales(self) -> list[FrozenScale]:
        return [FrozenScale(_key(head), _scale(head)) for head in self._heads]

    def n_ratings(self) -> int:
        """Values in all tables, second ratings included."""
        return int(self._file.metadata.num_rows)

    def items_of(self, block: str, dimension: str = "") -> list[str]:
        """The items of a block, rated or not; of a file of ratings (no block), those of one dimension. KeyError."""
        return list(self._blocks[_block_name(TableKey(block, "", dimension))]["items"])

    def raters_of(self, block: str, dimension: str = "") -> list[RaterKey]:
        """The raters that have a column in the block, by kind and name; otherwise as `items_of`."""
        return _raters(self._blocks[_block_name(TableKey(block, "", dimension))])

    def raters(self) -> list[RaterKey]:
        """Every rater of any table once, in the order of `RaterKey.order`."""
        found = {rater.name: rater for block in self._blocks.values() for rater in _raters(block)}
        return sorted(found.values(), key=lambda rater: rater.order)

    def tables(self, *, block: str = "", framework: str = "", dimension: str = "") -> Iterator[RatingTable]:
        """The tables one at a time, in the order they were frozen; slugs narrow them."""
        wanted = TableKey(block, framework, dimension)
        for place, head in enumerate(self._heads):
            if all(not slug or slug == own for slug, own in zip(wanted, _key(head), strict=True)):
                yield self._table(place, head)

    def _table(self, place: int, head: dict[str, Any]) -> RatingTable:
        block = self._blocks[head["block"]]
        raters = _raters(block)
        with kept.reading():
            columns = self._file.read_row_group(place)
            items, numbers, repeat, values = (columns[name].to_numpy() for name in SCHEMA.names)

        def dense(chosen: Any) -> FloatArray:
            table = np.full((len(block["items"]), len(raters)), np.nan)
            table[items[chosen], numbers[chosen]] = values[chosen]
            return table

        repeats = dense(repeat) if head["has_repeats"] else None
        return RatingTable.of(_key(head), _scale(head), block["items"], raters, dense(~repeat), repeats)


def _long(table: RatingTable) -> pa.Table:
    parts = []
    for values, is_repeat in ((table.values, False), (table.repeats, True)):
        if values is not None:
            items, raters = np.nonzero(~np.isnan(values))
            parts.append(
                pa.table(
                    [
                        items.astype(np.int32),
                        raters.astype(np.int32),
                        np.full(items.size, is_repeat),
                        values[items, raters],
                    ],
                    schema=SCHEMA,
                )
            )
    return pa.concat_tables(parts).combine_chunks()


def _block_name(key: TableKey) -> str:
    """A file of ratings has no blocks, and each of its dimensions has items and raters of its own."""
    return key.block or f"/{key.dimension}"


def _key(head: dict[str, Any]) -> TableKey:
    return TableKey(*head["key"])


def _scale(head: dict[str, Any]) -> Scale:
    return Scale(tuple(head["points"]), Level(head["level"]))


def _raters(block: dict[str, Any]) -> list[RaterKey]:
    return [
        RaterKey(name, None if kind is None else Kind(kind), aggregate) for name, kind, aggregate in block["raters"]
    ]
