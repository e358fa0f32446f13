"""Which column means what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.corpus.parsing.column_values import looks_like_rating
from apps.corpus.parsing.guessing import LOOSE_NAMES, NAMES, guess_mapping, plain, told_by_values
from apps.corpus.parsing.mapping import SHAPE_OF_FIELD, ColumnMapping, Shape, listed, parse_mapping
from apps.corpus.parsing.records import FileError
from apps.corpus.parsing.tables import Row


def test_fields_constants_and_speakers_are_read_from_texts():
    mapping = parse_mapping(
        ["id=Conv id", "transcript=a=b", "meta.age=years", "speaker.Mod=Supporter"],
        ["factor.model=gpt", "language=en", "speaker.Note=text"],
        drop_unmapped=True,
    )
    assert mapping.columns == {"id": "Conv id", "transcript": "a=b", "meta.age": "years"}
    assert mapping.constants == {"factor.model": "gpt", "language": "en"}
    assert mapping.roles == {"Mod": "supporter", "Note": "text"}
    assert mapping.shape is Shape.TRANSCRIPT
    assert mapping.as_dict() == {
        "columns": mapping.columns,
        "constants": mapping.constants,
        "roles": mapping.roles,
        "drop_unmapped": True,
    }


@pytest.mark.parametrize(
    ("maps", "constants", "message"),
    [
        (["id"], [], "id is not of the form field=column"),
        (["=a"], [], "not of the form"),
        (["colour=a"], [], r"colour is not a field\. Expected one of: id, turn_index"),
        (["meta.=a"], [], "meta. is not a field"),
        (["id=a", "id=b"], [], "The field id is given twice"),
        (["title=a"], ["title=b"], "The field title is given twice"),
        ([], ["id=a"], "The field id differs from row to row"),
        (["speaker.X=boss"], [], r"speaker\.X=boss: expected one of seeker, supporter, system, other, text"),
    ],
)
def test_what_cannot_be_understood_is_refused(maps, constants, message):
    with pytest.raises(FileError, match=message):
        parse_mapping(maps, constants)


@pytest.mark.parametrize(
    ("maps", "switches", "message"),
    [
        (["id=a"], {}, "No column is mapped to the text"),
        (["transcript=a", "post=b"], {}, "post, transcript belong to different shapes"),
        (["messages=a"], {"without_text": True}, "without text has no field messages"),
    ],
)
def test_exactly_one_shape_is_mapped(maps, switches, message):
    with pytest.raises(FileError, match=message):
        _ = parse_mapping(maps, **switches).shape


def test_a_constant_may_stand_in_for_a_required_column():
    mapping = parse_mapping(["id=a", "text=b"], ["speaker=seeker"])
    assert mapping.missing() == []
    mapping.check_columns(["a", "b"])


def test_long_lists_of_headers_are_cut():
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed(["x" * 70]) == "x" * 59 + "…"


@pytest.mark.parametrize("header", ["Conversation ID", "conversationId", "conversation_id", " conversation-id "])
def test_headers_are_compared_without_case_and_signs(header):
    assert plain(header) == "conversation_id"


def guessed(sample: list[dict[str, object]], known: ColumnMapping | None = None) -> dict[str, str]:
    rows = [Row(number, values) for number, values in enumerate(sample, start=2)]
    headers = list(dict.fromkeys(name for values in sample for name in values))
    return guess_mapping(headers, rows, known or ColumnMapping()).mapped()


def test_the_four_shapes_are_guessed():
    assert guessed([{"Conversation ID": "1", "turn": "1", "Speaker": "A", "utterance": "x"}]) == {
        "id": "Conversation ID",
        "turn_index": "turn",
        "speaker": "Speaker",
        "text": "utterance",
    }
    assert guessed([{"id": "1", "seeker_post": "x", "response_post": "y"}]) == {
        "id": "id",
        "post": "seeker_post",
        "reply": "response_post",
    }
    assert guessed([{"id": "1", "conversation": "Seeker: x"}]) == {"id": "id", "transcript": "conversation"}
    assert guessed([{"id": "1", "conversation": [{"role": "user", "content": "x"}]}]) == {
        "id": "id",
        "messages": "conversation",
    }


def test_messages_in_a_cell_are_told_from_a_transcript():
    assert guessed([{"id": "1", "conversation": '[{"role": "user", "content": "x"}]'}]) == {
        "id": "id",
        "messages": "conversation",
    }


def test_what_is_given_stays_and_only_its_shape_is_filled():
    sample = [{"id": "1", "speaker": "A", "text": "x", "full_conversation": "Seeker: x", "title": "t"}]
    assert guessed(sample, parse_mapping(["transcript=full_conversation"])) == {
        "transcript": "full_conversation",
        "id": "id",
        "title": "title",
    }
    assert guessed(sample, parse_mapping(["id=text", "title="]))["id"] == "text"
    assert "title" not in guessed(sample, parse_mapping(["title="]))


def test_an_id_of_another_name_is_guessed_where_its_values_are_distinct():
    sample = [{"group_id": "g", "sp_id": "a", "post": "x", "reply": "y"}, {"group_id": "g", "sp_id": "b"}]
    assert guessed(sample)["id"] == "sp_id"


def test_what_cannot_be_guessed_stays_open():
    assert guessed([{"a": "1", "b": "x"}]) == {}


CHAT = [
    ("k1", "Ann", "I did not sleep again last night"),
    ("k1", "Bea", "That sounds exhausting, what keeps you up?"),
    ("k1", "Ann", "My exams, mostly"),
    ("k2", "Ann", "My dog has died on Sunday"),
    ("k2", "Bea", "I am so sorry to hear that"),
]


def chat(*headers: str, more: dict[str, list[str]] | None = None) -> list[dict[str, object]]:
    """The rows of CHAT under headers, with more columns behind them."""
    return [
        dict(zip(headers, row, strict=True)) | {name: values[place] for name, values in (more or {}).items()}
        for place, row in enumerate(CHAT)
    ]


@pytest.mark.parametrize(
    ("headers", "more"),
    [
        (("conversation_id", "who", "text"), {"turn": ["1", "2", "3", "1", "2"]}),
        (("conv_nr", "role", "msg"), {"nr": ["1", "2", "3", "4", "5"], "topic": ["a", "a", "a", "b", "b"]}),
        (("chat_no", "who", "message"), {"turn": ["1", "2", "3", "1", "2"]}),
        (("chat", "wer", "nachricht"), {"thema": ["a", "a", "a", "b", "b"]}),
        (("Gespräch", "Sprecher", "Inhalt"), {}),
        (("session", "participant", "body"), {}),
        (("conversation", "from", "said"), {}),
        (("dialog", "party", "content"), {}),
    ],
)
def test_usual_names_are_known_one_by_one(headers, more):
    expected = dict(zip(("id", "speaker", "text"), headers, strict=True))
    if "turn" in more:
        expected["turn_index"] = "turn"
    assert guessed(chat(*headers, more=more)) == expected


def test_what_is_recognised_stays_guessed_where_the_rest_is_not():
    rows: list[dict[str, object]] = [{"conversation_id": "a", "turn": "1", "x": "p", "text": "q"}]
    assert guessed(rows) == {"id": "conversation_id", "turn_index": "turn", "text": "text"}
    assert guessed([{"id": "a", "post": "q", "y": "p"}]) == {"id": "id", "post": "post"}


def test_values_tell_where_names_say_nothing():
    assert guessed(chat("a", "b", "c")) == {"id": "a", "speaker": "b", "text": "c"}
    assert guessed(chat("a", "b", "text")) == {"id": "a", "speaker": "b", "text": "text"}
    assert guessed(chat("a", "speaker", "c")) == {"id": "a", "speaker": "speaker", "text": "c"}
    more = {"language": ["en"] * 5, "phase": ["x", "x", "x", "x", "y"]}
    assert guessed(chat("a", "b", "c", more=more))["id"] == "a"


def test_values_in_two_minds_leave_a_field_open():
    twice = chat("a", "b", "c", more={"mood": ["low", "high", "low", "low", "high"]})
    assert guessed(twice) == {}
    translated = chat("a", "speaker", "c", more={"d": [text.upper() for _, _, text in CHAT]})
    assert guessed(translated) == {"id": "a", "speaker": "speaker"}


def test_numbers_of_the_sender_are_no_speakers_by_their_values():
    assert guessed([row | {"b": str(len(str(row["b"])) % 2)} for row in chat("a", "b", "c")]) == {}


def test_an_id_of_the_row_gives_way_to_one_of_the_chat():
    more = {"id": ["1", "2", "3", "4", "5"]}
    assert guessed(chat("chat", "who", "msg", more=more))["id"] == "chat"
    assert guessed(chat("zz", "who", "msg", more=more))["id"] == "id"
    assert guessed(chat("id", "who", "msg", more={"session": ["1", "1", "2", "3", "3"]}))["id"] == "id"


def test_a_number_of_the_turn_of_a_doubtful_name_must_count_turns():
    assert guessed(chat("chat", "who", "msg", more={"order": ["1", "2", "3", "1", "2"]}))["turn_index"] == "order"
    assert "turn_index" not in guessed(chat("chat", "who", "msg", more={"order": ["1", "1", "1", "2", "2"]}))
    assert "turn_index" not in guessed(chat("chat", "who", "msg", more={"order": ["x", "2", "3", "1", "2"]}))


TALK = "Ann: I did not get it.\nBen: I am sorry."


def by_values(sample: list[dict[str, object]]) -> list[str]:
    rows = [Row(number, values) for number, values in enumerate(sample, start=2)]
    return told_by_values(list(sample[0]), rows, ColumnMapping())


def test_a_transcript_and_its_id_are_told_by_their_values():
    sample: list[dict[str, object]] = [
        {"mood": "calm", "nr": "t1", "words": TALK},
        {"mood": "calm", "nr": "t2", "words": TALK},
        {"mood": "sad", "nr": "t3", "words": "cut off"},
    ]
    assert guessed(sample) == {"id": "nr", "transcript": "words"}
    assert by_values(sample) == ["id", "transcript"]
    four = [{"nr": f"t{number}", "words": f"Ann: {number}.\nBen: I am sorry."} for number in range(4)]
    assert guessed([dict(row) for row in four]) == {"id": "nr", "transcript": "words"}
    assert by_values([{"id": "1", "transcript": TALK}]) == []


@pytest.mark.parametrize(
    ("sample", "found"),
    [
        # Half of the cells are not most; a single line is no talk; times are no speakers; two columns are one too many.
        ([{"a": TALK}, {"a": "x"}], {}),
        ([{"a": "Ann: hello"}, {"a": "Ann: bye"}], {}),
        ([{"a": "10:30 up\n11:00 out"}], {}),
        ([{"a": TALK, "b": TALK}], {}),
        # Ids that repeat, are missing, are long, or look like figures are none.
        ([{"n": "1", "a": TALK}, {"n": "1", "a": TALK}], {"transcript": "a"}),
        ([{"n": "1", "a": TALK}, {"n": "", "a": TALK}], {"transcript": "a"}),
        ([{"n": "1" * 41, "a": TALK}, {"n": "2", "a": TALK}], {"transcript": "a"}),
        ([{"n": "1.5", "a": TALK}, {"n": "2.5", "a": TALK}], {"transcript": "a"}),
        ([{"n": "1", "a": TALK}], {"transcript": "a"}),
    ],
)
def test_in_doubt_nothing_is_told_by_values(sample, found):
    assert guessed(sample) == found


def test_a_reply_finds_its_id_by_the_values_and_chat_messages_do_without():
    rows: list[dict[str, object]] = [{"nr": "1", "post": "x", "reply": "y"}, {"nr": "2", "post": "x", "reply": "y"}]
    assert guessed(rows) == {"id": "nr", "post": "post", "reply": "reply"}
    chats: list[dict[str, object]] = [{"nr": number, "messages": [{"role": "user"}]} for number in ("1", "2")]
    assert guessed(chats) == {"messages": "messages"}


@pytest.mark.parametrize(
    ("name", "values", "is_one"),
    [
        ("empathy_score", ["1", "2", "3"], True),
        ("kappa", ["0.5", "-0.1"], True),
        ("expert rating", ["5"], True),
        ("score", ["high", "low"], False),
        ("score", [], False),
        ("score", [str(number) for number in range(21)], False),
        ("age", ["1", "2"], False),
        ("integration", ["1", "2"], False),
    ],
)
def test_ratings_are_told_by_name_and_values(name, values, is_one):
    assert looks_like_rating(name, values) == is_one


def test_a_field_that_is_not_to_be_guessed_is_not_told_by_values_either():
    assert "speaker" not in guessed(chat("a", "b", "text"), parse_mapping(["speaker="]))
    assert guessed(chat("a", "b", "c"), parse_mapping(["transcript=c"])) == {"transcript": "c"}


HEADER = st.one_of(
    st.sampled_from(sorted({name for names in (*NAMES.values(), *LOOSE_NAMES.values()) for name in names})),
    st.text(max_size=8),
)
CELL = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=20), st.lists(st.text(max_size=3), max_size=2))


@given(st.lists(HEADER, max_size=8, unique=True), st.data())
def test_no_file_breaks_the_guess_and_no_column_is_guessed_twice(headers, data):
    rows = data.draw(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(headers, CELL)), max_size=8))
    sample = [Row(number, values) for number, values in enumerate(rows, start=2)]
    found = guess_mapping(headers, sample, ColumnMapping())
    columns = list(found.mapped().values())
    assert len(columns) == len(set(columns))
    assert set(columns) <= set(headers)
    assert len({SHAPE_OF_FIELD[name] for name in found.mapped() if name in SHAPE_OF_FIELD}) <= 1
    assert guess_mapping(headers, sample, found) == found
