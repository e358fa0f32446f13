"""The rating screen of one person. Nothing here reads another rater's answers."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.annotation.services.screens import Screen, load_preview, load_screen
from apps.studies.models import Assignment, Rater, Study


@require_safe
@login_required
def start(request: PersonRequest, slug: str) -> HttpResponse:
    raise Http404


@require_safe
@login_required
def item(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return show(request, load_screen(assignment=own_assignment(request, slug, pk)))


@require_safe
@login_required
def preview(request: PersonRequest, slug: str) -> HttpResponse:
    """The screen as a rater would meet it, without anybody's answers; nothing can be saved."""
    study = get_object_or_404(Study.objects.readable_by(request.user), slug=slug)
    number = request.GET.get("item", "1")
    screen = load_preview(study=study, number=int(number) if number.isdecimal() and len(number) < 10 else 0)
    if screen is None:
        raise Http404
    return show(request, screen)


def show(request: PersonRequest, screen: Screen, status: int = 200, **more: Any) -> HttpResponse:
    return render(request, "annotation/item.html", {"screen": screen, "study": screen.study, **more}, status=status)


def own_rater(request: PersonRequest, slug: str) -> Rater:
    """The person's rater in a study they know of, with the study; else 404."""
    raters = Rater.objects.filter(study__in=Study.objects.visible_to(request.user), user=request.user, left_at=None)
    return get_object_or_404(raters.select_related("study"), study__slug=slug)


def own_assignment(request: PersonRequest, slug: str, pk: int) -> Assignment:
    """One of the person's own items, with all that belongs to it, in one query; else 404."""
    assignments = Assignment.objects.filter(
        rater__study__in=Study.objects.visible_to(request.user), rater__user=request.user, rater__left_at=None
    )
    related = ("rater__study", "item__block", "item__conversation")
    return get_object_or_404(assignments.select_related(*related), rater__study__slug=slug, pk=pk)
