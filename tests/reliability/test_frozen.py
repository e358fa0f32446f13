import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from apps.measures.scale import Level, Scale
from apps.reliability import kept
from apps.reliability.frozen import Freezer, FrozenTables
from apps.reliability.kept import UnreadableError
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey, content_hash, table_hash
from apps.reliability.row_files import pack_rows
from tests.reliability.conftest import FIVE_POINTS, make_table
from tests.reliability.strategies import files, studies


def frozen(tables) -> bytes:
    freezer = Freezer()
    assert list(freezer.passing(tables)) == list(tables)
    return freezer.bytes()


def assert_same(thawed: RatingTable, table: RatingTable) -> None:
    assert (thawed.key, thawed.scale, thawed.items, thawed.raters) == (
        table.key,
        table.scale,
        table.items,
        table.raters,
    )
    np.testing.assert_array_equal(thawed.values, table.values)
    assert (thawed.repeats is None) == (table.repeats is None)
    if table.repeats is not None:
        np.testing.assert_array_equal(thawed.repeats, table.repeats)
    assert table_hash(thawed) == table_hash(table)


def assert_round_trip(tables: list[RatingTable]) -> None:
    thawed = list(FrozenTables(frozen(tables)).tables())
    assert len(thawed) == len(tables)
    for one, table in zip(thawed, tables, strict=True):
        assert_same(one, table)
    assert content_hash(map(table_hash, thawed)) == content_hash(map(table_hash, tables))


@given(studies())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_tables_of_a_study_thaw_as_they_were(tables):
    assert_round_trip(tables)


@given(files())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_tables_of_a_file_thaw_as_they_were(tables):
    assert_round_trip(tables)
    thawed = FrozenTables(frozen(tables))
    for table in tables:
        assert thawed.items_of("", table.key.dimension) == list(table.items)
        assert thawed.raters_of("", table.key.dimension) == list(table.raters)


@pytest.mark.parametrize(
    "table",
    [
        make_table({"expert1": [None, None], "expert2": [None, None]}),
        make_table({"expert1": [None, None]}, repeats={"expert1": [None, 3]}),
        # Somebody's repeats were all left out: that they were is part of the data.
        make_table({"expert1": [1, 2]}, repeats={"expert1": [None, None]}),
        make_table({"a": [1, 3, 2]}, level=Level.NOMINAL, points=(1.0, 2.0, 3.0)),
        make_table({"crowd": [1.5, 10 / 3, 0.1 + 0.2 + 1]}, kinds={"crowd": Kind.CROWD}, aggregates=("crowd",)),
        make_table({"a": [-1, 0, 1e-300]}, points=(-1.0, 0.0, 0.1 + 0.2)),
    ],
    ids=["nobody rated", "repeats alone", "empty repeats", "nominal", "between points", "odd points"],
)
def test_the_odd_ones_thaw_as_they_were(table):
    assert_round_trip([table])


def test_no_table_at_all():
    thawed = FrozenTables(frozen([]))
    assert (thawed.scales(), thawed.raters(), list(thawed.tables())) == ([], [], [])


def test_thousands_of_raters_and_more_ratings_than_one_page_holds():
    rng = np.random.default_rng(7)
    values = rng.integers(1, 6, (400, 3000)).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    raters = [RaterKey(f"crowd{number:04d}", Kind.CROWD) for number in range(3000)]
    items = [f"i{number}" for number in range(400)]
    assert_round_trip([RatingTable.of(TableKey("main", "w", "d"), FIVE_POINTS, items, raters, values)])


def test_one_scale_is_read_without_the_others(monkeypatch):
    tables = [make_table({"a": [1, 2]}, key=TableKey("main", "w", f"scale_{number}")) for number in range(3)]
    thawed = FrozenTables(frozen(tables))
    read = []
    inner = thawed._table
    monkeypatch.setattr(thawed, "_table", lambda place, head: read.append(place) or inner(place, head))
    [table] = thawed.tables(dimension="scale_1")
    assert_same(table, tables[1])
    assert read == [1]


def test_heads_are_told_without_the_ratings():
    kinds = {"gpt": Kind.LLM}
    tables = [
        make_table({"b": [1, 2], "a": [2, 3]}, key=TableKey("one", "w", "x")),
        make_table(
            {"gpt": [1, 2, 4], "a": [2, 3, 5]}, kinds=kinds, key=TableKey("two", "w", "y"), points=(1.0, 3, 5.0)
        ),
    ]
    thawed = FrozenTables(frozen(tables))
    assert [(scale.key, scale.scale) for scale in thawed.scales()] == [
        (TableKey("one", "w", "x"), FIVE_POINTS),
        (TableKey("two", "w", "y"), Scale((1.0, 3.0, 5.0))),
    ]
    assert thawed.items_of("two") == ["i000", "i001", "i002"]
    assert [rater.name for rater in thawed.raters_of("two")] == ["a", "gpt"]
    assert [(rater.name, rater.kind) for rater in thawed.raters()] == [
        ("a", Kind.EXPERT),
        ("b", Kind.EXPERT),
        ("gpt", Kind.LLM),
    ]


def test_an_unknown_block_is_named():
    with pytest.raises(KeyError, match="elsewhere"):
        FrozenTables(frozen([make_table({"a": [1]})])).items_of("elsewhere")


def test_tables_of_one_block_must_have_the_same_items_and_raters():
    freezer = Freezer()
    freezer.add(make_table({"a": [1, 2]}))
    with pytest.raises(ValueError, match="block main differ in their items or raters"):
        freezer.add(make_table({"a": [1, 2, 3]}, key=TableKey("main", "w", "other")))


DATA = frozen([make_table({"a": [1, 2, 3], "b": [1, 2, 5]}), make_table({"a": [5, 5, 5], "b": [1, 2, 5]})])


def everything(data: bytes) -> list[str]:
    return [table_hash(table) for table in FrozenTables(data).tables()]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"{}", DATA[:40], DATA[:-1], DATA[:-30], DATA[8:], DATA + b"PAR1"])
def test_bytes_that_are_not_whole_are_refused(data):
    with pytest.raises(UnreadableError, match="damaged or cut short"):
        everything(data)


def test_every_changed_byte_of_the_ratings_is_noticed():
    for place in range(len(DATA)):
        changed = bytearray(DATA)
        changed[place] ^= 0x10
        with pytest.raises(UnreadableError):
            everything(bytes(changed))


def test_another_version_and_other_files_are_refused_by_name(monkeypatch):
    with pytest.raises(UnreadableError, match="these bytes hold figures; expected ratings"):
        FrozenTables(pack_rows([], []))
    monkeypatch.setattr(kept, "FORMAT", 2)
    with pytest.raises(UnreadableError, match="kept in format 1, and this version of Accord reads format 2"):
        FrozenTables(DATA)


def test_a_head_of_many_items_is_small_and_read_in_little_memory():
    items = [f"conversation-{number:06d}" for number in range(100_000)]
    table = RatingTable.of(
        TableKey("main", "w", "d"), FIVE_POINTS, items, [RaterKey("a", Kind.EXPERT)], np.full((100_000, 1), 3.0)
    )
    data = frozen([table])
    assert len(data) < 1_000_000
    tracemalloc.start()
    assert FrozenTables(data).items_of("main")[-1] == items[-1]
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60_000_000
