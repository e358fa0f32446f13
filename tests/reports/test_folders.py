from dataclasses import dataclass
from typing import BinaryIO

import pytest

from apps.reports.folders import UnknownFormatError, parse_formats, write_files


@dataclass
class Text:
    name: str
    text: str | None

    def write(self, out: BinaryIO) -> None:
        if self.text is None:
            raise RuntimeError("no text")
        out.write(self.text.encode())


def test_formats_are_named_once_each():
    assert parse_formats(" csv,JSON,csv ") == ("csv", "json")


@pytest.mark.parametrize(("text", "named"), [("csv,docx", "docx"), ("pdf,svg,rtf", "pdf, rtf"), ("", "''")])
def test_an_unknown_format_names_those_that_are_known(text, named):
    known = "csv, json, xlsx, tex, html, txt, svg, png, zip"
    with pytest.raises(UnknownFormatError, match=rf"Unknown format {named}; expected one of {known}\."):
        parse_formats(text)


def test_a_folder_gets_all_files_and_nothing_else(tmp_path):
    folder = tmp_path / "new" / "out"
    written = write_files([Text("a.csv", "1\n"), Text("b.json", "{}")], folder)
    assert written == [folder / "a.csv", folder / "b.json"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a.csv": b"1\n", "b.json": b"{}"}


def test_a_report_that_fails_leaves_the_old_one(tmp_path):
    write_files([Text("a.csv", "old")], tmp_path)
    with pytest.raises(RuntimeError):
        write_files([Text("a.csv", "new"), Text("b.json", None)], tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.csv": b"old"}
