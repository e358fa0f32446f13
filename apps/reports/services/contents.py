"""What a report of a study holds, from a snapshot. No live row of the study is asked, beyond its title and slug."""

from apps.reliability.models import Snapshot
from apps.reports.contents import ReportContent, ReportOptions


def content_of_snapshot(snapshot: Snapshot, options: ReportOptions) -> ReportContent:
    """The report that `options` choose from the snapshot."""
    raise NotImplementedError
