import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.measures.scale import Level, Scale
from apps.reliability.accounting import BlockAccount, ItemsAccount, ItemUse
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey, table_hash
from apps.reports.long_table import (
    LongTableError,
    TableHead,
    items_place,
    read_items,
    read_ratings,
    write_items,
    write_ratings,
)
from tests.reliability.conftest import make_table
from tests.reports.made import study_tables


def ratings_of(*tables: RatingTable) -> bytes:
    out = io.BytesIO()
    write_ratings(tables, out)
    return out.getvalue()


def items_of(*tables: RatingTable, blocks=()) -> bytes:
    out = io.BytesIO()
    write_items(tables, blocks, out)
    return out.getvalue()


def head_of(table: RatingTable) -> TableHead:
    return TableHead(table.key, table.scale, table.raters, table.repeats is not None)


def again(*tables: RatingTable) -> list[RatingTable]:
    items = read_items(io.BytesIO(items_of(*tables)))
    return list(read_ratings(io.BytesIO(ratings_of(*tables)), [head_of(table) for table in tables], items))


def hashes(tables) -> list[str]:
    return [table_hash(table) for table in tables]


def test_every_rating_is_a_row_with_its_value_in_full():
    text = ratings_of(*study_tables(["warmth"])).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert list(rows[0]) == ["block", "framework", "dimension", "item", "rater", "kind", "aggregate", "repeat", "value"]
    assert len(rows) == 35
    crowd = [row for row in rows if row["rater"] == "crowd"]
    assert {(row["kind"], row["aggregate"], row["repeat"]) for row in crowd} == {("crowd", "true", "false")}
    assert float(crowd[4]["value"]) == 10 / 3
    assert crowd[0]["value"] == "1.5"
    assert rows[0]["value"] == "1"


def test_tables_come_back_with_items_that_nobody_rated_and_repeats():
    repeated = make_table({"e1": [1, 2, None], "e2": [3, None, None]}, repeats={"e1": [2, None, None]})
    empty_repeats = make_table({"e1": [1, 2]}, repeats={"e1": [None, None]}, key=TableKey("other", "warmth", "empathy"))
    tables = [repeated, empty_repeats]
    assert hashes(again(*tables)) == hashes(tables)
    assert again(*tables)[1].repeats is not None


def test_a_report_without_ratings_has_a_header_only():
    assert ratings_of().count(b"\n") == 1
    assert again() == []


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=6)
VALUES = st.one_of(st.none(), st.floats(-5, 5))


@settings(deadline=None)
@given(
    st.lists(NAMES, min_size=1, max_size=4, unique=True),
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    NAMES,
    st.data(),
)
def test_any_names_and_values_come_back_to_the_last_bit(items, raters, dimension, data):
    """CASES 28: commas, quotes, line ends, emoji and combining marks in names."""
    values = np.array(data.draw(st.lists(VALUES, min_size=len(items) * len(raters), max_size=len(items) * len(raters))))
    table = RatingTable.of(
        TableKey("", "", dimension),
        Scale((-5.0, 5.0)),
        items,
        [RaterKey(rater) for rater in raters],
        values.astype(np.float64).reshape(len(items), len(raters)),
    )
    assert hashes(again(table)) == [table_hash(table)]


def test_formulas_are_escaped_and_numbers_stay():
    """CASES 26."""
    columns = {"-1": [-1], "=cmd()": [2], "+1+1": [3], "@x": [1], "\tx": [1], "\rx": [2]}
    table = make_table(columns, points=(-1.0, 1.0, 2.0, 3.0))
    text = ratings_of(table).decode()
    assert '"-1","expert",false,false,-1\n' in text
    for name in ("=cmd()", "+1+1", "@x", "\tx", "\rx"):
        assert f'"\'{name}"' in text
        assert f'"{name}"' not in text
    assert hashes(again(table)) == [table_hash(table)]


