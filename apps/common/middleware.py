"""Requests that are larger than anything this site takes, and those that find the database busy."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from apps.common.patience import is_busy

logger = logging.getLogger(__name__)

# What a form holds besides its file.
ROOM_FOR_FIELDS = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
CHUNK_BYTES = 64 * 1024
# So much of a refused body is read and thrown away: a browser that is cut off while it sends never reads the answer.
DRAINED_AT_MOST = 4
# Seconds until a busy database is worth another try.
RETRY_AFTER = 5


class UploadLimit:
    """Answers 413 to a body beyond UPLOAD_MAX_BYTES before any of it is written to the disk of this machine."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        size = _told_size(request)
        if size <= settings.UPLOAD_MAX_BYTES + ROOM_FOR_FIELDS:
            return self.get_response(request)
        if size <= DRAINED_AT_MOST * settings.UPLOAD_MAX_BYTES:
            while request.read(CHUNK_BYTES):
                pass
        return render(request, "413.html", {"limit": settings.UPLOAD_MAX_BYTES}, status=413)


def _told_size(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


class BusyDatabase:
    """Answers 503 where a view could not have the database in time, since another try is likely to succeed.

    What a view writes stands in one transaction, so nothing of it is left. Every other error is left alone: it is
    logged with its traceback, and answered with 500.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, OperationalError) or not is_busy(exception):
            return None
        logger.warning("The database was busy: %s %s", request.method, request.path, exc_info=exception)
        if request.path.startswith("/api/"):
            answer: HttpResponse = JsonResponse(
                {"detail": _("The database was busy; nothing was changed. Try again.")}, status=503
            )
        else:
            answer = render(request, "503.html", {"is_act": request.method not in ("GET", "HEAD")}, status=503)
        answer["Retry-After"] = str(RETRY_AFTER)
        return answer
