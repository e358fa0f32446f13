"""CASES 2 and 7: CSV and TSV as people write them."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.corpus.parsing.delimited import sniff_delimiter
from apps.corpus.parsing.records import FileError
from tests.corpus.readings import read


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_case_2_quoted_cells_hold_the_delimiter_a_doubled_quote_and_a_newline(delimiter):
    post = f'one{delimiter} "two"\r\nthree, four; five'
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerow(["id", "post", "reply"])
    writer.writerow(["1", post, "so, it; is"])
    writer.writerow(["2", "plain", "answer"])
    reading = read(file.getvalue())
    assert reading.texts == {"1": [post, "so, it; is"], "2": ["plain", "answer"]}
    assert reading.reader.table.delimiter == delimiter
    assert reading.reader.table.format == ("tsv" if delimiter == "\t" else "csv")


@given(
    st.sampled_from(",;\t|"),
    st.integers(2, 5),
    st.lists(st.lists(st.text(alphabet='ab ,;|\t"\n', max_size=12), min_size=5, max_size=5), min_size=1, max_size=20),
)
def test_the_delimiter_is_found_whatever_the_quoted_cells_hold(delimiter, width, rows):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow([f"column{number}" for number in range(width)])
    writer.writerows(row[:width] for row in rows)
    assert sniff_delimiter(file.getvalue()) == delimiter


def test_commas_in_free_text_do_not_outvote_the_semicolons_of_the_header():
    rows = "".join(f"{number};Well, I see, yes;and, no, never\n" for number in range(30))
    assert sniff_delimiter(f"id;post;reply\n{rows}") == ";"


def test_one_column_needs_no_delimiter():
    assert sniff_delimiter("id\nx,y\n") == ","


def test_case_2_a_missing_column_lists_the_headers_that_were_seen():
    with pytest.raises(FileError) as refusal:
        read("conv;who;said\n1;A;hello\n", "id=conv", "speaker=who", "text=utterance")
    assert str(refusal.value) == "The file has no column utterance (for text). Its headers are: conv, who, said."


def test_an_unmapped_required_field_lists_the_headers_too():
    with pytest.raises(FileError, match=r"No column is mapped to the field id\. The headers are: a, post, reply\."):
        read("a,post,reply\n1,x,y\n")


def test_a_message_stays_on_one_line_whatever_the_file_holds():
    with pytest.raises(FileError) as refusal:
        read('"a\nb","c\x1b[31m"\n1,2\n')
    assert str(refusal.value).endswith("The headers are: a\\nb, c\\x1b[31m.")
    problem = read('id,post,reply\n"x\ny",,b\n', name="a\nb.csv").problems[0]
    assert str(problem) == "a\\nb.csv, row 2, post: is empty; expected text"


def test_headers_that_come_twice_are_refused():
    with pytest.raises(FileError, match="These headers come more than once: rater, note"):
        read("id,post,reply,rater,note,rater,note\n1,a,b,c,d,e,f\n")


def test_an_unnamed_index_column_is_called_by_its_place():
    reading = read(",id,post,reply\n0,a,b,c\n")
    assert reading.records[0].metadata == {"column 1": "0"}


def test_a_row_with_too_few_or_too_many_cells_is_a_problem_with_its_row():
    reading = read("id,post,reply\n1,a,b\n2,a\n3,a,b,c\n4,a,b,,\n")
    assert reading.lines == [
        "row 3: has 2 cells where the header has 3",
        "row 4: has 4 cells where the header has 3",
    ]
    assert list(reading.texts) == ["1", "4"]


def test_rows_are_counted_as_a_spreadsheet_does():
    """The header is row 1, blank rows count, a line break inside a cell does not."""
    reading = read('id,post,reply\n1,"two\nlines",b\n\n2,,b\n')
    assert reading.lines == ["row 4, post: is empty; expected text"]


def test_case_7_a_nul_byte_is_refused_with_its_row():
    reading = read(b"id,post,reply\n1,a,b\n2,a\0,b\n3,a,b\n")
    assert reading.lines == ["row 3: holds a NUL byte, which text cannot hold"]
    assert list(reading.texts) == ["1", "3"]


def test_a_quoted_cell_that_goes_on_after_its_quote_is_a_problem_and_reading_goes_on():
    reading = read('id,post,reply\n1,"a" b,c\n2,a,b\n')
    assert reading.lines == [
        "row 2: a quoted cell goes on after its closing quote; double every quote inside a quoted cell"
    ]
    assert list(reading.texts) == ["2"]


def test_a_quoted_cell_that_never_ends_is_refused_with_the_row_where_it_begins():
    with pytest.raises(FileError, match="Row 3: a quoted cell is not closed"):
        read('id,post,reply\n1,a,b\n2,"a,b\n3,a,b\n')


def test_case_7_a_turn_of_one_megabyte_is_stored_whole():
    text = "long, long\n" * 100_000
    assert read(f'id,post,reply\n1,"{text}",b\n').texts["1"][0] == text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_works_with_and_without_a_last_one(end):
    text = end.join(["id,post,reply", "1,a,b", "2,c,d"])
    assert read(text).texts == read(text + end).texts == {"1": ["a", "b"], "2": ["c", "d"]}


@pytest.mark.parametrize("text", ["", " \n\n", "\ufeff"])
def test_an_empty_file_is_refused(text):
    with pytest.raises(FileError, match="empty"):
        read(text)


def test_a_header_alone_is_refused():
    with pytest.raises(FileError, match="no rows besides its header"):
        read("id,post,reply\n")
