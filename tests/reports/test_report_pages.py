"""The pages of reports: who sees them, what they say, and what their forms take."""

import hashlib
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.common.models import AuditEntry, Job, JobState
from apps.corpus.models import Conversation
from apps.measures.pairs import Convention
from apps.reports.contents import Format
from apps.reports.models import StoredReport
from apps.reports.plans import FULL_REPORT, ReportPlan
from apps.reports.services.requesting import request_report
from apps.studies.models import MemberRole, Membership, Rater
from apps.studies.services.exclusions import exclude
from tests.conftest import make_user
from tests.reports.stored import FILES, keep_report

REPORTS = "/studies/grief/reports/"
NEW = f"{REPORTS}new/"
HTMX = {"hx-request": "true"}
PAGES = ["", "new/", "ratings/", "{pk}/", "{pk}/delete/", "{pk}/files/agreement.csv"]
ALL_OF_IT = {
    "title": "The whole",
    "formats": [str(one) for one in FULL_REPORT],
    "convention": "scale",
    "threshold": "0.6",
    "stars": "p_adjusted",
    "resamples": "1000",
    "parts": ["pairs", "groups", "retests"],
}


@pytest.fixture
def rated(grief, rate):
    rate(grief, {"expert1": [1, 3, 5], "expert2": [2, 3, 4], "expert3": [1, 4, 4]})
    return grief


@pytest.fixture
def report(rated, rosa) -> StoredReport:
    return keep_report(rated, rosa)


@pytest.fixture
def ruth(grief):
    """A researcher of the study who does not own it."""
    person = make_user("ruth@example.org", "researcher", "Ruth")
    Membership.objects.create(study=grief, user=person, role=MemberRole.RESEARCHER)
    return person


def address(page: str, report: StoredReport) -> str:
    return REPORTS + page.format(pk=report.pk)


def status(answer) -> int:
    """The status of an answer, which is read to its end, so that its file is closed."""
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer.status_code


def of(report: StoredReport, act: str = "") -> str:
    return f"{REPORTS}{report.pk}/{act}"


def sent(**changes):
    return {name: value for name, value in (ALL_OF_IT | changes).items() if value is not None}


# --- The ladder -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_who_opens_a_page(page, report, sign_in, rosa, ruth, ada, emil, otto):
    where = address(page, report)
    assert status(sign_in(None).get(where)) == 302
    assert status(sign_in(emil).get(where)) == 404
    assert status(sign_in(otto).get(where)) == 404
    assert status(sign_in(rosa).get(where)) == 200
    assert status(sign_in(ada).get(where)) == 200
    assert status(sign_in(ruth).get(where)) == (403 if "delete" in page else 200)


@pytest.mark.parametrize("page", [page for page in PAGES if "{pk}" in page] + ["{pk}/cancel/"])
def test_a_report_of_another_study_is_not_there(page, report, strangers, sign_in, ada):
    where = address(page, report).replace("grief", "strangers")
    client = sign_in(ada)
    assert status((client.post if "cancel" in page else client.get)(where)) == 404


@pytest.mark.parametrize("page", PAGES)
def test_wrong_methods_are_refused(page, report, sign_in, rosa):
    client = sign_in(rosa)
    assert client.put(address(page, report)).status_code == 405
    if page not in ("new/", "{pk}/delete/"):
        assert client.post(address(page, report)).status_code == 405


def test_cancelling_takes_a_post(report, sign_in, rosa):
    assert status(sign_in(rosa).get(of(report, "cancel/"))) == 405


@pytest.mark.parametrize("page", [*PAGES, "ratings/ratings.csv", "ratings/ratings.jsonl", "ratings/ratings.parquet"])
def test_who_rates_is_told_why_reports_are_hidden(page, report, sign_in, rosa, grief):
    Rater.objects.create(study=grief, user=rosa, name="expert9", kind="expert")
    answer = sign_in(rosa).get(address(page, report))
    assert answer.status_code == 403
    assert "hidden from you until discussion is open" in answer.text
    assert "The report" not in answer.text
    grief.discussion_open = True
    grief.save()
    assert status(sign_in(rosa).get(address(page, report))) == 200


