"""Background work on reports. The rows of the jobs come first; tasks only trigger them."""

import logging

from celery import shared_task

from apps.common.services.jobs import run_job
from apps.reports.services import building
from apps.reports.services.requesting import REPORT_TASK

logger = logging.getLogger(__name__)


@shared_task(name=REPORT_TASK)
def build_report(job_pk: int) -> None:
    run_job(pk=job_pk, work=building.build_report)


@shared_task(name="reports.delete_stray_files")
def delete_stray_files() -> None:
    logger.info("Deleted %s stray files of reports", building.delete_stray_files())
