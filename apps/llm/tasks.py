"""Background work on models as raters. The rows come first; tasks only trigger them."""

import logging

from celery import current_app, shared_task
from django.db import transaction
from kombu.exceptions import KombuError

from apps.common.services.jobs import run_job
from apps.llm.models import Endpoint
from apps.llm.services.baselines import BASELINE_TASK, compute_baseline
from apps.llm.services.bias import CHECK_TASK, check_bias
from apps.llm.services.claiming import warm_up
from apps.llm.services.slots import workers_of_use
from apps.llm.services.sweeping import sweep
from apps.llm.services.trying import TEST_TASK, run_test
from apps.llm.services.working import work

logger = logging.getLogger(__name__)


def trigger_endpoint(endpoint_pk: int) -> None:
    """Have the endpoint's waiting calls taken up, after commit. A broker that is down is logged: the sweeper comes."""
    transaction.on_commit(lambda: _trigger_all(endpoint_pk))


@shared_task(name="llm.work")
def work_at_endpoint(endpoint_pk: int) -> None:
    """Work for a while, and send for the next while. Losing or doubling this message changes nothing."""
    if current_app.conf.task_always_eager:
        while work(endpoint_pk):
            pass
    elif work(endpoint_pk):
        _send(endpoint_pk)


@shared_task(name="llm.sweep")
def sweep_calls() -> None:
    """Every quarter of a minute: free what dead workers held, and trigger what waits for a lost message."""
    for endpoint_pk in sweep():
        _send(endpoint_pk)
    warm_up()


def _trigger_all(endpoint_pk: int) -> None:
    """A message for each worker that is of use."""
    slots = Endpoint.objects.filter(pk=endpoint_pk).values_list("max_concurrent", flat=True).first() or 0
    for _number in range(workers_of_use(slots)):
        if not _send(endpoint_pk):
            break


def _send(endpoint_pk: int) -> bool:
    """Whether the broker took the message."""
    try:
        work_at_endpoint.apply_async(args=(endpoint_pk,), retry=False)
    except (KombuError, OSError):
        logger.warning("The broker does not answer; endpoint %s waits for the sweeper", endpoint_pk, exc_info=True)
        return False
    return True


# --- Jobs -----------------------------------------------------------------------------------------------------------


@shared_task(name=BASELINE_TASK)
def compute_baseline_task(job_pk: int) -> None:
    run_job(pk=job_pk, work=compute_baseline)


@shared_task(name=TEST_TASK)
def test_endpoint_task(job_pk: int) -> None:
    run_job(pk=job_pk, work=run_test)


@shared_task(name=CHECK_TASK)
def check_bias_task(job_pk: int) -> None:
    run_job(pk=job_pk, work=check_bias)