@pytest.mark.parametrize("page", ["new/", "{pk}/cancel/", "{pk}/delete/"])
def test_who_rates_changes_nothing(page, report, sign_in, rosa, grief):
    Rater.objects.create(study=grief, user=rosa, name="expert9", kind="expert")
    answer = sign_in(rosa).post(address(page, report), {**ALL_OF_IT, "confirm": "The report"})
    assert answer.status_code == 403
    assert StoredReport.objects.count() == 1
    assert not AuditEntry.objects.filter(action__startswith="report.").exists()


# --- The list -------------------------------------------------------------------------------------------------------


def test_an_empty_list_says_what_a_report_is(sign_in, rosa, grief):
    page = sign_in(rosa).get(REPORTS).text
    assert "No reports yet" in page
    assert NEW in page


def test_the_list_says_what_each_report_is_made_from(report, sign_in, rosa, rate, grief):
    page = sign_in(rosa).get(REPORTS).text
    for words in ("The report", "Done", "Rosa", "by the points of the scale", report.snapshot.short_hash, "12"):
        assert words in page
    assert "ratings have changed since" not in page
    rate(grief, {"expert1": [2, None, None]})
    assert "ratings have changed since" in sign_in(rosa).get(REPORTS).text


def test_reports_that_wait_or_failed_are_in_the_list(rated, sign_in, rosa):
    waiting = request_report(study=rated, title="Waits", plan=ReportPlan(), by=rosa)
    failed = request_report(study=rated, title="Fails", plan=ReportPlan(), by=rosa)
    Job.objects.filter(pk=failed.job_id).update(state=JobState.FAILED)
    page = sign_in(rosa).get(REPORTS).text
    assert all(words in page for words in ("Waits", "Queued", "Fails", "Failed", "none used"))
    assert page.index("Fails") < page.index("Waits")
    assert waiting.snapshot is None


def test_the_list_comes_in_pages(rated, sign_in, rosa):
    for number in range(26):
        request_report(study=rated, title=f"Report {number}", plan=ReportPlan(), by=rosa)
    client = sign_in(rosa)
    assert client.get(REPORTS).text.count("Report “") == 0
    assert "Page 1 of 2" in client.get(REPORTS).text
    second = client.get(f"{REPORTS}?page=2").text
    assert "Report 0</a>" in second
    assert "Report 25</a>" not in second


@pytest.mark.parametrize("page", ["", "{pk}/", "new/", "ratings/"])
def test_the_number_of_queries_does_not_grow(page, report, sign_in, rosa, rated, rate):
    client = sign_in(rosa)

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert status(client.get(address(page, report))) == 200
        return len(asked)

    queries()
    before = queries()
    for number in range(3):
        other = keep_report(rated, rosa, title=f"More {number}", files={f"{number}{name}": b"x" for name in "abc"})
        other.created_at = timezone.now() + timedelta(seconds=number)
        other.save()
    for number in range(4, 9):
        Rater.objects.create(study=rated, name=f"expert{number}", kind="expert")
        rate(rated, {f"expert{number}": [1, 2, 3]})
    keep_report(rated, rosa, title="Of more raters")
    # Where anybody rated since, it is asked whether they did so in this study.
    assert queries() <= before + (0 if page == "new/" else 1)


# --- A new one ------------------------------------------------------------------------------------------------------


def test_one_click_makes_the_full_report(rated, sign_in, rosa, django_capture_on_commit_callbacks):
    """The form is sent as the page shows it; the job runs at once, and all of its files are there."""
    page = sign_in(rosa).get(NEW)
    form = page.context["form"]
    data = {name: value for name in form.fields if (value := form[name].value()) not in (None, "", False)}
    with django_capture_on_commit_callbacks(execute=True):
        answer = sign_in(rosa).post(NEW, data)
    report = StoredReport.objects.select_related("job").get()
    assert (answer.status_code, answer.url) == (302, of(report))
    assert (report.job.state, report.job.message) == (JobState.DONE, "The report is built.")
    assert report.title == "Agreement in Grief"
    assert ReportPlan.from_dict(report.options) == ReportPlan()
    kinds = {file.name.rsplit(".", 1)[1] for file in report.files.all()}
    assert kinds == {str(one) for one in FULL_REPORT}
    page = sign_in(rosa).get(of(report)).text
    assert "python manage.py recompute grief-report-" in page
    assert "Methods paragraph" in page
    for file in report.files.all():
        got = sign_in(rosa).get(of(report, f"files/{file.name}"))
        assert hashlib.sha256(b"".join(got.streaming_content)).hexdigest() == file.sha256


