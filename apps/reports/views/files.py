"""One file of a report, sent as it lies; whether the person may have it is asked each time."""

from django.contrib.auth.decorators import login_required
from django.http import Http404
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.corpus.parsing.records import text_fault
from apps.reports.access import study_in_sight
from apps.reports.models import StoredReportFile
from apps.reports.sending import sent_file


@require_safe
@login_required
def report_file(request: PersonRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    if text_fault(name):
        raise Http404
    files = StoredReportFile.objects.filter(report__study=study, report__pk=pk).select_related("report__study")
    found = get_object_or_404(files, name=name)
    answer = sent_file(request, found)
    if answer is None:
        context = {"study": study, "report": found.report, "file": found}
        return render(request, "reports/file_gone.html", context, status=410)
    return answer
