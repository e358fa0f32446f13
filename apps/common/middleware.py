"""Requests that are larger than anything this site takes."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# What a form holds besides its file.
ROOM_FOR_FIELDS = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
CHUNK_BYTES = 64 * 1024
# So much of a refused body is read and thrown away: a browser that is cut off while it sends never reads the answer.
DRAINED_AT_MOST = 4


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
