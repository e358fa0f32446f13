"""The four shapes of a conversation in a file (CASES 3, 7, 8)."""

import json

import pytest

from apps.corpus.parsing.records import FileError
from tests.corpus.readings import read


def turns(reading, external_id):
    record = next(record for record in reading.records if record.external_id == external_id)
    return [(str(turn.role), turn.speaker, turn.text) for turn in record.turns]


# --- One row per turn ---------------------------------------------------------------------------------------------


def test_rows_of_a_conversation_are_gathered_wherever_they_lie_and_ordered_by_number():
    reading = read("id,turn_index,speaker,text\nb,1,Seeker,b1\na,10,user,a10\na,9,assistant,a9\nb,2,Supporter,b2\n")
    assert turns(reading, "a") == [("supporter", "assistant", "a9"), ("seeker", "user", "a10")]
    assert turns(reading, "b") == [("seeker", "Seeker", "b1"), ("supporter", "Supporter", "b2")]
    assert [record.row for record in reading.records] == [2, 3]


def test_without_numbers_the_rows_stand_in_order():
    assert read("id,speaker,text\na,user,z\na,user,y\n").texts == {"a": ["z", "y"]}


def test_case_8_consecutive_turns_of_one_speaker_stay_apart():
    assert read("id,speaker,text\na,user,one\na,user,two\n").texts == {"a": ["one", "two"]}


def test_a_number_that_comes_twice_is_a_problem():
    reading = read("id,turn_index,speaker,text\na,1,user,x\na,2,user,y\na,2.0,user,z\n")
    assert reading.lines == ["row 4, turn_index: 2 comes twice in a"]
    assert reading.records == []


def test_a_number_that_is_none_is_a_problem_and_a_gap_a_warning():
    reading = read("id,turn_index,speaker,text\na,one,user,x\nb,1,user,x\nb,4,user,y\n")
    assert reading.lines[0] == "row 2, turn_index: expected a whole number, found 'one'"
    assert str(reading.notices[1]) == (
        "row 3, turn_index: 2 of the numbers between 1 and 4 are missing in conversation b"
    )
    assert list(reading.texts) == ["b"]


def test_case_3_empty_text_is_a_problem_and_its_conversation_is_not_stored_in_part():
    reading = read("id,speaker,text\na,user,x\na,user, \nb,user,y\n,user,z\n")
    assert reading.lines == [
        "row 3, text: is empty; expected text",
        "row 5, id: is empty; expected the id of a conversation",
    ]
    # Row 5 may belong to b: nobody knows.
    assert [str(notice).partition(" is left out")[0] for notice in reading.notices] == [
        "row 2: conversation a",
        "row 4: conversation b",
    ]
    assert reading.records == []


def test_a_row_that_cannot_be_read_leaves_out_its_neighbours_only():
    reading = read("id,speaker,text\na,user,x\nb,user,y\nb,user\nc,user,z\nd,user,w\n")
    assert list(reading.texts) == ["a", "d"]


def test_metadata_is_one_value_where_all_rows_agree_and_a_list_where_they_differ():
    record = read("id,speaker,text,site,mood\na,user,x,forum,sad\na,user,y,forum,calm\n").records[0]
    assert record.metadata == {"site": "forum", "mood": ["sad", "calm"]}


def test_a_field_of_the_conversation_may_be_given_once_but_not_contradicted():
    text = "id,speaker,text,t\na,user,x,Loss\na,user,y,\nb,user,x,Loss\nb,user,y,Gain\n"
    reading = read(text, "title=t")
    assert [record.title for record in reading.records] == ["Loss"]
    assert reading.lines == ["row 5, title: differs from the rows above of the same conversation"]


def test_beyond_the_bound_rows_of_a_conversation_must_lie_together(monkeypatch):
    monkeypatch.setattr("apps.corpus.parsing.grouping.MAX_OPEN_ROWS", 3)
    reading = read("id,speaker,text\n" + "".join(f"{name},user,x\n" for name in "abbbbacca"))
    assert reading.lines == [
        "row 7, id: conversation a began in row 2, too far above, and is left out; sort the file by id",
        "row 10, id: conversation a began in row 2, too far above, and is left out; sort the file by id",
    ]
    assert {name: len(said) for name, said in reading.texts.items()} == {"a": 1, "b": 4, "c": 2}


# --- A post and its reply -----------------------------------------------------------------------------------------


