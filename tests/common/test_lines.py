"""Names of one line hold nothing that cannot be seen; every form and service that takes one says so."""

import pytest
from django.core.exceptions import ValidationError

from apps.common.lines import IN_ONE_LINE, has_hidden_characters, validate_one_line

HIDDEN = [
    "a\nb",
    "a\r\nb",
    "a\tb",
    "a\0b",
    "a\x1b[1mb",
    "a\x85b",
    "a\u2028b",
    "a\u2029b",
    "a\u202eb",
    "a\u2066b",
    "\u200fa",
]
FINE = ["", "gpt-4.1 mini", "Größe", "模型", "می‌خواهم", "👩‍🔬 judge", "a\u00a0b"]


@pytest.mark.parametrize("text", HIDDEN)
def test_what_cannot_be_seen_is_refused(text):
    assert has_hidden_characters(text)
    with pytest.raises(ValidationError) as refused:
        validate_one_line(text)
    assert refused.value.messages == [str(IN_ONE_LINE)]


@pytest.mark.parametrize("text", FINE)
def test_every_script_is_fine(text):
    assert not has_hidden_characters(text)
    validate_one_line(text)
