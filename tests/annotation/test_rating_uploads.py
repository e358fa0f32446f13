"""Finished ratings in the browser: handed in, looked at, imported. CASES 1, 5 and 9, and blindness."""

from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.annotation.models import Rating, RatingEvent, RatingUpload
from apps.annotation.services import uploads
from apps.annotation.services.recording import Origin, record_rating
from apps.annotation.services.uploads import import_upload, start_import
from apps.common.models import AuditEntry, Job, JobState, StoredFile
from apps.common.services.jobs import run_job
from apps.studies.models import Block, BlockFramework, Item, MemberRole, Membership, Rater, StudyStatus
from tests.conftest import make_dataset, make_framework, make_study

UPLOAD = "/studies/grief/ratings/upload/"
WIDE = "item,scale_1,scale_2\nletters-001,3,4\nletters-002,3.0,5\nletters-003,1,2\n"
LONG = "item,rater,dimension,value,comment\nletters-001,gpt,scale_1,4,warm\nletters-001,gemini,scale_1,2,\n"
BAD = (
    "item,dimension,value\nletters-001,scale_1,6\nletters-002,scale_1,3.0\n"
    'letters-003,scale_1,"3,5"\nletters-001,scale_2,\nletters-001,scale_9,1\nletters-009,scale_1,1\n'
    "letters-002,scale_2,1\nletters-002,scale_2,2\nletters-003,scale_2,4\n"
)