def test_two_clicks_make_one_report(rated, sign_in, rosa):
    client = sign_in(rosa)
    first, second = client.post(NEW, sent()), client.post(NEW, sent())
    assert first.url == second.url
    assert StoredReport.objects.count() == Job.objects.count() == 1


def test_every_choice_is_kept(rated, sign_in, rosa):
    Conversation.objects.filter(position=0).update(metadata={"topic": "loss"})
    page = sign_in(rosa).get(NEW)
    [topic] = page.context["form"].trait_fields
    chosen = sent(
        title=" Two  words ",
        formats=["csv", "zip"],
        convention="observed",
        threshold="0.45",
        stars="none",
        resamples="50",
        block="main",
        framework="warmth-scales",
        parts=["pairs"],
        groups=["experts"],
        raters=["expert1", "expert3"],
        with_excluded="on",
        all_figures="on",
        **{topic.html_name: ["loss", ""]},
    )
    assert sign_in(rosa).post(NEW, chosen).status_code == 302
    report = StoredReport.objects.get()
    plan = ReportPlan.from_dict(report.options)
    assert report.title == "Two words"
    assert plan.selection.as_dict() == {"metadata": {"meta.topic": ["", "loss"]}, "with_excluded": True}
    assert (plan.resamples, plan.options.convention, plan.options.threshold) == (50, Convention.OBSERVED, 0.45)
    assert (plan.options.block, plan.options.framework) == ("main", "warmth-scales")
    assert (plan.options.groups, plan.options.raters) == (("experts",), ("expert1", "expert3"))
    assert (plan.options.formats, plan.options.parts, plan.options.stars) == (("csv", "zip"), ("pairs",), "none")
    assert plan.options.all_figures is True
    page = sign_in(rosa).get(of(report)).text
    for words in (
        "of each scale and rater",
        "by the values that occur",
        "0.45",
        "no stars",
        "expert1, expert3",
        "meta.topic",
        "loss",
    ):
        assert words in page
    again = sign_in(rosa).get(f"{NEW}?like={report.pk}").context["form"]
    ticked = {"with_excluded": True, "all_figures": True}
    for name in ("title", "formats", "convention", "block", "groups", "raters", *ticked, topic.html_name):
        kept = {"title": "Two words", topic.html_name: ["", "loss"]} | ticked
        assert again[name].value() == kept.get(name, chosen.get(name))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": " "}, "This field is required"),
        ({"title": "a\x00b"}, "Null characters are not allowed"),
        ({"title": "x" * 201}, "at most 200 characters"),
        ({"formats": None}, "This field is required"),
        ({"formats": ["exe"]}, "exe is not one of the available choices"),
        ({"convention": "best"}, "best is not one of the available choices"),
        ({"threshold": "1.5"}, "less than or equal to 1"),
        ({"threshold": "nan"}, "Enter a number"),
        ({"resamples": "10001"}, "less than or equal to 10000"),
        ({"resamples": "-1"}, "greater than or equal to 0"),
        ({"block": "elsewhere"}, "elsewhere is not one of the available choices"),
        ({"raters": ["nobody"]}, "nobody is not one of the available choices"),
        ({"groups": ["llms"]}, "llms is not one of the available choices"),
        ({"parts": None}, "This field is required"),
    ],
)
def test_a_wrong_choice_is_refused_in_words(rated, sign_in, rosa, changes, words):
    answer = sign_in(rosa).post(NEW, sent(**changes))
    assert answer.status_code == 422
    assert words in answer.text.replace("&#x27;", "'").replace("&quot;", '"')
    assert not StoredReport.objects.exists()
    assert not Job.objects.exists()


