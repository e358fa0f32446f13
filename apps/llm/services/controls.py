"""What people do with a run: start, pause, resume, cancel, ask again what failed, change its budget. They manage it."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.llm.models import Call, CallState, Pause, Run, RunState
from apps.llm.services.consent import ConsentError, give_consent, leave_problem, needs_consent
from apps.llm.services.endpoints import key_is_set
from apps.llm.services.outages import ask_now
from apps.llm.services.planning import budget_problem
from apps.llm.services.run_setup import setup_problem
from apps.llm.services.run_states import finish_runs, lock_runs
from apps.llm.services.settling import Group, settle
from apps.studies.models import StudyStatus

OPEN_STATES = (RunState.READY, RunState.RUNNING, RunState.PAUSED)
_GROUP_FACTS = ("run_id", "item_id", "framework_id", "dimension_id")


class RunError(ValueError):
    """The run cannot do that now; the message says why in a sentence."""


def start_run(*, run: Run, by: User | None, confirms: bool = False) -> Run:
    """Let a run that is ready ask. The caller triggers its endpoint. Raises RunError.

    confirms: whoever starts it says that the study's text may be sent to the endpoint. That stays said where only the
    endpoint's key is missing.
    """
    with transaction.atomic():
        _confirm(run, by, confirms=confirms)
        problem = _key_problem(run, by)
        if not problem:
            ask_now(run.endpoint_id)
        run = _locked(run, [RunState.READY], _("Only a run that is ready can be started."))
        _check_may_ask(run)
        if not problem:
            run.started_at = timezone.now()
            run = _moved(run, RunState.RUNNING, "start", by)
    return _unless(problem, run)


@transaction.atomic
def pause_run(*, run: Run, by: User | None) -> Run:
    """Ask nothing more for now; answers on their way are stored. Raises RunError."""
    run = _locked(run, [RunState.RUNNING], _("Only a run that is running can be paused."))
    return _moved(run, RunState.PAUSED, "pause", by, pause=Pause.HAND)


def resume_run(*, run: Run, by: User | None, confirms: bool = False) -> Run:
    """Let a paused run go on. The caller triggers its endpoint. confirms: as for `start_run`. Raises RunError.

    Waiting calls have all their attempts again. Not after one request after another failed: what always fails would
    then never come to an end. Nothing waits for its time any more.
    """
    with transaction.atomic():
        _confirm(run, by, confirms=confirms)
        problem = _key_problem(run, by)
        if not problem:
            ask_now(run.endpoint_id)
        run = _locked(run, [RunState.PAUSED], _("Only a run that is paused can be resumed."))
        _check_may_ask(run)
        if not problem:
            attempts = F("attempts") if run.pause == Pause.FAILING else 0
            waiting = Call.objects.filter(run=run, state=CallState.PENDING)
            waiting.update(attempts=attempts, not_before=None, updated_at=timezone.now())
            run = _moved(run, RunState.RUNNING, "resume", by)
            finish_runs([run.pk])
            run.refresh_from_db()
    return _unless(problem, run)


@transaction.atomic
def cancel_run(*, run: Run, by: User | None) -> Run:
    """End a run for good: what waits is cancelled at once, answers on their way are stored. Raises RunError.

    What was answered stays, ratings included: a question of which only some samples were asked is rated by those.
    """
    run = _locked(run, OPEN_STATES, _("This run is over, so it cannot be cancelled."))
    now = timezone.now()
    waiting = Call.objects.filter(run=run, state=CallState.PENDING)
    answered = Call.objects.filter(run=run, answers__isnull=False).values("item")
    groups = {Group(*row) for row in waiting.filter(item__in=answered).order_by().values_list(*_GROUP_FACTS)}
    n_cancelled = waiting.update(state=CallState.CANCELLED, not_before=None, finished_at=now, updated_at=now)
    run.finished_at = now
    run = _moved(run, RunState.CANCELLED, "cancel", by, cancelled=n_cancelled)
    settle({run.pk: run}, groups)
    return run


@transaction.atomic
def retry_failed(*, run: Run, by: User | None) -> Run:
    """Ask again what failed or stayed invalid, each with all its attempts; valid answers stay. Raises RunError.

    A run that was done runs again, and the caller triggers its endpoint.
    """
    run = _locked(
        run,
        [RunState.RUNNING, RunState.PAUSED, RunState.DONE],
        _("Only a run that was started and not cancelled can ask again."),
    )
    if run.state != RunState.PAUSED:
        _check_may_ask(run)
        _unless(_key_problem(run, by), run)
    failed = Call.objects.filter(run=run, state__in=(CallState.FAILED, CallState.INVALID))
    n_failed = failed.update(
        state=CallState.PENDING,
        attempts=0,
        is_repair=False,
        not_before=None,
        claim=None,
        lease_until=None,
        problem="",
        finished_at=None,
        updated_at=timezone.now(),
    )
    if not n_failed:
        raise RunError(_("Nothing of this run has failed or is invalid."))
    state = RunState(run.state)
    if state == RunState.DONE:
        state, run.finished_at = RunState.RUNNING, None
    return _moved(run, state, "retry", by, pause=Pause(run.pause) if run.pause else None, calls=n_failed)


@transaction.atomic
def change_budget(*, run: Run, budget: Decimal | None, by: User | None) -> Run:
    """Give an open run another budget, None for no limit. Raises RunError.

    One that is paused stays so until it is resumed. A budget below what was spent already is allowed: then nothing more
    is asked.
    """
    run = _locked(run, OPEN_STATES, _("This run is over, so its budget cannot be changed."))
    if problem := budget_problem(run.endpoint, budget):
        raise RunError(problem)
    if budget == run.budget:
        return run
    before, run.budget = run.budget, budget
    run.save(update_fields=["budget", "updated_at"])
    _remember(run, "budget", by, before=_written(before), budget=_written(budget))
    return run


# --- Checks and states ----------------------------------------------------------------------------------------------


def _locked(run: Run, allowed: Sequence[RunState], sentence: str) -> Run:
    """The run as it is now, held until the transaction ends. Raises RunError unless it is in one of the states."""
    locked = lock_runs([run.pk])[run.pk]
    if locked.state not in allowed:
        raise RunError(sentence)
    return locked


def _confirm(run: Run, by: User | None, *, confirms: bool) -> None:
    """Before any run is locked: the study and the endpoint come first. What is refused after it undoes it, less a key
    that is missing: an admin sets that, and who manages the study has said what they had to.
    """
    if not confirms or not needs_consent(study=run.study, endpoint=run.endpoint):
        return
    try:
        give_consent(study=run.study, endpoint=run.endpoint, by=by)
    except ConsentError as problem:
        raise RunError(str(problem)) from None


def _check_may_ask(run: Run) -> None:
    if run.study.status not in (StudyStatus.ACTIVE, StudyStatus.CLOSED):
        raise RunError(_("The study is a draft: activate it first."))
    if run.endpoint.retired_at is not None:
        raise RunError(_("The endpoint %(name)s is retired: bring it back first.") % {"name": run.endpoint.name})
    if problem := leave_problem(study=run.study, endpoint=run.endpoint):
        raise RunError(problem)
    if problem := setup_problem(run):
        raise RunError(problem)


def _key_problem(run: Run, by: User | None) -> str:
    """That this process lacks the endpoint's key; "" where it has it. Which variable holds it is for admins, and for
    whoever is at the server's command line.
    """
    if key_is_set(run.endpoint):
        return ""
    if by is not None and not by.is_admin:
        return _("The endpoint's key is not set: please tell whoever runs this site.")
    return _("The environment variable %(name)s, which holds the endpoint's key, is not set.") % {
        "name": run.endpoint.key_variable
    }


def _unless(problem: str, run: Run) -> Run:
    """The run. Raises RunError where there is a problem: what was written before stays."""
    if problem:
        raise RunError(problem)
    return run


def _moved(run: Run, state: RunState, verb: str, by: User | None, *, pause: Pause | None = None, **details: int) -> Run:
    run.state, run.pause = state, pause or ""
    if not pause:
        run.pause_detail = ""
    run.save(update_fields=["state", "pause", "pause_detail", "started_at", "finished_at", "updated_at"])
    _remember(run, verb, by, **details)
    return run


def _remember(run: Run, verb: str, by: User | None, **details: Any) -> None:
    AuditEntry.objects.create(actor=by, action=f"run.{verb}", subject=run.study.slug, details={"run": run.pk} | details)


def _written(budget: Decimal | None) -> str | None:
    return None if budget is None else f"{budget:.2f}"
