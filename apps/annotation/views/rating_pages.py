"""The pages around the rating screen: where a rater begins, goes on, and is done; and the preview for others."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.access import PersonRequest
from apps.annotation.access import own_rater, rater_required
from apps.annotation.services.screens import load_preview
from apps.studies.models import FINISHED_STATES, Assignment, AssignmentState, Rater, Study
from apps.studies.services import reservations
from apps.studies.services.slots import full_items, progress_of, work_left

ITEMS_ON_A_PAGE = 25


@require_safe
@rater_required
def start(request: PersonRequest, slug: str) -> HttpResponse:
    """Instructions, how far one is, and one's own items."""
    rater = own_rater(request, slug)
    page = _page(request, rater.assignments.order_by("position"))
    return render(request, "annotation/start.html", _context(rater, page))


@require_POST
@rater_required
def next_item(request: PersonRequest, slug: str) -> HttpResponse:
    rater = own_rater(request, slug)
    try:
        assignment = reservations.take_next(rater=rater)
    except reservations.WorkRefused:
        # The start page says how the study stands.
        return redirect("rating:start", slug)
    return redirect("rating:done", slug) if assignment is None else redirect("rating:item", slug, assignment.pk)


@require_safe
@rater_required
def done(request: PersonRequest, slug: str) -> HttpResponse:
    """What was done, and which of one's items are still open: skipped, flagged, or not handed in."""
    rater = own_rater(request, slug)
    open_items = rater.assignments.filter(~Q(state__in=FINISHED_STATES) | Q(is_flagged=True))
    page = _page(request, open_items.order_by("position"))
    return render(request, "annotation/done.html", _context(rater, page))


@require_safe
@login_required
def preview(request: PersonRequest, slug: str) -> HttpResponse:
    """The screen as a rater would meet it, without anybody's answers; nothing can be saved."""
    study = get_object_or_404(Study.objects.readable_by(request.user), slug=slug)
    number = request.GET.get("item", "1")
    is_number = number.isascii() and number.isdecimal() and len(number) < 10
    screen = load_preview(study=study, number=int(number) if is_number else 0)
    if screen is None and "item" in request.GET:
        raise Http404
    if screen is None:
        return render(request, "annotation/preview_empty.html", {"study": study})
    return render(request, "annotation/item.html", {"screen": screen, "study": study})


def _page(request: PersonRequest, rows: QuerySet[Assignment]) -> Page[Assignment]:
    return Paginator(rows, ITEMS_ON_A_PAGE).get_page(request.GET.get("page"))


def _context(rater: Rater, page: Page[Assignment]) -> dict[str, Any]:
    skipped = [row.item_id for row in page if row.state == AssignmentState.SKIPPED]
    return {
        "study": rater.study,
        "rater": rater,
        "page_obj": page,
        "progress": progress_of(rater=rater),
        "left": work_left(rater=rater),
        # A skipped item that others have taken cannot be taken up again.
        "full_items": full_items(rater=rater, item_ids=skipped),
    }
