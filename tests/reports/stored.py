"""A report that is there already, without the work of building it."""

import hashlib
import uuid
from collections.abc import Mapping

from django.core.files.base import ContentFile

from apps.accounts.models import User
from apps.common.models import Job, JobState
from apps.common.services.jobs import create_job
from apps.reliability.services.snapshots import take_snapshot
from apps.reports.models import StoredReport, StoredReportFile
from apps.reports.plans import ReportPlan
from apps.studies.models import Study

FILES = {"agreement.csv": b"value\n0.5\n", "report.zip": b"PK"}
SUMMARY = {
    "rows": 12,
    "methods_short": "In short, kappa [1].",
    "methods": ["Kappa was computed [1]."],
    "references": ["[1] Cohen 1968."],
    "undefined": [["no variation", 2]],
    "notes": 1,
}


def keep_report(
    study: Study,
    by: User,
    *,
    title: str = "The report",
    files: Mapping[str, bytes] = FILES,
    plan: ReportPlan | None = None,
) -> StoredReport:
    """A report of the study's ratings as they are now, with these files on disk, whose job is done."""
    job = create_job(kind="report.build", task="tests.nothing", title=f"Report “{title}”", owner=by)
    Job.objects.filter(pk=job.pk).update(state=JobState.DONE, message="The report is built.")
    report = StoredReport.objects.create(
        study=study,
        snapshot=take_snapshot(study=study, by=by),
        job=job,
        title=title,
        options=(plan or ReportPlan()).as_dict(),
        summary=SUMMARY,
        created_by=by,
    )
    for name, content in files.items():
        stored = StoredReportFile(
            report=report,
            name=name,
            content_type="text/csv",
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        stored.file.save(uuid.uuid4().hex, ContentFile(content), save=False)
        stored.save()
    return StoredReport.objects.select_related("job", "snapshot", "study").get(pk=report.pk)