def test_the_filter_of_the_agreement_page_is_taken_over(rated, sign_in, rosa):
    Rater.objects.create(study=rated, name="crowd001", kind="crowd")
    Conversation.objects.filter(position=0).update(metadata={"topic": "loss"}, language="en")
    query = "block=main&framework=warmth-scales&group=experts&group=crowd&rater=crowd001&meta.topic=loss&language="
    query += "&excluded=1&convention=observed&threshold=0.4&statistic=mae&repeats=1&page=3&stars=0"
    page = sign_in(rosa).get(f"{NEW}?{query}")
    form = page.context["form"]
    given = {name: form[name].value() for name in ("block", "framework", "groups", "raters", "convention", "threshold")}
    assert given == {
        "block": "main",
        "framework": "warmth-scales",
        "groups": ["experts", "crowd"],
        "raters": ["crowd001"],
        "convention": "observed",
        "threshold": "0.4",
    }
    assert form["with_excluded"].value() is True
    assert form["stars"].value() == "none"
    assert [field.value() for field in form.trait_fields] == [[""], ["loss"]]
    assert page.text.count("<details open>") == 2
    assert page.context["faults"] == []


def test_the_page_of_agreement_leads_to_a_report_of_its_view(report, sign_in, rosa):
    page = sign_in(rosa).get("/studies/grief/agreement/?block=main&convention=observed").text
    link = next(part.split('"')[0] for part in page.split('href="') if part.startswith(NEW)).replace("&amp;", "&")
    form = sign_in(rosa).get(link).context["form"]
    assert (form["block"].value(), form["convention"].value()) == ("main", "observed")


def test_what_the_address_asks_for_in_vain_is_said(rated, strangers, sign_in, rosa):
    query = "block=nowhere&group=experts&group=trees&meta.topic=loss&like="
    page = sign_in(rosa).get(f"{NEW}?{query}")
    assert page.status_code == 200
    assert "block is nowhere in the address; expected one of main. It was left out." in page.text
    assert "group is trees" in page.text
    assert "meta.topic is nothing that a report can be narrowed by" in page.text
    assert page.context["form"]["groups"].value() == ["experts"]


@pytest.mark.parametrize("like", ["999", "x", "-1", "99999999999999999999", "9" * 5000, "\u0663"])
def test_choices_of_a_report_that_is_not_there(report, sign_in, rosa, like):
    assert status(sign_in(rosa).get(f"{NEW}?like={like}")) == 404


def test_choices_of_another_studys_report_are_not_there(report, strangers, sign_in, ada):
    assert status(sign_in(ada).get(f"/studies/strangers/reports/new/?like={report.pk}")) == 404


@pytest.mark.parametrize("field", ["rater", "block"])
def test_a_name_that_no_database_can_look_for_is_left_out(rated, sign_in, rosa, field):
    """PostgreSQL knows no NUL."""
    page = sign_in(rosa).get(f"{NEW}?{field}=%00")
    assert page.status_code == 200
    assert "It was left out." in page.text
    assert sign_in(rosa).post(NEW, sent(raters=["\0"])).status_code == 422


def test_a_study_without_ratings_says_so_first(grief, sign_in, rosa):
    assert "Nothing is rated yet" in sign_in(rosa).get(NEW).text


# --- One report -----------------------------------------------------------------------------------------------------


def test_a_built_report_says_what_it_holds(report, sign_in, rosa):
    page = sign_in(rosa).get(of(report)).text
    hashes = [hashlib.sha256(text).hexdigest() for text in FILES.values()]
    for words in (
        "agreement.csv",
        "One row for each statistic",
        *hashes,
        "In short, kappa [1].",
        "Kappa was computed [1].",
        f"python manage.py recompute grief-report-{report.pk}-report.zip",
        report.snapshot.data_hash,
        "2 of 12 statistics are not defined",
        "no variation (2)",
        "1 number is easily misread",
        "Delete this report",
    ):
        assert words in page
    assert "hx-get" not in page.split('id="report"')[1].split(">")[0]


def test_a_report_that_waits_asks_again_and_a_part_is_enough(rated, sign_in, rosa):
    report = request_report(study=rated, title="Waits", plan=ReportPlan(), by=rosa)
    client = sign_in(rosa)
    whole, part = client.get(of(report)), client.get(of(report), headers=HTMX)
    assert f'hx-get="{of(report)}"' in whole.text
    assert "<h1>" in whole.text
    assert "<h1>" not in part.text
    assert "Waiting for its turn" in part.text
    assert f'hx-get="{of(report)}"' in part.text
    assert "HX-Request" in part.headers["Vary"]
    Job.objects.filter(pk=report.job_id).update(state=JobState.RUNNING, step="Writing report.zip", done=3, total=9)
    part = client.get(of(report), headers=HTMX).text
    assert "Writing report.zip: 3 of 9" in part
    Job.objects.filter(pk=report.job_id).update(state=JobState.CANCELLED, message="Cancelled on request.")
    part = client.get(of(report), headers=HTMX).text
    assert "hx-get" not in part
    assert 'hx-swap-oob="innerHTML:#report-news"' in part
    assert "Try again with the same choices" in part


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.CANCELLED])
def test_a_report_without_files_offers_another_try(rated, sign_in, rosa, state):
    report = request_report(study=rated, title="Fails", plan=ReportPlan(), by=rosa)
    Job.objects.filter(pk=report.job_id).update(state=state, message="The pencil broke.")
    page = sign_in(rosa).get(of(report)).text
    assert "The pencil broke." in page
    assert f"{NEW}?like={report.pk}" in page
    assert of(report, "delete/") in page


