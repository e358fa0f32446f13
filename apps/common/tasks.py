"""Background jobs: how a view starts one, and what beat asks for; the schedule is in the settings."""

import logging
from threading import Lock
from typing import Any

from celery import current_app, shared_task
from celery.exceptions import NotRegistered
from django.db import transaction
from kombu.exceptions import KombuError

from apps.common.models import Job
from apps.common.services.files import delete_old_files
from apps.common.services.jobs import sweep_jobs

logger = logging.getLogger(__name__)
_looking = Lock()


def start_job(job: Job) -> None:
    """Trigger the job's task after commit. A broker that is down is logged: the sweeper triggers it later."""
    transaction.on_commit(lambda: _trigger(job))


@shared_task(name="common.sweep_jobs")
def sweep() -> None:
    """Every quarter of a minute: take up what dead workers left, and trigger what waits for a lost message."""
    for job in sweep_jobs():
        try:
            _trigger(job)
        except NotRegistered:
            # Of a version of Accord that knew it, say. The others are triggered all the same.
            logger.exception("Job %s has no task %s", job.pk, job.task)


@shared_task(name="common.delete_old_files")
def forget_files() -> None:
    logger.info("Deleted %s old files", delete_old_files())


def _trigger(job: Job) -> None:
    task = _task_named(job.task)
    try:
        task.apply_async(args=(job.pk,), retry=False)
    except (KombuError, OSError):
        logger.warning("The broker does not answer; job %s waits for the sweeper", job.pk, exc_info=True)


def _task_named(name: str) -> Any:
    """Raises NotRegistered."""
    if name not in current_app.tasks:
        # A web process has not looked for tasks yet. A second request that comes meanwhile would find only some.
        with _looking:
            if name not in current_app.tasks:
                current_app.loader.import_default_modules()
    return current_app.tasks[name]
