"""Background work on agreement. The rows of the jobs come first; tasks only trigger them."""

from celery import shared_task

from apps.common.services.jobs import run_job
from apps.reliability.services import snapshots


@shared_task(name=snapshots.SNAPSHOT_TASK)
def take_snapshot(job_pk: int) -> None:
    run_job(pk=job_pk, work=snapshots.take_requested_snapshot)
