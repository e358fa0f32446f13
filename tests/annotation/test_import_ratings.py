"""`import_ratings`: the command and its service. CASES 9."""

import json
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.annotation.models import Evidence, Rating, RatingEvent
from apps.common.models import AuditEntry
from apps.corpus.models import Turn
from apps.frameworks.models import Framework
from apps.studies.models import Item, ItemRole, Rater
from tests.conftest import make_dataset, make_study

WIDE = "item,scale_1,scale_2\nletters-001,3,4\nletters-002,3.0,5\nletters-003,1,2\n"


@pytest.fixture
def importing(grief, tmp_path, capsys):
    """`importing(text, *options)` runs the command on a file of that text and returns what it printed."""

    def run(text, *options, name="ratings.csv", study="grief", block="main"):
        file = tmp_path / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        call_command("import_ratings", str(file), "--study", study, "--block", block, *options)
        return capsys.readouterr().out

    return run


def stored(rater="expert1"):
    rows = Rating.objects.filter(rater__name=rater).values_list(
        "item__conversation__external_id", "dimension__slug", "value"
    )
    return {(external_id, slug): value for external_id, slug, value in rows}


def test_a_wide_file_of_one_rater(importing):
    out = importing(WIDE, "--rater", "expert1")
    assert stored()[("letters-002", "scale_1")] == 3
    assert len(stored()) == 6
    assert "csv, read as item=item dimension.warmth-scales/scale_1=scale_1" in out
    assert "grief/main: 6 ratings added, 0 changed, 0 as they were." in out
    assert set(RatingEvent.objects.values_list("origin", flat=True)) == {"import"}


def test_a_long_file_makes_the_raters_it_needs(importing, grief):
    importing(
        "item,rater,dimension,value,comment\nletters-001,gpt,scale_1,4,warm\nletters-001,gemini,scale_1,2,\n",
        "--kind",
        "llm",
    )
    assert set(grief.raters.filter(kind="llm").values_list("name", "source")) == {
        ("gpt", "ratings.csv"),
        ("gemini", "ratings.csv"),
    }
    assert Rating.objects.get(rater__name="gpt").comment == "warm"


def test_the_same_file_twice_changes_nothing(importing):
    importing(WIDE, "--rater", "gpt", "--kind", "llm")
    before = list(Rating.objects.values()), AuditEntry.objects.count(), RatingEvent.objects.count()
    out = importing(WIDE, "--rater", "gpt", "--kind", "llm")
    assert (list(Rating.objects.values()), AuditEntry.objects.count(), RatingEvent.objects.count()) == before
    assert "0 ratings added, 0 changed, 6 as they were" in out


def test_a_mended_file_changes_what_differs(importing):
    importing(WIDE, "--rater", "expert1")
    out = importing(WIDE.replace("letters-003,1", "letters-003,5"), "--rater", "expert1")
    assert "0 ratings added, 1 changed, 5 as they were" in out
    assert [event.value for event in Rating.objects.get(value=5, dimension__slug="scale_1").events.all()] == [1, 5]


def test_an_import_is_remembered_with_the_hash_of_the_file(importing):
    importing(WIDE, "--rater", "gpt", "--kind", "llm")
    entry = AuditEntry.objects.get(action="ratings.import")
    assert entry.subject == "grief/main"
    assert entry.details["created"] == 6
    assert len(entry.details["sha256"]) == 64
    assert entry.details["raters"] == ["gpt"]


def test_an_aggregate_is_declared(importing, grief):
    means = WIDE.replace("3.0", "3.3333333333333335")
    with pytest.raises(CommandError, match="1 problem"):
        importing(means, "--rater", "crowd", "--kind", "crowd")
    assert not grief.raters.filter(name="crowd").exists()
    importing(means, "--rater", "crowd", "--kind", "crowd", "--aggregate")
    assert grief.raters.get(name="crowd").is_aggregate
    assert stored("crowd")[("letters-002", "scale_1")] == 3.3333333333333335


