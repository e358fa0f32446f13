"""docs/language-models.md says what the modules do."""

import re
from pathlib import Path

import pytest

from apps.llm.answers import MEMBERS, AllowedAnswers
from apps.llm.bias import DRAW_STATISTICS, LENGTH_STATISTICS, ORDER_STATISTICS, RESAMPLES
from apps.llm.faults import Fault
from apps.llm.json_reading import MAX_CHARACTERS, MAX_DEPTH, Reading
from apps.llm.management.commands.run_llm_raters import Command
from apps.llm.replies import MAX_QUOTES, parse_scale_reply
from apps.llm.services.estimating import ANSWERS_ASKED, SECONDS_BY_CALL, TOKENS_BY_SCALE
from apps.llm.services.model_raters import MOST_SAMPLES
from apps.llm.services.planning import MOST_CALLS, LeftOut
from apps.llm.templates import PLACEHOLDERS, REQUIRED, UNTRUSTED, Use

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "language-models.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"`([^`\n]+)`", DOCS))
SCORES = re.findall(
    r"^\| (`.*?) \| (3|cannot tell|invalid) \|$", re.sub(r", where it is allowed", "", DOCS), re.MULTILINE
)


def test_every_fault_and_reading_is_explained():
    assert {*Fault, *Reading} - WORDS == set()


@pytest.mark.parametrize("use", Use)
def test_every_place_of_a_template_is_explained(use):
    column = {Use.SCALE: 2, Use.FRAMEWORK: 3}[use]
    rows = [[cell.strip() for cell in line.split("|")] for line in DOCS.splitlines() if line.startswith("| `{{")]
    stated = {row[1].strip("`{}"): row[column] for row in rows if row[column]}
    assert stated == {name: "required" if name in REQUIRED[use] else "yes" for name in PLACEHOLDERS[use]}
    assert {row[1].strip("`{}") for row in rows if "user message only" in row[4]} == set(UNTRUSTED)


def test_the_limits_are_those_of_the_code():
    assert f"more than {MAX_CHARACTERS:,} characters" in DOCS
    assert f"more than {MAX_DEPTH} levels" in DOCS
    assert f"At most {MAX_QUOTES} quotes" in DOCS


def test_the_form_is_the_one_asked_for():
    assert re.findall(r'"(\w+)":', DOCS.split("## What is asked for")[1].split("\n\n")[1]) == list(MEMBERS)


def test_the_scores_of_the_table_are_read_as_it_says():
    allowed = AllowedAnswers("scale", (1.0, 2.0, 3.0, 4.0, 5.0), cannot_tell=True)
    stated = [(score, read) for scores, read in SCORES for score in re.findall(r"`([^`]+)`", scores)]
    assert len(stated) > 15
    for score, read in stated:
        (answer,) = parse_scale_reply(f'{{"score": {score}}}', allowed).answers
        found = "cannot tell" if answer.is_cannot_tell else "3" if answer.score == 3 else str(answer.fault)
        assert (score, found) == (score, read.replace("invalid", "not_allowed"))


def test_every_reason_to_leave_an_item_out_is_explained_in_the_order_of_the_sieve():
    section = DOCS.partition("## A run\n")[2].partition("\n## ")[0]
    stated = re.findall(r"^\| ([a-z][^|`]*?) \| [^|]+ \|$", section, re.MULTILINE)
    assert stated[1:-1] == [str(reason.label) for reason in LeftOut]


def test_the_numbers_of_a_run_are_those_of_the_code():
    assert f"at most {MOST_CALLS:,} calls" in DOCS
    assert f"from 1 to {MOST_SAMPLES}" in DOCS
    assert f"at {TOKENS_BY_SCALE} tokens a scale and {SECONDS_BY_CALL:g} seconds each" in DOCS
    assert f"latest {ANSWERS_ASKED} answers" in DOCS


def test_every_option_of_the_command_is_explained():
    section = DOCS.partition("## A run\n")[2].partition("\n## ")[0]
    stated = set(re.findall(r"--[a-z][a-z-]*", section))
    parser = Command().create_parser("manage.py", "run_llm_raters")
    of_django = {
        "--help",
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
        "--skip-checks",
    }
    known = {name for action in parser._actions for name in action.option_strings if name.startswith("--")} - of_django
    assert stated == known


def test_every_figure_of_the_checks_is_explained():
    statistics = {*ORDER_STATISTICS, *DRAW_STATISTICS, *LENGTH_STATISTICS}
    assert statistics - WORDS == set()
    assert f"{RESAMPLES:,} resamples" in DOCS
