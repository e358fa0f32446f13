"""Rows that know no domain: who did what, which worker is alive, what runs in the background, and files handed in."""

from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from apps.accounts.models import User

# So long may a job wait, or its worker be silent, before a page says so.
QUIET_AFTER = timedelta(seconds=30)


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
    subject = models.CharField(max_length=300, help_text="What it was done to, as a person would name it")
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


class JobState(models.TextChoices):
    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)


class JobQuerySet(models.QuerySet["Job"]):
    def open(self) -> "JobQuerySet":
        """Jobs that wait or run."""
        return self.filter(state__in=OPEN_STATES)

    def visible_to(self, user: "User") -> "JobQuerySet":
        """A person's own jobs; every job for admins."""
        if user.is_admin:
            return self.all()
        return self.filter(owner=user) if user.is_active else self.none()


class Job(TimeStamped):
    """A piece of background work: the row comes first, and the Celery task named in it only triggers it.

    A worker that dies leaves the row behind; the sweeper triggers it again. `attempts` is the fence: who claimed the
    job as attempt n may finish it only while it is still attempt n.
    """

    kind = models.CharField(max_length=80, help_text="noun.verb, for example conversations.import")
    task = models.CharField(max_length=200, help_text="The Celery task that does it, called with the job's key")
    title = models.CharField(max_length=300, help_text="What it does, as a person would say it")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    step = models.CharField(max_length=200, blank=True, help_text="What it is doing now")
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(null=True, blank=True, help_text="Of what `done` counts; empty: not known")
    message = models.TextField(blank=True, help_text="How it ended, in a sentence")
    problems = models.JSONField(default=list, blank=True, help_text="Lines to be read, the first of them only")
    problem_count = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: those in `problems` are all")
    result = models.JSONField(default=dict, blank=True, help_text="Counts by name")
    result_url = models.CharField(max_length=500, blank=True, help_text="Where the outcome is looked at")
    back_url = models.CharField(max_length=500, blank=True, help_text="Where it was asked for, to mend and try again")
    is_private = models.BooleanField(default=False, help_text="Its counts and problems are not even for admins")
    attempts = models.PositiveSmallIntegerField(default=0)
    alive_at = models.DateTimeField(null=True, blank=True, help_text="When its worker last said so")
    cancel_asked_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["state", "alive_at"])]

    def __str__(self) -> str:
        return f"{self.title}: {self.state}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    def is_told_to(self, user: "User") -> bool:
        """Whether the person, who may see the job, also sees its counts and problems."""
        return not self.is_private or self.owner_id == user.pk

    @property
    def waits_long(self) -> bool:
        """Queued, and for longer than a worker at leisure takes to begin."""
        return self.state == JobState.QUEUED and timezone.now() - self.created_at > QUIET_AFTER

    @property
    def is_quiet(self) -> bool:
        """Running, and not heard of for a while: in a long transaction, or with a worker that is gone."""
        if self.state != JobState.RUNNING or self.alive_at is None:
            return False
        return timezone.now() - self.alive_at > QUIET_AFTER

    @property
    def n_problems(self) -> int:
        """How many problems there were; `problems` holds the first of them."""
        return max(len(self.problems), self.problem_count or 0)

    @property
    def n_problems_not_kept(self) -> int:
        return self.n_problems - len(self.problems)


class StoredFile(TimeStamped):
    """A file somebody handed in, kept until its work is done and a while longer."""

    name = models.CharField(max_length=255, help_text="As its owner calls it")
    file = models.FileField(upload_to="uploads/%Y/%m/", max_length=255)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="stored_files")

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.name
