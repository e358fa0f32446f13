"""Baselines: what two rules without any network reach, and the button that computes them."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.common.tasks import start_job
from apps.common.views.jobs import progress_of
from apps.llm.access import study_in_sight
from apps.llm.models import Baseline, BaselineRule
from apps.llm.services.baseline_scales import scales_of
from apps.llm.services.baselines import BaselineError, experts_changed_at, request_baseline
from apps.llm.views.shown_baselines import ShownBaseline, lesson_of, shown_scales
from apps.studies.models import Study, StudyStatus


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def baselines(request: PersonRequest, slug: str) -> HttpResponse:
    """The page asks for its part `baselines` again and again while one is computed; a POST with `rule` asks for one."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    if request.method == "POST":
        return _compute(request, study)
    return render_page_or_partial(request, "llm/baselines.html", _context(request, study), partial="baselines")


def _compute(request: PersonRequest, study: Study) -> HttpResponse:
    if not study.is_managed_by(request.user):
        raise PermissionDenied
    try:
        baseline = request_baseline(study=study, rule=request.POST.get("rule", ""), by=request.user)
    except BaselineError as problem:
        context = {**_context(request, study), "problem": str(problem)}
        return render(request, "llm/baselines.html", context, status=422)
    if baseline.job is not None:
        start_job(baseline.job)
    return redirect("llm:baselines", study.slug)


def _context(request: PersonRequest, study: Study) -> dict[str, Any]:
    shown = _shown(study)
    under_way = next((one.job for one in shown if one.job and one.is_open), None)
    return {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "is_draft": study.status == StudyStatus.DRAFT,
        "baselines": shown,
        "columns": (_("Kappa"), _("Weighted F1"), _("Same point")),
        "under_way": under_way,
        **(progress_of(under_way) if under_way else {}),
    }


def _shown(study: Study) -> list[ShownBaseline]:
    known = {one.rule: one for one in Baseline.objects.filter(study=study).select_related("job", "rater")}
    scales = scales_of(study)
    changed = experts_changed_at(study)
    shown = []
    for rule in BaselineRule:
        baseline = known.get(rule)
        computed_at = baseline.computed_at if baseline else None
        rows = tuple(shown_scales(baseline, scales)) if baseline else ()
        is_old = computed_at is not None and changed is not None and computed_at < changed
        lesson = lesson_of(baseline, scales) if baseline and rule == BaselineRule.CONSTANT else None
        shown.append(ShownBaseline(rule, baseline, rows, is_old, lesson))
    return shown