def test_evidence_of_a_wide_file_is_tied_to_its_turn(importing):
    importing("item,scale_1,scale_1_example\nletters-001,3,must be hard\n", "--rater", "expert1")
    evidence = Evidence.objects.get()
    assert evidence.turn == Turn.objects.get(conversation__external_id="letters-001", index=1)
    assert evidence.quote == "must be hard"


def test_the_first_import_freezes_the_framework(importing):
    importing(WIDE, "--rater", "expert1")
    assert Framework.objects.get().is_frozen


# --- Problems ---------------------------------------------------------------------------------------------------------

BAD = (
    "item,dimension,value\nletters-001,scale_1,6\nletters-002,scale_1,3.0\n"
    'letters-003,scale_1,"3,5"\nletters-001,scale_2,\nletters-001,scale_9,1\nletters-009,scale_1,1\n'
    "letters-002,scale_2,1\nletters-002,scale_2,2\nletters-003,scale_2,4\n"
)


def test_one_problem_refuses_the_file_and_every_problem_is_listed_case_9(importing, capsys):
    with pytest.raises(CommandError, match=r"Nothing was imported: 7 problems\..+--skip-problem-rows.+--empty-is-miss"):
        importing(BAD, "--rater", "new", "--kind", "expert")
    out = capsys.readouterr().out
    for line in (
        "row 2, value: 6 is outside the scale; expected one of 1, 2, 3, 4, 5",
        "row 4, value: 3,5 has a decimal comma, write 3.5",
        "row 5, value: is empty",
        "row 6, dimension: scale_9 is no dimension of the block; expected one of scale_1, scale_2",
        "row 7, item: letters-009 is no conversation of the block main",
        "row 8: letters-002 on warmth-scales/scale_2 by new is 1 here but 2 in row 9",
    ):
        assert line in out
    assert not Rating.objects.exists()
    assert not Rater.objects.filter(name="new").exists()
    assert not AuditEntry.objects.exists()


def test_the_good_rows_are_stored_when_asked_and_the_rest_listed_case_9(importing):
    out = importing(BAD, "--rater", "expert1", "--skip-problem-rows")
    assert stored() == {("letters-002", "scale_1"): 3, ("letters-003", "scale_2"): 4}
    assert "Problems (7):" in out
    assert "2 ratings added, 0 changed, 0 as they were, problems: 7." in out


def test_an_empty_cell_is_no_rating_when_told_so(importing):
    out = importing(WIDE.replace(",5", ","), "--rater", "expert1", "--empty-is-missing")
    assert len(stored()) == 5
    assert "empty cells: 1." in out


def test_a_dry_run_tells_and_stores_nothing(importing):
    out = importing(WIDE, "--rater", "gpt", "--kind", "llm", "--dry-run")
    assert "6 ratings added, 0 changed, 0 as they were, new raters: 1. Nothing was stored (dry run)." in out
    assert not Rating.objects.exists()
    assert not Rater.objects.filter(name="gpt").exists()
    assert not AuditEntry.objects.exists()
    assert not Framework.objects.get().is_frozen


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (WIDE, ["--rater", "new"], "new is new to the study; say of which kind: expert, crowd"),
        (WIDE, ["--rater", "expert1", "--kind", "llm"], "3 problems"),
        (WIDE, [], "Whose ratings are these"),
        (WIDE, ["--rater", "expert1", "--map", "item=nr"], "no column nr"),
        (WIDE, ["--rater", "expert1", "--map", "points=nr"], "points is not a field"),
        ("", ["--rater", "expert1"], "The file is empty"),
        ("item,scale_1\n", ["--rater", "expert1"], "no rows besides its header"),
        ("item,scale_1,item,scale_1\na,1,a,1\n", ["--rater", "expert1"], "These headers come more than once: item"),
        (WIDE, ["--rater", "a\udcff", "--kind", "llm"], "The rater's name holds U.DCFF, half of a surrogate pair"),
        (WIDE, ["--rater", " ", "--kind", "llm"], "3 problems"),
        (
            "item,block,scale_1\nletters-001,session 1,3\n",
            ["--rater", "expert1"],
            "The column block names the block main in no row. If it is about something else, add --map block=",
        ),
        (
            b"item,scale_1\ncaf\xe9,1\n",
            ["--rater", "expert1"],
            r"offset 16.+Try --encoding cp1252\. Nothing",
        ),
        (WIDE, ["--rater", "gpt", "--kind", "robot"], "robot is no kind of rater; expected one of expert, crowd"),
        (WIDE, ["--rater", "expert1", "--format", "doc"], "doc is not a format known here; expected one of csv, tsv"),
    ],
)
def test_an_unusable_file_or_mapping_is_one_clear_line(importing, text, options, words):
    with pytest.raises(CommandError, match=words):
        importing(text, *options)
    assert not Rating.objects.exists()


