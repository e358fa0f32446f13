"""CASES 7: JSON and JSON Lines, read by content and as a stream."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.corpus.parsing.json_text import is_single_object, read_json, read_json_lines
from apps.corpus.parsing.records import FileError, Problem
from apps.corpus.parsing.tables import Row
from tests.corpus.readings import read

TALK = [{"role": "user", "content": "I am tired."}, {"role": "assistant", "content": "What tired you?"}]
RECORDS = [{"id": "a", "messages": TALK}, {"id": "b", "messages": TALK}]
LINES = "\n".join(map(json.dumps, RECORDS))


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (LINES, "jsonl"),
        (LINES + "\n\n", "jsonl"),
        (json.dumps(RECORDS), "json"),
        (json.dumps(RECORDS, indent=2), "json"),
        (json.dumps({"version": 1, "data": RECORDS}), "json"),
        (json.dumps({"version": 1, "data": RECORDS, "tags": ["x"]}, indent=2), "json"),
    ],
    ids=["lines", "blank last line", "array", "indented array", "object on one line", "indented object"],
)
@pytest.mark.parametrize("name", ["file.json", "file.jsonl", "file.txt"])
def test_case_7_json_is_read_by_content_and_never_by_name(text, format, name):
    reading = read(text, name=name)
    assert reading.reader.table.format == format
    assert reading.texts == {"a": ["I am tired.", "What tired you?"], "b": ["I am tired.", "What tired you?"]}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_single_record_is_a_record_although_it_holds_a_list(indent):
    assert list(read(json.dumps(RECORDS[0], indent=indent)).texts) == ["a"]


def test_ids_keep_every_digit_and_zero():
    text = '[{"id": 20241031124050492385, "post": "a", "reply": 1.50}, {"id": "001", "post": "N/A", "reply": "None"}]'
    assert read(text).texts == {"20241031124050492385": ["a", "1.50"], "001": ["N/A", "None"]}


def test_numbers_of_the_metadata_stay_numbers_and_none_is_infinite():
    record = read(
        '{"id": 1, "post": "a", "reply": "b", "n": 3, "f": 0.5, "big": 1e999, "odd": NaN, "deep": [1, {"x": 2}]}'
    )
    assert record.records[0].metadata == {"n": 3, "f": 0.5, "big": "1e999", "odd": "NaN", "deep": [1, {"x": 2}]}


def test_a_line_that_is_no_json_is_a_problem_with_its_line_number():
    reading = read(f"{LINES}\n{{'id': 1}}\n[1, 2]\n{json.dumps(RECORDS[0] | {'id': 'c'})}")
    assert [problem.row for problem in reading.problems] == [3, 4]
    assert "is not valid JSON" in reading.lines[0]
    assert "expected a JSON object" in reading.lines[1]
    assert list(reading.texts) == ["a", "b", "c"]


@pytest.mark.parametrize("character", ["\\u0000", "\\ud83d"])
@pytest.mark.parametrize("place", ["text", "metadata", "id"])
def test_case_7_what_no_database_stores_is_refused_with_the_row(character, place):
    values = {"text": "a", "metadata": "m", "id": "2"} | {place: f"x{character}"}
    bad = f'{{"id": "{values["id"]}", "post": "{values["text"]}", "reply": "b", "note": "{values["metadata"]}"}}'
    reading = read('{"id": "1", "post": "a", "reply": "the letters \\\\u0000 are text"}\n' + bad)
    assert list(reading.texts) == ["1"]
    assert [problem.row for problem in reading.problems] == [2]
    assert ("NUL byte" if "0000" in character else "half of a surrogate pair") in reading.lines[0]


def test_a_key_named_twice_is_a_problem():
    reading = read('{"id": "1", "post": "a", "reply": "b"}\n{"id": "1", "post": "a", "reply": "b", "post": "c"}')
    assert reading.lines == ["row 2: names the key post twice"]


def test_records_of_several_shapes_are_read_each_by_its_own_keys():
    lines = [RECORDS[0], {"messages": TALK[:1]}, {"id": None, "messages": TALK, "model": "x"}]
    reading = read("\n".join(map(json.dumps, lines)))
    assert [len(record.external_id) for record in reading.records] == [1, 32, 32]
    assert reading.problems == []


def test_a_record_without_the_mapped_key_is_a_problem_with_its_row():
    reading = read(f'{LINES}\n{{"id": "c", "talk": []}}')
    assert reading.lines == ["row 3, messages: is empty; expected a list of messages"]


def test_a_key_that_no_record_has_is_refused_with_the_keys_seen():
    with pytest.raises(FileError, match=r"No record has the key modle\. Keys seen: id, messages\."):
        read(LINES, "factor.model=modle")


def test_a_mapped_key_may_come_late():
    lines = [json.dumps({"id": str(number), "messages": TALK}) for number in range(300)]
    lines.append(json.dumps({"id": "last", "messages": TALK, "model": "m1"}))
    assert read("\n".join(lines), "factor.model=model").records[-1].factors == {"model": "m1"}


def test_several_lists_of_records_are_refused():
    with pytest.raises(FileError, match="several lists of records: a, b"):
        read(json.dumps({"a": [{"id": 1, "post": "x", "reply": "y"}], "b": [{"id": 2}]}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"id": 1}, {"id": 2]', "Record 2: Not valid JSON"),
        ('[{"id": 1} {"id": 2}]', "expected ,"),
        ('[{"id": 1}', "end of the file"),
        ('[{"id": 1}] 5', "after the end of the records"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": 1, 5: 2}', "Not valid JSON"),
    ],
)
def test_broken_json_is_refused_with_what_was_expected(text, message):
    with pytest.raises(FileError, match=message):
        list(read_json(iter([text])))


def test_json_lines_of_arrays_are_problems_when_lines_are_asked_for():
    with pytest.raises(FileError, match="None of the first records can be read"):
        read(json.dumps(RECORDS), format="jsonl")


@given(
    st.lists(
        st.dictionaries(st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=5), st.lists(st.integers()))),
        max_size=5,
    ),
    st.sampled_from([None, 0, 3]),
    st.integers(1, 9),
)
def test_an_array_reads_the_same_however_the_text_is_cut(records, indent, size):
    text = json.dumps(records, indent=indent)
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    rows = list(read_json(iter(pieces)))
    assert [row.number for row in rows] == list(range(1, len(records) + 1))
    assert [{key: str(value) for key, value in row.values.items()} for row in rows if isinstance(row, Row)] == [
        {key: str(value) for key, value in record.items()} for record in json.loads(text, parse_int=str)
    ]


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=5), min_size=1), min_size=2, max_size=5))
def test_lines_and_a_single_object_are_told_apart(records):
    lines = "\n".join(map(json.dumps, records))
    assert not is_single_object(iter([lines]))
    assert is_single_object(iter([json.dumps({"data": records}, indent=1)]))
    assert [row.values for row in read_json_lines(lines.splitlines()) if isinstance(row, Row)] == records


def test_a_broken_first_line_does_not_hide_the_others():
    reading = read(f'{{"id": }}\n{LINES}')
    assert reading.reader.table.format == "jsonl"
    assert [problem.row for problem in reading.problems] == [1]


def test_a_value_too_deep_for_the_parser_is_a_problem_of_its_line():
    rows = list(read_json_lines(["[" * 100_000]))
    assert rows == [Problem(1, "", "is nested too deeply")]


def test_a_record_beyond_the_bound_is_refused(monkeypatch):
    monkeypatch.setattr("apps.corpus.parsing.json_text.MAX_RECORD_CHARACTERS", 50)
    with pytest.raises(FileError, match="longer than 50 characters"):
        list(read_json(iter(['[{"id": "' + "a" * 60, "b" * 60, "c" * 300 + '"}]'])))
