"""Background work as rows: claimed once, reported on, ended once; and what a dead worker left is taken up again.

The fence is `Job.attempts`: whoever claimed the job as attempt n may report and finish only while it still runs as
attempt n. Progress is written by a thread with a connection of its own, so that a job within one long transaction is
seen to be alive; on SQLite that thread waits, as everybody does, while the transaction holds the only write lock.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.models import Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.common.models import AuditEntry, Job, JobState
from apps.common.patience import waiting_at_most
from apps.common.services.pulse import Pulse

if TYPE_CHECKING:
    from apps.accounts.models import User

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
STALE_AFTER = timedelta(minutes=2)
# A queued job nobody has taken for so long is triggered again: its message may be lost, or was never sent.
TRIGGER_AGAIN_AFTER = timedelta(seconds=20)
TRIGGERED_AT_ONCE = 100
LOOK_EVERY_SECONDS = 1.0
WAIT_MILLISECONDS = 1000
HAD_TO_WAIT_SECONDS = 0.25
MAX_PROBLEMS = 500
# A database that is locked, restarts, or broke a deadlock: worth another attempt. Everything else is a fault.
PASSING_ERRORS = (OperationalError, InterfaceError)


@dataclass(frozen=True)
class Outcome:
    """How a job ended well: a sentence, counts by name, lines worth reading, and where the outcome is looked at.

    `n_problems`: how many problems there were, where `problems` holds the first of them only.
    """

    message: str
    result: dict[str, Any] = field(default_factory=dict)
    problems: Sequence[str] = ()
    url: str = ""
    n_problems: int | None = None


class JobRefused(Exception):  # noqa: N818 - not a fault of the program
    """The work cannot be done as asked: a sentence for its owner, and lines that say where. Nothing was stored.

    `n_problems`: how many problems there are, where `problems` holds the first of them only.
    """

    def __init__(self, message: str, problems: Sequence[str] = (), n_problems: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.problems = problems
        self.n_problems = n_problems


class JobCancelled(Exception):  # noqa: N818
    """Somebody asked to cancel the job. Let it pass: whatever is open rolls back."""


class JobLost(Exception):  # noqa: N818
    """The job was taken for dead and is run by another attempt, or is over. Let it pass."""


class Reporter:
    """What a work tells of itself: a query or two for each `step`, and at most one a second for `advance`."""

    def __init__(self, job: Job, pulse: Pulse) -> None:
        self._job = job
        self._pulse = pulse
        self._looked_at = time.monotonic()

    def step(self, text: str, total: int | None = None, done: int = 0) -> None:
        """A new step begins, of `total` units, None where that is not known. Raises JobCancelled, JobLost.

        `done`: units that earlier steps have done, where `total` counts theirs as well.

        Call it before a long transaction rather than in it: on SQLite nobody would read it before its end.
        """
        tell = self._pulse.tell if connection.in_atomic_block else self._pulse.tell_now
        tell(step=text[:200], done=done, total=total)
        self._look()

    def advance(self, done: int) -> None:
        """`done` units of the step are done so far. Call it as often as you like. Raises JobCancelled, JobLost."""
        self._pulse.tell(done=done)
        if time.monotonic() - self._looked_at >= LOOK_EVERY_SECONDS:
            self._look()

    def finish(self, outcome: Outcome) -> None:
        """End the job within the transaction that stores its rows: both are kept, or neither.

        Raises JobLost where another attempt has taken over, JobCancelled where cancelling was asked for meanwhile.
        """
        if not _end(self._job, JobState.DONE, outcome, unless_cancelled=True):
            self._look()
            raise JobLost

    def _look(self) -> None:
        """Whether this attempt may go on."""
        self._looked_at = time.monotonic()
        row = _attempt(self._job).values("cancel_asked_at").first()
        if row is None:
            raise JobLost
        if row["cancel_asked_at"] is not None:
            raise JobCancelled


# Stores everything in one transaction, or nothing; may be run again after it was killed, without harm.
Work = Callable[[Job, Reporter], Outcome]


def create_job(*, kind: str, task: str, title: str, owner: "User", back_url: str = "", is_private: bool = False) -> Job:
    """A queued job. The caller starts it with `common.tasks.start_job`.

    is_private: only its owner is to see its counts and problems; admins see how it goes.
    """
    return Job.objects.create(
        kind=kind, task=task, title=title[:300], owner=owner, back_url=back_url, is_private=is_private
    )


def run_job(*, pk: int, work: Work) -> None:
    """Do the work of a queued job, once; nothing where it is not queued (another worker has it, or it is over).

    The job ends as DONE with the work's outcome, as FAILED with the sentence of JobRefused or one that names the job's
    number, or as CANCELLED. After a passing error of the database it is queued again, three attempts in all.
    """
    try:
        job = _claim(pk)
    except PASSING_ERRORS:
        # It stays queued, and the sweeper triggers it again.
        logger.warning("Job %s could not be claimed now", pk, exc_info=True)
        return
    if job is None:
        return
    with Pulse(job) as pulse:
        _run(job, work, Reporter(job, pulse))


def request_cancel(*, job: Job, by: "User") -> None:
    """A queued job is cancelled here and now, a running one as soon as its work looks up. Of an ended one nothing."""
    now = timezone.now()
    with transaction.atomic():
        row = Job.objects.select_for_update().get(pk=job.pk)
        if not row.is_open or row.cancel_asked_at is not None:
            return
        asked = Job.objects.filter(pk=job.pk)
        if row.state == JobState.QUEUED:
            asked.update(
                state=JobState.CANCELLED,
                message=_("Cancelled before it began."),
                cancel_asked_at=now,
                finished_at=now,
                updated_at=now,
            )
        else:
            asked.update(cancel_asked_at=now, updated_at=now)
        AuditEntry.objects.create(actor=by, action="job.cancel", subject=row.title[:200], details={"job": row.pk})


def sweep_jobs() -> list[Job]:
    """Take up what dead workers left, and give back the queued jobs whose tasks are to be triggered (again).

    Does nothing while the database is locked: whoever holds the lock may be the very job that seems dead.
    """
    try:
        with waiting_at_most(milliseconds=WAIT_MILLISECONDS):
            return _sweep()
    except PASSING_ERRORS as error:
        logger.info("No sweep of jobs now: %s", error)
        return []


# --- One attempt --------------------------------------------------------------------------------------------------


def _claim(pk: int) -> Job | None:
    now = timezone.now()
    with transaction.atomic():
        job = Job.objects.select_for_update().filter(pk=pk, state=JobState.QUEUED).first()
        if job is None:
            return None
        Job.objects.filter(pk=pk).update(
            state=JobState.RUNNING,
            attempts=job.attempts + 1,
            alive_at=now,
            started_at=Coalesce("started_at", Value(now)),
            step="",
            done=0,
            total=None,
            updated_at=now,
        )
        job.refresh_from_db()
        return job


def _run(job: Job, work: Work, reporter: Reporter) -> None:
    try:
        outcome = work(job, reporter)
        # Unless the work has finished it within its own transaction.
        _end(job, JobState.DONE, outcome)
    except JobRefused as refusal:
        _end(job, JobState.FAILED, Outcome(refusal.message, problems=refusal.problems, n_problems=refusal.n_problems))
    except JobCancelled:
        _end(job, JobState.CANCELLED, Outcome(_("Cancelled on request. Nothing of it was stored.")))
    except JobLost:
        logger.warning("Job %s, attempt %s, was taken over or is over", job.pk, job.attempts)
    except PASSING_ERRORS:
        logger.warning("Job %s, attempt %s: the database", job.pk, job.attempts, exc_info=True)
        _try_again(job)
    except Exception:
        logger.exception("Job %s, attempt %s, failed", job.pk, job.attempts)
        message = _("Something went wrong inside Accord. The server's log says what, under job %(number)s.")
        _end(job, JobState.FAILED, Outcome(message % {"number": job.pk}))


def _attempt(job: Job) -> Any:
    """The job's row while it still runs as this attempt; else no row."""
    return Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempts=job.attempts)


