"""What a form's fields say for one scale."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.annotation.services.answers import LONGEST_COMMENT, MOST_PASSAGES, read_answer, with_places
from apps.annotation.services.screens import EvidencePart
from apps.studies.models import Study

OPEN = Study(allow_cannot_tell=True, allow_comments=True, allow_evidence=True)


def read(study=OPEN, **fields):
    """Fields by name, with an underscore for the dash."""
    named = {f"{name.replace('_', '-')}-7": text for name, text in fields.items()}
    return read_answer(fields=named, dimension=7, study=study)


@pytest.mark.parametrize(
    ("text", "value", "value_text"),
    [("3", 3, "3"), ("3.0", 3, "3"), (" 2.5 ", 2.5, "2.5"), ("-1", -1, "-1"), ("-0", 0, "0"), ("0", 0, "0")],
)
def test_a_point_is_read_as_it_is_written(text, value, value_text):
    answer = read(value=text)
    assert (answer.value, answer.value_text, answer.errors) == (value, value_text, [])


def test_fields_that_were_not_sent_leave_what_stands_there():
    answer = read(value="3")
    assert (answer.comment, answer.evidence, answer.based_on) == (None, None, 0)
    assert not read().is_given


def test_fields_of_other_scales_are_not_looked_at():
    assert not read_answer(fields={"value-70": "3", "value-": "4"}, dimension=7, study=OPEN).is_given


def test_line_breaks_of_a_form_are_stored_as_one_character():
    assert read(comment=" a\r\nb\rc\n").comment == "a\nb\nc"


def test_evidence_comes_as_places_or_as_lines():
    passages = [{"turn": 1, "start": 0, "end": 3, "text": "abc"}, {"text": "x", "turn": None}, {"text": " "}]
    assert read(evidence=json.dumps(passages)).evidence == [EvidencePart("abc", 1, 0, 3), EvidencePart("x")]
    assert read(evidence="one\r\n\n two ").evidence == [EvidencePart("one"), EvidencePart("two")]
    assert read(evidence="[]").evidence == read(evidence="").evidence == []


def test_a_line_that_stands_there_keeps_its_place_however_often():
    standing = [EvidencePart("so\n sad", 0, 5, 12), EvidencePart("so sad", 2, 0, 6)]
    lines = read(evidence="so sad\nso sad\nso sad").evidence
    assert with_places(lines, standing) == [*standing, EvidencePart("so sad")]


def test_what_the_study_does_not_ask_for_is_said():
    shut = Study(allow_cannot_tell=False, allow_comments=False, allow_evidence=False)
    for fields in ({"value": "cannot-tell"}, {"comment": "x"}, {"evidence": "x"}):
        assert len(read(shut, **fields).errors) == 1
    assert read(shut, comment=" ", evidence="[]").errors == []


@pytest.mark.parametrize(
    "fields",
    [
        {"comment": "x" * (LONGEST_COMMENT + 1)},
        {"comment": "\x00"},
        {"evidence": "\n".join(["x"] * (MOST_PASSAGES + 1))},
        {"evidence": "a\x00"},
        {"based_on": "x"},
        {"value": "1e999999999999999999999"},
        {"value": "9" * 400},
    ],
)
def test_what_cannot_be_kept_is_said(fields):
    assert read(**fields).errors


@given(st.dictionaries(st.sampled_from(["value", "comment", "evidence", "based_on"]), st.text()))
def test_any_text_is_read_or_refused_in_words(fields):
    answer = read(**fields)
    assert all(error.strip() for error in answer.errors)
    if not answer.errors and answer.comment is not None:
        assert "\x00" not in answer.comment
        answer.comment.encode()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_any_json_as_evidence_is_read_or_refused_in_words(value):
    answer = read(evidence=json.dumps([{"text": value}, value]))
    assert answer.errors or all(isinstance(passage.text, str) for passage in answer.evidence)
