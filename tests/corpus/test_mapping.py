"""Which column means what."""

import pytest

from apps.corpus.parsing.guessing import guess_mapping, plain
from apps.corpus.parsing.mapping import ColumnMapping, Shape, listed, parse_mapping
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


def guessed(sample: list[dict[str, object]], given: ColumnMapping | None = None) -> dict[str, str]:
    rows = [Row(number, values) for number, values in enumerate(sample, start=2)]
    headers = list(dict.fromkeys(name for values in sample for name in values))
    return guess_mapping(headers, rows, given or ColumnMapping()).mapped()


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
