"""The list of studies and the overview of one."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.corpus.models import Dataset
from apps.studies.models import Exclusion, Study

STUDIES_ON_A_PAGE = 25
RATERS_ON_A_PAGE = 50
EXCLUSIONS_ON_A_PAGE = 50


@require_safe
@login_required
def study_list(request: PersonRequest) -> HttpResponse:
    studies = Study.objects.visible_to(request.user)
    page = Paginator(studies, STUDIES_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "studies/study_list.html", {"page_obj": page})


@require_safe
@login_required
def overview(request: PersonRequest, slug: str) -> HttpResponse:
    """The design for those who work with it; title and instructions, and nothing else, for those who rate."""
    user = request.user
    study = get_object_or_404(Study.objects.visible_to(user), slug=slug)
    if not study.is_readable_by(user):
        return render(request, "studies/study_rater.html", {"study": study})
    raters = Paginator(study.raters.with_rating_counts(), RATERS_ON_A_PAGE)
    context = {
        "study": study,
        "blocks": study.blocks.with_item_counts()
        .select_related("dataset")
        .prefetch_related("block_frameworks__framework", "groups"),
        "kinds": study.raters.summed_by_kind(),
        "page_obj": raters.get_page(request.GET.get("page")),
        "n_exclusions": exclusions_in_force(study).count(),
        # A member of the study may not know the dataset itself.
        "visible_datasets": set(
            Dataset.objects.visible_to(user).filter(blocks__study=study).values_list("pk", flat=True)
        ),
    }
    return render(request, "studies/study.html", context)


@require_safe
@login_required
def exclusions(request: PersonRequest, slug: str) -> HttpResponse:
    study = get_object_or_404(Study.objects.readable_by(request.user), slug=slug)
    rows = exclusions_in_force(study).select_related("rater", "item__conversation", "item__block", "created_by")
    page = Paginator(rows, EXCLUSIONS_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "studies/exclusion_list.html", {"study": study, "page_obj": page})


def exclusions_in_force(study: Study) -> QuerySet[Exclusion]:
    return Exclusion.objects.in_force().filter(rater__study=study)
