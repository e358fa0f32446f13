"""CASES 26: free text never becomes a formula, and comes back unchanged."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.common.formulas import escape_formula, unescape_formula


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "=", "'=1"])
def test_text_that_would_run_gets_an_apostrophe_case_26(text):
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "plain", "a=b", "'quoted'", " =1", "\n=1", "1-2", "😀"])
def test_other_text_stays_as_it_is(text):
    assert escape_formula(text) == unescape_formula(text) == text


@given(st.text(alphabet="'=+-@\t\ra \n") | st.text())
@example("''=x")
def test_what_was_escaped_comes_back(text):
    escaped = escape_formula(text)
    assert unescape_formula(escaped) == text
    assert escaped[:1] not in tuple("=+-@\t\r")
