"""The front page, by role: what to rate, what one runs, what needs one, what is running."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.common.models import Job
from apps.common.services.heartbeats import WORKER_SILENT_AFTER, is_worker_alive
from apps.corpus.models import Dataset
from apps.dashboard.services.work import run_by, to_rate
from apps.studies.models import Invitation
from apps.studies.views.invited import OPENED

SHOWN = 6


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What Accord is, for strangers; for people, their work. The number of queries does not grow with it."""
    if not isinstance(request.user, User):
        return render(request, "dashboard/welcome.html")
    user = request.user
    # One more than is shown tells whether there are more.
    rated, run = list(to_rate(user)[: SHOWN + 1]), list(run_by(user)[: SHOWN + 1])
    jobs = list(Job.objects.visible_to(user).open().select_related("owner")[:SHOWN])
    datasets = list(Dataset.objects.visible_to(user).order_by("-updated_at", "pk")[: SHOWN + 1])
    context = {
        "to_rate": rated[:SHOWN],
        "studies": run[:SHOWN],
        "more_to_rate": len(rated) > SHOWN,
        "more_studies": len(run) > SHOWN,
        "jobs": jobs,
        "datasets": datasets[:SHOWN],
        "more_datasets": len(datasets) > SHOWN,
        "n_people": User.objects.filter(is_active=True).count() if user.is_admin else None,
        "is_invited": _is_invited(request),
        "worker_alive": is_worker_alive() if user.is_admin or jobs else None,
        "silent_after": int(WORKER_SILENT_AFTER.total_seconds()),
    }
    return render(request, "dashboard/home.html", context)


def _is_invited(request: HttpRequest) -> bool:
    """Whether this browser has opened an invitation that is still to be accepted."""
    digest = request.session.get(OPENED)
    return bool(digest) and Invitation.objects.open().filter(token_hash=digest).exists()