def test_studies_blocks_and_files_that_are_not_there(importing, grief):
    with pytest.raises(CommandError, match=r"The study grief has no block other\. Its blocks are: main"):
        importing(WIDE, "--rater", "expert1", block="other")
    with pytest.raises(CommandError, match="There is no such study"):
        importing(WIDE, "--rater", "expert1", study="joy")
    with pytest.raises(CommandError, match=r"/nowhere\.csv cannot be opened: No such file"):
        call_command("import_ratings", "/nowhere.csv", "--study", "grief", "--block", "main", "--rater", "expert1")


def test_repeats_are_items_of_their_own(importing, grief):
    block = grief.blocks.get()
    first = block.items.first()
    Item.objects.create(block=block, conversation=first.conversation, role=ItemRole.REPEAT, position=99)
    importing(
        "item,item_role,dimension,value\nletters-001,main,scale_1,2\nletters-001,repeat,scale_1,3\n",
        "--rater",
        "expert1",
    )
    assert dict(Rating.objects.values_list("item__role", "value")) == {"main": 2, "repeat": 3}


# --- Size -------------------------------------------------------------------------------------------------------------


def test_queries_grow_with_batches_not_with_ratings(importing, rosa, framework, tmp_path):
    Framework.objects.update(frozen_at=datetime(2026, 1, 1, tzinfo=UTC))
    make_study("large", owner=rosa, dataset=make_dataset("many", conversations=300), frameworks=[framework])
    lines = [json.dumps({"item": f"many-{n:03d}", "scale_1": 1, "scale_2": 2}) for n in range(1, 301)]

    def queries(rows, rater):
        with CaptureQueriesContext(connection) as captured:
            importing("\n".join(rows), "--rater", rater, study="large", name="many.jsonl")
        # Bulk inserts of SQLite come in several statements.
        return len([query for query in captured if not query["sql"].startswith("INSERT")])

    assert queries(lines[:3], "expert1") == queries(lines, "expert2")
    assert Rating.objects.count() == 606


def test_one_map_may_hold_several_pairs_and_the_file_may_follow(importing, grief, tmp_path, capsys):
    importing("nr,who,scale,v\nletters-001,gpt,scale_1,4\n", "--kind", "llm", "--map", "item=nr", "rater=who",
              "dimension=scale", "value=v")  # fmt: skip
    assert stored("gpt") == {("letters-001", "scale_1"): 4}
    (tmp_path / "more.csv").write_text("nr,scale_1\nletters-002,5\n")
    about = ["--study", "grief", "--block", "main", "--rater", "gpt"]
    call_command("import_ratings", *about, "--map", "item=nr", str(tmp_path / "more.csv"))
    assert stored("gpt")[("letters-002", "scale_1")] == 5
    with pytest.raises(CommandError, match="Which file"):
        call_command("import_ratings", *about, "--map", "item=nr")
    with pytest.raises(CommandError, match="One file at a time"):
        call_command("import_ratings", str(tmp_path), *about, "--map", str(tmp_path / "more.csv"))
