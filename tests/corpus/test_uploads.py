"""CASES 1 to 8 by way of the browser: what a job stores of an uploaded file, and what it says where it does not."""

import io
import zipfile

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.accounts.models import Role, User
from apps.common.models import AuditEntry, Job, JobState
from apps.common.services import jobs
from apps.corpus.models import Conversation, ConversationUpload, Dataset, Turn
from apps.corpus.services import importing, uploads
from apps.corpus.tasks import import_upload
from apps.corpus.views import uploads as views
from tests.conftest import make_dataset
from tests.corpus.readings import parquet, workbook
from tests.corpus.uploading import UPLOAD, as_file, hand_in, means, run_import, shown, stored, url

pytestmark = pytest.mark.django_db

POSTS = "id,post,reply\n1,I lost my job.,That is hard.\n2,I moved away.,Do you miss it?\n"


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


def imported(client, data: str | bytes, slug: str = "talks", **changes) -> Job:
    """Upload a file into the dataset `slug`, which is made if it is new, and import it as guessed."""
    into = {"dataset": slug} if Dataset.objects.filter(slug=slug).exists() else {"slug": slug}
    upload = hand_in(client, data, **into)
    return run_import(client, upload, shown(client, upload, **changes))


def test_a_dataset_is_made_with_all_that_was_said_about_it(client, rosa):
    upload = hand_in(client, POSTS, name="a.csv", slug="chats", description="Few", source="A forum", licence="CC0")
    job = run_import(client, upload)
    dataset = Dataset.objects.get()
    assert (dataset.slug, dataset.name, dataset.owner) == ("chats", "a", rosa)
    assert (dataset.description, dataset.source, dataset.licence) == ("Few", "A forum", "CC0")
    assert job.message == "2 conversations added, 0 were there already, 0 conflicts."
    assert (job.result["added"], job.result["turns"], job.result_url) == (2, 4, "/datasets/chats/")
    assert job.back_url == url("upload-check", upload)
    entry = AuditEntry.objects.get(action="dataset.import")
    assert (entry.actor, entry.subject, entry.details["files"][0]["file"]) == (rosa, "chats", "a.csv")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_case_1_marked_encodings_are_read_by_their_mark(client, encoding):
    assert imported(client, "id,post,reply\n1,Café ☕,naïve\n".encode(encoding)).state == JobState.DONE
    assert stored() == {"1": ["Café ☕", "naïve"]}


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_case_2_other_delimiters_and_quoted_cells(client, delimiter):
    cell = f'"one{delimiter} ""two""\nthree"'
    upload = hand_in(client, delimiter.join(["id", "post", "reply"]) + f"\n1{delimiter}{cell}{delimiter}yes\n")
    run_import(client, upload)
    assert stored() == {"1": [f'one{delimiter} "two"\nthree', "yes"]}


def test_case_3_ids_and_texts_stay_text_and_empty_text_is_a_problem(client):
    job = imported(client, "id,post,reply\n001,N/A,None\n20241031124050492385,null,x\n3,,y\n")
    assert job.state == JobState.FAILED
    assert job.message.startswith("Nothing was stored: 1 problem.")
    assert job.problems == ["row 4, Post: is empty; expected text"]
    assert not Dataset.objects.exists()
    job = imported(client, "id,post,reply\n001,N/A,None\n20241031124050492385,null,x\n")
    assert stored() == {"001": ["N/A", "None"], "20241031124050492385": ["null", "x"]}


def test_case_4_the_same_file_again_adds_nothing_and_a_longer_one_what_is_new(client):
    imported(client, POSTS)
    again = imported(client, POSTS)
    assert again.message == "0 conversations added, 2 were there already, 0 conflicts."
    assert Turn.objects.count() == 4
    longer = imported(client, POSTS + "3,Third,Yes.\n")
    assert longer.message == "1 conversation added, 2 were there already, 0 conflicts."
    assert sorted(stored()) == ["1", "2", "3"]