def test_no_worker_is_said(rated, sign_in, rosa):
    report = request_report(study=rated, title="Waits", plan=ReportPlan(), by=rosa)
    Job.objects.filter(pk=report.job_id).update(created_at=timezone.now() - timedelta(minutes=1))
    assert "no worker seen for 30 s" in sign_in(rosa).get(of(report)).text


def test_old_ratings_are_said_and_a_new_report_offered(report, rate, grief, sign_in, rosa):
    assert "Ratings have changed since" not in sign_in(rosa).get(of(report)).text
    exclude(rater=grief.raters.get(name="expert2"), by=rosa)
    page = sign_in(rosa).get(of(report)).text
    assert "Ratings have changed since" in page
    assert f"{NEW}?like={report.pk}" in page


def test_many_files_come_in_pages(rated, sign_in, rosa):
    report = keep_report(rated, rosa, files={f"figure-{number:03d}.svg": b"<svg/>" for number in range(51)})
    client = sign_in(rosa)
    assert "figure-050.svg" not in client.get(of(report)).text
    assert "figure-050.svg" in client.get(f"{of(report)}?page=2").text


def test_it_is_cancelled_by_who_asked_or_owns(rated, sign_in, rosa, ruth):
    report = request_report(study=rated, title="Waits", plan=ReportPlan(), by=rosa)
    assert sign_in(ruth).post(of(report, "cancel/")).status_code == 403
    assert of(report, "cancel/") not in sign_in(ruth).get(of(report)).text
    answer = sign_in(rosa).post(of(report, "cancel/"))
    assert (answer.status_code, answer.url) == (302, of(report))
    report.job.refresh_from_db()
    assert report.job.state == JobState.CANCELLED
    own = request_report(study=rated, title="Ruth's", plan=ReportPlan(), by=ruth)
    assert sign_in(ruth).post(of(own, "cancel/")).status_code == 302
    assert sign_in(rosa).post(of(own, "cancel/")).status_code == 302


# --- Files ----------------------------------------------------------------------------------------------------------


def test_a_file_is_sent_under_a_good_name_and_kept_out_of_the_page(report, sign_in, rosa):
    answer = sign_in(rosa).get(of(report, "files/agreement.csv"))
    assert b"".join(answer.streaming_content) == FILES["agreement.csv"]
    digest = hashlib.sha256(FILES["agreement.csv"]).hexdigest()
    assert answer.headers["Content-Disposition"] == f'attachment; filename="grief-report-{report.pk}-agreement.csv"'
    assert answer.headers["ETag"] == f'"{digest}"'
    assert answer.headers["Content-Type"] == "text/csv"
    assert answer.headers["Content-Length"] == str(len(FILES["agreement.csv"]))
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer.headers["Cache-Control"]


def test_who_has_the_file_is_told_so(report, sign_in, rosa):
    digest = hashlib.sha256(FILES["report.zip"]).hexdigest()
    where = of(report, "files/report.zip")
    assert status(sign_in(rosa).get(where, headers={"If-None-Match": f'"{digest}"'})) == 304
    assert status(sign_in(rosa).get(where, headers={"If-None-Match": '"other"'})) == 200


def test_a_name_may_be_odd(rated, sign_in, rosa):
    odd = 'naïve "quoted" %2F#?&\u202e.csv'
    report = keep_report(rated, rosa, files={odd: b"x"}, title="“<b>odd</b>” & 'more'")
    page = sign_in(rosa).get(of(report))
    assert "<b>odd</b>" not in page.text
    [row] = page.context["files"]
    link = page.text.split('<th scope="row"><a href="')[1].split('"')[0].replace("&amp;", "&")
    answer = sign_in(rosa).get(link)
    assert status(answer) == 200
    assert "\n" not in answer.headers["Content-Disposition"]
    assert answer.headers["Content-Disposition"].startswith("attachment; filename*=utf-8''grief-report-")
    assert row.file.name == odd


