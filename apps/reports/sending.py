"""A stored file of a report as an answer, for pages and for the API."""

from django.core.files.storage import default_storage
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from apps.reports.models import StoredReportFile


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
