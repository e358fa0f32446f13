import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from apps.corpus.parsing.records import EncodingError, FileError
from apps.measures.scale import Level
from apps.reports import rating_files
from apps.reports.rating_files import DeclaredPoints, RatingFile, declare_points, read_rating_file

FIVE = declare_points("1,2,3,4,5", Level.ORDINAL)


def read(text: str | bytes, points: DeclaredPoints = FIVE, aggregates: tuple[str, ...] = ()) -> RatingFile:
    content = text if isinstance(text, bytes) else text.encode()
    return read_rating_file(io.BytesIO(content), points, aggregates=aggregates)


def problems(text: str, points: DeclaredPoints = FIVE, aggregates: tuple[str, ...] = ()) -> list[str]:
    found = read(text, points, aggregates)
    assert found.tables == []
    return [str(problem) for problem in found.problems.shown]


def test_labels_are_ranked_as_declared_and_numbers_stand_for_themselves():
    """CASES 23: sorted as text, `high` would come first and 10 before 2."""
    labels = declare_points("low,medium,high", Level.ORDINAL)
    assert labels.labels == {"low": 1, "medium": 2, "high": 3}
    numbers = declare_points("0,1,2,3,4,5,6,7,8,9,10", Level.ORDINAL)
    assert numbers.scale.points == tuple(float(point) for point in range(11))
    assert declare_points("0..10", Level.ORDINAL).scale == numbers.scale
    assert declare_points("-1, 0.5 ,2", Level.ORDINAL).scale.points == (-1, 0.5, 2)


def test_nominal_numbers_may_come_in_any_order():
    assert declare_points("3,1,2", Level.NOMINAL).scale.points == (1, 2, 3)


def test_digits_that_are_written_otherwise_are_no_numbers():
    """Python reads 1_0 as ten."""
    tens = declare_points("0..10", Level.ORDINAL)
    [problem] = problems("item,rater,value\na,x,1_0\n", tens)
    assert problem.startswith("row 2, value: rater x gave 1_0 for item a: expected one of 0, 1")


@pytest.mark.parametrize("text", ["1e300,2e300", "-2e9,0", "1e-300,2e-300", "0,1,1.0000001"])
def test_points_too_large_or_too_close_to_compute_with_are_refused(text):
    with pytest.raises(ValueError, match=r"too large or too close; expected numbers of at most 1000000000, at least"):
        declare_points(text, Level.ORDINAL)
    assert declare_points("-1e9,0,0.000001,1e9", Level.ORDINAL).scale.q == 4


@pytest.mark.parametrize("text", ["", "1", "1,1", "3,2,1", "1,,2", "low,low", "5..1", "nan,inf", "0..5000"])
def test_points_that_make_no_scale_are_refused_in_a_sentence(text):
    with pytest.raises(ValueError, match=r"points .*\."):
        declare_points(text, Level.ORDINAL)


def test_labels_are_matched_as_written():
    points = declare_points("low,medium,high", Level.ORDINAL)
    [table] = read("item,rater,value\na,x,high\na,y,low\nb,x,medium\nb,y,medium\n", points).tables
    assert_array_equal(table.values, [[3, 1], [2, 2]])
    assert problems("item,rater,value\na,x,High\n", points) == [
        "row 2, value: rater x gave High for item a: expected one of low, medium, high"
    ]


def test_values_between_points_come_from_declared_aggregates_only():
    text = "item,rater,value\na,x,3\na,crowd,2.5\nb,x,3.0\nb,crowd,3.33\n"
    [table] = read(text, aggregates=("crowd",)).tables
    assert [(rater.name, rater.is_aggregate) for rater in table.raters] == [("crowd", True), ("x", False)]
    assert_array_equal(table.values, [[2.5, 3], [3.33, 3]])
    assert problems(text) == [
        "row 3, value: rater crowd gave 2.5 for item a: expected one of 1, 2, 3, 4, 5; "
        "a rater declared as an aggregate may give values between",
        "row 5, value: rater crowd gave 3.33 for item b: expected one of 1, 2, 3, 4, 5; "
        "a rater declared as an aggregate may give values between",
    ]
    assert problems("item,rater,value\na,crowd,5.5\n", aggregates=("crowd",)) == [
        "row 2, value: rater crowd gave 5.5 for item a: expected one of 1, 2, 3, 4, 5"
    ]


@pytest.mark.parametrize("value", ["0", "6", "x", "nan", "inf", "1e9", "true", "٣", "３", "1_0"])
def test_a_value_that_is_no_point_names_row_rater_value_and_what_was_expected(value):
    assert problems(f"item,rater,value\na,x,1\nb,x,{value}\n") == [
        f"row 3, value: rater x gave {value} for item b: expected one of 1, 2, 3, 4, 5"
    ]


def test_a_decimal_comma_gets_a_hint():
    [problem] = problems("item;rater;value\na;x;3,5\n")
    assert problem.endswith("expected one of 1, 2, 3, 4, 5; write 3.5 with a decimal point")


def test_a_long_scale_is_named_by_its_ends():
    [problem] = problems("item,rater,value\na,x,101\n", declare_points("0..100", Level.ORDINAL))
    assert problem.endswith("expected one of the 101 points from 0 to 100")


def test_a_rating_twice_with_one_value_counts_once_and_with_two_is_a_problem():
    [table] = read("item,rater,value\na,x,2\na,x,2.0\nb,x,1\n").tables
    assert_array_equal(table.values, [[2], [1]])
    points = declare_points("low,high", Level.ORDINAL)
    assert problems("item,rater,value\na,x,low\na,y,low\na,x,high\n", points) == [
        "row 4, value: rater x gave high for item a, but low in row 2; "
        "expected one value for an item, rater and dimension"
    ]


