"""`export_ratings`: everything comes out, and comes in again. CASES 26, 27, 28."""

import csv
import json
from datetime import UTC, datetime

import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.annotation.evidence import Quote
from apps.annotation.models import Evidence, Rating
from apps.annotation.rating_export import COLUMNS, ExportedRating, write_export
from apps.annotation.services.exporting import exported_ratings
from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.common.formulas import escape_formula
from apps.corpus.models import Conversation
from apps.studies.models import Item, ItemRole, Rater, RaterKind
from apps.studies.services.exclusions import exclude, revert
from tests.conftest import make_dataset, make_framework, make_study

FORMATS = ["csv", "jsonl", "parquet"]
NASTY = 'commas, "quotes",\r\nnewlines\n returns\r and 😀 e\u0301 \u202eright to left\u200b'


@pytest.fixture
def rated(grief, framework):
    """Ratings of people, an aggregate and a simulated model, with everything that may stand in a file."""
    first, second, third = Item.objects.filter(block__study=grief).order_by("position")
    repeat = Item.objects.create(block=first.block, conversation=first.conversation, role=ItemRole.REPEAT, position=50)
    Conversation.objects.filter(pk=second.conversation_id).update(external_id='=1+1, "x" 😀')
    Conversation.objects.filter(pk=third.conversation_id).update(external_id="-7")
    one, two = framework.dimensions.all()
    expert = grief.raters.get(name="expert1")
    means = Rater.objects.create(study=grief, name="@means", kind=RaterKind.CROWD, is_aggregate=True)
    bot = Rater.objects.create(study=grief, name="bot", kind=RaterKind.LLM, is_simulated=True)
    hard = Quote("That", 1, 0, 4)
    record_ratings(
        entries=[
            RatingEntry(first.pk, expert.pk, one.pk, 4, comment=NASTY, evidence=[hard, Quote("never, said\n")]),
            RatingEntry(first.pk, expert.pk, two.pk, None, cannot_tell=True, comment="=SUM(A1)"),
            RatingEntry(repeat.pk, expert.pk, one.pk, 3, comment="-1"),
            RatingEntry(second.pk, means.pk, one.pk, 2.6666666666666665),
            RatingEntry(third.pk, bot.pk, two.pk, 5, comment="'=already"),
        ],
        origin=Origin.IMPORT,
    )
    return grief


def export(study, path, *options):
    call_command("export_ratings", "--study", study.slug, "--out", str(path), *options)
    return path


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def content(study):
    """What a study's ratings say, less when they were stored."""
    return {
        (
            rating.item.conversation.external_id,
            rating.item.role,
            rating.rater.name,
            rating.rater.kind,
            rating.rater.is_aggregate,
            rating.rater.is_simulated,
            rating.dimension.slug,
            rating.value,
            rating.cannot_tell,
            rating.comment,
            tuple((one.quote, one.turn and one.turn.index, one.start, one.end) for one in rating.evidence.all()),
        )
        for rating in Rating.objects.filter(rater__study=study)
    }


# --- What is written --------------------------------------------------------------------------------------------------


def test_a_row_for_each_rating_with_every_column(rated, tmp_path):
    rows = rows_of(export(rated, tmp_path / "ratings.csv"))
    assert len(rows) == 5
    assert tuple(rows[0]) == COLUMNS
    first = rows[0]
    assert (first["block"], first["framework"], first["framework_version"]) == ("main", "warmth-scales", "1")
    assert (first["dimension"], first["item"], first["item_role"]) == ("scale_1", "letters-001", "main")
    assert (first["rater"], first["kind"], first["is_aggregate"], first["is_simulated"]) == (
        "expert1",
        "expert",
        "false",
        "false",
    )
    assert (first["value"], first["cannot_tell"], first["comment"]) == ("4", "false", NASTY)
    assert json.loads(first["evidence"]) == [
        {"quote": "That", "turn": 1, "start": 0, "end": 4},
        {"quote": "never, said\n", "turn": None, "start": None, "end": None},
    ]
    stored = Rating.objects.get(comment=NASTY)
    assert datetime.fromisoformat(first["created_at"]) == stored.created_at
    assert datetime.fromisoformat(first["updated_at"]) == stored.updated_at
    assert (rows[1]["value"], rows[1]["cannot_tell"]) == ("", "true")


