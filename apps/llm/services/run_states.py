"""Runs as the engine moves them. The run's row is the lock of its calls: whoever changes a call holds it.

Rows are always locked in one order, so that nobody waits in a circle: endpoint, runs by key, calls by key.
"""

from collections.abc import Iterable

from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.llm.models import OPEN_CALL_STATES, Call, CallState, Pause, Run, RunState

FAILURES_IN_A_ROW = 20


def lock_runs(run_ids: Iterable[int]) -> dict[int, Run]:
    """The runs with their model raters, endpoints and studies, held until the transaction ends."""
    runs = Run.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=set(run_ids))
    return {run.pk: run for run in runs.select_related("model_rater", "endpoint", "study").order_by("pk")}


def open_state(run: Run) -> CallState:
    """What a call becomes that is to be asked again: in a cancelled run nothing is asked any more."""
    return CallState.CANCELLED if run.state == RunState.CANCELLED else CallState.PENDING


def pause(run: Run, why: Pause, detail: str = "") -> None:
    """Stop a run that is running; the caller holds its row. One that stands still keeps its reason."""
    if run.state != RunState.RUNNING:
        return
    run.state, run.pause, run.pause_detail = RunState.PAUSED, why, detail
    run.save(update_fields=["state", "pause", "pause_detail", "updated_at"])


def finish_runs(run_ids: Iterable[int]) -> None:
    """Runs without an open call are done. The caller holds their rows."""
    now = timezone.now()
    open_calls = Call.objects.filter(run=OuterRef("pk"), state__in=OPEN_CALL_STATES)
    started = Run.objects.filter(pk__in=set(run_ids), state__in=(RunState.RUNNING, RunState.PAUSED))
    started.filter(~Exists(open_calls)).update(
        state=RunState.DONE, pause="", pause_detail="", finished_at=now, updated_at=now
    )


def pause_if_failing(run: Run, n_now: int) -> None:
    """Pause a run whose calls fail one after another: with every twentieth in a row. n_now: those that just failed.

    A call that was never sent (its prompt is too long) says nothing of the endpoint and does not count.
    """
    ended = Call.objects.filter(run=run)
    last_good = (
        ended.filter(state__in=(CallState.DONE, CallState.INVALID))
        .order_by("-finished_at")
        .values_list("finished_at", flat=True)
        .first()
    )
    failed = ended.filter(state=CallState.FAILED, attempts__gt=0)
    if last_good is not None:
        failed = failed.filter(finished_at__gt=last_good)
    n_failed = failed.count()
    if n_failed // FAILURES_IN_A_ROW > max(0, n_failed - n_now) // FAILURES_IN_A_ROW:
        problem = failed.order_by("-finished_at", "-pk").values_list("problem", flat=True).first()
        pause(run, Pause.FAILING, problem or "")
