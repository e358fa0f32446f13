"""CASES 3: ids and texts stay text."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pytest

from apps.corpus.parsing.cells import CellError, ErrorText, NumberText, as_metadata, as_text, has_lost_digits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("001", "001"),
        ("N/A", "N/A"),
        ("None", "None"),
        (" null ", " null "),
        (None, ""),
        (NumberText("1.50"), "1.50"),
        (True, "true"),
        (3, "3"),
        (3.0, "3"),
        (-2.5, "-2.5"),
        (2.0241031124050493e19, "20241031124050493000"),
        (float("nan"), ""),
        (Decimal("1.10"), "1.10"),
        (datetime(2024, 1, 2, 3, 4), "2024-01-02T03:04:00"),
        (date(2024, 1, 2), "2024-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(hours=1), "1:00:00"),
        ("é".encode(), "é"),
    ],
)
def test_case_3_a_cell_as_text(value, text):
    assert as_text(value) == text
    assert type(as_text(value)) is str


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], "found a list"),
        ({"a": 1}, "found an object"),
        (b"\xff", "not UTF-8"),
        (float("inf"), "infinite"),
        (ErrorText("#REF!"), "error value #REF!"),
        (object(), "found something else"),
    ],
)
def test_what_is_no_text_is_refused(value, message):
    with pytest.raises(CellError, match=message):
        as_text(value)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (NumberText("12"), 12),
        (NumberText("-12"), -12),
        (NumberText("0.5"), 0.5),
        (NumberText("1e999"), "1e999"),
        (NumberText("9" * 101), "9" * 101),
        (NumberText("NaN"), "NaN"),
        (float("nan"), None),
        (float("inf"), None),
        ({1: [NumberText("2"), (None, True)]}, {"1": [2, [None, True]]}),
        (date(2024, 1, 2), "2024-01-02"),
        ("{'a': 1}", "{'a': 1}"),
    ],
)
def test_a_cell_as_metadata(value, stored):
    assert as_metadata(value) == stored


def test_digits_are_lost_beyond_fifteen():
    assert has_lost_digits(10**15)
    assert has_lost_digits(-2e19)
    assert not has_lost_digits(10**15 - 1)
    assert not has_lost_digits("20241031124050492385")
    assert not has_lost_digits(True)
