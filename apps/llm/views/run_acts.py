"""A run started, paused, resumed, cancelled, tried again, given another budget: by those who manage the study."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.accounts.access import PersonRequest
from apps.llm.forms.budget import BudgetForm
from apps.llm.forms.cancelling import TypedRunForm
from apps.llm.forms.leave import LeaveForm
from apps.llm.models import Run, RunState
from apps.llm.services.controls import (
    RunError,
    cancel_run,
    change_budget,
    pause_run,
    resume_run,
    retry_failed,
    start_run,
)
from apps.llm.tasks import trigger_endpoint
from apps.llm.views.runs import run_context, run_of
from apps.studies.access import managed_study
from apps.studies.models import Study

Act = Callable[..., Any]


@require_POST
@login_required
def run_start(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, _confirming(start_run, request), gettext_lazy("The run has started."))


@require_POST
@login_required
def run_pause(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    done = gettext_lazy("The run is paused. Requests that are on their way are still answered and stored.")
    return _act(request, slug, pk, pause_run, done)


@require_POST
@login_required
def run_resume(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, _confirming(resume_run, request), gettext_lazy("The run goes on."))


@require_POST
@login_required
def run_cancel(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """Which run it is has to be typed: what is not that is answered with the run's page and what is wrong."""
    study = managed_study(request.user, slug)
    found = run_of(study, pk)
    form = TypedRunForm(request.POST, run=found)
    if found.is_open and not form.is_valid():
        context = run_context(request, study, found, cancel_form=form)
        return render(request, "llm/run.html", context, status=422)
    return _done(request, study, found, cancel_run, gettext_lazy("The run is cancelled."))


@require_POST
@login_required
def run_retry(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, retry_failed, gettext_lazy("The calls that failed are asked again."))


@require_POST
@login_required
def run_budget(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """A budget that cannot be is answered with the run's page and what is wrong beside the field."""
    study = managed_study(request.user, slug)
    found = run_of(study, pk)
    form = BudgetForm(request.POST, endpoint=found.endpoint)
    if not form.is_valid():
        context = run_context(request, study, found, budget_form=form)
        return render(request, "llm/run.html", context, status=422)
    done = (
        gettext_lazy("The budget is changed. Resume the run to let it go on.")
        if found.state == RunState.PAUSED
        else gettext_lazy("The budget is changed.")
    )
    return _done(request, study, found, partial(change_budget, budget=form.cleaned_data["budget"]), done)


def _confirming(act: Act, request: PersonRequest) -> Act:
    """The act, with whether its form says that the study's text may leave."""
    return partial(act, confirms=LeaveForm(request.POST).is_valid())


def _act(request: PersonRequest, slug: str, pk: int, act: Act, done: Promise) -> HttpResponse:
    study = managed_study(request.user, slug)
    return _done(request, study, run_of(study, pk), act, done)


def _done(request: PersonRequest, study: Study, found: Run, act: Act, done: Promise) -> HttpResponse:
    try:
        act(run=found, by=request.user)
    except RunError as problem:
        messages.error(request, str(problem))
    else:
        messages.success(request, str(done))
        trigger_endpoint(found.endpoint_id)
    return redirect("llm:run", study.slug, found.pk)