def test_free_text_is_escaped_in_csv_and_numbers_stay_numbers_case_26(rated, tmp_path):
    rows = rows_of(export(rated, tmp_path / "ratings.csv"))
    assert [row["comment"] for row in rows[1:]] == ["'=SUM(A1)", "", "''=already", "'-1"]
    assert [row["item"] for row in rows[2:4]] == ['\'=1+1, "x" 😀', "-7"]
    assert rows[2]["rater"] == "'@means"
    assert [row["value"] for row in rows] == ["4", "", "2.6666666666666665", "5", "3"]


def test_the_score_minus_one_stays_a_number_case_26(rosa, tmp_path):
    framework = make_framework("mood", low=-1, high=1)
    study = make_study("moods", owner=rosa, dataset=make_dataset("notes", owner=rosa), frameworks=[framework])
    item, rater = Item.objects.filter(block__study=study).first(), study.raters.first()
    record_ratings(entries=[RatingEntry(item.pk, rater.pk, framework.dimensions.first().pk, -1)], origin=Origin.IMPORT)
    assert rows_of(export(study, tmp_path / "m.csv"))[0]["value"] == "-1"
    assert json.loads(export(study, tmp_path / "m.jsonl").read_text())["value"] == -1


def test_json_lines_hold_the_text_as_it_is_case_26(rated, tmp_path):
    lines = export(rated, tmp_path / "ratings.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    rows = [json.loads(line) for line in lines]
    assert [row["comment"] for row in rows] == [NASTY, "=SUM(A1)", "", "'=already", "-1"]
    assert rows[0]["evidence"][0] == {"quote": "That", "turn": 1, "start": 0, "end": 4}
    assert (rows[1]["value"], rows[1]["cannot_tell"]) == (None, True)


def test_parquet_has_types(rated, tmp_path):
    table = pyarrow.parquet.read_table(export(rated, tmp_path / "ratings.parquet"))
    assert tuple(table.column_names) == COLUMNS
    rows = table.to_pylist()
    assert [row["value"] for row in rows] == [4, None, 2.6666666666666665, 5, 3]
    assert rows[0]["created_at"].astimezone(UTC) == Rating.objects.get(comment=NASTY).created_at
    assert rows[0]["is_aggregate"] is False


def test_no_name_or_address_of_a_person_is_in_an_export(rated, tmp_path, emil):
    for suffix in FORMATS:
        data = export(rated, tmp_path / f"ratings.{suffix}").read_bytes()
        assert emil.email.encode() not in data
        assert b"Emil" not in data


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_rater_who_left_stays_under_the_same_pseudonym_case_27(rated, tmp_path, suffix):
    before = export(rated, tmp_path / f"before.{suffix}").read_bytes()
    rated.raters.filter(name="expert1").update(left_at=timezone.now())
    assert export(rated, tmp_path / f"after.{suffix}").read_bytes() == before


def test_excluded_ratings_stay_with_the_reason_until_it_is_taken_back(rated, tmp_path, rosa):
    expert = rated.raters.get(name="expert1")
    first = Item.objects.get(block__study=rated, position=0)
    exclude(rater=rated.raters.get(name="bot"), reason="rule", explanation="=too fast", by=rosa)
    taken_back = exclude(rater=expert, item=first, by=rosa)
    rows = rows_of(export(rated, tmp_path / "ratings.csv"))
    assert [row["excluded"] for row in rows] == ["hand", "hand", "", "rule: =too fast", ""]
    revert(exclusion=taken_back, by=rosa)
    rows = rows_of(export(rated, tmp_path / "ratings.csv"))
    assert [row["excluded"] for row in rows] == ["", "", "", "rule: =too fast", ""]


def test_one_block_may_be_exported_alone(rated, framework, tmp_path):
    assert len(rows_of(export(rated, tmp_path / "ratings.csv", "--block", "main"))) == 5
    with pytest.raises(CommandError, match=r"no block other\. Its blocks are: main"):
        export(rated, tmp_path / "x.csv", "--block", "other")


def test_a_study_without_ratings_is_a_file_without_rows(grief, tmp_path):
    assert rows_of(export(grief, tmp_path / "none.csv")) == []
    assert export(grief, tmp_path / "none.jsonl").read_text() == ""
    assert pyarrow.parquet.read_table(export(grief, tmp_path / "none.parquet")).num_rows == 0


# --- What goes wrong --------------------------------------------------------------------------------------------------


def test_wrong_input_is_one_clear_line(grief, tmp_path):
    with pytest.raises(CommandError, match="There is no study joy"):
        call_command("export_ratings", "--study", "joy", "--out", str(tmp_path / "x.csv"))
    with pytest.raises(CommandError, match=r"x\.xlsx ends in none of the formats written here: \.csv, \.jsonl, \.parq"):
        export(grief, tmp_path / "x.xlsx")
    with pytest.raises(CommandError, match=r"nowhere/x\.csv cannot be written: No such file or directory"):
        export(grief, tmp_path / "nowhere" / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("the last export")

    def breaking():
        yield exported(item="c1")
        raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        write_export(breaking(), path)
    assert path.read_text() == "the last export"
    assert list(tmp_path.iterdir()) == [path]


def test_queries_do_not_grow_with_ratings(rated, framework):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            list(exported_ratings(study=rated))
        return len(captured)

    before = queries()
    entries = [
        RatingEntry(item, rater, dimension, 1, evidence=[Quote("letter")])
        for item in Item.objects.filter(block__study=rated).values_list("pk", flat=True)
        for rater in rated.raters.values_list("pk", flat=True)
        for dimension in framework.dimensions.values_list("pk", flat=True)
    ]
    record_ratings(entries=entries, origin=Origin.IMPORT)
    assert queries() == before


# --- There and back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_was_exported_can_be_imported_unchanged_case_28(rated, framework, rosa, tmp_path, suffix):
    path = export(rated, tmp_path / f"ratings.{suffix}")
    dataset = rated.blocks.get().dataset
    other = make_study("copy", owner=rosa, dataset=dataset, frameworks=[framework], experts=0)
    first = Item.objects.get(block__study=other, position=0)
    Item.objects.create(block=first.block, conversation=first.conversation, role=ItemRole.REPEAT, position=50)
    call_command("import_ratings", str(path), "--study", "copy", "--block", "main")
    assert content(other) == content(rated)
    assert Evidence.objects.filter(rating__rater__study=other).count() == 2


def exported(**changes) -> ExportedRating:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    row = ExportedRating("b", "f", 1, "d", "i", "main", "r", "expert", False, False, 1.0, False, "", at, at, [], "")
    return row._replace(**changes)


@settings(deadline=None)  # it writes files
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=5))
def test_any_comment_survives_each_format_case_28(tmp_path_factory, comments):
    folder = tmp_path_factory.mktemp("export")
    rows = [exported(comment=comment) for comment in comments]
    for suffix in FORMATS:
        assert write_export(rows, folder / f"x.{suffix}") == len(rows)
    lines = (folder / "x.jsonl").read_bytes().decode().split("\n")[:-1]
    assert [json.loads(line)["comment"] for line in lines] == comments
    assert pyarrow.parquet.read_table(folder / "x.parquet")["comment"].to_pylist() == comments
    assert [row["comment"] for row in rows_of(folder / "x.csv")] == [escape_formula(comment) for comment in comments]
