"""Everything the site holds on the person who asks, and nothing on anybody else."""

from collections.abc import Iterator

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.accounts.models import User
from apps.dashboard.own_ratings import as_csv, as_json
from apps.dashboard.services.my_data import acts_of, belongings_of, own_ratings, studies_of, with_parts

STUDIES_ON_A_PAGE = 25
ENTRIES_ON_A_PAGE = 50
ADMINS_SHOWN = 3


@login_required
@require_safe
def my_data(request: PersonRequest) -> HttpResponse:
    user = request.user
    page = Paginator(studies_of(user), STUDIES_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "page_obj": page,
        "parts": with_parts(user, list(page)),
        "belongings": belongings_of(user),
        "admins": User.objects.active_admins().exclude(pk=user.pk).order_by("pk")[:ADMINS_SHOWN],
    }
    return render(request, "dashboard/my_data.html", context)


@login_required
@require_safe
def history(request: PersonRequest) -> HttpResponse:
    """What the site remembers of acts by the person, and of acts on their account."""
    page = Paginator(acts_of(request.user), ENTRIES_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "dashboard/my_data_history.html", {"page_obj": page})


@login_required
@require_safe
def ratings_csv(request: PersonRequest) -> StreamingHttpResponse:
    return _download(as_csv(own_ratings(request.user)), "my-ratings.csv", "text/csv; charset=utf-8")


@login_required
@require_safe
def ratings_json(request: PersonRequest) -> StreamingHttpResponse:
    return _download(as_json(own_ratings(request.user)), "my-ratings.json", "application/json")


def _download(content: Iterator[str], name: str, content_type: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
