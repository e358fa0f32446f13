"""The work of a report's job: all files are kept or none, whatever happens on the way. CASES 5, for reports."""

import hashlib
import os
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from apps.accounts.models import User
from apps.common.models import AuditEntry, Job, JobState
from apps.common.services.jobs import STALE_AFTER, request_cancel, run_job, sweep_jobs
from apps.common.services.pulse import Pulse
from apps.reliability.models import Snapshot
from apps.reliability.selection import DataSelection
from apps.reports.building import BuiltFile
from apps.reports.contents import ReportOptions
from apps.reports.models import StoredReport, StoredReportFile
from apps.reports.plans import ReportPlan
from apps.reports.services import building
from apps.reports.services.building import build_report, delete_stray_files
from apps.reports.services.requesting import PlanError, ReportError, delete_report, request_report
from apps.studies.models import Rater, Study
from tests.conftest import make_framework
from tests.reports.stored import keep_report

CONTENTS = {"agreement.csv": b"value\n0.5\n", "report.html": b"<p>0.5</p>", "report.zip": b"PK"}


@pytest.fixture
def rated(grief, rate) -> Study:
    rate(grief, {"expert1": [1, 3, 5], "expert2": [2, 3, 4], "expert3": [1, 4, 4]})
    return grief


@pytest.fixture
def small_files(monkeypatch):
    """Files that cost nothing; `small_files["report.html"] = act` calls it while that one is written."""
    acts = {}

    def files(content, *, told) -> Iterator[BuiltFile]:
        for name, text in CONTENTS.items():

            def write(out, name=name, text=text):
                told(name)
                acts.get(name, lambda: None)()
                out.write(text)

            yield BuiltFile(name, "text/plain", write)

    monkeypatch.setattr(building, "build_files", files)
    monkeypatch.setattr(building, "count_files", lambda content: len(CONTENTS))
    return acts


def asked(study: Study, by: User, **plan) -> StoredReport:
    return request_report(study=study, title="Report", plan=ReportPlan(**plan), by=by)


def build(report: StoredReport) -> StoredReport:
    run_job(pk=report.job_id, work=build_report)
    return StoredReport.objects.select_related("job", "snapshot").get(pk=report.pk)


def on_disk() -> set[str]:
    """Names of the files of reports, with their folders."""
    root = default_storage.path("reports")
    return {
        os.path.relpath(os.path.join(folder, name), default_storage.path(""))
        for folder, _folders, names in os.walk(root)
        for name in names
    }


@pytest.fixture(autouse=True)
def _no_leftovers():
    for name in on_disk():
        default_storage.delete(name)


def fault():
    raise RuntimeError("the pencil broke")


def test_a_report_is_built_with_its_files(rated, rosa, small_files):
    report = build(asked(rated, rosa))
    assert (report.job.state, report.job.message) == (JobState.DONE, "The report is built.")
    assert report.job.result == {"files": 3}
    assert report.job.result_url == f"/studies/grief/reports/{report.pk}/"
    files = {file.name: file for file in report.files.all()}
    assert list(files) == sorted(CONTENTS)
    for name, text in CONTENTS.items():
        assert (files[name].size, files[name].sha256) == (len(text), hashlib.sha256(text).hexdigest())
        with default_storage.open(files[name].file.name) as file:
            assert file.read() == text
    assert {file.file.name for file in files.values()} == on_disk()
    assert report.snapshot == Snapshot.objects.get()
    assert report.summary["rows"] > 0
    assert any("expert" in paragraph for paragraph in report.summary["methods"])
    assert "expert" in report.summary["methods_short"]


def test_files_lie_under_random_names_that_nobody_else_reads(rated, rosa, small_files):
    build(asked(rated, rosa))
    for name in on_disk():
        assert not any(known in name for known in ("agreement", "report.html", "csv", "grief"))
        assert os.stat(default_storage.path(name)).st_mode & 0o077 == 0


