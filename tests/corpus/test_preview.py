"""What a person sees of a file before it is imported."""

import io

import pytest

from apps.corpus.parsing.doubts import NO_SUPPORTER, SINGLE_TURNS
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
    assert seen.notices.total == 3


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


def test_conversations_are_counted_beyond_those_shown():
    rows = "".join(f"{number},a,b\n" for number in range(6))
    seen = preview(io.BytesIO(f"id,post,reply\n{rows}".encode()))
    assert (len(seen.conversations), seen.n_conversations) == (5, 6)


@pytest.mark.parametrize("header", ["id,post,reply", "x,y,z"])
def test_a_row_with_a_stray_delimiter_counts_and_is_told_whatever_the_columns_mean(header):
    seen = preview(io.BytesIO(f"{header}\n1,a,b\n2,a,b,c\n3,a,b\n".encode()))
    assert seen.sampled == 3
    assert [str(problem) for problem in seen.problems.shown] == ["row 3: has 4 cells where the header has 3"]


def test_a_file_of_unknown_columns_tells_that_it_has_more_rows():
    rows = "".join(f"{number},{number},{number}\n" for number in range(300))
    seen = preview(io.BytesIO(f"x,y,z\n{rows}".encode()))
    assert (bool(seen.fault), seen.sampled, seen.is_cut) == (True, 200, True)


def test_conversations_of_one_turn_each_make_one_ask_for_the_id_column():
    rows = "".join(f"{number},user,a\n{number + 1},bot,b\n" for number in range(0, 12, 2))
    seen = preview(io.BytesIO(f"id,speaker,text\n{rows}".encode()))
    assert [str(notice) for notice in seen.notices.shown] == [f"id: {SINGLE_TURNS}"]
    single = preview(io.BytesIO(b"id,speaker,text\n1,bot,a\n"))
    assert single.notices.total == 0


def test_a_file_in_which_no_supporter_speaks_is_worth_a_warning():
    seen = preview(io.BytesIO(b"id,speaker,text\n1,user,a\n1,Ann,b\n"), parse_mapping(["speaker.Ann=other"]))
    assert [str(notice) for notice in seen.notices.shown] == [f"speaker: {NO_SUPPORTER}"]
    assert preview(io.BytesIO(b"id,mood\n1,a\n"), parse_mapping(without_text=True)).notices.total == 0
