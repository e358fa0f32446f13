"""Reports that are built in the background and kept."""

from django.conf import settings
from django.db import models

from apps.common.models import Job, TimeStamped
from apps.reliability.models import Snapshot
from apps.studies.models import Study


class StoredReport(TimeStamped):
    """A report of a study's agreement: what it holds, the snapshot it is made from, and the job that builds it.

    `options` are those of the form (plans.py). `snapshot`, `summary` and the files are empty until the job is done:
    `summary` holds what the page says of the report without reading it (services/building.py).
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="reports")
    snapshot = models.ForeignKey(Snapshot, null=True, blank=True, on_delete=models.PROTECT, related_name="reports")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="report")
    title = models.CharField(max_length=200)
    options = models.JSONField(default=dict)
    summary = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reports")

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.title


class StoredReportFile(models.Model):
    """One file of a report."""

    report = models.ForeignKey(StoredReport, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=120)
    content_type = models.CharField(max_length=120)
    file = models.FileField(upload_to="reports/%Y/%m/", max_length=255)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ["report_id", "name"]
        constraints = [models.UniqueConstraint(fields=["report", "name"], name="reports_file_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def download_name(self) -> str:
        """A name that tells whose report it is, among others in a folder."""
        return f"{self.report.study.slug}-report-{self.report_id}-{self.name}"