def test_case_4_a_conflict_is_listed_and_refuses_unless_it_is_to_be_left_out(client):
    imported(client, "id,post,reply\n7,A,x\n")
    job = imported(client, "id,post,reply\n7,B,x\n8,C,y\n")
    assert (job.state, job.n_problems) == (JobState.FAILED, 1)
    assert job.message.startswith("Nothing was stored: 1 conflict.")
    assert job.problems == ["row 2, Conversation id: 7 is in the dataset already with other content"]
    assert sorted(stored()) == ["7"]
    job = imported(client, "id,post,reply\n7,B,x\n8,C,y\n", skip_problem_rows="on")
    assert job.message == "1 conversation added, 0 were there already, 1 conflict."
    assert job.problems == ["row 2, Conversation id: 7 is in the dataset already with other content"]
    assert stored() == {"7": ["A", "x"], "8": ["C", "y"]}


def test_case_4_two_ids_with_the_same_content_are_worth_knowing(client):
    job = imported(client, "id,post,reply\n1,a,b\n2,a,b\n")
    assert (job.state, job.result["warnings"]) == (JobState.DONE, 1)
    assert job.result["worth knowing"] == "row 3, Conversation id: 2 has the same content as 1"


def test_case_5_a_bad_byte_far_down_stores_nothing_also_when_it_is_tried_again(client):
    filler = "x" * 200
    rows = [f"{number},post {number} {filler},reply\n".encode() for number in range(2_500)]
    rows[1_499] = b"1499,caf\xe9,reply\n"
    data = b"id,post,reply\n" + b"".join(rows)
    upload = hand_in(client, data)
    assert client.get(url("upload-check", upload)).context["preview"].fault == ""
    for _ in range(2):
        job = run_import(client, upload)
        import_upload(job.pk)  # the message of the queue comes twice
        job.refresh_from_db()
        assert (job.state, job.attempts) == (JobState.FAILED, 1)
        assert f"Byte 0xe9 at offset {data.index(0xE9)} (line 1501) is not valid UTF-8." in job.message
        assert job.message.endswith("Nothing was stored.")
    assert not Dataset.objects.exists()
    assert not Conversation.objects.exists()
    page = client.get(url("upload-check", upload)).content.decode()
    assert "(line 1501)" in page
    client.post(url("upload-reading", upload), {"encoding": "cp1252", "format": ""})
    assert run_import(client, upload).message.startswith("2500 conversations added")


def test_case_5_problems_below_the_preview_refuse_the_file_and_the_good_rows_can_be_stored(client):
    rows = "".join(f"{number},{'' if number % 500 == 499 else 'p'},r\n" for number in range(2_500))
    upload = hand_in(client, f"id,post,reply\n{rows}")
    assert client.get(url("upload-check", upload)).context["preview"].problems.total == 0
    job = run_import(client, upload)
    assert (job.state, job.n_problems) == (JobState.FAILED, 5)
    assert job.problems[0] == "row 501, Post: is empty; expected text"
    assert not Conversation.objects.exists()
    job = run_import(client, upload, shown(client, upload, skip_problem_rows="on"))
    assert job.message == "2495 conversations added, 0 were there already, 0 conflicts, 5 problems left out."
    assert Conversation.objects.count() == 2_495


def test_case_5_more_problems_than_are_kept_are_counted(client):
    job = imported(client, "id,post,reply\n" + "".join(f"{number},,r\n" for number in range(700)))
    assert job.n_problems == 700
    assert job.message.startswith("Nothing was stored: 700 problems.")
    assert len(job.problems) == jobs.MAX_PROBLEMS
    assert job.n_problems_not_kept == 700 - jobs.MAX_PROBLEMS


def test_case_6_without_a_worker_the_upload_waits_and_says_so(client):
    upload = hand_in(client, POSTS)
    client.post(url("upload-import", upload), shown(client, upload))
    job = Job.objects.get()
    assert job.state == JobState.QUEUED
    Job.objects.update(created_at=timezone.now() - timezone.timedelta(seconds=40))
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert "no worker seen for 30 s" in page


def test_case_7_json_is_read_by_its_content_whatever_its_name(client):
    lines = '{"id": "1", "post": "a", "reply": "b"}\n{"id": "2", "post": "c", "reply": "d"}\n'
    upload = hand_in(client, lines, name="x.json", slug="lines")
    assert client.get(url("upload-check", upload)).context["preview"].format == "jsonl"
    run_import(client, upload)
    array = '[{"id": "1", "post": "a", "reply": "b"}, {"id": "2", "post": "c", "reply": "d"}]'
    upload = hand_in(client, array, name="x.jsonl", slug="array")
    assert client.get(url("upload-check", upload)).context["preview"].format == "json"
    run_import(client, upload)
    assert Conversation.objects.count() == 4


