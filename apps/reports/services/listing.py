"""Reports as pages list them: how large, and whether the ratings have changed since."""

from dataclasses import dataclass

from django.db.models import QuerySet

from apps.common.version import VERSION
from apps.reliability.models import Snapshot
from apps.reliability.services.snapshots import mark_of
from apps.reports.models import StoredReport
from apps.reports.plans import ReportPlan
from apps.reports.words import CONVENTIONS
from apps.studies.models import Study


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
    return rows.defer("snapshot__data", "snapshot__results").order_by("-created_at", "-pk")


def listed(study: Study, reports: list[StoredReport]) -> list[ListedReport]:
    """A few queries, however many reports."""
    mark = mark_of(study) if any(report.snapshot_id for report in reports) else ""
    return [
        ListedReport(
            report=report,
            plan=ReportPlan.from_dict(report.options),
            size=sum(file.size for file in report.files.all()),
            n_files=len(report.files.all()),
            may_be_old=report.snapshot is not None and not _is_of_now(report.snapshot, study, mark),
        )
        for report in reports
    ]


def _is_of_now(snapshot: Snapshot, study: Study, mark: str) -> bool:
    return snapshot.mark == mark and snapshot.seed == study.seed and snapshot.program == VERSION
