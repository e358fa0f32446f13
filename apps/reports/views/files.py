"""One file of a report, sent as it lies; whether the person may have it is asked each time."""

from django.contrib.auth.decorators import login_required
from django.core.files.storage import default_storage
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.reports.access import study_in_sight
from apps.reports.models import StoredReportFile


@require_safe
@login_required
def report_file(request: PersonRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    files = StoredReportFile.objects.filter(report__study=study, report=pk).select_related("report__study")
    found = get_object_or_404(files, name=name)
    answer = sent_file(request, found)
    if answer is None:
        context = {"study": study, "report": found.report, "file": found}
        return render(request, "reports/file_gone.html", context, status=410)
    return answer


def sent_file(request: HttpRequest, file: StoredReportFile) -> HttpResponseBase | None:
    """The file as an attachment, or 304 to who has it; None where it is no longer there as it was stored."""
    etag = f'"{file.sha256}"'
    if (known := get_conditional_response(request, etag=etag)) is not None:
        return known
    try:
        opened = default_storage.open(str(file.file), "rb")
    except FileNotFoundError:
        return None
    if opened.size != file.size:
        opened.close()
        return None
    response = FileResponse(opened, as_attachment=True, filename=file.download_name, content_type=file.content_type)
    response["ETag"] = etag
    return response
