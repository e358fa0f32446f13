"""The work of a report's job: the snapshot is taken or found, the files are written, and all of it is kept or none.

Files lie under random names below `reports/`, readable by the site's own account only. An attempt that fails takes its
files away; what a killed worker leaves is swept (`delete_stray_files`).
"""

import os
import tempfile
import uuid
from dataclasses import replace
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.common.digests import sha256_of
from apps.common.models import Job
from apps.common.services.files import delete_strays
from apps.common.services.jobs import JobRefused, Outcome, Reporter
from apps.reliability.models import Snapshot
from apps.reliability.services.snapshots import NothingRatedError, take_snapshot
from apps.reports.building import BuiltFile, build_files, count_files
from apps.reports.contents import ReportContent
from apps.reports.methods import methods_of
from apps.reports.models import StoredReport, StoredReportFile
from apps.reports.plans import ReportPlan
from apps.reports.services.contents import content_of_snapshot
from apps.reports.services.models_asked import with_models
from apps.studies.services.blindness import may_see_ratings

FOLDER = "reports"


def build_report(job: Job, reporter: Reporter) -> Outcome:
    """Safe to run again: the ratings of an earlier attempt's snapshot are found by their hash."""
    report = StoredReport.objects.select_related("study", "created_by").get(job=job)
    _refuse_if_hidden(report)
    plan = ReportPlan.from_dict(report.options)
    snapshot = _snapshot_of(report, plan, reporter)
    content = with_models(content_of_snapshot(snapshot, plan.options), report.study)
    content = replace(content, title=report.title)
    with _Shelf(report) as shelf:
        progress = _Progress(reporter, count_files(content))
        for built in build_files(content, told=progress.told):
            shelf.store(built)
        # Whoever asked for it may have begun to rate meanwhile.
        _refuse_if_hidden(report)
        return _keep(report, snapshot, content, shelf, reporter)


def delete_stray_files() -> int:
    """Delete files of reports that no row knows and that are older than a day; how many."""
    return delete_strays(FOLDER, lambda name: StoredReportFile.objects.filter(file=name).exists())


def _refuse_if_hidden(report: StoredReport) -> None:
    report.created_by.refresh_from_db(fields=["is_active", "role"])
    if not may_see_ratings(user=report.created_by, study=report.study):
        raise JobRefused(
            _("Whoever asked for this report may not see the study's ratings any more. Nothing was stored.")
        )


def _snapshot_of(report: StoredReport, plan: ReportPlan, reporter: Reporter) -> Snapshot:
    try:
        return take_snapshot(
            study=report.study,
            selection=plan.selection,
            by=report.created_by,
            resamples=plan.resamples,
            reporter=reporter,
        )
    except NothingRatedError as problem:
        raise JobRefused(str(problem)) from None


class _Progress:
    """Tells the job which file is written, and that it is the k-th of n."""

    def __init__(self, reporter: Reporter, total: int) -> None:
        self._reporter = reporter
        self._total = total
        self._done = 0

    def told(self, name: str) -> None:
        self._reporter.step(_("Writing %(file)s") % {"file": name}, total=self._total, done=self._done)
        self._done += 1


class _Shelf:
    """The files of one attempt. What is not kept when the block ends is deleted."""

    def __init__(self, report: StoredReport) -> None:
        self._report = report
        self.files: list[StoredReportFile] = []
        self.is_kept = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self.is_kept:
            for stored in self.files:
                default_storage.delete(str(stored.file))

    def store(self, built: BuiltFile) -> None:
        with tempfile.TemporaryFile() as file:
            built.write(cast(BinaryIO, file))
            stored = StoredReportFile(
                report=self._report,
                name=built.name,
                content_type=built.content_type,
                size=file.seek(0, os.SEEK_END),
                sha256=sha256_of(cast(BinaryIO, file)),
            )
            file.seek(0)
            stored.file.save(uuid.uuid4().hex, File(file), save=False)
        self.files.append(stored)


def _keep(
    report: StoredReport, snapshot: Snapshot, content: ReportContent, shelf: _Shelf, reporter: Reporter
) -> Outcome:
    outcome = Outcome(
        _("The report is built."),
        {_("files"): len(shelf.files)},
        url=reverse("reports:report", args=[report.study.slug, report.pk]),
    )
    with transaction.atomic():
        StoredReportFile.objects.bulk_create(shelf.files)
        report.snapshot = snapshot
        report.summary = summary_of(content)
        report.save(update_fields=["snapshot", "summary", "updated_at"])
        reporter.finish(outcome)
    shelf.is_kept = True
    return outcome


def summary_of(content: ReportContent) -> dict[str, Any]:
    """What the page says of the report without its files.

    `methods_short`, `methods`, `references`: paragraphs for a paper. `rows`: how many statistics. `undefined`: how
    many of them have no value, by reason. `notes`: how many are easily misread.
    """
    undefined: dict[str, int] = {}
    for row in content.rows:
        if row.value is None:
            undefined[row.reason] = undefined.get(row.reason, 0) + 1
    methods = methods_of(content)
    return {
        "methods_short": methods.short,
        "methods": list(methods.long),
        "references": [f"[{number}] {text}" for number, text in enumerate(methods.references, start=1)],
        "rows": len(content.rows),
        "undefined": sorted(undefined.items(), key=lambda entry: (-entry[1], entry[0])),
        "notes": len(content.notes),
    }
