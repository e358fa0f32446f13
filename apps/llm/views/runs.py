"""A run, followed live. How it goes is for whoever works with the study; its acts are in `run_acts`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.common.models import AuditEntry
from apps.llm.forms.budget import BudgetForm
from apps.llm.forms.cancelling import TypedRunForm
from apps.llm.forms.leave import LeaveForm
from apps.llm.forms.seal import seal_form_of
from apps.llm.models import CallState, Pause, Run, RunState
from apps.llm.run_words import ERRORS, PAUSES
from apps.llm.services.consent import needs_consent
from apps.llm.services.endpoint_lists import place_of
from apps.llm.services.endpoints import key_is_set
from apps.llm.services.example_exclusions import example_exclusions
from apps.llm.services.outcome import outcome_of
from apps.llm.services.progress import ErrorGroup, RunProgress, progress_of
from apps.llm.services.run_items import LeftOut
from apps.llm.services.run_listing import REVERSED_SHOWN, reversed_runs_of, runs_of
from apps.studies.access import readable_study
from apps.studies.models import Study
from apps.studies.services.blindness import may_see_ratings
from apps.studies.services.status import last_seal


@dataclass(frozen=True, slots=True)
class ShownError:
    """Requests that failed alike, in words."""

    words: str
    http_status: int | None
    count: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class ShownLeftOut:
    block: str
    conversation: str
    reason: str


@dataclass(frozen=True, slots=True)
class ShownCount:
    """Calls in a state, which the list of calls can be narrowed to."""

    state: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class ReasonCount:
    reason: str
    count: int


@require_safe
@login_required
def run(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """The page asks for its part `run` every two seconds while something is under way."""
    study = readable_study(request.user, slug)
    context = run_context(request, study, run_of(study, pk))
    return render_page_or_partial(request, "llm/run.html", context, partial="run")


def run_context(
    request: PersonRequest,
    study: Study,
    found: Run,
    *,
    budget_form: BudgetForm | None = None,
    cancel_form: TypedRunForm | None = None,
) -> dict[str, Any]:
    """What `llm/run.html` takes. A constant number of queries."""
    progress = progress_of(found)
    is_over = not found.is_open
    return {
        "study": study,
        "run": found,
        "progress": progress,
        "figures": _figures(progress),
        "is_managed": study.is_managed_by(request.user),
        "leave_form": LeaveForm() if _needs_leave(study, found) else None,
        "place": place_of(found.endpoint),
        "lacks_key": found.state in (RunState.READY, RunState.PAUSED) and not key_is_set(found.endpoint),
        "sees": may_see_ratings(user=request.user, study=study),
        "is_live": found.state == RunState.RUNNING or progress.n_running > 0,
        "can_retry": _can_retry(found, progress),
        "standing": _standing(found, progress),
        "seen_standing": request.GET.get("standing", ""),
        "pause": PAUSES.get(found.pause) if found.state == RunState.PAUSED else None,
        "paused_by": _last_act(found, "pause") if found.pause == Pause.HAND else None,
        "budget_form": budget_form or BudgetForm(endpoint=found.endpoint, initial={"budget": found.budget}),
        "cancel_form": cancel_form or TypedRunForm(run=found),
        "seal_form": seal_form_of(study),
        "outcome": outcome_of(found) if is_over and progress.n_done < progress.n_calls else None,
        "reversed_runs": reversed_runs_of(found)[:REVERSED_SHOWN],
        "has_examples": found.model_rater.version.examples.exists(),
        "exclusions": example_exclusions(found.model_rater),
        "last_seal": last_seal(study),
        "errors": [_shown(error) for error in progress.errors],
        "left_out": [ShownLeftOut(block, name, _reason(reason)) for block, name, reason in found.left_out],
        "left_out_counts": [ReasonCount(_reason(reason), n) for reason, n in found.left_out_counts.items()],
        "n_left_out": sum(found.left_out_counts.values()),
        "started": _last_act(found, "start"),
    }


def run_of(study: Study, pk: int) -> Run:
    """The run of that number, with what pages show of it; Http404 where the study has none."""
    return get_object_or_404(runs_of(study), pk=pk)


def _figures(progress: RunProgress) -> list[ShownCount]:
    shown = [
        ShownCount(CallState.DONE, _("Done"), progress.n_done),
        ShownCount(CallState.RUNNING, _("In hand"), progress.n_running),
        ShownCount(CallState.PENDING, _("Waiting"), progress.n_pending),
        ShownCount(CallState.INVALID, _("Invalid reply"), progress.n_invalid),
        ShownCount(CallState.FAILED, _("Failed"), progress.n_failed),
    ]
    if progress.n_cancelled:
        shown.append(ShownCount(CallState.CANCELLED, _("Cancelled"), progress.n_cancelled))
    return shown


def _needs_leave(study: Study, found: Run) -> bool:
    """Whether somebody has to confirm before it asks (again) that text may be sent to its endpoint."""
    return found.state in (RunState.READY, RunState.PAUSED) and needs_consent(study=study, endpoint=found.endpoint)


def _standing(found: Run, progress: RunProgress) -> str:
    """What the controls depend on: they are drawn anew where it has changed."""
    return f"{found.state}{'-retry' if _can_retry(found, progress) else ''}"


def _can_retry(found: Run, progress: RunProgress) -> bool:
    is_begun = found.state in (RunState.RUNNING, RunState.PAUSED, RunState.DONE)
    return is_begun and progress.n_failed + progress.n_invalid > 0


def _shown(error: ErrorGroup) -> ShownError:
    return ShownError(str(ERRORS[error.kind]), error.http_status, error.count, error.last_at)


def _reason(reason: str) -> str:
    return str(LeftOut(reason).label) if reason in LeftOut.values else reason


def _last_act(found: Run, verb: str) -> AuditEntry | None:
    """Who did it last, and when; None where nobody has."""
    acts = AuditEntry.objects.filter(action=f"run.{verb}", subject=found.study.slug, details__run=found.pk)
    return acts.select_related("actor").order_by("-pk").first()
