"""The agreement of a study: who agrees with whom, scale by scale, and how sure that is."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.access import PersonRequest
from apps.common.tasks import start_job
from apps.dashboard.agreement_access import study_in_sight
from apps.reliability.selection import DataSelection
from apps.reliability.services.snapshots import request_snapshot


@require_safe
@login_required
def overview(request: PersonRequest, slug: str) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    context = {"study": study, "is_managed": study.is_managed_by(request.user)}
    return render(request, "agreement/overview.html", context)


@require_POST
@login_required
def compute(request: PersonRequest, slug: str) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    start_job(request_snapshot(study=study, selection=DataSelection(), by=request.user))
    return redirect("agreement:overview", study.slug)