def test_case_7_workbooks_and_parquet_files_are_read(client):
    upload = hand_in(client, workbook(["id", "post", "reply"], ["001", "a", "b"]), name="x.xlsx", slug="book")
    assert client.get(url("upload-check", upload)).context["preview"].format == "xlsx"
    run_import(client, upload)
    upload = hand_in(client, parquet(id=["002"], post=["c"], reply=["d"]), name="x.parquet", slug="columns")
    run_import(client, upload)
    assert stored() == {"001": ["a", "b"], "002": ["c", "d"]}


def test_case_7_a_zip_bomb_is_refused_before_it_is_unpacked_or_kept(client):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"\0" * (300 * 1024 * 1024))
    page = client.post(UPLOAD, {"file": as_file(file.getvalue(), "bomb.xlsx")})
    assert page.status_code == 422
    assert "would unpack to 300 MiB; at most 256 MiB are allowed" in page.content.decode()
    assert not ConversationUpload.objects.exists()


def test_case_7_a_nul_byte_and_a_python_literal(client):
    job = imported(client, b"id,post,reply\n1,a\0,b\n2,\"{'a': 1}\",c\n", skip_problem_rows="on")
    assert job.problems == ["row 2: holds a NUL byte, which text cannot hold"]
    assert stored() == {"2": ["{'a': 1}", "c"]}


def test_case_8_turns_stay_apart_and_every_character_stays(client):
    text = "id,speaker,text\n1,user,שלום\n1,user,e\u0301 \u200d👩‍👩‍👧\n1,bot,one_comma_ two\n"
    run_import(client, hand_in(client, text))
    assert stored() == {"1": ["שלום", "e\u0301 \u200d👩‍👩‍👧", "one_comma_ two"]}
    again = hand_in(client, text, slug="clean")
    run_import(client, again, shown(client, again, clean_commas="on"))
    last = Turn.objects.get(conversation__dataset__slug="clean", index=2)
    assert (last.text, last.raw_text) == ("one, two", "one_comma_ two")


def test_case_8_labels_that_the_check_page_did_not_list_stop_the_import_once(client):
    rows = "".join(f"{number},user,hello\n" for number in range(300))
    upload = hand_in(client, f"id,speaker,text\n{rows}0,Peer 3,late\n1,Peer 3,late\n2,Anna,late\n")
    job = run_import(client, upload)
    assert job.state == JobState.FAILED
    assert "Peer 3 (2), Anna (1)" in job.message
    assert not Conversation.objects.exists()
    upload.refresh_from_db()
    form = client.get(url("upload-check", upload)).context["form"]
    assert [row.label for row in form.speaker_rows()] == ["user", "Peer 3", "Anna"]
    job = run_import(client, upload, shown(client, upload, role_1="supporter", role_2="other"))
    assert job.state == JobState.DONE
    assert set(Turn.objects.filter(text="late").values_list("speaker", "role")) == {
        ("Peer 3", "supporter"),
        ("Anna", "other"),
    }


# --- Jobs that are asked twice, cancelled, or die -----------------------------------------------------------------


def test_asked_twice_one_job_does_it_once(client):
    upload = hand_in(client, POSTS)
    sent = shown(client, upload)
    first = client.post(url("upload-import", upload), sent)["Location"]
    assert client.post(url("upload-import", upload), sent)["Location"] == first
    job = Job.objects.get()
    import_upload(job.pk)
    import_upload(job.pk)
    assert client.post(url("upload-import", upload), sent)["Location"] == first
    assert Conversation.objects.count() == 2
    assert AuditEntry.objects.filter(action="dataset.import").count() == 1


def test_the_job_of_a_discarded_upload_leads_nowhere(client):
    upload = hand_in(client, "id,post,reply\n1,,b\n")
    job = run_import(client, upload)
    assert url("upload-check", upload) in client.get(f"/jobs/{job.pk}/").content.decode()
    client.post(url("upload-discard", upload))
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert "row 2, Post: is empty; expected text" in page
    assert url("upload-check", upload) not in page


def test_a_button_pressed_twice_at_once_leads_to_the_one_job(client, rosa, monkeypatch):
    upload = hand_in(client, POSTS)
    sent = shown(client, upload)
    settle = views.settle_mapping

    def after_the_other(**values):
        uploads.start_import(upload=upload, by=rosa, labels={})
        settle(**values)

    monkeypatch.setattr(views, "settle_mapping", after_the_other)
    answer = client.post(url("upload-import", upload), sent)
    assert answer["Location"] == f"/jobs/{Job.objects.get().pk}/"