def test_items_say_what_became_of_each():
    beside = (
        ItemsAccount(ItemUse.PRACTICE, 1, ("warm-up",)),
        ItemsAccount(ItemUse.REPEAT, 1, ("i000",)),
        ItemsAccount(ItemUse.NOT_CHOSEN, 20_000),
        ItemsAccount(ItemUse.NOBODY, 1, ("i007",)),
    )
    text = items_of(*study_tables(["warmth", "fluency"]), blocks=[BlockAccount("letters", 8, 7, beside)]).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    by_item = {(row["item"], row["role"]): row for row in rows}
    assert len(rows) == 8 + 3
    used = by_item["i000", "main"]
    assert (used["ratings"], used["used"], used["in_tables"], used["reason"]) == ("10", "true", "true", "")
    nobody = by_item["i007", "main"]
    assert (nobody["ratings"], nobody["used"], nobody["reason"]) == ("0", "false", "no rating of it takes part")
    assert by_item["warm-up", "practice"]["used"] == "false"
    assert by_item["i000", "repeat"]["used"] == "true"
    assert by_item["", "main"]["reason"].endswith("(20000 items, too many to be named)")
    assert read_items(io.BytesIO(text.encode())) == {("letters", ""): [f"i{number:03d}" for number in range(8)]}


def test_dimensions_of_a_file_have_items_of_their_own():
    assert items_place(TableKey("", "", "warmth")) == ("", "warmth")
    assert items_place(TableKey("letters", "care", "warmth")) == ("letters", "")


HEADER = "block,framework,dimension,item,rater,kind,aggregate,repeat,value\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n", "ratings.csv has other columns; expected block, framework,"),
        (HEADER + "main,warmth,empathy,i000,a,expert,false,false,high\n", "ratings.csv cannot be read: "),
        (HEADER + "main,warmth,empathy,i000,a,expert,maybe,false,1\n", "ratings.csv cannot be read: "),
        (
            HEADER + "main,warmth,empathy,i000,a,expert,false,false,nan\n",
            "ratings.csv, row 2, value: expected a number",
        ),
        (HEADER + "main,warmth,cold,i000,a,expert,false,false,1\n", "ratings.csv, row 2: the manifest has no scale"),
        (HEADER + "main,warmth,empathy,i009,a,expert,false,false,1\n", "ratings.csv, row 2: item i009 is not in items"),
        (HEADER + "main,warmth,empathy,i000,z,expert,false,false,1\n", "ratings.csv, row 2: rater z is not in the"),
        (HEADER + "main,warmth,empathy,i000,a,expert,false,true,1\n", "ratings.csv has repeats on main/warmth/empathy"),
        (HEADER + "main,warmth,empathy,i000,a,expert,false,false,9\n", "The ratings on main/warmth/empathy make no"),
        (HEADER + "main,warmth,empathy,i000,a,expert,false,false,1\n" * 2, "ratings.csv rates an item twice on main/"),
        ("", "ratings.csv cannot be read: "),
    ],
)
def test_a_long_table_that_does_not_fit_is_one_sentence(text, sentence):
    table = make_table({"a": [1], "b": [2]})
    with pytest.raises(LongTableError) as error:
        list(read_ratings(io.BytesIO(text.encode()), [head_of(table)], {("main", ""): ["i000"]}))
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"item\nx\n", "items.csv has other columns"),
        (b"block,dimension,item,role,in_tables,ratings,used,reason\nx\n", "items.csv, row 2: expected 8 cells."),
        (b"\xff\xfe", "items.csv cannot be read"),
    ],
)
def test_items_that_cannot_be_read_are_one_sentence(data, sentence):
    with pytest.raises(LongTableError, match=sentence):
        read_items(io.BytesIO(data))


def test_nominal_scales_and_kinds_come_back():
    table = make_table({"a": [1, 2], "b": [2, 2]}, level=Level.NOMINAL, kinds={"a": Kind.REFERENCE, "b": Kind.BASELINE})
    assert hashes(again(table)) == [table_hash(table)]


def test_a_block_without_a_rating_lists_its_items_once():
    unrated = ItemsAccount.of(ItemUse.NOBODY, ["i1", "i2"])
    rated = ItemsAccount.of(ItemUse.NOBODY, ["i007"])
    blocks = (BlockAccount("letters", 8, 7, (rated,)), BlockAccount("idle", 2, 0, (unrated,)))
    rows = list(csv.DictReader(io.StringIO(items_of(*study_tables(["warmth"]), blocks=blocks).decode(), newline="")))
    assert sum(row["item"] == "i007" for row in rows) == 1
    idle = [row for row in rows if row["block"] == "idle"]
    assert [(row["item"], row["in_tables"], row["used"], row["reason"]) for row in idle] == [
        ("i1", "false", "false", "no rating of it takes part"),
        ("i2", "false", "false", "no rating of it takes part"),
    ]
