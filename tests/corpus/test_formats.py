"""What a file is, by its content, and what is refused before it is read."""

import io

import pytest

from apps.corpus.parsing.formats import begins_like_json
from apps.corpus.parsing.records import FileError
from apps.corpus.parsing.rows import open_table
from tests.corpus.readings import parquet, read, workbook

TABLE = "id,post,reply\n1,a,b\n"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Excel"),
        (b"\x1f\x8b\x08", "compressed with gzip"),
        (b"%PDF-1.7", "a PDF"),
        (b"\x89PNG\r\n", "a picture"),
        (b"SQLite format 3\x00", "an SQLite database"),
    ],
)
def test_files_of_another_kind_are_named(data, what):
    with pytest.raises(FileError, match=f"The file is {what}"):
        read(data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id": 1}', True),
        ("\ufeff \n[ {", True),
        ("[]", True),
        ("[[1]]", True),
        ("[id],text", False),
        ("{curly} header,text", False),
        ("id,text", False),
    ],
)
def test_json_is_told_from_a_table_that_begins_with_a_bracket(text, expected):
    assert begins_like_json(text) is expected


def test_a_format_may_be_forced():
    assert read("id\tpost\treply\n1\ta,b,c\td\n", format="tsv").texts == {"1": ["a,b,c", "d"]}
    assert read(TABLE, format="CSV").reader.table.format == "csv"
    with pytest.raises(FileError, match="docx is not a format known here; expected one of csv, tsv"):
        read(TABLE, format="docx")


@pytest.mark.parametrize(
    ("data", "asked", "found"),
    [
        (workbook(["id"], ["1"]), "csv", "xlsx"),
        (parquet(id=["1"]), "xlsx", "parquet"),
        (TABLE.encode(), "xlsx", "plain text"),
        (TABLE.encode(), "parquet", "plain text"),
    ],
)
def test_a_forced_format_that_the_content_contradicts_is_refused(data, asked, found):
    with pytest.raises(FileError, match=f"The file is not {asked}: it is {found}"):
        read(data, format=asked)


def test_a_file_beyond_the_bound_is_refused_unread(monkeypatch):
    monkeypatch.setattr("apps.corpus.parsing.rows.MAX_FILE_BYTES", 10)
    with pytest.raises(FileError, match="at most 0 MiB are allowed"):
        open_table(io.BytesIO(TABLE.encode()))


def test_more_rows_than_the_bound_are_refused(monkeypatch):
    monkeypatch.setattr("apps.corpus.parsing.reading.MAX_ROWS", 3)
    with pytest.raises(FileError, match="more than 3 rows"):
        read("id,post,reply\n1,a,b\n2,a,b\n3,a,b\n")