def test_the_button_triggers_the_task_once_the_request_is_stored(client, django_capture_on_commit_callbacks):
    upload = hand_in(client, POSTS)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(url("upload-import", upload), shown(client, upload))
    assert Job.objects.get().state == JobState.DONE
    assert sorted(stored()) == ["1", "2"]


def test_cancelling_while_the_rows_are_read_stores_nothing(client, rosa, monkeypatch):
    upload = hand_in(client, POSTS)
    client.post(url("upload-import", upload), shown(client, upload))
    job = Job.objects.get()
    monkeypatch.setattr(jobs, "LOOK_EVERY_SECONDS", 0)
    monkeypatch.setattr(uploads._Progress, "opened", lambda self, name, reader: jobs.request_cancel(job=job, by=rosa))
    import_upload(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not Dataset.objects.exists()
    monkeypatch.undo()
    assert run_import(client, upload).state == JobState.DONE


def test_cancelling_while_the_rows_are_written_stores_nothing(client, rosa, monkeypatch):
    upload = hand_in(client, POSTS)
    client.post(url("upload-import", upload), shown(client, upload))
    job = Job.objects.get()
    write = importing._write

    def slowly(*args):
        write(*args)
        jobs.request_cancel(job=job, by=rosa)

    monkeypatch.setattr(importing, "_write", slowly)
    import_upload(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not Dataset.objects.exists()


def test_the_job_is_done_exactly_when_its_rows_are_stored(client, monkeypatch):
    upload = hand_in(client, POSTS)
    client.post(url("upload-import", upload), shown(client, upload))
    job = Job.objects.get()
    finish = jobs.Reporter.finish

    def die(self, outcome):
        finish(self, outcome)
        assert Job.objects.get().state == JobState.DONE
        raise OperationalError("the database went away before the commit")

    monkeypatch.setattr(jobs.Reporter, "finish", die)
    import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, Dataset.objects.count()) == (JobState.QUEUED, 0)
    monkeypatch.undo()
    import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 2)
    assert Conversation.objects.count() == 2


def test_an_attempt_that_was_given_up_stores_nothing(client, monkeypatch):
    upload = hand_in(client, POSTS)
    client.post(url("upload-import", upload), shown(client, upload))
    job = Job.objects.get()
    write = importing._write

    def while_another_takes_over(*args):
        write(*args)
        Job.objects.update(attempts=2)

    monkeypatch.setattr(importing, "_write", while_another_takes_over)
    import_upload(job.pk)
    assert not Conversation.objects.exists()


def test_progress_counts_the_rows(client, monkeypatch):
    upload = hand_in(client, "id,post,reply\n" + "".join(f"{number},p,r\n" for number in range(450)))
    told = []
    monkeypatch.setattr(jobs.Reporter, "step", lambda self, text, total=None: told.append(text))
    monkeypatch.setattr(jobs.Reporter, "advance", lambda self, done: told.append(done))
    run_import(client, upload)
    assert told[:-2] == ["Reading the rows of talks.csv", 100, 200, 300, 400, 450]
    assert told[-2:] == ["Storing what is new among 450 conversations", "Storing 450 conversations"]


@pytest.mark.django_db(transaction=True)
def test_the_step_of_storing_is_written_before_the_transaction_that_stores(client, monkeypatch):
    """On SQLite nobody reads a step that is told while the transaction holds the lock."""
    upload = hand_in(client, POSTS)
    steps = []
    compare = importing._compare

    def looked_at(*args):
        steps.append(Job.objects.get().step)
        compare(*args)

    monkeypatch.setattr(importing, "_compare", looked_at)
    run_import(client, upload)
    assert steps == ["Storing what is new among 2 conversations"]


# --- Whose dataset ------------------------------------------------------------------------------------------------


def test_a_dataset_that_a_stranger_has_made_meanwhile_is_not_added_to(client, otto):
    upload = hand_in(client, POSTS, slug="chats")
    make_dataset("chats", owner=otto, conversations=1)
    assert "is taken by a dataset of somebody else" in client.get(url("upload-check", upload)).content.decode()
    job = run_import(client, upload)
    assert job.state == JobState.FAILED
    assert job.message.startswith("The short name chats is taken by a dataset of somebody else.")
    assert Conversation.objects.count() == 1


