"""A cell as an answer on a scale."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.annotation.parsing.values import Answer, DimensionScale, Scales
from apps.corpus.parsing.cells import CellError
from apps.frameworks.scales import PointSpec

LIKERT = DimensionScale(
    "warmth", "empathy", (PointSpec(1, "not at all"), PointSpec(2), PointSpec(3, "some"), PointSpec(4), PointSpec(5))
)
SIGNED = DimensionScale("mood", "change", tuple(PointSpec(value) for value in (-1, 0, 1)))
NOMINAL = DimensionScale("verdict", "right", (PointSpec(0, "no"), PointSpec(1, "yes")), "nominal")


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("3.0", 3), (" 3 ", 3), ("+3", 3), ("3e0", 3), ("some", 3), ("Not  At ALL", 1)],
)
def test_a_point_is_read_from_its_number_or_its_label_case_9(text, value):
    assert LIKERT.read(text) == Answer(value)


def test_minus_one_is_a_number():
    assert SIGNED.read("-1") == Answer(-1)
    assert math.copysign(1, SIGNED.read("-0").value) == 1


@pytest.mark.parametrize("text", ["cannot_tell", "Cannot tell", "can't tell", "can’t tell"])
def test_cannot_tell_is_an_answer_without_a_value(text):
    assert LIKERT.read(text) == Answer(None, cannot_tell=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7", "7 is outside the scale; expected one of 1 (not at all), 2, 3 (some), 4, 5"),
        ("-3", "-3 is outside the scale"),
        ("3,5", "3,5 has a decimal comma, write 3.5; expected one of"),
        ("3,0", "3,0 has a decimal comma, write 3.0"),
        ("3.5", "3.5 lies between the points (only a rater declared aggregate may); expected one of"),
        ("", "is empty; expected one of"),
        ("  ", "is empty; expected one of"),
        ("good", "'good' is no number and no label of the scale"),
        ("nan", "'nan' is no number"),
        ("inf", "'inf' is no number"),
        ("１", "'１' is no number"),
        ("1_0", "'1_0' is no number"),
        ("x" * 90, f"'{'x' * 40}...' is no number"),
    ],
)
def test_anything_else_is_refused_with_what_was_expected_case_9(text, words):
    with pytest.raises(CellError) as fault:
        LIKERT.read(text)
    assert words in str(fault.value)


def test_an_aggregate_may_lie_between_the_points_of_an_ordinal_scale():
    assert LIKERT.read("2.6666666666666665", from_aggregate=True) == Answer(2.6666666666666665)
    with pytest.raises(CellError, match=r"5\.1 is outside the scale; expected a number from 1 to 5"):
        LIKERT.read("5.1", from_aggregate=True)
    with pytest.raises(CellError, match=r"0\.5 lies between the points; expected one of 0 \(no\), 1 \(yes\)"):
        NOMINAL.read("0.5", from_aggregate=True)


@given(st.text(max_size=12) | st.floats().map(str) | st.integers(-9, 9).map(str), st.booleans())
def test_whatever_stands_in_a_cell_gives_an_answer_on_the_scale_or_a_fault(text, from_aggregate):
    for scale in (LIKERT, SIGNED, NOMINAL):
        try:
            value, cannot_tell = scale.read(text, from_aggregate=from_aggregate)
        except CellError:
            continue
        assert cannot_tell == (value is None)
        if value is not None:
            assert scale.points[0].value <= value <= scale.points[-1].value
            if not from_aggregate or scale is NOMINAL:
                assert value in [point.value for point in scale.points]


@given(st.floats(1, 5))
def test_a_number_written_in_full_comes_back_exactly(value):
    assert LIKERT.read(repr(value), from_aggregate=True).value == value


# --- Names of dimensions ----------------------------------------------------------------------------------------------

TWICE = Scales([LIKERT, DimensionScale("other", "empathy", LIKERT.points), SIGNED])


def test_a_slug_or_framework_and_slug_names_a_dimension():
    assert TWICE.find("change") is SIGNED
    assert TWICE.find("warmth/empathy") is LIKERT
    assert TWICE.names() == ["warmth/empathy", "other/empathy", "change"]


def test_people_call_a_dimension_by_its_label_and_name_the_framework_where_there_are_several():
    one = DimensionScale("mood", "up", LIKERT.points, label="Uplift", framework_name="Moods")
    twin = DimensionScale("mood", "lift", LIKERT.points, label="Uplift", framework_name="Moods")
    assert Scales([one]).labels() == ["Uplift"]
    assert Scales([one, twin]).labels() == ["Uplift (up)", "Uplift (lift)"]
    assert Scales([one, SIGNED, LIKERT]).labels() == ["Moods: Uplift", "mood: change", "warmth: empathy"]
    assert Scales([one, twin]).names() == Scales([one, twin]).shown_names() == ["up", "lift"]
    assert Scales([one], by_label=True).called("mood/up") == "Uplift"


@pytest.mark.parametrize("name", ["Uplift", "UPLIFT", "up-lift", "Moods: Uplift", "mood/uplift", "up"])
def test_a_label_names_a_dimension(name):
    one = DimensionScale("mood", "up", LIKERT.points, label="Uplift", framework_name="Moods")
    assert Scales([one, LIKERT]).find(name) is one


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empathy", "empathy is in several frameworks; write warmth/empathy or other/empathy"),
        ("warmt", "warmt is no dimension of the block; expected one of warmth/empathy, other/empathy, change"),
        ("", "is empty; expected one of"),
    ],
)
def test_a_name_of_none_or_of_several_is_refused(name, words):
    with pytest.raises(CellError, match=words):
        TWICE.find(name)