def test_a_post_and_its_reply():
    reading = read("id,post,reply\n1,I am lost.,Where are you?\n")
    assert turns(reading, "1") == [("seeker", "", "I am lost."), ("supporter", "", "Where are you?")]


def test_case_3_an_empty_reply_is_a_problem_with_its_row():
    reading = read("id,post,reply\n1,a,b\n2,a,\n3,N/A,null\n")
    assert reading.lines == ["row 3, reply: is empty; expected text"]
    assert reading.texts["3"] == ["N/A", "null"]


# --- A whole transcript in a cell ---------------------------------------------------------------------------------


def test_a_transcript_keeps_continuation_lines_with_the_turn_above():
    text = "Seeker: I lost it.\nAll of it.\n\n  Supporter: Oh no.\nSupporter: When: 10:30?\n"
    reading = read(f'id,transcript\n1,"{text}"\n')
    assert turns(reading, "1") == [
        ("seeker", "Seeker", "I lost it.\nAll of it."),
        ("supporter", "Supporter", "Oh no."),
        ("supporter", "Supporter", "When: 10:30?"),
    ]


def test_only_line_ends_end_a_line():
    text = "Seeker: one\u2028Supporter: two\x85three\r\nSupporter: four"
    assert read(f'id,transcript\n1,"{text}"\n').texts["1"] == ["one\u2028Supporter: two\x85three", "four"]


def test_case_8_unknown_labels_are_listed_and_get_the_role_other_unless_mapped():
    data = 'id,transcript\n1,"Anna: hi\nBen: yes\nAnna: oh"\n'
    reading = read(data)
    assert [role for role, _, _ in turns(reading, "1")] == ["other", "other", "other"]
    assert str(reading.notices[0]) == (
        "speaker: not known, kept with the role other: Anna (2), Ben (1). Name them with speaker.LABEL=role"
    )
    mapped = read(data, "speaker.anna=seeker", constants=("speaker.Ben=supporter",))
    assert [role for role, _, _ in turns(mapped, "1")] == ["seeker", "supporter", "seeker"]
    assert mapped.notices == []


def test_a_transcript_without_a_label_is_a_problem():
    reading = read("id,transcript\n1,It was late and I was tired\n")
    assert reading.lines == [
        "row 2, transcript: begins with 'It was late and I was tired'; expected a line `Speaker: text`"
    ]


def test_case_3_a_turn_without_text_is_a_problem():
    reading = read('id,transcript\n1,"Seeker: a\nSupporter:\nSeeker: b"\n')
    assert reading.lines == ["row 2, transcript: turn 2 (Supporter) has no text"]


def test_case_7_three_hundred_turns_are_stored_whole():
    text = "\n".join(f"{'Seeker' if number % 2 else 'Supporter'}: turn {number}" for number in range(300))
    assert read(f'id,transcript\n1,"{text}"\n').texts["1"] == [f"turn {number}" for number in range(300)]


# --- Chat messages ------------------------------------------------------------------------------------------------

MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}, {"type": "text", "text": "Tell me."}]},
]
SAID = [("system", "system", "Be kind."), ("seeker", "user", "Hello"), ("supporter", "assistant", "Yes?\nTell me.")]


def test_messages_of_a_list_and_of_a_cell_are_the_same():
    listed = read(json.dumps({"id": "1", "messages": MESSAGES}))
    cell = json.dumps(MESSAGES).replace('"', '""')
    assert turns(listed, "1") == turns(read(f'id,messages\n1,"{cell}"\n'), "1") == SAID


def test_a_record_without_an_id_gets_one_from_its_content():
    first, again = (read(json.dumps({"messages": MESSAGES, "model": "m"})).records[0] for _ in range(2))
    other = read(json.dumps({"messages": MESSAGES, "model": "n"})).records[0]
    assert first.external_id == again.external_id == first.content_hash[:32]
    assert other.external_id != first.external_id