def _end(job: Job, state: JobState, outcome: Outcome, *, unless_cancelled: bool = False) -> bool:
    """Whether the attempt was still the one that runs, and so has ended the job."""
    now = timezone.now()
    attempt = _attempt(job)
    if unless_cancelled:
        attempt = attempt.filter(cancel_asked_at=None)
    ended = attempt.update(
        state=state,
        message=outcome.message,
        problems=[str(line) for line in outcome.problems[:MAX_PROBLEMS]],
        problem_count=max(len(outcome.problems), outcome.n_problems or 0),
        result=outcome.result,
        result_url=outcome.url,
        finished_at=now,
        alive_at=now,
        updated_at=now,
    )
    return bool(ended)


def _try_again(job: Job) -> None:
    """Queued again, or given up after the third attempt. Where even that cannot be written, the sweeper sees to it."""
    try:
        if job.attempts >= MAX_ATTEMPTS:
            message = _("The database was busy or out of reach in %(attempts)s attempts. Please try again later.")
            _end(job, JobState.FAILED, Outcome(message % {"attempts": job.attempts}))
        else:
            _attempt(job).update(state=JobState.QUEUED, step="", done=0, total=None, updated_at=timezone.now())
    except DatabaseError:
        logger.warning("Job %s stays as it is until the next sweep", job.pk, exc_info=True)
        if not connection.in_atomic_block:
            connection.close()


# --- What dead workers left ---------------------------------------------------------------------------------------


def _sweep() -> list[Job]:
    began = time.monotonic()
    with transaction.atomic():
        if time.monotonic() - began > HAD_TO_WAIT_SECONDS:
            return []
        _take_up_stale()
        return _to_trigger()


def _take_up_stale() -> None:
    now = timezone.now()
    stale = Job.objects.filter(state=JobState.RUNNING, alive_at__lt=now - STALE_AFTER)
    stale.exclude(cancel_asked_at=None).update(
        state=JobState.CANCELLED,
        message=_("Cancelled on request. Nothing of it was stored."),
        finished_at=now,
        updated_at=now,
    )
    message = _(
        "Given up after %(attempts)s attempts: each time the worker stopped before the work was done. "
        "Perhaps it needs more memory than the machine has."
    )
    stale.filter(attempts__gte=MAX_ATTEMPTS).update(
        state=JobState.FAILED, message=message % {"attempts": MAX_ATTEMPTS}, finished_at=now, updated_at=now
    )
    # Due at once.
    stale.update(state=JobState.QUEUED, step="", done=0, total=None, updated_at=now - TRIGGER_AGAIN_AFTER)


def _to_trigger() -> list[Job]:
    now = timezone.now()
    due = Job.objects.filter(state=JobState.QUEUED, updated_at__lte=now - TRIGGER_AGAIN_AFTER).order_by("pk")
    jobs = list(due[:TRIGGERED_AT_ONCE])
    # Not again with every sweep: a queue that is only long would grow by copies.
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(updated_at=now)
    return jobs
