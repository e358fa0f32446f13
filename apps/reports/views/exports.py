"""The ratings of a study as files: what they hold, and how to read them."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.reliability.selection import DataSelection
from apps.reliability.services.snapshots import latest_snapshot
from apps.reports.access import study_in_sight
from apps.reports.services.exports import (
    COLUMN_WORDS,
    CONTENT_TYPES,
    checked_figure,
    contents_of,
    export_name,
    export_pieces,
)


@require_safe
@login_required
def exports(request: PersonRequest, slug: str) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    snapshot = latest_snapshot(study=study, selection=DataSelection())
    context = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "contents": contents_of(study),
        "columns": COLUMN_WORDS.items(),
        "has_snapshot": snapshot is not None,
        "figure": checked_figure(study, snapshot) if snapshot else None,
    }
    return render(request, "reports/ratings.html", context)


@require_safe
@login_required
def export_file(request: PersonRequest, slug: str, suffix: str) -> HttpResponseBase:
    """Sent while it is read, so that it begins at once whatever the number of ratings."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    pieces = export_pieces(study, suffix) if request.method == "GET" else iter(())
    response = StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[suffix])
    response["Content-Disposition"] = f'attachment; filename="{export_name(study, suffix)}"'
    return response
