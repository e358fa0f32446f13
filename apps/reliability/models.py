"""Frozen results. What is computed from ratings stays as it was when the ratings change."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.common.models import Job, TimeStamped
from apps.reliability.selection import DataSelection
from apps.studies.models import Study


class SnapshotQuerySet(models.QuerySet["Snapshot"]):
    def light(self) -> "SnapshotQuerySet":
        """Without the bytes of data and results and the account, which can be megabytes."""
        return self.defer("data", "results", "account")


class Snapshot(TimeStamped):
    """The agreement of a study as it was at one moment: the ratings it was computed from, and every figure.

    One row for the same data, selection, seed, number of resamples and version of Accord. `mark` tells cheaply whether
    anything was rated, excluded or handed in since these were last found to be the figures (services/marks.py).
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="snapshots")
    selection = models.JSONField(default=dict, help_text="Which ratings took part (selection.py)")
    selection_key = models.CharField(max_length=64)
    data_hash = models.CharField(max_length=64, help_text="SHA-256 of the tables of ratings")
    seed = models.PositiveBigIntegerField()
    resamples = models.PositiveIntegerField()
    program = models.CharField(max_length=40, help_text="Version of Accord that computed it")
    versions = models.JSONField(default=dict, help_text="Versions of what computed it")
    mark = models.JSONField(default=dict, help_text="State of the study when these were last its results")
    n_tables = models.PositiveIntegerField()
    n_raters = models.PositiveIntegerField()
    n_ratings = models.PositiveBigIntegerField()
    labels = models.JSONField(default=dict, help_text="Blocks, frameworks and scales in words (labels.py)")
    account = models.JSONField(default=dict, help_text="What took part or did not, and why (accounting.py)")
    notes = models.JSONField(default=list, help_text="Sentences on figures that are easily misread")
    data = models.BinaryField(help_text="The ratings (frozen.py)")
    results = models.BinaryField(help_text="The figures in both conventions (row_files.py)")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="snapshots"
    )

    objects = SnapshotQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "selection_key", "data_hash", "seed", "resamples", "program"],
                name="reliability_snapshot_once",
            )
        ]

    def __str__(self) -> str:
        return _("%(study)s on %(date)s") % {"study": self.study.slug, "date": f"{self.created_at:%Y-%m-%d %H:%M}"}

    @property
    def chosen(self) -> DataSelection:
        return DataSelection.from_dict(self.selection)

    @property
    def short_hash(self) -> str:
        return self.data_hash[:12]


class SnapshotRequest(models.Model):
    """A snapshot that was asked for: what the job computes, and then the snapshot it became."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="snapshot_request")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="snapshot_requests")
    selection = models.JSONField(default=dict)
    selection_key = models.CharField(max_length=64)
    resamples = models.PositiveIntegerField()
    snapshot = models.ForeignKey(Snapshot, null=True, blank=True, on_delete=models.SET_NULL, related_name="requests")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["study", "selection_key"])]

    def __str__(self) -> str:
        return f"{self.study.slug}: {self.job.state}"
