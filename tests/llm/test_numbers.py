"""Counts on the pages of models have one form: thousands are set off by a comma, as in every file and message."""

import re
from pathlib import Path

import pytest
from django.template import Context, Template

from apps.llm.services.planning import PlanError, _check_size

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "llm"
# Attributes that end so are counts.
COUNT = r"(?:n_\w+|\w*tokens|count|n_calls|n_final|n_requests|samples|\w+_per_minute)"
# Numbers that the views have put in words already.
IN_WORDS = re.compile(r"\bplan\.\w+")


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_counts_are_shown_in_one_form(path: Path) -> None:
    text = IN_WORDS.sub("", path.read_text(encoding="utf-8"))
    # Attributes are read by programs.
    shown = re.sub(r'\b(?:max|value|colspan)="[^"]*"', "", text)
    assert re.findall(r"\{\{ [\w.]+\." + COUNT + r" \}\}", shown) == []
    assert re.findall(r"\b(?!field)\w+=[\w.]+\." + COUNT + r"(?=\s|%)", without_plurals(shown)) == []


def without_plurals(text: str) -> str:
    """Less what plurals are chosen by, which has to be a number; it may not be what is shown."""
    for block in re.findall(r"\{% blocktranslate.*?\{% endblocktranslate %\}", text, flags=re.DOTALL):
        if counted := re.search(r"\bcount (\w+)=[\w.]+\." + COUNT, block):
            assert f"{{{{ {counted[1]} }}}}" not in block
    return re.sub(r"\bcount \w+=[\w.|]+", "", text)


def test_a_count_in_a_sentence_with_a_plural() -> None:
    text = (TEMPLATES / "_runs.html").read_text(encoding="utf-8")
    [block] = re.findall(r"\{% blocktranslate[^%]*n_invalid.*?endblocktranslate %\}", text)
    told = Template("{% load i18n %}" + block).render(Context({"row": {"n_invalid": 66744}}))
    assert told == "66,744 invalid"


def test_why_there_is_nothing_to_ask_has_the_same_form() -> None:
    with pytest.raises(PlanError, match="66,744"):
        _check_size(0, {"asked": 66744})