def file_of(content: str | bytes, name: str = "ratings.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


@pytest.fixture
def hand_in(grief, rosa, sign_in):
    """`hand_in(text, rater="expert1")` uploads a file as Rosa and returns the row of the upload."""

    def handed(content: str | bytes, user: Any = rosa, name: str = "ratings.csv", **said: Any) -> RatingUpload:
        answer = sign_in(user).post(UPLOAD, {"file": file_of(content, name), "block": "main"} | said)
        assert answer.status_code == 302, answer.text
        return RatingUpload.objects.latest("pk")

    return handed


@pytest.fixture
def begin(sign_in, rosa, django_capture_on_commit_callbacks):
    """`begin(upload, skip=True)` confirms the import, which runs at once, and returns its job."""

    def begun(upload: RatingUpload, *, skip: bool = False, user: Any = rosa) -> Job:
        with django_capture_on_commit_callbacks(execute=True):
            answer = sign_in(user).post(start_of(upload), {"skip_problem_rows": "on"} if skip else {})
        assert answer.status_code == 302, answer.text
        upload.refresh_from_db()
        assert answer.url == reverse("common:job", args=[upload.job.pk])
        return upload.job

    return begun


def check_of(upload: RatingUpload) -> str:
    return f"{UPLOAD}{upload.pk}/"


def start_of(upload: RatingUpload) -> str:
    return f"{UPLOAD}{upload.pk}/start/"


def stored(rater: str = "expert1") -> dict[tuple[str, str], float | None]:
    rows = Rating.objects.filter(rater__name=rater)
    return {
        (row[0], row[1]): row[2]
        for row in rows.values_list("item__conversation__external_id", "dimension__slug", "value")
    }


def settings_of(upload: RatingUpload, **said: Any) -> dict[str, Any]:
    about = {"rater": upload.rater, "kind": upload.kind, "format": upload.format, "encoding": upload.encoding}
    return about | said


# --- The whole way ------------------------------------------------------------------------------------------------


def test_a_wide_file_comes_in_by_way_of_the_check_page(hand_in, begin, sign_in, rosa):
    upload = hand_in(WIDE, rater="expert1")
    page = sign_in(rosa).get(check_of(upload)).text
    assert "Read as a wide file" in page
    assert "letters-002" in page
    assert "Scale 1: 3<br>Scale 2: 5" in page
    assert "Import 6 ratings" in page
    assert not Rating.objects.exists()
    job = begin(upload)
    assert (job.state, job.message) == (JobState.DONE, "6 ratings are stored.")
    assert job.result == {"ratings": 6, "added": 6, "changed": 0, "as they were": 0}
    assert job.result_url == "/studies/grief/"
    assert job.back_url == check_of(upload)
    assert stored()[("letters-002", "scale_1")] == 3
    assert set(RatingEvent.objects.values_list("origin", "actor__email")) == {("import", "rosa@example.org")}


def test_a_long_file_makes_the_raters_it_needs(hand_in, begin, sign_in, rosa, grief):
    upload = hand_in(LONG, kind="llm")
    page = sign_in(rosa).get(check_of(upload)).text
    assert "Read as a long file" in page
    assert "2 of them new" in page
    assert "“warm”" in page
    assert begin(upload).result["new raters"] == 2
    assert set(grief.raters.filter(kind="llm").values_list("name", "source")) == {
        ("gpt", "ratings.csv"),
        ("gemini", "ratings.csv"),
    }


@pytest.mark.parametrize("status", [StudyStatus.DRAFT, StudyStatus.ACTIVE])
def test_a_study_takes_ratings_while_it_is_set_up_and_while_it_runs(hand_in, begin, grief, status):
    grief.status = status
    grief.save()
    assert begin(hand_in(WIDE, rater="expert1")).state == JobState.DONE


def test_an_aggregate_and_empty_cells_are_told_on_the_form(hand_in, begin, grief):
    means = "item,scale_1,scale_2\nletters-001,3.25,\nletters-002,2.5,4\n"
    job = begin(hand_in(means, rater="crowd", kind="crowd", is_aggregate="on", empty_is_missing="on"))
    assert (job.result["ratings"], job.result["empty cells"]) == (3, 1)
    assert grief.raters.get(name="crowd").is_aggregate


def test_the_same_file_twice_stores_nothing_twice(hand_in, begin):
    begin(hand_in(WIDE, rater="expert1"))
    before = list(Rating.objects.values()), RatingEvent.objects.count()
    job = begin(hand_in(WIDE, rater="expert1"))
    assert job.result["as they were"] == 6
    assert (list(Rating.objects.values()), RatingEvent.objects.count()) == before


# --- Case 9 -------------------------------------------------------------------------------------------------------


def test_case_9_every_problem_is_listed_by_row_with_what_was_expected(hand_in, sign_in, rosa):
    page = sign_in(rosa).get(check_of(hand_in(BAD, rater="new", kind="expert"))).text
    assert "7 problems</h2>" in page
    for line in [
        "row 2, value: 6 is outside the scale; expected one of 1, 2, 3, 4, 5",
        "row 4, value: 3,5 has a decimal comma, write 3.5; expected one of",
        "row 5, value: is empty; expected one of",
        "row 6, dimension: scale_9 is no dimension of the block; expected one of Scale 1, Scale 2",
        "row 7, item: letters-009 is no conversation of the block main; expected an id such as letters-001",
        "row 8: letters-002 on Scale 2 by new is 1 here but 2 in row 9; expected one value",
        "row 9: letters-002 on Scale 2 by new is 2 here but 1 in row 8; expected one value",
    ]:
        assert line in page
    assert "Import 2 ratings" in page


def test_case_9_one_problem_refuses_the_file_unless_the_box_is_ticked(hand_in, sign_in, rosa, begin):
    upload = hand_in(BAD, rater="new", kind="expert")
    answer = sign_in(rosa).post(start_of(upload))
    assert answer.status_code == 422
    assert "Nothing was imported. 7 rows have problems" in answer.text
    assert "What the columns mean" in answer.text
    assert not Job.objects.exists()
    job = begin(upload, skip=True)
    assert (job.state, job.result["added"]) == (JobState.DONE, 2)
    assert job.message == "2 ratings are stored. 7 rows with problems were left out."
    assert (len(job.problems), job.n_problems) == (7, 7)
    assert stored("new") == {("letters-002", "scale_1"): 3, ("letters-003", "scale_2"): 4}


def test_case_9_problems_found_only_by_the_import_refuse_the_whole_file(hand_in, begin, monkeypatch, sign_in, rosa):
    """A long file is checked at its beginning; the import checks every row."""
    monkeypatch.setattr(uploads, "ROWS_CHECKED", 1)
    upload = hand_in(WIDE.replace("letters-003,1", "letters-003,9"), rater="new", kind="expert")
    page = sign_in(rosa).get(check_of(upload)).text
    assert "the import checks every row" in page
    assert "problems</h2>" not in page
    job = begin(upload)
    assert job.state == JobState.FAILED
    assert job.message.startswith("Nothing was stored: 1 problem.")
    assert job.problems == ["row 4, scale_1: 9 is outside the scale; expected one of 1, 2, 3, 4, 5"]
    assert not Rating.objects.exists()
    page = sign_in(rosa).get(check_of(upload)).text
    assert "Nothing was stored: 1 problem." in page
    assert begin(upload, skip=True).state == JobState.DONE
    assert len(stored("new")) == 4


# --- Cases 1 and 5: encodings, and nothing half-stored ------------------------------------------------------------

CAFE = "item,rater,scale_1\nletters-001,café,3\n".encode("cp1252")


def test_case_1_a_bad_byte_is_named_and_another_encoding_can_be_chosen(hand_in, begin, sign_in, rosa, grief):
    client = sign_in(rosa)
    upload = hand_in(CAFE, kind="expert")
    page = client.get(check_of(upload)).text
    assert "Byte 0xe9 at offset 34 (line 2) is not valid UTF-8" in page
    assert '<option value="cp1252" selected>' in page
    assert "Import" not in page.split("Check again")[1]
    client.post(check_of(upload), settings_of(upload, encoding="cp1252"))
    assert "Import 1 rating" in client.get(check_of(upload)).text
    begin(upload)
    assert grief.raters.filter(name="café").exists()


def test_case_5_a_bad_byte_far_down_stores_nothing_ever(hand_in, begin, monkeypatch, letters, grief):
    monkeypatch.setattr(uploads, "ROWS_CHECKED", 100)
    filler = b"letters-001,3," + b"x" * 300 + b"\n"
    content = b"item,scale_1,note\n" + filler * 1500 + b"letters-002,3,caf\xe9\n" + filler * 1000
    upload = hand_in(content, rater="new", kind="expert")
    for _attempt in range(2):
        job = begin(upload)
        assert job.state == JobState.FAILED
        assert "Byte 0xe9 at offset" in job.message
        assert job.message.endswith("Nothing was stored.")
        run_job(pk=job.pk, work=import_upload)
    assert not Rating.objects.exists()
    assert not grief.raters.filter(name="new").exists()


def test_an_import_killed_after_its_rows_were_written_but_not_kept_is_done_again_once(hand_in, rosa, monkeypatch):
    upload = hand_in(WIDE, rater="expert1")
    job = start_import(upload=upload, skip_problem_rows=False, by=rosa)
    real = uploads._Progress.stored
    calls = []

    def fails_first(self, result):
        calls.append(1)
        if len(calls) == 1:
            raise OperationalError("database is locked")
        real(self, result)

    monkeypatch.setattr(uploads._Progress, "stored", fails_first)
    run_job(pk=job.pk, work=import_upload)
    job.refresh_from_db()
    assert (job.state, Rating.objects.count(), AuditEntry.objects.filter(action="ratings.import").count()) == (
        JobState.QUEUED,
        0,
        0,
    )
    for _ in range(2):
        run_job(pk=job.pk, work=import_upload)
    job.refresh_from_db()
    assert (job.state, job.attempts, RatingEvent.objects.count()) == (JobState.DONE, 2, 6)


def test_who_is_deactivated_while_the_file_is_read_stores_nothing(hand_in, rosa, monkeypatch):
    upload = hand_in(WIDE, rater="expert1")
    job = start_import(upload=upload, skip_problem_rows=False, by=rosa)
    opened = uploads._Progress.opened

    def meanwhile(self, table, mapping):
        opened(self, table, mapping)
        type(rosa).objects.filter(pk=rosa.pk).update(is_active=False)

    monkeypatch.setattr(uploads._Progress, "opened", meanwhile)
    run_job(pk=job.pk, work=import_upload)
    job.refresh_from_db()
    assert (job.state, Rating.objects.count()) == (JobState.FAILED, 0)
    assert job.message == "You are no longer owner or researcher of the study. Nothing was stored."


# --- How it is read can be changed --------------------------------------------------------------------------------


def test_a_file_of_other_headers_asks_and_takes_the_answer(hand_in, sign_in, rosa, begin):
    client = sign_in(rosa)
    upload = hand_in("nr,how warm\nletters-001,3\n", rater="expert1")
    page = client.get(check_of(upload)).text
    assert "Choose the column that holds the conversation’s id." in page
    assert '<option value="how warm">' in page
    assert "--map" not in page
    chosen = {"map-item": "nr", "map-dimension.warmth-scales/scale_1": "how warm", "shape": "wide"}
    answer = client.post(check_of(upload), settings_of(upload, **chosen), follow=True)
    assert answer.redirect_chain == [(check_of(upload), 302)]
    assert "Import 1 rating" in answer.text
    assert begin(upload).state == JobState.DONE
    assert stored() == {("letters-001", "scale_1"): 3}


def test_a_long_file_of_other_headers_is_mapped_after_saying_that_it_is_long(hand_in, sign_in, rosa):
    client = sign_in(rosa)
    upload = hand_in("nr,who,what,points\nletters-001,gpt,scale_1,4\n", kind="llm")
    assert 'href="?shape=long"' in client.get(check_of(upload)).text
    assert 'name="map-value"' in client.get(check_of(upload), {"shape": "long"}).text
    chosen = {"map-item": "nr", "map-rater": "who", "map-dimension": "what", "map-value": "points", "shape": "long"}
    assert "Scale 1: 4" in client.post(check_of(upload), settings_of(upload, **chosen), follow=True).text


@pytest.mark.parametrize(
    ("chosen", "fault"),
    [
        ({"shape": "long", "map-item": "item"}, "Choose the column that says it."),
        ({"shape": "wide", "map-item": ""}, "Choose the column that says it."),
        ({"shape": "wide", "map-item": "item"}, "Choose a column for one dimension at least."),
        ({"shape": "wide", "map-item": "nowhere"}, "nowhere is not one of the available choices"),
        ({"shape": "wide", "map-item": "item", "encoding": "utf-99"}, "utf-99 is not one of the available choices"),
        ({"shape": "wide", "map-item": "item", "rater": "stranger"}, "stranger is new to the study"),
    ],
)
def test_an_incomplete_answer_is_shown_again_and_changes_nothing(hand_in, sign_in, rosa, chosen, fault):
    upload = hand_in(WIDE, rater="expert1")
    answer = sign_in(rosa).post(check_of(upload), settings_of(upload, **chosen))
    assert answer.status_code == 422
    assert fault in answer.text
    upload.refresh_from_db()
    assert (upload.maps, upload.rater) == ([], "expert1")


def test_a_column_said_to_be_none_is_not_guessed_again(hand_in, sign_in, rosa, begin):
    client = sign_in(rosa)
    upload = hand_in("item,scale_1,scale_2,scale_1_quote\nletters-001,3,4,must be hard\n", rater="expert1")
    assert "<q" in client.get(check_of(upload)).text
    chosen = {"map-item": "item", "map-dimension.warmth-scales/scale_1": "scale_1", "shape": "wide"}
    page = client.post(check_of(upload), settings_of(upload, **chosen), follow=True).text
    assert "<q" not in page
    assert "Columns not read</dt><dd>scale_2, scale_1_quote" in page
    begin(upload)
    assert stored() == {("letters-001", "scale_1"): 3}


def test_two_columns_for_one_dimension_are_asked_about_without_the_commands_words(hand_in, sign_in, rosa):
    page = sign_in(rosa).get(check_of(hand_in("item,m_scale_1,level_scale_1\nletters-001,3,4\n", rater="expert1"))).text
    assert "The columns m_scale_1 and level_scale_1 may both be Scale 1. Choose one." in page
    assert "--map" not in page
    assert '<option value="m_scale_1">' in page


def test_a_file_that_is_no_longer_kept_says_so(hand_in, sign_in, rosa, begin):
    upload = hand_in(WIDE, rater="expert1")
    job = start_import(upload=upload, skip_problem_rows=False, by=rosa)
    default_storage.delete(upload.source.file.name)
    run_job(pk=job.pk, work=import_upload)
    job.refresh_from_db()
    assert job.message == "The file is no longer kept here; please upload it again. Nothing was stored."
    StoredFile.objects.all().delete()
    page = sign_in(rosa).get(check_of(upload)).text
    assert "The file is no longer kept here." in page
    assert "ratings.csv" in page


# --- The summary at the top ---------------------------------------------------------------------------------------


def summary_of(text: str) -> str:
    """The one summary of a page, as it is marked up."""
    assert text.count('id="summary"') == 1
    return text.split('id="summary"')[1].split("</div>")[0]


def test_columns_named_as_the_scales_are_called_are_understood(hand_in, begin, sign_in, rosa, grief, framework):
    for slug, label in (("scale_1", "Emotional reactions"), ("scale_2", "Self-oriented")):
        framework.dimensions.filter(slug=slug).update(label=label)
    upload = hand_in("Conversation,emotional_reactions,SELF ORIENTED\nletters-001,3,4\n", rater="expert1")
    page = sign_in(rosa).get(check_of(upload)).text
    assert "Emotional reactions: 3<br>Self-oriented: 4" in page
    assert "It can be imported" in summary_of(page)
    begin(upload)
    assert stored() == {("letters-001", "scale_1"): 3, ("letters-001", "scale_2"): 4}


def test_a_scale_is_shown_with_its_framework_where_there_are_several(hand_in, sign_in, rosa, grief):
    cold = make_framework("cold-scales", dimensions=1)
    BlockFramework.objects.create(block=grief.blocks.get(), framework=cold, position=1)
    page = sign_in(rosa).get(check_of(hand_in("item,Scale 1,scale_2\nletters-001,3,4\n", rater="expert1"))).text
    assert "Warmth Scales: Scale 1 or Cold Scales: Scale 1. Choose it for the one it is." in summary_of(page)
    assert 'href="#id_map-dimension.warmth-scales/scale_1"' in summary_of(page)
    assert '<option value="scale_2" selected>' in page
    assert "<code>warmth-scales/scale_1</code>" in page
    page = sign_in(rosa).get(check_of(hand_in("item,Cold Scales: Scale 1\nletters-001,3\n", rater="expert1"))).text
    assert "Cold Scales: Scale 1: 3" in page


def test_everything_that_is_open_is_said_at_once_in_the_words_of_the_menus(hand_in, sign_in, rosa):
    page = sign_in(rosa).get(check_of(hand_in("nr,who,how warm\nletters-001,gpt,3\n"))).text
    summary = summary_of(page)
    assert summary.count("<li>") == 3
    for name in ("map-dimension.warmth-scales/scale_1", "map-item", "map-rater"):
        assert f'href="#id_{name}"' in summary
        assert f'id="id_{name}"' in page
    assert "item" not in summary.replace("map-item", "")
    assert "field" not in summary


def test_the_summary_is_of_the_answers_that_were_just_given_and_never_of_earlier_ones(hand_in, sign_in, rosa):
    client = sign_in(rosa)
    upload = hand_in("nr,who,how warm\nletters-001,gpt,3\n")
    assert "Choose the column that holds the conversation’s id." in client.get(check_of(upload)).text
    chosen = {"map-item": "nr", "map-rater": "who", "shape": "wide"}
    answer = client.post(check_of(upload), settings_of(upload, **chosen))
    summary = summary_of(answer.text)
    assert "Choose a column for one dimension at least." in summary
    assert 'href="#id_map-dimension.warmth-scales/scale_1"' in summary
    assert 'role="alert"' in summary
    assert "autofocus" in summary
    assert "conversation’s id" not in answer.text


def test_what_was_found_before_is_not_shown_beside_answers_that_were_not_taken(hand_in, sign_in, rosa):
    upload = hand_in(WIDE, rater="expert1")
    answer = sign_in(rosa).post(check_of(upload), settings_of(upload, shape="wide"))
    assert "Conversation: Choose the column that says it." in summary_of(answer.text)
    assert "What was found" not in answer.text
    assert "Import 6 ratings" not in answer.text


def test_passages_without_their_values_are_asked_about_at_their_field(hand_in, sign_in, rosa):
    upload = hand_in("item,scale_1,why\nletters-001,3,hard\n", rater="expert1")
    scales = "warmth-scales/scale"
    chosen = {"map-item": "item", f"map-dimension.{scales}_1": "scale_1", f"map-evidence.{scales}_2": "why"}
    answer = sign_in(rosa).post(check_of(upload), settings_of(upload, shape="wide", **chosen))
    assert "Choose the column of its values, too." in summary_of(answer.text)


def test_an_import_without_the_tick_says_at_the_top_why_nothing_happened(hand_in, sign_in, rosa):
    page = sign_in(rosa).post(start_of(hand_in(WIDE.replace("1,2", "9,8"), rater="expert1"))).text
    summary = summary_of(page)
    assert "Nothing was imported. 1 row has problems" in summary
    assert 'href="#id_skip_problem_rows"' in summary
    assert "See the 2 problems" in summary
    assert 'id="id_skip_problem_rows"' in page.split("How it is read")[0]
    assert "Import 4 ratings" in page.split("How it is read")[0]
    assert "2 problems in 1 row</h2>" in page


def test_rows_left_out_are_counted_as_rows(hand_in, begin):
    job = begin(hand_in(WIDE.replace("1,2", "9,8"), rater="expert1"), skip=True)
    assert job.message == "4 ratings are stored. 1 row with problems was left out, with its 2 cells."
    assert (job.result["rows left out"], job.n_problems) == (1, 2)


# --- Raters who are new -------------------------------------------------------------------------------------------

BY_MANY = (
    "item,rater,scale_1\nletters-001,anna,3\nletters-002,anna,4\nletters-003,anna,5\n"
    "letters-001,ben,1\nletters-001,expert1,2\n"
)


def test_the_kind_of_new_raters_is_asked_once_in_plain_view(hand_in, begin, sign_in, rosa, grief):
    client = sign_in(rosa)
    upload = hand_in(BY_MANY)
    page = client.get(check_of(upload)).text
    assert "New to the study: anna, ben" in summary_of(page)
    assert 'href="#id_kind"' in summary_of(page)
    before = page.split("Read it in another way")[0]
    assert "Which kind are they?" in before
    assert page.count('id="id_kind"') == before.count('id="id_kind"') == 1
    assert '<option value="llm">Language model</option>' in before
    assert "say of which kind" not in page
    assert "Import 5 ratings" not in page
    answer = client.post(start_of(upload), {"skip_problem_rows": "on"})
    assert (answer.status_code, Job.objects.count()) == (422, 0)
    assert "Nothing was imported. New to the study: anna, ben" in summary_of(answer.text)
    chosen = {"map-item": "item", "map-rater": "rater", "map-dimension.warmth-scales/scale_1": "scale_1"}
    page = client.post(check_of(upload), settings_of(upload, kind="crowd", **chosen), follow=True).text
    assert "Import 5 ratings" in page
    assert '<option value="crowd" selected>Crowd</option>' in page.split("Read it in another way")[0]
    assert begin(upload).state == JobState.DONE
    kinds = dict(grief.raters.filter(name__in=["anna", "ben", "expert1"]).values_list("name", "kind"))
    assert kinds == {"anna": "crowd", "ben": "crowd", "expert1": "expert"}


def test_a_column_that_says_the_kind_leaves_nothing_to_ask(hand_in, sign_in, rosa, begin, grief):
    upload = hand_in("item,rater,kind,scale_1\nletters-001,anna,Language model,3\n")
    page = sign_in(rosa).get(check_of(upload)).text
    assert "Which kind are they?" not in page
    begin(upload)
    assert grief.raters.get(name="anna").kind == "llm"


def test_of_a_long_file_the_kind_of_raters_further_down_can_be_said(hand_in, sign_in, rosa, begin, monkeypatch):
    monkeypatch.setattr(uploads, "ROWS_CHECKED", 1)
    upload = hand_in("item,rater,scale_1\nletters-001,expert1,3\nletters-002,zoe,4\nletters-003,zoe,4\n")
    assert "Which kind are they?" in sign_in(rosa).get(check_of(upload)).text
    job = begin(upload)
    assert job.problems == [
        "row 3, rater: zoe is new to the study; say of which kind: Expert, Crowd, Language model, Self-report, "
        "Reference, Baseline"
    ]


def test_a_kind_other_than_the_raters_own_is_said_at_its_field(sign_in, rosa, grief):
    data = {"file": file_of(WIDE), "block": "main", "rater": "expert1", "kind": "llm"}
    answer = sign_in(rosa).post(UPLOAD, data)
    assert answer.status_code == 422
    assert "expert1 is in the study already, as: Expert. Leave the kind empty." in answer.text


# --- Blindness ----------------------------------------------------------------------------------------------------


@pytest.fixture
def rated(grief, framework):
    """Expert 2 has given 5 on the first scale everywhere."""
    for item in Item.objects.filter(block__study=grief):
        record_rating(
            item=item,
            rater=Rater.objects.get(study=grief, name="expert2"),
            dimension=framework.dimensions.get(slug="scale_1"),
            value=5,
            origin=Origin.SCREEN,
        )


GUESSES = "item,scale_1\nletters-001,5\nletters-002,3\nletters-003,5\n"


def test_somebody_blind_learns_nothing_of_others_values_from_an_upload(hand_in, begin, sign_in, rosa, grief, rated):
    """Else a file of guesses under another rater's name would tell which of them are right."""
    Rater.objects.filter(study=grief, name="expert3").update(user=rosa)
    pages = []
    for guess in (GUESSES, GUESSES.replace("letters-002,3", "letters-002,5")):
        upload = hand_in(guess, rater="expert2")
        page = sign_in(rosa).get(check_of(upload)).text
        job = begin(upload)
        result = sign_in(rosa).get(reverse("common:job", args=[job.pk])).text
        pages.append((page.count("Scale 1: 5"), job.message, job.result, "changed" in page + result))
        assert job.state == JobState.DONE
    assert pages[0][1:] == pages[1][1:] == ("3 ratings are stored.", {"ratings": 3}, False)


def test_somebody_who_sees_ratings_is_told_how_many_changed(hand_in, begin, rated):
    job = begin(hand_in(GUESSES, rater="expert2"))
    assert job.result == {"ratings": 3, "added": 0, "changed": 1, "as they were": 2}


def test_an_admin_who_rates_is_not_told_by_somebody_elses_upload(hand_in, begin, sign_in, ada, rosa, grief, rated):
    """Neither how many of its values differed from what was there, nor what its lines say of values."""
    Rater.objects.filter(study=grief, name="expert3").update(user=ada)
    twice = "item,rater,dimension,value\nletters-001,expert2,scale_1,5\nletters-001,expert2,scale_1,4\n"
    jobs = [
        begin(hand_in(GUESSES, rater="expert2")),
        begin(hand_in(twice + "letters-002,expert2,scale_1,3\n"), skip=True),
    ]
    pages = [[sign_in(person).get(f"/jobs/{job.pk}/").text for job in jobs] for person in (rosa, ada)]
    assert ["As they were" in page for page in pages[0]] == [True, True]
    assert ["letters-001" in page for page in pages[0]] == [False, True]
    assert not any("As they were" in page or "letters-001" in page for page in pages[1])


def test_ratings_of_somebody_who_rates_in_the_browser_are_warned_about(hand_in, sign_in, rosa):
    assert "expert1, who rates in the browser" in sign_in(rosa).get(check_of(hand_in(WIDE, rater="expert1"))).text
    assert "who rates in the browser" not in sign_in(rosa).get(check_of(hand_in(WIDE, rater="expert2"))).text


# --- The form -----------------------------------------------------------------------------------------------------


class TestForm:
    def test_the_only_block_is_chosen_already_and_a_block_can_be_asked_for(self, sign_in, rosa, grief):
        client = sign_in(rosa)
        assert '<option value="main" selected>' in client.get(UPLOAD).text
        Block.objects.create(study=grief, slug="second", title="Second", position=1, dataset=make_dataset("b"))
        assert "selected>Main" not in client.get(UPLOAD).text
        assert '<option value="second" selected>' in client.get(UPLOAD, {"block": "second"}).text

    @pytest.mark.parametrize(
        ("said", "fault"),
        [
            ({"block": "main"}, "This field is required."),
            ({"file": b"", "block": "main"}, "The submitted file is empty."),
            ({"file": b"x", "block": "elsewhere"}, "Select a valid choice."),
            ({"file": b"x", "block": "main", "rater": "gpt"}, "gpt is new to the study: say which kind"),
            ({"file": b"x", "block": "main", "kind": "parrot"}, "Select a valid choice."),
            ({"file": b"x", "block": "main", "rater": "g" * 81}, "at most 80 characters"),
        ],
    )
    def test_what_is_missing_is_said_at_its_field_and_nothing_is_stored(self, sign_in, rosa, grief, said, fault):
        data = {name: file_of(value) if isinstance(value, bytes) else value for name, value in said.items()}
        answer = sign_in(rosa).post(UPLOAD, data)
        assert answer.status_code == 422
        assert fault in answer.text
        assert not StoredFile.objects.exists()

    def test_a_file_beyond_the_limit_is_refused(self, sign_in, rosa, grief, settings):
        settings.UPLOAD_MAX_BYTES = 20
        answer = sign_in(rosa).post(UPLOAD, {"file": file_of(WIDE), "block": "main", "rater": "expert1"})
        assert answer.status_code == 422
        assert "The file is too large: at most 20" in answer.text

    def test_a_study_without_blocks_says_what_comes_first(self, sign_in, otto, framework):
        study = make_study("empty", owner=otto, dataset=make_dataset("none"), frameworks=[framework])
        study.blocks.get().items.all().delete()
        study.blocks.get().groups.all().delete()
        study.blocks.get().block_frameworks.all().delete()
        study.blocks.all().delete()
        assert "no blocks yet" in sign_in(otto).get("/studies/empty/ratings/upload/").text


def test_a_closed_study_takes_no_ratings_not_even_of_a_file_checked_before(hand_in, sign_in, rosa, grief, begin):
    client = sign_in(rosa)
    upload = hand_in(WIDE, rater="expert1")
    job = start_import(upload=upload, skip_problem_rows=False, by=rosa)
    grief.status = StudyStatus.CLOSED
    grief.save()
    assert "The study is closed" in client.get(UPLOAD).text
    assert client.post(UPLOAD, {"file": file_of(WIDE), "block": "main"}).status_code == 422
    run_job(pk=job.pk, work=import_upload)
    job.refresh_from_db()
    assert job.message == "The study is closed: it takes no more ratings. Nothing was stored."
    answer = client.post(start_of(upload))
    assert answer.status_code == 422
    assert "The study is closed" in answer.text
    assert not Rating.objects.exists()


def test_somebody_who_left_the_study_meanwhile_imports_nothing(hand_in, rosa, grief):
    upload = hand_in(WIDE, rater="expert1")
    job = start_import(upload=upload, skip_problem_rows=False, by=rosa)
    Membership.objects.filter(study=grief, user=rosa).delete()
    run_job(pk=job.pk, work=import_upload)
    job.refresh_from_db()
    assert (job.state, Rating.objects.exists()) == (JobState.FAILED, False)


# --- The ladder ---------------------------------------------------------------------------------------------------

ADDRESSES = {"form": (UPLOAD, "get"), "check": (None, "get"), "settle": (None, "post"), "start": (None, "post")}


def ask(client: Any, what: str, upload: RatingUpload) -> Any:
    address = {"form": UPLOAD, "start": start_of(upload)}.get(what, check_of(upload))
    return getattr(client, ADDRESSES[what][1])(address)


@pytest.mark.parametrize("what", ADDRESSES)
class TestWho:
    def test_a_stranger_is_asked_to_sign_in(self, hand_in, sign_in, what):
        assert ask(sign_in(None), what, hand_in(WIDE, rater="expert1")).url.startswith(reverse("accounts:sign-in"))

    @pytest.mark.parametrize("who", ["emil", "otto"])
    def test_to_a_rater_and_to_an_outsider_it_is_not_there(self, hand_in, sign_in, emil, otto, who, what):
        user = {"emil": emil, "otto": otto}[who]
        assert ask(sign_in(user), what, hand_in(WIDE, rater="expert1")).status_code == 404
        assert not Job.objects.exists()


@pytest.mark.parametrize("what", ["check", "settle", "start"])
def test_an_upload_is_its_owners_alone_and_of_its_study(hand_in, sign_in, ada, otto, rosa, strangers, grief, what):
    upload = hand_in(WIDE, rater="expert1")
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    for user in (ada, otto):
        assert ask(sign_in(user), what, upload).status_code == 404
    Membership.objects.create(study=strangers, user=rosa, role=MemberRole.RESEARCHER)
    elsewhere = check_of(upload).replace("grief", "strangers")
    assert sign_in(rosa).get(elsewhere).status_code == 404


@pytest.mark.parametrize("who", ["ada", "otto"])
def test_admins_and_researchers_of_the_study_upload_too(hand_in, sign_in, ada, otto, grief, begin, who):
    user = {"ada": ada, "otto": otto}[who]
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    assert begin(hand_in(WIDE, user=user, rater="expert1"), user=user).state == JobState.DONE


def test_wrong_methods_are_refused(hand_in, sign_in, rosa):
    upload = hand_in(WIDE, rater="expert1")
    assert sign_in(rosa).get(start_of(upload)).status_code == 405
    assert sign_in(rosa).put(UPLOAD).status_code == 405
    assert sign_in(rosa).delete(check_of(upload)).status_code == 405


def test_a_second_click_and_a_second_tab_find_the_same_job(hand_in, sign_in, rosa, begin):
    upload = hand_in(WIDE, rater="expert1")
    job = begin(upload)
    client = sign_in(rosa)
    page = reverse("common:job", args=[job.pk])
    assert client.post(start_of(upload)).url == page
    assert client.get(check_of(upload)).url == page
    assert client.post(check_of(upload), settings_of(upload, shape="wide")).url == page
    assert Job.objects.count() == 1


def test_longer_files_and_larger_studies_cost_the_check_no_more_queries(hand_in, sign_in, rosa, grief):
    client = sign_in(rosa)

    def cost(content: str) -> int:
        upload = hand_in(content, rater="expert1")
        with CaptureQueriesContext(connection) as asked:
            assert client.get(check_of(upload)).status_code == 200
        return len(asked)

    small = cost("item,scale_1\nletters-001,3\n")
    for number in range(20):
        Rater.objects.create(study=grief, name=f"gpt{number}", kind="llm")
    assert cost("item,scale_1\n" + "letters-001,9\n" * 300) == small


def test_a_file_cannot_speak_for_scales_of_another_block(hand_in, sign_in, rosa, grief):
    other = Block.objects.create(study=grief, slug="second", title="Second", position=1, dataset=make_dataset("b"))
    BlockFramework.objects.create(block=other, framework=make_framework("cold-scales"), position=0)
    page = sign_in(rosa).get(check_of(hand_in(WIDE, rater="expert1"))).text
    assert "cold-scales" not in page
