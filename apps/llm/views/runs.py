"""A run, followed live. How it goes is for whoever works with the study; its acts are in `run_acts`."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.accounts.models import User
from apps.common.htmx import render_page_or_partial
from apps.common.models import AuditEntry
from apps.llm.models import Run, RunState
from apps.llm.run_words import ERRORS, PAUSES
from apps.llm.services.progress import ErrorGroup, RunProgress, progress_of
from apps.llm.services.run_items import LeftOut
from apps.llm.services.run_listing import runs_of
from apps.studies.access import readable_study
from apps.studies.models import Study
from apps.studies.services.blindness import may_see_ratings


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
class ReasonCount:
    reason: str
    count: int


@require_safe
@login_required
def run(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """The page asks for its part `run` every two seconds while something is under way."""
    study = readable_study(request.user, slug)
    found = run_of(study, pk)
    progress = progress_of(found)
    context = {
        "study": study,
        "run": found,
        "progress": progress,
        "is_managed": study.is_managed_by(request.user),
        "sees": may_see_ratings(user=request.user, study=study),
        "is_live": found.state == RunState.RUNNING or progress.n_running > 0,
        "can_retry": _can_retry(found, progress),
        "standing": _standing(found, progress),
        "seen_standing": request.GET.get("standing", ""),
        "pause": PAUSES.get(found.pause) if found.state == RunState.PAUSED else None,
        "errors": [_shown(error) for error in progress.errors],
        "left_out": [ShownLeftOut(block, name, _reason(reason)) for block, name, reason in found.left_out],
        "left_out_counts": [ReasonCount(_reason(reason), n) for reason, n in found.left_out_counts.items()],
        "n_left_out": sum(found.left_out_counts.values()),
        "started_by": _started_by(found),
    }
    return render_page_or_partial(request, "llm/run.html", context, partial="run")


def run_of(study: Study, pk: int) -> Run:
    """The run of that number, with what pages show of it; Http404 where the study has none."""
    return get_object_or_404(runs_of(study), pk=pk)


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


def _started_by(found: Run) -> User | None:
    """Who started it, where a person did."""
    acts = AuditEntry.objects.filter(action="run.start", subject=found.study.slug, details__run=found.pk)
    act = acts.select_related("actor").order_by("pk").first()
    return act.actor if act else None
