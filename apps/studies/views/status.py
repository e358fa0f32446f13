"""A study's way from draft to closed, and the switch that ends blindness. Each act is shown before it is done."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from apps.accounts.access import PersonRequest
from apps.studies.access import managed_study
from apps.studies.forms.setup import TypedNameForm
from apps.studies.models import Study, StudyStatus
from apps.studies.services.status import (
    StatusError,
    activate,
    activation_problems,
    close,
    discussion_history,
    open_work,
    reopen,
    return_to_draft,
    set_discussion,
)

SHOWS_AND_TAKES = require_http_methods(["GET", "HEAD", "POST"])
DISCUSSION_ACTS_SHOWN = 20

Act = Callable[..., Study]


@login_required
@SHOWS_AND_TAKES
def study_activate(request: PersonRequest, slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    context = {
        "is_possible": study.status == StudyStatus.DRAFT,
        "problems": activation_problems(study),
        "blocks": study.blocks.with_item_counts().select_related("dataset"),
    }
    done = gettext_lazy("The study is active: its raters can begin.")
    return _act(request, study, activate, "studies/study_activate.html", context, done)


@login_required
@SHOWS_AND_TAKES
def study_draft(request: PersonRequest, slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    context = {"is_possible": study.status == StudyStatus.ACTIVE, "has_begun": study.has_begun()}
    done = gettext_lazy("The study is a draft again.")
    return _act(request, study, return_to_draft, "studies/study_draft.html", context, done)


@login_required
@SHOWS_AND_TAKES
def study_close(request: PersonRequest, slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    context = {"is_possible": study.status == StudyStatus.ACTIVE, "work": open_work(study)}
    done = gettext_lazy("The study is closed: nobody can rate in it now.")
    return _act(request, study, close, "studies/study_close.html", context, done)


@login_required
@SHOWS_AND_TAKES
def study_reopen(request: PersonRequest, slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    context = {"is_possible": study.status == StudyStatus.CLOSED, "problems": activation_problems(study)}
    done = gettext_lazy("The study is active again: its raters can go on.")
    return _act(request, study, reopen, "studies/study_reopen.html", context, done)


@login_required
@SHOWS_AND_TAKES
def discussion(request: PersonRequest, slug: str) -> HttpResponse:
    """Opening it asks for the study's name: what was seen cannot be unseen. Closing it takes a button."""
    study = managed_study(request.user, slug)
    form: forms.Form = forms.Form(request.POST or None)
    if not study.discussion_open:
        form = TypedNameForm(request.POST or None, name=study.slug)
    if request.method == "POST" and form.is_valid():
        try:
            set_discussion(study=study, is_open=request.POST.get("to") == "open", by=request.user)
        except StatusError as problem:
            messages.error(request, str(problem))
        else:
            messages.success(request, _("Saved."))
        return redirect("studies:discussion", slug=slug)
    context = {
        "study": study,
        "form": form,
        "history": discussion_history(study)[:DISCUSSION_ACTS_SHOWN],
        "rates_too": study.raters.filter(user=request.user, left_at=None).exists(),
    }
    return render(request, "studies/discussion.html", context, status=422 if request.method == "POST" else 200)


def _act(
    request: PersonRequest, study: Study, act: Act, template: str, context: Mapping[str, Any], done: Promise
) -> HttpResponse:
    if request.method == "POST":
        try:
            act(study=study, by=request.user)
        except StatusError as problem:
            return render(request, template, {"study": study, "refusal": str(problem), **context}, status=422)
        messages.success(request, str(done))
        return redirect("studies:overview", slug=study.slug)
    return render(request, template, {"study": study, **context})
