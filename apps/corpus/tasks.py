"""Background work on conversations. The rows of the jobs come first; tasks only trigger them."""

from celery import shared_task

from apps.common.services.jobs import run_job
from apps.corpus.services import uploads


@shared_task(name=uploads.IMPORT_TASK)
def import_upload(job_pk: int) -> None:
    run_job(pk=job_pk, work=uploads.import_upload)
