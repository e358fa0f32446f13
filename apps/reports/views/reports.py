"""The reports of a study: listed, asked for, followed while they are built, read, deleted."""

import re
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import OperationalError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.common.services.jobs import request_cancel
from apps.common.tasks import start_job
from apps.common.views.jobs import progress_of
from apps.reports.access import study_in_sight
from apps.reports.forms.deleting import TypedTitleForm
from apps.reports.forms.reports import ReportForm, initial_from, initial_of
from apps.reports.models import StoredReport
from apps.reports.services.choices import choices_of
from apps.reports.services.listing import listed, reports_of
from apps.reports.services.requesting import ReportError, delete_report, may_change, request_report
from apps.reports.views.shown import ShownReport, in_order, shown_files
from apps.studies.models import Study

REPORTS_ON_A_PAGE = 25
FILES_ON_A_PAGE = 50
# Of a report, as an address gives it.
NUMBER = re.compile(r"[0-9]{1,18}")
SHOWS_AND_TAKES = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
@login_required
def report_list(request: PersonRequest, slug: str) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    page = Paginator(reports_of(study), REPORTS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "page_obj": page,
        "rows": listed(study, list(page)),
    }
    return render(request, "reports/report_list.html", context)


@login_required
@SHOWS_AND_TAKES
def report_new(request: PersonRequest, slug: str) -> HttpResponse:
    """What the page of agreement was narrowed to is taken over from the address; or another report's choices."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    like = _report_like(request, study)
    asked = ReportForm.raters_asked(request.POST, request.GET, like=like)
    choices = choices_of(study, raters_asked=asked)
    initial, faults = (initial_of(like), []) if like else initial_from(request.GET, choices)
    form = ReportForm(request.POST or None, study=study, choices=choices, initial=initial)
    if request.method == "POST" and form.is_valid():
        report = request_report(
            study=study, title=form.cleaned_data["title"], plan=form.cleaned_data["plan"], by=request.user
        )
        start_job(report.job)
        return redirect("reports:report", study.slug, report.pk)
    context = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "form": form,
        "choices": choices,
        "faults": faults,
        "like": like,
    }
    return render(request, "reports/report_new.html", context, status=_status(request))


@require_safe
@login_required
def report(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """The page asks for its part `report` again and again while the job is open."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    found = _report_of(study, pk)
    [row] = listed(study, [found])
    files = Paginator(in_order(found.files.all()), FILES_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "report": found,
        "job": found.job,
        "row": row,
        "shown": ShownReport(found, row.plan),
        "page_obj": files,
        "files": shown_files(files),
        "may_change": may_change(user=request.user, report=found),
        **progress_of(found.job),
    }
    return render_page_or_partial(request, "reports/report.html", context, partial="report")


@require_POST
@login_required
def report_cancel(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    found = _changed_report(request, study, pk)
    try:
        request_cancel(job=found.job, by=request.user)
    except OperationalError:
        messages.error(request, _("The database is busy just now, and the work goes on. Please ask again in a moment."))
    return redirect("reports:report", study.slug, found.pk)


@login_required
@SHOWS_AND_TAKES
def report_delete(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    found = _changed_report(request, study, pk)
    form = TypedTitleForm(request.POST or None, title=found.title)
    if request.method == "POST" and form.is_valid():
        try:
            delete_report(report=found, by=request.user)
        except ReportError as problem:
            form.add_error(None, str(problem))
        else:
            messages.success(request, _("The report “%(title)s” is deleted.") % {"title": found.title})
            return redirect("reports:list", study.slug)
    [row] = listed(study, [found])
    context = {"study": study, "report": found, "row": row, "form": form}
    return render(request, "reports/report_delete.html", context, status=_status(request))


def _report_of(study: Study, pk: int) -> StoredReport:
    return get_object_or_404(reports_of(study), pk=pk)


def _changed_report(request: PersonRequest, study: Study, pk: int) -> StoredReport:
    """Raises PermissionDenied for those who neither asked for it nor own the study."""
    found = _report_of(study, pk)
    if not may_change(user=request.user, report=found):
        raise PermissionDenied
    return found


def _report_like(request: PersonRequest, study: Study) -> StoredReport | None:
    """The report of the study whose choices are taken over (`?like=`); 404 where it has none of that number."""
    given: Any = request.GET.get("like", "")
    if not given:
        return None
    return get_object_or_404(reports_of(study), pk=int(given) if NUMBER.fullmatch(given) else 0)


def _status(request: PersonRequest) -> int:
    """A page that is drawn after a POST is drawn because the form was refused."""
    return 422 if request.method == "POST" else 200
