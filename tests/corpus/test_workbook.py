"""CASES 7: Excel workbooks, stored values only, and bounded before anything is unpacked."""

import io
import zipfile
from datetime import datetime

import openpyxl
import pytest

from apps.corpus.parsing.records import FileError
from tests.corpus.readings import read, workbook

HEADER = ["id", "post", "reply"]
SHEET = "xl/worksheets/sheet1.xml"


def with_part(data: bytes, name: str, change) -> bytes:
    """The archive with one part rewritten by `change(text)`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            text = old.read(part)
            new.writestr(part, change(text.decode()).encode() if part == name else text)
    return out.getvalue()


def test_a_sheet_is_read_by_content():
    reading = read(workbook(HEADER, ["001", "N/A", "None"], ["x", "null", "b"]), name="file.csv")
    assert reading.reader.table.format == "xlsx"
    assert reading.texts == {"001": ["N/A", "None"], "x": ["null", "b"]}


def test_numeric_ids_have_no_decimals():
    assert list(read(workbook(HEADER, [7, "a", "b"], [8.0, "a", "c"], [2.5, "a", "d"])).texts) == ["7", "8", "2.5"]


def test_case_3_a_numeric_id_beyond_fifteen_digits_is_warned_of():
    reading = read(workbook(HEADER, [20241031124050492385, "a", "b"], [7, "a", "d"]))
    assert [(notice.row, notice.field) for notice in reading.notices] == [(2, "id")]
    assert "more than 15 digits" in str(reading.notices[0])
    lost, kept = reading.texts
    assert (len(lost), lost[:15], kept) == (20, "202410311240504", "7")


def test_case_7_a_formula_gives_its_stored_value_and_is_never_evaluated():
    data = workbook(HEADER, ["1", "=1+1", "b"], ["2", "a", "c"])
    stored = with_part(
        data,
        SHEET,
        lambda text: text.replace("<v></v>", "<v>42</v>").replace("<v />", "<v>42</v>"),
    )
    assert read(stored).texts["1"] == ["42", "b"]
    # Never calculated, nothing stored: the cell is empty, and that is a problem.
    assert read(data).lines == ["row 2, post: is empty; expected text"]


def test_an_error_value_is_no_text():
    book = openpyxl.Workbook()
    book.active.append(HEADER)
    book.active.append(["1", "#N/A", "b"])
    book.active["B2"].data_type = "e"
    file = io.BytesIO()
    book.save(file)
    assert read(file.getvalue()).lines == ["row 2, post: holds the error value #N/A; expected text"]


def test_dates_numbers_and_switches_of_the_metadata_keep_their_meaning():
    row = ["1", "a", "b", datetime(2024, 10, 31, 12, 40), 3, 0.5, True]
    record = read(workbook([*HEADER, "when", "n", "f", "ok"], row)).records[0]
    assert record.metadata == {"when": "2024-10-31T12:40:00", "n": 3, "f": 0.5, "ok": True}


def test_a_carriage_return_inside_a_cell_is_not_spelled_out():
    """Excel writes CR as _x000D_ in the file."""
    assert read(workbook(HEADER, ["1", "a_x000D_\nb", "c"])).texts["1"][0] == "a\r\nb"


def test_empty_rows_count_and_are_left_out():
    reading = read(workbook(HEADER, ["1", "a", "b"], [], ["3", None, "b"]))
    assert reading.lines == ["row 4, post: is empty; expected text"]


def test_a_value_beside_the_table_is_a_problem():
    assert read(workbook(HEADER, ["1", "a", "b", None, "stray"])).lines == ["row 2: has 5 cells where the header has 3"]


def test_only_the_first_sheet_is_read_and_the_others_are_named():
    reading = read(workbook(HEADER, ["1", "a", "b"], sheets=("Talks", "Notes")))
    assert str(reading.notices[0]) == "only the sheet Talks is read; not read: Notes"


def test_case_7_a_zip_bomb_is_refused_by_its_declared_size_before_it_is_opened(monkeypatch):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open(SHEET, "w") as part:
            for _ in range(600):
                part.write(bytes(1024 * 1024))
    assert len(bomb.getvalue()) < 1024 * 1024

    def opened(*args, **kwargs):
        raise AssertionError("the workbook was opened")

    monkeypatch.setattr(openpyxl, "load_workbook", opened)
    with pytest.raises(FileError, match="would unpack to 600 MiB; at most 256 MiB"):
        read(bomb.getvalue())


def test_entities_that_grow_are_refused():
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    data = with_part(
        workbook(HEADER, ["1", "a", "b"]),
        SHEET,
        lambda text: text.replace("<worksheet", f"{bomb}<worksheet", 1),
    )
    with pytest.raises(FileError, match="declares XML entities"):
        read(data)


@pytest.mark.parametrize("cut", [40, 400, 4000])
def test_a_damaged_workbook_is_refused_in_one_sentence(cut):
    with pytest.raises(FileError, match="workbook"):
        read(workbook(HEADER, ["1", "a", "b"])[:cut])


def test_a_zip_that_is_no_workbook_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("talks.csv", "id,post,reply\n")
    with pytest.raises(FileError, match="no Excel workbook"):
        read(file.getvalue())


def test_a_row_number_out_of_the_world_does_not_make_rows_without_end(monkeypatch):
    monkeypatch.setattr("apps.corpus.parsing.workbook.MAX_ROWS", 1000)
    data = with_part(
        workbook(HEADER, ["1", "a", "b"]),
        SHEET,
        lambda text: text.replace('r="2"', 'r="99999999"').replace('r="A2"', 'r="A99999999"'),
    )
    with pytest.raises(FileError, match="more than 1,000 rows"):
        read(data)


def test_an_empty_sheet_is_refused():
    with pytest.raises(FileError, match="empty"):
        read(workbook())
