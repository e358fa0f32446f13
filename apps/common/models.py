"""Rows that know no domain: who did what, and which worker is alive."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class TimeStamped(models.Model):
    """When a row was made and last changed. The only base class models share."""

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class AuditEntry(models.Model):
    """One act worth remembering: an import, an exclusion, a role changed. Never edited, never deleted."""

    at = models.DateTimeField(default=timezone.now, editable=False)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="audit_entries"
    )
    action = models.CharField(max_length=80, help_text="noun.verb, for example dataset.import")
    subject = models.CharField(max_length=200, help_text="What it was done to, as a person would name it")
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["action", "subject"])]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.action} {self.subject}"


class WorkerHeartbeat(models.Model):
    """When a Celery worker was last seen, one row for each worker name."""

    worker = models.CharField(max_length=200, unique=True)
    process_id = models.PositiveIntegerField()
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["worker"]

    def __str__(self) -> str:
        return f"{self.worker} seen {self.seen_at:%Y-%m-%d %H:%M:%S}"