@pytest.mark.parametrize(
    "name", ["other.csv", "agreement.csv%00", "../agreement.csv", "..%2Fagreement.csv", "agreement.csv/", ""]
)
def test_a_file_of_another_name_is_not_there(report, sign_in, rosa, name):
    assert status(sign_in(rosa).get(of(report, f"files/{name}"))) == 404


@pytest.mark.parametrize("act", ["", "files/agreement.csv", "delete/"])
def test_a_number_beyond_every_report_is_not_there(report, sign_in, rosa, act):
    for number in ("9" * 30, "9" * 4000, "9" * 5000):
        assert status(sign_in(rosa).get(f"{REPORTS}{number}/{act}")) == 404


def test_a_file_of_another_report_is_not_there(report, rated, sign_in, rosa):
    other = keep_report(rated, rosa, files={"only-here.csv": b"x"})
    assert status(sign_in(rosa).get(of(report, "files/only-here.csv"))) == 404
    assert status(sign_in(rosa).get(of(other, "files/only-here.csv"))) == 200


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_file_that_is_gone_or_cut_is_said_to_be(report, sign_in, rosa, is_cut):
    file = report.files.get(name="agreement.csv")
    if is_cut:
        with open(default_storage.path(file.file.name), "wb") as cut:
            cut.write(b"value\n")
    else:
        default_storage.delete(file.file.name)
    answer = sign_in(rosa).get(of(report, "files/agreement.csv"))
    assert answer.status_code == 410
    assert file.sha256 in answer.text
    assert status(sign_in(rosa).get(of(report))) == 200


# --- Deleting -------------------------------------------------------------------------------------------------------


def test_it_is_deleted_by_its_title(report, sign_in, rosa, django_capture_on_commit_callbacks):
    client, where = sign_in(rosa), of(report, "delete/")
    page = client.get(where).text
    assert "with its 2 files" in page
    assert client.post(where, {"confirm": "the report"}).status_code == 422
    assert "This is not the title" in client.post(where, {"confirm": "x"}).text
    assert StoredReport.objects.exists()
    names = [file.file.name for file in report.files.all()]
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(where, {"confirm": "The report"}, follow=True)
    assert "The report “The report” is deleted." in answer.text
    assert not StoredReport.objects.exists()
    assert not any(default_storage.exists(name) for name in names)
    assert client.get(of(report)).status_code == 404


def test_what_is_built_must_be_cancelled_first(rated, sign_in, rosa):
    report = request_report(study=rated, title="Waits", plan=ReportPlan(), by=rosa)
    client, where = sign_in(rosa), of(report, "delete/")
    assert "Cancel that first" in client.get(where).text
    assert client.post(where, {"confirm": "Waits"}).status_code == 422
    assert StoredReport.objects.exists()


# --- Jobs -----------------------------------------------------------------------------------------------------------


def test_the_job_tells_no_figures(rated, sign_in, rosa, ada, django_capture_on_commit_callbacks):
    """An admin who rates in the study sees everybody's jobs, and is blind to the ratings."""
    Rater.objects.create(study=rated, user=ada, name="expert9", kind="expert")
    with django_capture_on_commit_callbacks(execute=True):
        sign_in(rosa).post(NEW, sent(formats=["csv"]))
    job = Job.objects.get()
    assert job.result == {"files": 1}
    page = sign_in(ada).get(f"/jobs/{job.pk}/").text
    assert "The report is built." in page
    assert status(sign_in(ada).get(job.result_url)) == 403


def test_the_tab_is_for_those_who_see_ratings(rated, sign_in, rosa, ada):
    assert REPORTS in sign_in(rosa).get("/studies/grief/").text
    Rater.objects.create(study=rated, user=ada, name="expert9", kind="expert")
    assert REPORTS not in sign_in(ada).get("/studies/grief/").text


def test_every_format_has_its_words(rated, sign_in, rosa):
    page = sign_in(rosa).get(NEW).text
    assert page.count('name="formats"') == len(Format)
