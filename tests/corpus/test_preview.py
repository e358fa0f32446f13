"""What a person sees of a file before it is imported."""

import io

import pytest

from apps.corpus.parsing.mapping import parse_mapping
from apps.corpus.parsing.preview import SpeakerPreview, preview
from apps.corpus.parsing.records import FileError

TURNS = "id,turn_index,speaker,text\n" + "".join(
    f"c{number},{turn},{speaker},said_comma_ {turn}\n"
    for number in range(3)
    for turn, speaker in enumerate(("Seeker", "Anna"))
)


def test_columns_come_with_counts_and_the_guess():
    seen = preview(io.BytesIO(TURNS.encode()))
    assert (seen.format, seen.encoding, seen.delimiter, seen.fault, seen.is_cut) == ("csv", "utf-8", ",", "", False)
    assert seen.mapping.mapped() == {name: name for name in ("id", "turn_index", "speaker", "text")}
    speaker = next(column for column in seen.columns if column.name == "speaker")
    assert (speaker.filled, speaker.distinct, speaker.values) == (6, 2, [("Seeker", 3), ("Anna", 3)])
    assert seen.rows == 6
    assert [record.external_id for record in seen.conversations] == ["c0", "c1", "c2"]
    assert seen.speakers == [SpeakerPreview("Seeker", 3, "seeker", True), SpeakerPreview("Anna", 3, "other", False)]
    assert seen.rows_with_comma_mark == 6
    assert seen.notices.total == 2


def test_a_mapping_that_does_not_fit_is_a_fault_and_the_columns_are_shown_all_the_same():
    seen = preview(io.BytesIO(b"a,b\n1,hello\n,\n"))
    assert seen.fault.startswith("No column is mapped to the text.")
    assert [(column.name, column.filled, column.values) for column in seen.columns] == [
        ("a", 1, [("1", 1)]),
        ("b", 1, [("hello", 1)]),
    ]


def test_an_edited_mapping_is_followed():
    seen = preview(io.BytesIO(TURNS.encode()), parse_mapping(["speaker.Anna=supporter"], clean_commas=True))
    assert seen.speakers[1] == SpeakerPreview("Anna", 3, "supporter", True)
    assert seen.conversations[0].turns[1].text == "said, 1"


def test_only_the_first_rows_are_read():
    rows = "".join(f"{number},a,\n" for number in range(500))
    seen = preview(io.BytesIO(f"id,post,reply\n{rows}".encode()))
    assert (seen.rows, seen.is_cut, seen.problems.total, seen.conversations) == (200, True, 200, [])


def test_a_fault_far_below_does_not_hide_the_preview():
    rows = "".join(f"{number},a,b\n" for number in range(100_000))
    seen = preview(io.BytesIO(f"id,post,reply\n{rows}".encode() + b"\xff"))
    assert seen.fault == ""
    assert len(seen.conversations) == 5


def test_long_values_are_cut_and_lists_shown():
    seen = preview(io.BytesIO(f'{{"id": 1, "post": "{"x" * 300}", "reply": "b", "tags": ["t"]}}'.encode()))
    assert len(seen.columns[1].values[0][0]) == 200
    assert seen.columns[3].values == [("['t']", 1)]


def test_what_cannot_be_read_at_all_is_refused():
    with pytest.raises(FileError, match="empty"):
        preview(io.BytesIO(b""))
