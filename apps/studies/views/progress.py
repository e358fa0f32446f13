"""How far rating is: who has done how much, and how many raters each item has. Never a rating's value."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.studies.access import managed_study, readable_study
from apps.studies.models import Assignment, AssignmentState, Study
from apps.studies.services.coverage import coverage_of, imported_coverage_of
from apps.studies.services.progress import progress_of_raters

RATERS_ON_A_PAGE = 25
SKIPS_ON_A_PAGE = 50


@login_required
@require_safe
def raters(request: PersonRequest, slug: str) -> HttpResponse:
    """Everybody who works with the study sees pseudonyms; who they are is for those who manage its people."""
    study = readable_study(request.user, slug)
    is_managed = study.is_managed_by(request.user)
    page = Paginator(study.raters.select_related("user").order_by("kind", "name"), RATERS_ON_A_PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "study": study,
        "is_managed": is_managed,
        "page_obj": page,
        "rows": progress_of_raters(study=study, raters=list(page)),
        "now": timezone.now(),
        "n_skips": skips_of(study).count() if is_managed else 0,
        **_coverage(study),
    }
    return render_page_or_partial(request, "studies/raters.html", context, partial="progress")


@login_required
@require_safe
def skipped(request: PersonRequest, slug: str) -> HttpResponse:
    """Which items raters have skipped, and why. For owners and admins: a reason may say who wrote it."""
    study = managed_study(request.user, slug)
    skips = skips_of(study).select_related("rater", "item__conversation", "item__block")
    page = Paginator(skips.order_by("-updated_at", "-pk"), SKIPS_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "studies/skipped.html", {"study": study, "page_obj": page, "is_managed": True})


def skips_of(study: Study) -> QuerySet[Assignment]:
    return Assignment.objects.filter(rater__study=study, state=AssignmentState.SKIPPED)


def _coverage(study: Study) -> dict[str, Any]:
    return {"coverage": coverage_of(study=study), "imported": imported_coverage_of(study=study)}
