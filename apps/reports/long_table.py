"""The ratings behind a report as two CSV files that tell everything: `ratings.csv` and `items.csv`. Pure.

`ratings.csv` has a row for each rating, its value written with as many digits as bring the same number back.
`items.csv` has a row for each item, also for those without a rating. Both are read again by `recompute`.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from apps.common.formulas import escape_formula, unescape_formula
from apps.frameworks.scales import NUMBER
from apps.measures.arrays import FloatArray, IntArray
from apps.measures.scale import Scale
from apps.reliability.accounting import BlockAccount, ItemUse
from apps.reliability.matrix import RaterKey, RatingTable, TableKey
from apps.reports.csv_rows import row_writer

RATING_COLUMNS = ("block", "framework", "dimension", "item", "rater", "kind", "aggregate", "repeat", "value")
ITEM_COLUMNS = ("block", "dimension", "item", "role", "in_tables", "ratings", "used", "reason")
ROLES = {
    ItemUse.PRACTICE: "practice",
    ItemUse.GOLD: "gold",
    ItemUse.ATTENTION: "attention",
    ItemUse.REPEAT: "repeat",
    ItemUse.LONE_REPEAT: "repeat",
    ItemUse.NOT_CHOSEN: "main",
    ItemUse.NOBODY: "main",
}

_FLAGS = ("aggregate", "repeat")
_TEXTS = tuple(name for name in RATING_COLUMNS if name not in (*_FLAGS, "value"))
_SCHEMA = pa.schema(
    [
        (name, pa.string() if name in _TEXTS else pa.bool_() if name in _FLAGS else pa.float64())
        for name in RATING_COLUMNS
    ]
)
# Ratings made into text at a time.
ROWS_AT_ONCE = 100_000
# Items that are read of an archive, which may come from anybody.
MAX_ITEMS = 5_000_000


class LongTableError(ValueError):
    """`ratings.csv` or `items.csv` is not what `recompute` can read; one sentence."""


@dataclass(frozen=True)
class TableHead:
    """What a table of ratings is, apart from its ratings. `has_repeats`: some rater may have rated an item twice."""

    key: TableKey
    scale: Scale
    raters: tuple[RaterKey, ...]
    has_repeats: bool

    @property
    def place(self) -> tuple[str, str]:
        """Whose items these are: those of a block, or in a file of ratings those of a dimension."""
        return items_place(self.key)


def items_place(key: TableKey) -> tuple[str, str]:
    """(block, "") for a study, whose blocks have the same items on each scale; ("", dimension) for a file."""
    return (key.block, "") if key.block else ("", key.dimension)


def safe(name: str) -> str:
    """A name for a cell of CSV: a formula is made harmless, a number such as -1 stays one."""
    return name if NUMBER.fullmatch(name) else escape_formula(name)


def write_ratings(tables: Iterable[RatingTable], out: BinaryIO) -> None:
    """The long table in UTF-8 with `\\n` line ends: by table, first ratings, then repeats."""
    with pacsv.CSVWriter(out, _SCHEMA, write_options=pacsv.WriteOptions(quoting_style="needed")) as writer:
        for table in tables:
            for values, is_repeat in ((table.values, False), (table.repeats, True)):
                if values is not None:
                    _write_table(writer, table, values, is_repeat)


def _write_table(writer: pacsv.CSVWriter, table: RatingTable, values: FloatArray, is_repeat: bool) -> None:
    items, raters = np.nonzero(~np.isnan(values))
    names = {
        "item": pa.array([safe(item) for item in table.items], pa.string()),
        "rater": pa.array([safe(rater.name) for rater in table.raters], pa.string()),
        "kind": pa.array([rater.kind or "" for rater in table.raters], pa.string()),
        "aggregate": pa.array([rater.is_aggregate for rater in table.raters], pa.bool_()),
    }
    fixed = {"block": safe(table.key.block), "framework": safe(table.key.framework)}
    fixed["dimension"] = safe(table.key.dimension)
    for start in range(0, items.size, ROWS_AT_ONCE):
        rows, columns = items[start : start + ROWS_AT_ONCE], raters[start : start + ROWS_AT_ONCE]
        parts = {name: pa.repeat(pa.scalar(text, pa.string()), rows.size) for name, text in fixed.items()}
        parts["item"] = names["item"].take(pa.array(rows))
        parts |= {name: names[name].take(pa.array(columns)) for name in ("rater", "kind", "aggregate")}
        parts["repeat"] = pa.repeat(pa.scalar(is_repeat), rows.size)
        # One zero, as in the hash of the table.
        parts["value"] = pa.array(values[rows, columns] + 0.0)
        writer.write_table(pa.table([parts[name] for name in RATING_COLUMNS], schema=_SCHEMA))


def read_ratings(
    data: BinaryIO, heads: Sequence[TableHead], items: Mapping[tuple[str, str], Sequence[str]]
) -> Iterator[RatingTable]:
    """The tables of `heads` from a long table, one at a time. `items`: the items of each place, without repetition.

    Raises LongTableError where the file cannot be read or holds what no table has.
    """
    columns = _columns(data)
    places = _places_of_tables(columns, heads)
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(len(heads) + 1))
    for number, head in enumerate(heads):
        yield _table(head, items.get(head.place, ()), columns, order[bounds[number] : bounds[number + 1]])


@dataclass(frozen=True)
class _Columns:
    """Texts as codes (r,) into their distinct values; flags and values (r,)."""

    codes: Mapping[str, IntArray]
    texts: Mapping[str, list[str]]
    repeat: FloatArray
    value: FloatArray


def _columns(data: BinaryIO) -> _Columns:
    types = dict.fromkeys(_TEXTS, pa.dictionary(pa.int32(), pa.string()))
    types |= dict.fromkeys(_FLAGS, pa.bool_()) | {"value": pa.float64()}
    try:
        table = pacsv.read_csv(
            data,
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
        )
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise LongTableError(f"ratings.csv cannot be read: {str(error).splitlines()[0]}") from None
    if tuple(table.column_names) != RATING_COLUMNS:
        raise LongTableError(f"ratings.csv has other columns; expected {', '.join(RATING_COLUMNS)}.")
    table = table.unify_dictionaries().combine_chunks()
    value = table["value"].to_numpy()
    if not np.isfinite(value).all():
        row = int(np.flatnonzero(~np.isfinite(value))[0]) + 2
        raise LongTableError(f"ratings.csv, row {row}, value: expected a number.")
    codes, texts = {}, {}
    for name in _TEXTS:
        column = table[name].chunk(0) if table.num_rows else pa.array([], types[name])
        codes[name] = column.indices.to_numpy().astype(np.int64)
        texts[name] = [unescape_formula(text) for text in column.dictionary.to_pylist()]
    return _Columns(codes, texts, table["repeat"].to_numpy().astype(np.float64), value)


def _places_of_tables(columns: _Columns, heads: Sequence[TableHead]) -> IntArray:
    """The number of each row's table."""
    numbers = {head.key: number for number, head in enumerate(heads)}
    names = ("block", "framework", "dimension")
    if not columns.value.size:
        return np.empty(0, np.int64)
    combined = np.stack([columns.codes[name] for name in names])
    distinct, first, which = np.unique(combined, axis=1, return_index=True, return_inverse=True)
    found = []
    for codes, row in zip(distinct.T, first, strict=True):
        key = TableKey(*(columns.texts[name][code] for name, code in zip(names, codes, strict=True)))
        if key not in numbers:
            raise LongTableError(f"ratings.csv, row {row + 2}: the manifest has no scale {'/'.join(key)}.")
        found.append(numbers[key])
    return np.array(found, np.int64)[which.ravel()]


