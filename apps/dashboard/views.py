"""The front page, by role."""

from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.common.services.heartbeats import WORKER_SILENT_AFTER, is_worker_alive
from apps.corpus.models import Dataset
from apps.studies.models import Study

SHOWN = 6


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What Accord is, for strangers; for people, their studies, their datasets, and what is running."""
    if not isinstance(request.user, User):
        return render(request, "dashboard/welcome.html")
    user = request.user
    context = {
        # What a study is about could sway those who rate in it.
        "studies": Study.objects.visible_to(user)
        .annotate(is_readable=Exists(Study.objects.readable_by(user).filter(pk=OuterRef("pk"))))
        .order_by("-updated_at", "pk")[:SHOWN],
        "datasets": Dataset.objects.visible_to(user).order_by("-updated_at", "pk")[:SHOWN],
        "worker_alive": is_worker_alive() if user.is_admin else None,
        "silent_after": int(WORKER_SILENT_AFTER.total_seconds()),
    }
    return render(request, "dashboard/home.html", context)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that was sent from another site, or from a page left open over a new sign-in."""
    return render(request, "403_csrf.html", status=403)
