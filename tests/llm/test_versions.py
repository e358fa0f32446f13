"""A version and a request have one hash each: another for anything that is sent or frozen, the same for the rest."""

from dataclasses import replace
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.answers import scale_schema
from apps.llm.prompts import Message
from apps.llm.templates import PromptTemplate, Use
from apps.llm.versions import (
    MOST_LINES,
    DiffLine,
    ExampleChoice,
    VersionContent,
    diff_lines,
    example_line,
    request_hash,
)
from tests.llm.made import FIVE, property_test

TEMPLATE = PromptTemplate(Use.SCALE, "Rate.", "{{question}}\n{{points}}\n{{conversation}}\n{{answer_form}}")
SCHEMA = scale_schema(FIVE)
VERSION = VersionContent(
    template=TEMPLATE,
    framework="calm-scales",
    framework_version=1,
    framework_hash="f" * 64,
    provider="openai",
    base_url="http://127.0.0.1:9/v1",
    model="small",
    parameters={"temperature": 0, "seed": 1},
    schemas={"empathy": SCHEMA},
    examples=(ExampleChoice("empathy", "low", "talk-7", "a" * 64, 1.0),),
)
SWAPPED = SCHEMA | {"properties": dict(reversed(SCHEMA["properties"].items()))}
REQUEST = {
    "provider": "openai",
    "base_url": "http://127.0.0.1:9/v1",
    "model": "small",
    "parameters": {"temperature": 0, "seed": 1},
    "messages": (Message("system", "Rate."), Message("user", "😀 \ud800")),
    "schema": SCHEMA,
    "sample": 0,
}


@pytest.mark.parametrize(
    "change",
    [
        {"template": replace(TEMPLATE, system="Rate,")},
        {"template": replace(TEMPLATE, user=TEMPLATE.user + " ")},
        {"template": replace(TEMPLATE, use=Use.FRAMEWORK)},
        {"framework": "other"},
        {"framework_version": 2},
        {"framework_hash": "e" * 64},
        {"provider": "anthropic"},
        {"base_url": "http://127.0.0.1:8/v1"},
        {"model": "large"},
        {"parameters": {"temperature": 0.1, "seed": 1}},
        {"parameters": {"temperature": 0}},
        {"parameters": {"temperature": 0, "seed": None}},
        {"schemas": {"empathy": SWAPPED}},
        {"schemas": {"-": SCHEMA}},
        {"examples": ()},
        {"examples": (ExampleChoice("empathy", "low", "talk-7", "b" * 64, 1.0),)},
        {"examples": (ExampleChoice("empathy", "low", "talk-7", "a" * 64, 2.0),)},
        {"is_reversed": True},
        {"cannot_tell": True},
        {"prompt_format": 0},
    ],
)
def test_anything_that_a_version_freezes_changes_its_hash(change):
    assert replace(VERSION, **change).content_hash != VERSION.content_hash


def test_how_parameters_are_written_does_not_change_a_hash():
    same = {"seed": 1.0, "temperature": 0.0}
    assert replace(VERSION, parameters=same).content_hash == VERSION.content_hash
    assert request_hash(**REQUEST | {"parameters": same}) == request_hash(**REQUEST)


def test_the_hashes_are_the_same_on_every_machine():
    # Written down once: a change here makes another rater of every version that is stored.
    assert VERSION.content_hash == "7af3f58ecef81ea0dd9673eb9343c938833843f7ff2d222cf4a3e696027bb29f"
    assert request_hash(**REQUEST) == "fc75fc512ce61578d8770919813fb0432f4ad9c56a0ccb8e506835968cdb921c"


@pytest.mark.parametrize(
    "change",
    [
        {"provider": "anthropic"},
        {"base_url": "http://127.0.0.1:8/v1"},
        {"model": "large"},
        {"parameters": {"temperature": 1, "seed": 1}},
        {"messages": (Message("system", "Rate."), Message("user", "😀"))},
        {"messages": (Message("user", "Rate."), Message("user", "😀 \ud800"))},
        {"schema": SWAPPED},
        {"schema": None},
        {"sample": 1},
    ],
)
def test_anything_that_is_sent_changes_the_hash_of_a_request(change):
    assert request_hash(**REQUEST | change) != request_hash(**REQUEST)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_a_parameter_that_json_cannot_hold_is_refused(value):
    with pytest.raises(ValueError, match="JSON"):
        request_hash(**REQUEST | {"parameters": {"temperature": value}})


def test_a_diff_shows_what_changed_among_what_did_not():
    example = example_line(VERSION.examples[0])
    lines = diff_lines(["model: small", example, "{{points}}"], ["model: large", example, "Points: {{points}}"])
    assert lines == [
        DiffLine("removed", "model: small"),
        DiffLine("added", "model: large"),
        DiffLine("same", "example for empathy, low: talk-7 = 1 (aaaaaaaaaaaa)"),
        DiffLine("removed", "{{points}}"),
        DiffLine("added", "Points: {{points}}"),
    ]
    assert {line.change for line in diff_lines([example], [example]) or ()} == {"same"}


@property_test
@given(st.lists(st.text()), st.lists(st.text()))
def test_a_diff_gives_both_texts_back(old, new):
    lines = diff_lines(old, new)
    assert lines is not None
    assert [line.text for line in lines if line.change != "added"] == old
    assert [line.text for line in lines if line.change != "removed"] == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([""] * (MOST_LINES + 1), [""]),  # too many to read
        ([""], [""] * (MOST_LINES + 1)),
        (["a", *["same"] * 200, "b"], ["c", *["same"] * 200, "d"]),  # 40,000 pairs of equal lines
    ],
)
def test_what_would_take_too_long_is_not_compared(old, new, monkeypatch):
    monkeypatch.setattr("apps.llm.versions.SequenceMatcher", None)
    assert diff_lines(old, new) is None


def test_only_what_changed_is_compared(monkeypatch):
    """What both begin and end with costs nothing, however often a line is repeated in it."""
    compared = []

    def matcher(junk, old, new, *, autojunk):
        compared.append((old, new))
        return SequenceMatcher(junk, old, new, autojunk=autojunk)

    monkeypatch.setattr("apps.llm.versions.SequenceMatcher", matcher)
    same = ["same"] * 400
    lines = diff_lines([*same, "old", *same], [*same, "new", "same", *same])
    assert compared == [(["old"], ["new", "same"])]
    assert lines == [
        *[DiffLine("same", "same")] * 400,
        DiffLine("removed", "old"),
        DiffLine("added", "new"),
        DiffLine("added", "same"),
        *[DiffLine("same", "same")] * 400,
    ]


def test_a_text_that_begins_and_ends_alike_is_not_counted_twice():
    lines = diff_lines(["a", "a"], ["a", "a", "a"])
    assert [line.change for line in lines or ()] == ["same", "same", "added"]
