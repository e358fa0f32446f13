"""What runs in the background, and how it ended: for whoever asked for it, and for admins."""

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import OperationalError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.common.htmx import render_page_or_partial
from apps.common.models import Job, JobState
from apps.common.services.heartbeats import is_worker_alive
from apps.common.services.jobs import request_cancel

if TYPE_CHECKING:
    from apps.accounts.access import PersonRequest

JOBS_ON_A_PAGE = 25
# (until so many seconds after it was asked for, the page asks every so many seconds)
POLLING = ((60, 1), (600, 3))
SLOWEST_POLLING = 10


@require_safe
@login_required
def job_list(request: "PersonRequest") -> HttpResponse:
    jobs = Job.objects.visible_to(request.user).select_related("owner")
    page = Paginator(jobs, JOBS_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "common/job_list.html", {"page_obj": page})


@require_safe
@login_required
def job_detail(request: "PersonRequest", pk: int) -> HttpResponse:
    """The page asks for its part `job` again and again while the job is open."""
    job = get_object_or_404(Job.objects.visible_to(request.user).select_related("owner"), pk=pk)
    context = {"job": job, "is_told": job.is_told_to(request.user), **progress_of(job)}
    return render_page_or_partial(request, "common/job.html", context, partial="job")


@require_POST
@login_required
def cancel(request: "PersonRequest", pk: int) -> HttpResponse:
    job = get_object_or_404(Job.objects.visible_to(request.user), pk=pk)
    try:
        request_cancel(job=job, by=request.user)
    except OperationalError:
        # On SQLite while the job's own transaction holds the lock.
        messages.error(request, _("The database is busy just now, and the work goes on. Please ask again in a moment."))
    return redirect("common:job", job.pk)


def progress_of(job: Job) -> dict[str, Any]:
    """What `common/_job_open.html` takes beside the job, and how often the page asks again."""
    has_no_worker = job.waits_long and not is_worker_alive()
    return {
        "poll_seconds": _poll_seconds(job),
        "has_no_worker": has_no_worker,
        # On SQLite a worker that stores a large import cannot say that it is alive.
        "others_run": has_no_worker and Job.objects.filter(state=JobState.RUNNING).exists(),
    }


def _poll_seconds(job: Job) -> int:
    age = (timezone.now() - job.created_at).total_seconds()
    return next((seconds for until, seconds in POLLING if age < until), SLOWEST_POLLING)