@pytest.mark.parametrize(
    "message", [{"from": "human", "value": "Hi"}, {"speaker": "user", "text": "Hi"}, {"role": "user", "text": "Hi"}]
)
def test_other_names_of_role_and_content(message):
    assert read(json.dumps({"id": "1", "messages": [message]})).texts == {"1": ["Hi"]}


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([], "is empty; expected a list of messages"),
        (None, "is empty; expected a list of messages"),
        ("hello", "is not valid JSON"),
        ("[{'role': 'user'}]", "it looks like Python"),
        ({"a": 1}, "expected a list of {role, content}"),
        (["hello"], "message 1: expected {role, content}, found hello"),
        ([{"role": "user"}], "message 1: expected role and content, found role"),
        ([{"role": "user", "content": ""}], "message 1 (user) has no text"),
        ([{"role": "user", "content": None}], "message 1 (user) has no text"),
        ([{"role": "", "content": "x"}], "message 1 has no role"),
        ([{"role": "user", "content": {"x": 1}}], "message 1: expected text, found an object"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "message 1: a part of type image_url is not text"),
    ],
)
def test_messages_that_cannot_be_read_are_a_problem_with_what_was_expected(messages, fault):
    good = json.dumps({"id": "1", "messages": MESSAGES})
    reading = read(good + "\n" + json.dumps({"id": "2", "messages": messages}), "messages=messages")
    assert list(reading.texts) == ["1"]
    assert len(reading.problems) == 1
    assert reading.lines[0].startswith("row 2, messages: ")
    assert fault in reading.lines[0]


# --- All shapes ---------------------------------------------------------------------------------------------------


def test_case_7_a_python_literal_in_a_cell_stays_text():
    record = read("id,post,reply,options\n1,a,b,\"{'A': 'yes', 'B': None}\"\n").records[0]
    assert record.metadata == {"options": "{'A': 'yes', 'B': None}"}


def test_case_8_unusual_characters_are_kept_as_they_are():
    text = "مرحبا 👩‍👩‍👧 e\u0301 a\u200bb \ufeffx \u202eabc"
    assert read(f"id,post,reply\n1,{text},b\n").texts["1"][0] == text


def test_case_8_comma_marks_are_cleaned_only_on_request_and_the_raw_text_is_kept():
    data = "id,post,reply\n1,well_comma_ yes,no\n2,a,b\n"
    plain = read(data)
    assert plain.texts["1"] == ["well_comma_ yes", "no"]
    assert str(plain.notices[0]) == "text: _comma_ stands in 1 rows; it is left as it is unless commas are cleaned"
    cleaned = read(data, clean_commas=True)
    assert cleaned.notices == []
    assert [(turn.text, turn.raw_text) for turn in cleaned.records[0].turns] == [
        ("well, yes", "well_comma_ yes"),
        ("no", None),
    ]


def test_factors_metadata_and_reference_are_taken_where_they_are_mapped():
    text = "id,post,reply,m,gold,age,extra\n1,a,b,gpt,yes,30,x\n"
    maps = ("factor.model=m", "reference=gold", "meta.age=age")
    constants = ("language=en", "factor.tone=warm", "meta.site=forum")
    record = read(text, *maps, constants=constants).records[0]
    assert (record.reference, record.language) == ("yes", "en")
    assert record.factors == {"model": "gpt", "tone": "warm"}
    assert record.metadata == {"age": "30", "site": "forum", "extra": "x"}
    assert read(text, *maps, drop_unmapped=True).records[0].metadata == {"age": "30"}


def test_a_name_that_was_asked_for_wins_over_a_column_called_so():
    text = "id,post,reply,site,where,tone\n1,a,b,unmapped,mapped,column\n"
    record = read(text, "meta.site=where", constants=("meta.tone=constant",)).records[0]
    assert record.metadata == {"site": "mapped", "tone": "constant"}


def test_metadata_nested_beyond_reason_is_a_problem():
    deep = "[" * 300 + "]" * 300
    reading = read(f'{{"id": 1, "post": "a", "reply": "b", "deep": {deep}}}')
    assert reading.lines == ["row 1, meta.deep: is nested more than 50 levels deep"]


def test_a_dataset_may_have_no_text():
    reading = read("id,score\n1,5\n2,4\n", without_text=True)
    assert reading.texts == {"1": [], "2": []}
    with pytest.raises(FileError, match="No column is mapped to the text"):
        read("id,score\n1,5\n")


@pytest.mark.parametrize(("field", "limit"), [("id", 255), ("title", 500), ("language", 35), ("pair", 255)])
def test_what_is_too_long_for_its_field_is_a_problem(field, limit):
    values = {"id": "1", field: "x" * (limit + 1)}
    header = ",".join([*values, "post", "reply"])
    reading = read(f"{header}\n{','.join(values.values())},a,b\n")
    assert reading.lines == [f"row 2, {field}: has {limit + 1} characters; at most {limit} are allowed"]


def test_a_speaker_label_has_a_bound():
    reading = read(f"id,speaker,text\n1,{'x' * 101},a\n")
    assert reading.lines[0] == "row 2, speaker: a speaker label has 101 characters; at most 100"
