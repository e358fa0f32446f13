import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.frameworks.scales import PointMatcher, PointSpec
from tests.frameworks.specs import point_lists, property_test

FIVE = [PointSpec(1, "Not at all"), PointSpec(2), PointSpec(3, "Somewhat"), PointSpec(4), PointSpec(5, "Very much")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("3.0", 3),
        (" 3 ", 3),
        ("+3", 3),
        ("3.", 3),
        ("3e0", 3),
        ("3,0", None),
        ("3,5", None),
        ("3.5", None),
        ("0", None),
        ("6", None),
        ("-3", None),
        ("", None),
        ("   ", None),
        ("nan", None),
        ("inf", None),
        ("1_0", None),
        ("٣", None),
        ("not 3", None),
        ("3 or 4", None),
        ("Somewhat", 3),
        ("somewhat", 3),
        ("  VERY   MUCH ", 5),
        ("very", None),
        ("Very much so", None),
    ],
)
def test_a_text_names_a_point_by_its_exact_number_or_its_label(text, value):
    assert PointMatcher(FIVE).match(text) == value


def test_a_decimal_point_is_matched_exactly():
    points = [PointSpec(0), PointSpec(0.5), PointSpec(1)]
    assert PointMatcher(points).match("0.50") == 0.5
    assert PointMatcher(points).match("0.51") is None
    assert str(PointMatcher(points).match("-0")) == "0.0"


def test_a_label_of_two_points_names_neither():
    points = [PointSpec(1, "Yes"), PointSpec(2, "yes")]
    assert PointMatcher(points).match("yes") is None
    assert PointMatcher(points).match("2") == 2


@property_test
@given(point_lists(labelled=True))
def test_every_point_is_found_by_its_number_and_by_its_label(points: tuple[PointSpec, ...]):
    matcher = PointMatcher(points)
    for point in points:
        assert matcher.match(repr(point.value)) == point.value
        assert matcher.match(point.label.upper().lower()) in (point.value, None)
        assert matcher.match(point.label) == point.value


@property_test
@given(st.text(max_size=20))
def test_whatever_is_matched_is_a_declared_point(text: str):
    assert PointMatcher(FIVE).match(text) in {None, 1, 2, 3, 4, 5}
