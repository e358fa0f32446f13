"""A long file of ratings (`item,rater,value[,dimension]`) as tables, without a study.

Items and raters are texts and matched by text; values are matched with the declared points. Whatever does not fit is
listed by row, and a file with problems yields no table.
"""

import re
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from apps.corpus.parsing.cells import CellError, as_text
from apps.corpus.parsing.records import FileError, Findings, Problem
from apps.corpus.parsing.rows import Table, open_table
from apps.corpus.parsing.tables import Row
from apps.frameworks.scales import NUMBER
from apps.measures.scale import Level, OffScale, Scale, point_values
from apps.reliability.matrix import RaterKey, RatingTable, TableKey

REQUIRED_COLUMNS = ("item", "rater", "value")
DIMENSION_COLUMN = "dimension"
# What an export of a study says of a rating and this command would not heed: figures would be wrong without a word.
STUDY_COLUMNS = ("block", "framework", "item_role", "excluded")

_RANGE = re.compile(r"\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
# More points than anybody can tell apart on a rating scale; a slip such as 0..100000 is caught here.
MAX_POINTS = 1001
# Squares of distances stay numbers, and means of points are told apart, only within these bounds.
LARGEST_POINT = 1e9
SMALLEST_STEP = 1e-6
# A table has a place for every rater on every item: 800 MB at this size, and some seven times as much to compute from.
MAX_CELLS = 100_000_000


@dataclass(frozen=True)
class DeclaredPoints:
    """The points of a scale as they were written, with the number each stands for.

    `numeric`: the points are numbers, so that `3.0` is the point 3. Otherwise they are labels, ranked as declared.
    """

    labels: Mapping[str, float]
    scale: Scale
    numeric: bool

    def value_of(self, text: str, *, between_allowed: bool) -> float:
        """The number a cell stands for. Raises ValueError saying what was expected.

        Values between points are accepted only where `between_allowed`.
        """
        if text in self.labels:
            return self.labels[text]
        number = self._number(text) if self.numeric else None
        if number is None:
            hint = f"; write {text.replace(',', '.')} with a decimal point" if _DECIMAL_COMMA.fullmatch(text) else ""
            raise ValueError(f"expected {self.expected()}{hint if self.numeric else ''}")
        try:
            self.scale.check(number)
        except OffScale:
            raise ValueError(f"expected {self.expected()}") from None
        if not between_allowed and not self.scale.on_points(number):
            raise ValueError(f"expected {self.expected()}; a rater declared as an aggregate may give values between")
        return number

    def label_of(self, value: float) -> str:
        """How a value was written: its label, or the number itself where it lies between points."""
        return next((label for label, point in self.labels.items() if point == value), f"{value:g}")

    def expected(self) -> str:
        """The points in words."""
        labels = list(self.labels)
        if len(labels) > 12:
            return f"one of the {len(labels)} points from {labels[0]} to {labels[-1]}"
        return f"one of {', '.join(labels)}"

    @staticmethod
    def _number(text: str) -> float | None:
        number = float(text) if NUMBER.fullmatch(text) else None
        return number if number is not None and np.isfinite(number) else None


def declare_points(text: str, level: Level) -> DeclaredPoints:
    """Points from `1,2,3`, `low,medium,high` or `0..10`, in declared order. Raises ValueError in a sentence.

    Points that are all numbers stand for themselves and must increase, unless they are nominal and their order means
    nothing. Other points are ranked as they are declared: 1, 2, 3 ...
    """
    labels = [label.strip() for label in text.split(",")]
    if spanned := _RANGE.fullmatch(text):
        low, high = int(spanned[1]), int(spanned[2])
        labels = [str(point) for point in range(low, min(high, low + MAX_POINTS) + 1)]
    if not all(labels):
        raise ValueError("The points hold an empty one; write them as 1,2,3 or low,medium,high.")
    if len(labels) > MAX_POINTS:
        raise ValueError(f"At most {MAX_POINTS} points are allowed.")
    numeric = all(DeclaredPoints._number(label) is not None for label in labels)
    if numeric and level is Level.NOMINAL:
        labels.sort(key=float)
    try:
        values = point_values(labels)
        scale = Scale(tuple(values.values()), level)
    except ValueError as error:
        raise ValueError(f"The points {text} make no scale: {error}.") from None
    if max(abs(scale.minimum), abs(scale.maximum)) > LARGEST_POINT or np.diff(scale.points).min() < SMALLEST_STEP:
        raise ValueError(
            f"The points {text} are too large or too close; expected numbers of at most {LARGEST_POINT:.0f}, at least "
            f"{SMALLEST_STEP:f} apart."
        )
    return DeclaredPoints(values, scale, numeric)


@dataclass(frozen=True)
class RatingFile:
    """What a file of ratings holds. With `problems` there are no tables. `unread` are columns that play no part."""

    tables: list[RatingTable]
    problems: Findings[Problem]
    ratings: int
    missing: int
    unread: tuple[str, ...] = ()


def read_rating_file(file: BinaryIO, points: DeclaredPoints, *, aggregates: Collection[str] = ()) -> RatingFile:
    """Read a file of ratings in any format that conversations may come in.

    `aggregates` are raters whose values may lie between points. An empty value is a missing one; a rating that comes
    twice with one value counts once. Raises FileError where the file as a whole cannot be used.
    """
    table = open_table(file)
    _check_columns(table)
    dimensions: dict[str, _Long] = {}
    problems: Findings[Problem] = Findings()
    has_dimensions = DIMENSION_COLUMN in table.columns
    missing = 0
    for row in table.rows:
        if isinstance(row, Row):
            try:
                dimension = _name(row, DIMENSION_COLUMN) if has_dimensions else ""
                missing += not _take(row, points, aggregates, dimensions.setdefault(dimension, _Long()))
            except _RowError as error:
                problems.add(Problem(row.number, error.column, str(error)))
        elif isinstance(row, Problem):
            problems.add(row)
    for long in dimensions.values():
        for problem in long.conflicts(points):
            problems.add(problem)
    if problems.total:
        return RatingFile([], problems, 0, missing)
    _check_contents(dimensions, aggregates)
    _check_size(dimensions)
    tables = [long.table(name, points.scale, aggregates) for name, long in dimensions.items()]
    unread = tuple(name for name in table.columns if name not in (*REQUIRED_COLUMNS, DIMENSION_COLUMN))
    ratings = sum(int((~np.isnan(one.values)).sum()) for one in tables)
    return RatingFile(tables, problems, ratings, missing, unread)


class _RowError(ValueError):
    """Why a row cannot be used, and the column at fault."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


@dataclass
class _Long:
    """The ratings of one dimension as they come in, in compact columns."""

    items: dict[str, int] = field(default_factory=dict)
    raters: dict[str, int] = field(default_factory=dict)
    item: "array[int]" = field(default_factory=lambda: array("q"))
    rater: "array[int]" = field(default_factory=lambda: array("q"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    row: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, item: str, rater: str, value: float | None, row: int) -> None:
        place = self.items.setdefault(item, len(self.items)), self.raters.setdefault(rater, len(self.raters))
        if value is not None:
            self.item.append(place[0])
            self.rater.append(place[1])
            self.value.append(value)
            self.row.append(row)

    def conflicts(self, points: DeclaredPoints) -> Iterator[Problem]:
        """A problem for each row that gives a rating another value than its first row did."""
        codes = np.array(self.item, np.int64) * len(self.raters) + np.array(self.rater, np.int64)
        values, rows = np.array(self.value), np.array(self.row)
        _, first, owner = np.unique(codes, return_index=True, return_inverse=True)
        items, raters = list(self.items), list(self.raters)
        for place in np.flatnonzero(values != values[first][owner]):
            earlier = first[owner[place]]
            yield Problem(
                int(rows[place]),
                "value",
                f"rater {raters[self.rater[place]]} gave {points.label_of(values[place])} for item "
                f"{items[self.item[place]]}, but {points.label_of(values[earlier])} in row {rows[earlier]}; "
                "expected one value for an item, rater and dimension",
            )

    def table(self, dimension: str, scale: Scale, aggregates: Collection[str]) -> RatingTable:
        values = np.full((len(self.items), len(self.raters)), np.nan)
        values[np.array(self.item, np.int64), np.array(self.rater, np.int64)] = self.value
        raters = [RaterKey(name, is_aggregate=name in aggregates) for name in self.raters]
        return RatingTable.of(TableKey("", "", dimension), scale, list(self.items), raters, values)


def _check_columns(table: Table) -> None:
    absent = [name for name in REQUIRED_COLUMNS if name not in table.columns]
    if absent:
        raise FileError(
            f"The file has no column {', '.join(absent)}; expected item, rater, value and perhaps dimension. "
            f"Its headers are: {', '.join(table.columns)}."
        )
    of_study = [name for name in STUDY_COLUMNS if name in table.columns]
    if of_study:
        raise FileError(
            f"The file has {', '.join(of_study)}, which only a study understands: here ratings that belong apart "
            "would be mixed. Expected a file without these columns, or --study instead of --ratings."
        )


def _check_contents(dimensions: Mapping[str, _Long], aggregates: Collection[str]) -> None:
    if not dimensions:
        raise FileError("The file holds no ratings, only a header.")
    unknown = set(aggregates).difference(*(long.raters for long in dimensions.values()))
    if unknown:
        raise FileError(f"No rater of the file is called {', '.join(sorted(unknown))}, declared as an aggregate.")


def _check_size(dimensions: Mapping[str, _Long]) -> None:
    for name, long in dimensions.items():
        items, raters = len(long.items), len(long.raters)
        if items * raters > MAX_CELLS:
            raise FileError(
                f"The file holds {items} items and {raters} raters{f' on {name}' if name else ''}; expected at most "
                f"{MAX_CELLS} places in a table of items by raters. Give parts of the file, or check that the columns "
                "item and rater are the right ones."
            )


def _take(row: Row, points: DeclaredPoints, aggregates: Collection[str], ratings: _Long) -> bool:
    """Add one row; False for a missing value. Raises _RowError."""
    item, rater = _name(row, "item"), _name(row, "rater")
    text = _cell(row, "value")
    value = None
    if text:
        try:
            value = points.value_of(text, between_allowed=rater in aggregates)
        except ValueError as error:
            raise _RowError("value", f"rater {rater} gave {text} for item {item}: {error}") from None
    ratings.add(item, rater, value, row.number)
    return value is not None


def _name(row: Row, column: str) -> str:
    text = _cell(row, column)
    if not text:
        raise _RowError(column, "is empty; expected a name")
    return text


def _cell(row: Row, column: str) -> str:
    try:
        text = as_text(row.values.get(column)).strip()
        text.encode()
    except CellError as error:
        raise _RowError(column, str(error)) from None
    except UnicodeEncodeError as error:
        half = ord(error.object[error.start])
        raise _RowError(column, f"holds U+{half:04X}, half of a surrogate pair, which is not a character") from None
    if "\0" in text:
        raise _RowError(column, "holds a NUL byte, which text cannot hold")
    return text
