"""Whether runs that are under way may go on sending the text of their studies."""

from collections.abc import Collection, Iterable

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.llm.models import Endpoint, Pause, Run, RunState
from apps.llm.services.consent import leave_problems
from apps.llm.services.run_states import lock_runs, pause
from apps.studies.models import StudyStatus


def pause_unless_allowed(runs: Iterable[Run], endpoint: Endpoint) -> None:
    """Pause the endpoint's runs whose studies' text may not be sent (any more). The caller holds their rows."""
    problems = _problems(runs, endpoint)
    for run in runs:
        if problem := problems[run.pk]:
            pause(run, Pause.SETUP, problem)


def may_go_on(endpoint_pk: int, run_ids: Collection[int]) -> set[int]:
    """Those of the endpoint's runs that are running, and whose text may be sent; one whose text may not is paused.

    None while the endpoint is to be left alone, whichever worker was told so. Two queries, and a few more where there
    is something to pause.
    """
    running = list(
        Run.objects.filter(pk__in=run_ids, endpoint=endpoint_pk, state=RunState.RUNNING).select_related(
            "study", "endpoint"
        )
    )
    if not running:
        return set()
    endpoint = running[0].endpoint
    stopped = {pk for pk, problem in _problems(running, endpoint).items() if problem}
    if stopped:
        with transaction.atomic():
            pause_unless_allowed(list(lock_runs(stopped).values()), endpoint)
    if endpoint.held_until is not None and endpoint.held_until > timezone.now():
        return set()
    return {run.pk for run in running} - stopped


def _problems(runs: Iterable[Run], endpoint: Endpoint) -> dict[int, str]:
    """run -> why it may not send; "" where it may."""
    by_study = leave_problems(studies=[run.study for run in runs], endpoint=endpoint)
    return {
        run.pk: _("The study is a draft again.") if run.study.status == StudyStatus.DRAFT else by_study[run.study_id]
        for run in runs
    }
