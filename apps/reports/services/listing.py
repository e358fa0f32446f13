"""Reports as pages list them: how large, and whether the ratings have changed since."""

from dataclasses import dataclass

from django.db.models import QuerySet

from apps.reliability.services.snapshots import current_among
from apps.reports.models import StoredReport
from apps.reports.plans import ReportPlan
from apps.reports.words import CONVENTIONS
from apps.studies.models import Study

# What of a snapshot can be megabytes, and no page of reports reads.
HEAVY = ("data", "results", "account", "labels", "notes")


@dataclass(frozen=True, slots=True)
class ListedReport:
    """`may_be_old`: something was rated, excluded or handed in since; the figures may be others now."""

    report: StoredReport
    plan: ReportPlan
    size: int
    n_files: int
    may_be_old: bool

    @property
    def convention(self) -> str:
        return str(CONVENTIONS[self.plan.options.convention])


def reports_of(study: Study) -> QuerySet[StoredReport]:
    """The study's reports, the latest first, without the bytes of their snapshots."""
    rows = (
        StoredReport.objects.filter(study=study)
        .select_related("job", "snapshot", "created_by", "study")
        .prefetch_related("files")
    )
    return rows.defer(*(f"snapshot__{name}" for name in HEAVY)).order_by("-created_at", "-pk")


def listed(study: Study, reports: list[StoredReport]) -> list[ListedReport]:
    """A few queries, however many reports."""
    current = current_among((report.snapshot for report in reports if report.snapshot is not None), study=study)
    return [
        ListedReport(
            report=report,
            plan=ReportPlan.from_dict(report.options),
            size=sum(file.size for file in report.files.all()),
            n_files=len(report.files.all()),
            may_be_old=report.snapshot_id is not None and report.snapshot_id not in current,
        )
        for report in reports
    ]
