"""A run started, paused, resumed, cancelled, tried again: by those who manage the study."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import OperationalError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.accounts.access import PersonRequest
from apps.llm.services.controls import RunError, cancel_run, pause_run, resume_run, retry_failed, start_run
from apps.llm.tasks import trigger_endpoint
from apps.llm.views.runs import run_of
from apps.studies.access import managed_study

Act = Callable[..., Any]


@require_POST
@login_required
def run_start(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, start_run, gettext_lazy("The run has started."))


@require_POST
@login_required
def run_pause(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, pause_run, gettext_lazy("The run is paused: nothing more is sent."))


@require_POST
@login_required
def run_resume(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, resume_run, gettext_lazy("The run goes on."))


@require_POST
@login_required
def run_cancel(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, cancel_run, gettext_lazy("The run is cancelled."))


@require_POST
@login_required
def run_retry(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, retry_failed, gettext_lazy("The calls that failed are asked again."))


def _act(request: PersonRequest, slug: str, pk: int, act: Act, done: Promise) -> HttpResponse:
    study = managed_study(request.user, slug)
    found = run_of(study, pk)
    try:
        act(run=found, by=request.user)
    except RunError as problem:
        messages.error(request, str(problem))
    except OperationalError:
        # On SQLite while a worker holds the lock.
        messages.error(request, _("The database is busy just now, and nothing was changed. Please try again."))
    else:
        messages.success(request, str(done))
        trigger_endpoint(found.endpoint_id)
    return redirect("llm:run", study.slug, found.pk)