def _table(head: TableHead, items: Sequence[str], columns: _Columns, rows: IntArray) -> RatingTable:
    item_places = _located("item", items, columns, rows, "items.csv")
    rater_places = _located("rater", [rater.name for rater in head.raters], columns, rows, "the manifest")
    is_repeat = columns.repeat[rows] == 1
    if is_repeat.any() and not head.has_repeats:
        raise LongTableError(f"ratings.csv has repeats on {'/'.join(head.key)}, and the manifest has none.")

    def dense(chosen: np.ndarray) -> FloatArray:
        values = np.full((len(items), len(head.raters)), np.nan)
        codes = item_places[chosen] * len(head.raters) + rater_places[chosen]
        if np.unique(codes).size < codes.size:
            raise LongTableError(f"ratings.csv rates an item twice on {'/'.join(head.key)} under one rater.")
        values.flat[codes] = columns.value[rows[chosen]]
        return values

    try:
        repeats = dense(is_repeat) if head.has_repeats else None
        return RatingTable.of(head.key, head.scale, items, head.raters, dense(~is_repeat), repeats)
    except LongTableError:
        raise
    except ValueError as error:
        raise LongTableError(f"The ratings on {'/'.join(head.key)} make no table: {error}.") from None


def _located(name: str, known: Sequence[str], columns: _Columns, rows: IntArray, where: str) -> IntArray:
    """The place of each row's item or rater among those that are known."""
    place_of = {text: place for place, text in enumerate(known)}
    places = np.array([place_of.get(text, -1) for text in columns.texts[name]], np.int64)
    found = places[columns.codes[name][rows]] if rows.size else np.empty(0, np.int64)
    if (found < 0).any():
        row = int(rows[np.flatnonzero(found < 0)[0]])
        text = columns.texts[name][columns.codes[name][row]]
        raise LongTableError(f"ratings.csv, row {row + 2}: {name} {text} is not in {where}.")
    return found


