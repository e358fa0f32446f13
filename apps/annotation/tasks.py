"""Background work on ratings."""

from celery import shared_task

from apps.annotation.services.uploads import IMPORT_TASK, import_upload
from apps.common.services.jobs import run_job


@shared_task(name=IMPORT_TASK)
def import_rating_upload(job_pk: int) -> None:
    run_job(pk=job_pk, work=import_upload)