def test_a_dataset_that_a_stranger_makes_while_the_file_is_read_is_not_added_to(client, otto, monkeypatch):
    upload = hand_in(client, POSTS, slug="chats")
    opened = uploads._Progress.opened

    def meanwhile(self, name, reader):
        opened(self, name, reader)
        Dataset.objects.create(slug="chats", name="Theirs", owner=otto)

    monkeypatch.setattr(uploads._Progress, "opened", meanwhile)
    job = run_import(client, upload)
    assert job.state == JobState.FAILED
    assert not Conversation.objects.exists()


def test_who_is_no_researcher_any_more_adds_nothing(client, rosa, sign_in, ada, letters):
    upload = hand_in(client, POSTS, dataset="letters")
    User.objects.filter(pk=rosa.pk).update(role=Role.ANNOTATOR)
    job = run_import(sign_in(ada), upload)
    assert job.message == f"{rosa} may no longer import conversations. Nothing was stored."
    assert (
        f"{rosa} may no longer import conversations." in sign_in(ada).get(url("upload-check", upload)).content.decode()
    )
    assert letters.conversations.count() == 3


def test_who_is_deactivated_while_the_file_is_read_adds_nothing(client, rosa, monkeypatch):
    upload = hand_in(client, POSTS)
    opened = uploads._Progress.opened

    def meanwhile(self, name, reader):
        opened(self, name, reader)
        User.objects.filter(pk=rosa.pk).update(is_active=False)

    monkeypatch.setattr(uploads._Progress, "opened", meanwhile)
    job = run_import(client, upload)
    assert (job.state, job.message) == (
        JobState.FAILED,
        f"{rosa} may no longer import conversations. Nothing was stored.",
    )
    assert not Dataset.objects.exists()


def test_a_second_file_of_one_name_joins_the_dataset_of_the_first_only_when_that_was_said(client):
    first, second = hand_in(client, POSTS), hand_in(client, "id,post,reply\n9,a,b\n")
    assert first.dataset_slug == second.dataset_slug
    sent = shown(client, second, dataset_seen="")
    run_import(client, first)
    answer = client.post(url("upload-import", second), sent, follow=True)
    assert answer.redirect_chain == [(url("upload-check", second), 302)]
    html = answer.content.decode()
    assert "Since you opened this page, the dataset this file goes into was made, or deleted." in html
    assert "Goes into the dataset" in html
    dataset = Dataset.objects.get()
    assert f'name="dataset_seen" value="{dataset.pk}"' in html
    assert Job.objects.count() == 1
    run_import(client, second, shown(client, second, dataset_seen=dataset.pk))
    assert sorted(stored()) == ["1", "2", "9"]


def test_a_dataset_frozen_meanwhile_is_not_added_to_but_may_hold_the_file_already(client):
    imported(client, POSTS)
    later = hand_in(client, POSTS, dataset="talks")
    more = hand_in(client, POSTS + "3,c,d\n", dataset="talks")
    Dataset.objects.update(frozen_at=timezone.now())
    assert "it takes no new conversations" in client.get(url("upload-check", more)).content.decode()
    job = run_import(client, more)
    assert job.state == JobState.FAILED
    assert "is frozen since" in job.message
    assert "make a new dataset for the 1 conversation that is not in it" in job.message
    assert run_import(client, later).message == "0 conversations added, 2 were there already, 0 conflicts."


def test_an_import_whose_file_is_gone_says_so(client):
    upload = hand_in(client, POSTS)
    client.post(url("upload-import", upload), shown(client, upload))
    assert upload.source is not None
    upload.source.delete()
    job = Job.objects.get()
    import_upload(job.pk)
    job.refresh_from_db()
    assert job.message == "The file is no longer kept here. Upload it again. Nothing was stored."


def test_a_mapping_that_only_the_whole_file_refutes(client):
    """A JSON key that the first records do not have may come later, or never."""
    upload = hand_in(client, '{"id": "1", "post": "a", "reply": "b", "tag": "t"}\n', name="x.jsonl")
    client.post(url("upload-check", upload), means(client, upload, tag="title"))
    upload.refresh_from_db()
    upload.mapping["columns"]["title"] = "never"
    upload.save()
    assert "never" in client.get(url("upload-check", upload)).context["preview"].fault