def test_two_reports_of_the_same_ratings_share_a_snapshot(rated, rosa, small_files):
    first, second = build(asked(rated, rosa)), build(asked(rated, rosa))
    assert first.pk != second.pk
    assert first.snapshot == second.snapshot


def test_a_choice_of_ratings_has_a_snapshot_of_its_own(rated, rosa, small_files):
    rated.blocks.get().dataset.conversations.filter(position=0).update(metadata={"topic": "loss"})
    plain = build(asked(rated, rosa))
    rated.blocks.get().dataset.conversations.filter(position__gt=0).update(metadata={"topic": "work"})
    chosen = build(asked(rated, rosa, selection=DataSelection.of({"meta.topic": ["work"]}), resamples=50))
    assert (plain.snapshot.n_ratings, chosen.snapshot.n_ratings, chosen.snapshot.resamples) == (9, 6, 50)


def test_a_fault_at_the_second_file_leaves_nothing(rated, rosa, small_files):
    small_files["report.html"] = fault
    report = build(asked(rated, rosa))
    assert report.job.state == JobState.FAILED
    assert "pencil" not in report.job.message
    assert not report.files.exists()
    assert report.snapshot is None
    assert on_disk() == set()


def test_a_fault_when_all_is_stored_takes_the_files_away(rated, rosa, small_files, monkeypatch):
    monkeypatch.setattr(building, "summary_of", lambda content: fault())
    report = build(asked(rated, rosa))
    assert report.job.state == JobState.FAILED
    assert not StoredReportFile.objects.exists()
    assert on_disk() == set()


def test_a_killed_worker_is_made_good_by_the_next(rated, rosa, small_files, monkeypatch):
    """Killed between two files: what it had written stays on disk, and only until it is swept."""

    class Killed(BaseException):
        pass

    def killed():
        raise Killed

    small_files["report.html"] = killed
    report = asked(rated, rosa)
    with monkeypatch.context() as dead:
        dead.setattr(building._Shelf, "__exit__", lambda *_: None)  # the dead delete nothing
        with pytest.raises(Killed):
            build(report)
    [left] = on_disk()
    Job.objects.filter(pk=report.job_id).update(alive_at=timezone.now() - STALE_AFTER - timedelta(seconds=1))
    del small_files["report.html"]
    assert [job.pk for job in sweep_jobs()] == [report.job_id]
    report = build(report)
    assert (report.job.state, report.job.attempts, report.files.count()) == (JobState.DONE, 2, 3)
    assert delete_stray_files() == 0
    old = (timezone.now() - timedelta(days=2)).timestamp()
    for name in on_disk():
        os.utime(default_storage.path(name), (old, old))
    assert delete_stray_files() == 1
    assert on_disk() == {file.file.name for file in report.files.all()}
    assert left not in on_disk()


def test_an_attempt_that_was_taken_for_dead_stores_nothing(rated, rosa, small_files):
    report = asked(rated, rosa)
    small_files["report.zip"] = lambda: Job.objects.filter(pk=report.job_id).update(attempts=7)
    report = build(report)
    assert report.job.state == JobState.RUNNING
    assert not report.files.exists()
    assert on_disk() == set()


def test_it_stops_when_somebody_cancels(rated, rosa, small_files):
    report = asked(rated, rosa)
    small_files["agreement.csv"] = lambda: request_cancel(job=report.job, by=rosa)
    report = build(report)
    assert report.job.state == JobState.CANCELLED
    assert not report.files.exists()
    assert on_disk() == set()


def test_progress_counts_the_files(rated, rosa, small_files, monkeypatch):
    told = []
    monkeypatch.setattr(Pulse, "tell", lambda self, **news: told.append(news))
    build(asked(rated, rosa))
    assert [news for news in told if news.get("total") == 3] == [
        {"step": f"Writing {name}", "done": place, "total": 3} for place, name in enumerate(CONTENTS)
    ]


