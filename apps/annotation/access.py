"""Who may open the rating screen: a rater of the study, and only their own items."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext

from apps.accounts.access import PersonRequest
from apps.studies.models import Assignment, Rater, Study

P = ParamSpec("P")
View = Callable[Concatenate[PersonRequest, P], HttpResponse]


def wants_json(request: HttpRequest) -> bool:
    """Whether a script asks, rather than a browser that goes from page to page."""
    return "application/json" in request.headers.get("Accept", "")


def rater_required(view: View[P]) -> View[P]:
    """Nobody signed in: to the sign-in page and then to the study's start; a script is told in JSON (401)."""
    return _required(view, always_json=False)


def rater_required_json(view: View[P]) -> View[P]:
    """As `rater_required`, for addresses that only a script asks."""
    return _required(view, always_json=True)


def _required(view: View[P], *, always_json: bool) -> View[P]:
    @wraps(view)
    def guarded(request: PersonRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if always_json or wants_json(request):
            message = gettext("You are signed out. Sign in again: what you gave here is not lost.")
            return JsonResponse({"state": "signed-out", "message": message}, status=401)
        # The address itself may take nothing but POST.
        back = request.get_full_path() if request.method == "GET" else _start(kwargs)
        return redirect_to_login(back)

    return cast(View[P], guarded)


def _start(kwargs: dict[str, object]) -> str:
    return reverse("rating:start", args=[kwargs["slug"]])


def own_rater(request: PersonRequest, slug: str) -> Rater:
    """The person's rater in a study they know of, with the study; else 404."""
    raters = Rater.objects.filter(study__in=Study.objects.visible_to(request.user), user=request.user, left_at=None)
    return get_object_or_404(raters.select_related("study"), study__slug=slug)


def own_assignment(request: PersonRequest, slug: str, pk: int, *more: str) -> Assignment:
    """One of the person's own items with its study, and `more` that the page shows, in one query; else 404.

    Every click asks this, and with each further table PostgreSQL weighs more orders of joining.
    """
    assignments = Assignment.objects.filter(
        rater__study__in=Study.objects.visible_to(request.user), rater__user=request.user, rater__left_at=None
    )
    related = assignments.select_related("rater__study", "item", *more)
    return get_object_or_404(related, rater__study__slug=slug, pk=pk)