def test_an_empty_value_is_missing_and_keeps_its_item_and_rater():
    found = read("item,rater,value\na,x,2\na,y,\nb,y,1\n")
    assert (found.ratings, found.missing) == (2, 1)
    assert_array_equal(found.tables[0].values, [[2, np.nan], [np.nan, 1]])


def test_ids_stay_text():
    """CASES 3."""
    text = "item,rater,value\n001,1,2\n1,1,3\n20241031124050492385,1,4\nN/A,1,5\nnull,01,1\n"
    [table] = read(text).tables
    assert table.items == ("001", "1", "20241031124050492385", "N/A", "null")
    assert [rater.name for rater in table.raters] == ["01", "1"]


def test_dimensions_are_tables_of_their_own():
    text = "dimension,value,rater,item\nwarmth,1,x,a\nfluency,5,x,a\nwarmth,2,y,a\n"
    tables = read(text).tables
    assert [table.key.dimension for table in tables] == ["warmth", "fluency"]
    assert_array_equal(tables[0].values, [[1, 2]])
    assert problems("item,rater,value,dimension\na,x,1,\n") == ["row 2, dimension: is empty; expected a name"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_marked_encodings_are_read(encoding):
    """CASES 1."""
    [table] = read("item,rater,value\ncafé,zoë,2\ncafé,x,3\n".encode(encoding)).tables
    assert table.items == ("café",)


def test_a_bad_byte_refuses_the_file_with_its_offset():
    """CASES 1 and 5: also far into the file."""
    with pytest.raises(EncodingError, match="0xe9 at offset 20"):
        read(b"item,rater,value\ncaf\xe9,x,2\n")
    rows = b"".join(b"i%d,x,2\n" % number for number in range(2500))
    with pytest.raises(EncodingError, match="0xe9"):
        read(b"item,rater,value\n" + rows + b"caf\xe9,x,2\n")


def test_missing_columns_are_named_with_the_headers_that_were_seen():
    """CASES 2."""
    with pytest.raises(FileError, match=r"no column rater, value; .* Its headers are: item, score\."):
        read("item,score\na,1\n")


def test_quoted_cells_and_other_delimiters_are_read():
    """CASES 2."""
    [table] = read('item\trater\tvalue\n"a\tb ""c""\nd"\tx\t2\n"a\tb ""c""\nd"\ty\t3\n').tables
    assert table.items == ('a\tb "c"\nd',)


def test_json_lines_are_read_like_rows():
    [table] = read('{"item": 7, "rater": "x", "value": 3}\n{"item": "7", "rater": "y", "value": "4"}\n').tables
    assert table.items == ("7",)
    assert_array_equal(table.values, [[3, 4]])


@pytest.mark.parametrize("text", ["", "item,rater,value\n"])
def test_an_empty_file_is_refused(text):
    with pytest.raises(FileError, match=r"empty|no ratings"):
        read(text)


def test_an_aggregate_that_is_not_in_the_file_is_a_slip():
    with pytest.raises(FileError, match="No rater of the file is called crowds"):
        read("item,rater,value\na,crowd,2\n", aggregates=("crowds",))


def test_an_item_or_rater_without_a_name_is_a_problem():
    assert problems("item,rater,value\n,x,1\na, ,1\n") == [
        "row 2, item: is empty; expected a name",
        "row 3, rater: is empty; expected a name",
    ]


def test_what_no_file_can_hold_is_a_problem_of_its_row():
    text = '{"item": "a", "rater": "\\ud800", "value": 1}\n{"item": "a\\u0000", "rater": "x", "value": 1}\n'
    assert problems(text) == [
        "row 1, rater: holds U+D800, half of a surrogate pair, which is not a character",
        "row 2, item: holds a NUL byte, which text cannot hold",
    ]


def test_a_table_that_fits_no_memory_is_refused_before_it_is_made(monkeypatch):
    """Should the columns be mixed up, every row has a rater of its own."""
    monkeypatch.setattr(rating_files, "MAX_CELLS", 5)
    text = "dimension,item,rater,value\nwarmth,a,x,1\nwarmth,b,y,1\nwarmth,c,x,2\n"
    with pytest.raises(FileError, match=r"The file holds 3 items and 2 raters on warmth; expected at most 5 places"):
        read(text)


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=6)


@given(st.dictionaries(st.tuples(NAMES, NAMES), st.integers(1, 5), min_size=1, max_size=12))
def test_what_was_written_is_read(ratings):
    import csv

    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(["item", "rater", "value"])
    writer.writerows((item, rater, value) for (item, rater), value in ratings.items())
    [table] = read(out.getvalue()).tables
    names = [rater.name for rater in table.raters]
    for (item, rater), value in ratings.items():
        assert table.values[table.items.index(item), names.index(rater)] == value
    assert int((~np.isnan(table.values)).sum()) == len(ratings)


@pytest.mark.parametrize("column", ["block", "framework", "item_role", "excluded"])
def test_an_export_of_a_study_is_refused_since_its_exclusions_and_roles_would_be_ignored(column):
    text = f"item,rater,value,{column}\na,one,1,x\n"
    with pytest.raises(FileError, match=f"The file has {column}, which only a study understands"):
        read_rating_file(io.BytesIO(text.encode()), declare_points("1,2,3", Level.ORDINAL))


def test_columns_that_play_no_part_are_named():
    found = read_rating_file(
        io.BytesIO(b"item,rater,value,age,note\na,one,1,30,x\n"), declare_points("1,2,3", Level.ORDINAL)
    )
    assert found.unread == ("age", "note")