def test_nothing_rated_is_said(grief, rosa, small_files):
    report = build(asked(grief, rosa))
    assert report.job.state == JobState.FAILED
    assert "Nothing is rated" in report.job.message
    assert report.job.back_url == f"/studies/grief/reports/{report.pk}/"


@pytest.mark.parametrize("when", ["agreement.csv", "before"])
def test_who_begins_to_rate_gets_no_report(rated, rosa, small_files, when):
    report = asked(rated, rosa)
    begin = lambda: Rater.objects.create(study=rated, user=rosa, name="expert9", kind="expert")  # noqa: E731
    if when == "before":
        begin()
    else:
        small_files[when] = begin
    report = build(report)
    assert report.job.state == JobState.FAILED
    assert "may not see" in report.job.message
    assert not report.files.exists()
    assert on_disk() == set()


def test_the_same_asked_for_twice_is_one_report(rated, rosa, ada, small_files):
    first = asked(rated, rosa)
    assert asked(rated, rosa) == first
    assert asked(rated, rosa, resamples=5) != first
    assert asked(rated, ada) != first
    build(first)
    assert asked(rated, rosa) != first


@pytest.mark.parametrize(
    ("options", "field", "words"),
    [
        ({"block": "nowhere"}, "block", "nowhere is not used here; expected one of main."),
        ({"framework": "nothing"}, "framework", "nothing is not used here; expected one of warmth-scales."),
        ({"raters": ("expert1", "nobody")}, "raters", "No rater of the study is called nobody."),
        (
            {"block": "main", "framework": "other"},
            "framework",
            "other is not used here; expected one of warmth-scales.",
        ),
    ],
)
def test_what_the_study_does_not_have_is_refused(rated, strangers, rosa, options, field, words):
    make_framework("other")
    Rater.objects.create(study=strangers, name="nobody", kind="expert")
    with pytest.raises(PlanError) as found:
        asked(rated, rosa, options=ReportOptions(**options))
    assert (found.value.field, str(found.value)) == (field, words)
    assert not Job.objects.exists()


@pytest.mark.parametrize("change", [{"resamples": -1}, {"resamples": 10_001}, {"options": ReportOptions(formats=())}])
def test_a_plan_has_bounds(change):
    with pytest.raises(ValueError, match=r"expected a number from 0 to 10000|at least one kind of file"):
        ReportPlan(**change)


def test_a_plan_is_kept_whole():
    options = ReportOptions(block="main", groups=("experts",), raters=("a",), threshold=0.4, formats=("csv",))
    plan = ReportPlan(DataSelection.of({"meta.x": ["", "1"]}, with_excluded=True), 200, options)
    assert ReportPlan.from_dict(plan.as_dict()) == plan


def test_deleting_takes_the_files_and_leaves_a_trace(rated, rosa, django_capture_on_commit_callbacks):
    report, other = keep_report(rated, rosa, title="Old"), keep_report(rated, rosa)
    hashes = {file.name: file.sha256 for file in report.files.all()}
    with django_capture_on_commit_callbacks(execute=True):
        delete_report(report=report, by=rosa)
    assert not StoredReport.objects.filter(title="Old").exists()
    assert on_disk() == {file.file.name for file in other.files.all()}
    assert Snapshot.objects.count() == 1
    entry = AuditEntry.objects.get(action="report.delete")
    assert (entry.actor, entry.subject, entry.details["title"]) == (rosa, "grief", "Old")
    assert entry.details["files"] == hashes
    assert Job.objects.get(pk=report.job_id).result_url == ""


def test_a_report_that_is_built_is_not_deleted(rated, rosa):
    report = asked(rated, rosa)
    with pytest.raises(ReportError, match="Cancel that first"):
        delete_report(report=report, by=rosa)
    assert StoredReport.objects.filter(pk=report.pk).exists()