def write_items(tables: Iterable[RatingTable], blocks: Iterable[BlockAccount], out: BinaryIO) -> None:
    """Every item: first those of the tables with how many ratings they have, then those beside them.

    Where too many share a reason to be named, one row without a name says how many they are.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = row_writer(text)
    writer.writerow(ITEM_COLUMNS)
    per_item = ratings_per_item(tables)
    for (block, dimension), (items, counts) in per_item.items():
        for item, count in zip(items, counts.tolist(), strict=True):
            used, why = ("true", "") if count else ("false", ItemUse.NOBODY.value)
            writer.writerow((safe(block), safe(dimension), safe(item), "main", "true", count, used, why))
    with_tables = {block for block, _dimension in per_item}
    for one in blocks:
        writer.writerows(_items_beside(one, has_tables=one.block in with_tables))
    text.detach()


def _items_beside(block: BlockAccount, *, has_tables: bool) -> Iterator[tuple[str, ...]]:
    """How many ratings such an item has is not told: they are those of its main item, or of no figure. Items that
    nobody rated stand in the tables of their block, where it has any."""
    for group in block.beside:
        if group.use is not ItemUse.NOBODY or not has_tables:
            end = "true" if group.use is ItemUse.REPEAT else "false", group.use.value
            for item in group.items:
                yield safe(block.block), "", safe(item), ROLES[group.use], "false", "", *end
            if group.n and not group.items:
                why = f"{group.use.value} ({group.n} items, too many to be named)"
                yield safe(block.block), "", "", ROLES[group.use], "false", "", end[0], why


def ratings_per_item(tables: Iterable[RatingTable]) -> dict[tuple[str, str], tuple[tuple[str, ...], IntArray]]:
    """By place: its items, and how many ratings each has on all scales together, repeats among them."""
    found: dict[tuple[str, str], tuple[tuple[str, ...], IntArray]] = {}
    for table in tables:
        counts = (~np.isnan(table.values)).sum(axis=1).astype(np.int64)
        if table.repeats is not None:
            counts += (~np.isnan(table.repeats)).sum(axis=1)
        place = items_place(table.key)
        known = found.get(place)
        found[place] = (table.items, counts if known is None else known[1] + counts)
    return found


def read_items(data: BinaryIO) -> dict[tuple[str, str], list[str]]:
    """By place: the items of its tables. Raises LongTableError."""
    try:
        rows = csv.reader(io.TextIOWrapper(data, encoding="utf-8", newline=""))
        if tuple(next(rows, ())) != ITEM_COLUMNS:
            raise LongTableError(f"items.csv has other columns; expected {', '.join(ITEM_COLUMNS)}.")
        found: dict[tuple[str, str], list[str]] = {}
        for number, row in enumerate(rows, start=2):
            if number > MAX_ITEMS + 1:
                raise LongTableError(f"items.csv has more than {MAX_ITEMS} rows, more than a report has.")
            if len(row) != len(ITEM_COLUMNS):
                raise LongTableError(f"items.csv, row {number}: expected {len(ITEM_COLUMNS)} cells.")
            block, dimension, item, _, in_tables, *_ = row
            if in_tables == "true":
                place = unescape_formula(block), unescape_formula(dimension)
                found.setdefault(place, []).append(unescape_formula(item))
    except (UnicodeDecodeError, csv.Error) as error:
        raise LongTableError(f"items.csv cannot be read: {error}") from None
    return found
