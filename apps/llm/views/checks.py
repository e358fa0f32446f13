"""Checks for bias of a run: what they say, and the button that asks for them."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.common.tasks import start_job
from apps.common.views.jobs import progress_of
from apps.llm.access import study_in_sight
from apps.llm.forms.checks import ReversedForm
from apps.llm.models import Run, RunState
from apps.llm.services.bias import BiasError, request_checks
from apps.llm.services.consent import leave_problem
from apps.llm.services.run_listing import REVERSED_SHOWN, listed_runs, reversed_runs_of
from apps.llm.views.shown_checks import checks_of
from apps.studies.models import Study, StudyStatus

ASKED_AGAIN = "asked-again"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_checks(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """The page asks for its part `checks` again and again while they are computed; a POST asks for them.

    `part`: asked-again, for the part on reversed runs alone, while one is running.
    """
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    run = run_of(study, pk)
    if run.is_check:
        # What it found stands with the run that it asks again.
        return redirect("llm:run-checks", study.slug, run.checks_id)
    if request.method == "POST":
        return _check(request, study, run)
    context = checks_context(request, study, run)
    partial = ASKED_AGAIN if request.GET.get("part") == ASKED_AGAIN else "checks"
    return render_page_or_partial(request, "llm/checks.html", context, partial=partial)


def checks_context(request: PersonRequest, study: Study, run: Run, form: ReversedForm | None = None) -> dict[str, Any]:
    """What `llm/_checks.html` takes beside `study`, `run` and `is_managed`. Only for who may see ratings."""
    shown = checks_of(run)
    job = shown.state.job
    n_items = shown.state.asking_again.n_items
    again = listed_runs(reversed_runs_of(run)[:REVERSED_SHOWN])
    return {
        "study": study,
        "run": run,
        "is_managed": study.is_managed_by(request.user),
        "is_draft": study.status == StudyStatus.DRAFT,
        "checks": shown,
        "reversed_rows": again,
        "is_asked_again": run.reversed_runs.open().exists(),
        "is_asking": any(row.run.state == RunState.RUNNING for row in again),
        "reversed_form": form or ReversedForm(initial={"n_items": n_items or None}),
        "leave_problem": leave_problem(study=study, endpoint=run.endpoint),
        **(progress_of(job) if job and job.is_open else {}),
    }


def _check(request: PersonRequest, study: Study, run: Run) -> HttpResponse:
    if not study.is_managed_by(request.user):
        raise PermissionDenied
    try:
        check = request_checks(run=run, by=request.user)
    except BiasError as problem:
        messages.error(request, str(problem))
    else:
        if check.job is not None:
            start_job(check.job)
    return redirect("llm:run-checks", study.slug, run.pk)


def run_of(study: Study, pk: int) -> Run:
    """Of the study, with what the checks need of it (Http404)."""
    known = study.runs.select_related("study", "endpoint", "model_rater__rater", "model_rater__version__prompt")
    return get_object_or_404(known, pk=pk)
