"""The models of a study: what is running, what was asked so far, and what the next step is."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.common.services.heartbeats import is_worker_alive
from apps.llm.forms.seal import seal_form_of
from apps.llm.models import Baseline, Endpoint, RunState
from apps.llm.services.endpoint_lists import listed_endpoints, shown_endpoints
from apps.llm.services.prompt_listing import prompt_rows, prompts_of
from apps.llm.services.run_listing import listed_runs, runs_of
from apps.studies.access import readable_study
from apps.studies.models import Study, StudyStatus
from apps.studies.services.blindness import may_see_ratings
from apps.studies.services.status import last_seal

RUNS_ON_A_PAGE = 20
PROMPTS_ON_A_PAGE = 10
ENDPOINTS_SHOWN = 10
POLL_SECONDS = 5


@require_safe
@login_required
def home(request: PersonRequest, slug: str) -> HttpResponse:
    """For whoever works with the study: it shows how runs go and no score. Its part `runs` is asked for again while
    one is running."""
    study = readable_study(request.user, slug)
    page = Paginator(runs_of(study), RUNS_ON_A_PAGE).get_page(request.GET.get("page"))
    rows = listed_runs(page)
    is_running, has_worker = any(row.run.state == RunState.RUNNING for row in rows), is_worker_alive()
    context = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "is_draft": study.status == StudyStatus.DRAFT,
        "sees": may_see_ratings(user=request.user, study=study),
        "page_obj": page,
        "rows": rows,
        "is_running": is_running,
        "has_no_worker": is_running and not has_worker,
        "poll_seconds": POLL_SECONDS,
        **_parts(study, request.GET.get("prompts")),
    }
    return render_page_or_partial(request, "llm/home.html", context, partial="runs")


def _parts(study: Study, prompt_page: str | None) -> dict[str, Any]:
    prompt_pages = Paginator(prompts_of(study), PROMPTS_ON_A_PAGE).get_page(prompt_page)
    in_use = Endpoint.objects.in_use().count()
    endpoints = shown_endpoints(list(listed_endpoints().filter(retired_at=None)[:ENDPOINTS_SHOWN]))
    return {
        "prompts": prompt_rows(prompt_pages),
        "prompt_pages": prompt_pages,
        "last_seal": last_seal(study),
        "seal_form": seal_form_of(study),
        "baselines": Baseline.objects.filter(study=study).select_related("rater", "job").order_by("rule"),
        "endpoints": endpoints,
        "n_more_endpoints": in_use - len(endpoints),
    }
