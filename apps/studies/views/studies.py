"""The list of studies, the overview of one, and what is left out of it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.access import PersonRequest
from apps.accounts.models import User
from apps.corpus.models import Dataset
from apps.studies.access import managed_study
from apps.studies.models import Exclusion, ExclusionReason, Study, StudyStatus
from apps.studies.services.blindness import may_see_ratings
from apps.studies.services.checklist import steps_to_activate
from apps.studies.services.exclusions import ExclusionError, counts_again, revert
from apps.studies.services.status import open_work

STUDIES_ON_A_PAGE = 25
EXCLUSIONS_ON_A_PAGE = 50
# Which these are tells of what experts agree.
AS_EXAMPLES = Q(reason=ExclusionReason.LEAKAGE)


@require_safe
@login_required
def study_list(request: PersonRequest) -> HttpResponse:
    """Raters are told a study's name and state, those who work with it also how large it is."""
    studies = Study.objects.visible_to(request.user).with_counts().order_by("title", "pk")
    page = Paginator(studies, STUDIES_ON_A_PAGE).get_page(request.GET.get("page"))
    shown = [study.pk for study in page]
    readable = set(Study.objects.readable_by(request.user).filter(pk__in=shown).values_list("pk", flat=True))
    return render(request, "studies/study_list.html", {"page_obj": page, "readable": readable})


@require_safe
@login_required
def overview(request: PersonRequest, slug: str) -> HttpResponse:
    """The design for those who work with it; title and instructions, and nothing else, for those who rate."""
    user = request.user
    study = get_object_or_404(Study.objects.visible_to(user), slug=slug)
    rater = study.raters.filter(user=user, left_at=None).first()
    if not study.is_readable_by(user):
        return render(request, "studies/study_rater.html", {"study": study, "rater": rater})
    is_managed = study.is_managed_by(user)
    begun = set(study.blocks.begun().values_list("pk", flat=True))
    context = {
        "study": study,
        "rater": rater,
        "is_managed": is_managed,
        "can_be_draft": is_managed and study.status == StudyStatus.ACTIVE and not begun and not study.has_begun(),
        "blocks": study.blocks.with_item_counts()
        .select_related("dataset")
        .prefetch_related("block_frameworks__framework", "groups"),
        "begun": begun,
        "kinds": study.raters.summed_by_kind(),
        "n_exclusions": exclusions_in_force(study).count(),
        "steps": steps_to_activate(study) if study.status == StudyStatus.DRAFT else [],
        "work": open_work(study) if study.status == StudyStatus.ACTIVE else None,
        # A member of the study may not know the dataset itself.
        "visible_datasets": set(
            Dataset.objects.visible_to(user).filter(blocks__study=study).values_list("pk", flat=True)
        ),
    }
    return render(request, "studies/study.html", context)


@require_safe
@login_required
def exclusions(request: PersonRequest, slug: str) -> HttpResponse:
    """Who is left out; why only for those who may see ratings, since a reason speaks of them.

    For the others, what is left out because a prompt shows it is a number: experts agree on what is shown there.
    """
    study = get_object_or_404(Study.objects.readable_by(request.user), slug=slug)
    tells_why = may_see_ratings(user=request.user, study=study)
    rows = exclusions_in_force(study)
    n_hidden = 0 if tells_why else rows.filter(AS_EXAMPLES).values("item").distinct().count()
    rows = _shown_to(request.user, study, rows).select_related(
        "rater", "item__conversation", "item__block", "created_by"
    )
    page = Paginator(rows, EXCLUSIONS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "page_obj": page,
        "is_managed": study.is_managed_by(request.user),
        "tells_why": tells_why,
        "n_hidden": n_hidden,
    }
    return render(request, "studies/exclusion_list.html", context)


@login_required
@require_POST
def exclusion_revert(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """An exclusion is taken back by who manages the study. What their list does not show them is not there."""
    study = managed_study(request.user, slug)
    rows = _shown_to(request.user, study, Exclusion.objects.filter(rater__study=study))
    exclusion = get_object_or_404(rows.select_related("rater"), pk=pk)
    try:
        revert(exclusion=exclusion, by=request.user)
    except ExclusionError as problem:
        messages.error(request, str(problem))
    else:
        said = (
            _(
                "The exclusion of %(rater)s is taken back: the ratings count again. Figures are out of date until they "
                "are computed anew."
            )
            if counts_again(exclusion)
            else _("The exclusion of %(rater)s is taken back. No rating counts again by that, so no figure changes.")
        )
        messages.success(request, said % {"rater": exclusion.rater.name})
    return redirect("studies:exclusions", slug=slug)


def _shown_to(user: User, study: Study, rows: QuerySet[Exclusion]) -> QuerySet[Exclusion]:
    return rows if may_see_ratings(user=user, study=study) else rows.exclude(AS_EXAMPLES)


def exclusions_in_force(study: Study) -> QuerySet[Exclusion]:
    return Exclusion.objects.in_force().filter(rater__study=study)
