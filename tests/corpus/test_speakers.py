"""CASES 8: who speaks, and which lines begin a turn."""

import pytest

from apps.corpus.models import SpeakerRole
from apps.corpus.parsing.records import Role
from apps.corpus.parsing.speakers import Speakers


def test_the_roles_are_those_of_the_database():
    assert {str(role) for role in Role} == set(SpeakerRole.values)


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("Seeker", "seeker"),
        ("USER", "seeker"),
        ("assistant", "supporter"),
        (" Help  seeker ", "seeker"),
        ("system", "system"),
        ("Moderator", "other"),
    ],
)
def test_known_labels_whatever_their_case(label, role):
    assert Speakers().role_of(label) == role


def test_given_roles_win_and_unknown_labels_are_counted():
    speakers = Speakers({"Moderator": "supporter", "user": "other"})
    roles = [speakers.role_of(label) for label in ("moderator", "user", "Anna", "Anna", "Ben")]
    assert roles == ["supporter", "other", "other", "other", "other"]
    assert speakers.unknown == {"Anna": 2, "Ben": 1}


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("Seeker: hello", "Seeker"),
        (" Supporter : hello", "Supporter"),
        ("seeker:hello", "seeker"),
        ("Seeker:", "Seeker"),
        ("Speaker 1: hello", "Speaker 1"),
        ("Dr. Anna Bo: hello", "Dr. Anna Bo"),
        ("anna: hello", "anna"),
        ("求助者：你好", "求助者"),
        ("متكلم: مرحبا", "متكلم"),
    ],
)
def test_a_line_that_begins_a_turn(line, label):
    begun = Speakers().begins_turn(line)
    assert begun is not None
    assert begun[0] == label


@pytest.mark.parametrize(
    "line",
    [
        "10:30 is fine",
        "https://example.org",
        "to be honest: I do not know",
        "I told him the following: no",
        "He said, and I quote: no",
        "What? Yes: no",
        "no label here",
        ": hello",
        "",
    ],
)
def test_a_line_that_goes_on(line):
    assert Speakers().begins_turn(line) is None


def test_a_label_can_be_declared_part_of_the_text():
    assert Speakers({"Note": "text"}).begins_turn("Note: call her") is None
    assert Speakers().begins_turn("Note: call her") == ("Note", " call her")
