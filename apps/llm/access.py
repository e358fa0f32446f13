"""Who may see what of a study's models: how a run goes, whoever works with the study; what they score, who is not
blind to its ratings."""

from django.http import HttpResponse
from django.shortcuts import render

from apps.accounts.access import PersonRequest
from apps.studies.access import readable_study
from apps.studies.models import Study
from apps.studies.services.blindness import may_see_ratings


def study_in_sight(request: PersonRequest, slug: str) -> tuple[Study, HttpResponse | None]:
    """The study, and the page to answer with instead where its ratings are hidden from the person.

    For pages that show scores: replies, examples with their medians, checks. To raters and strangers the study is not
    there (Http404).
    """
    study = readable_study(request.user, slug)
    if may_see_ratings(user=request.user, study=study):
        return study, None
    return study, render(request, "llm/hidden.html", {"study": study}, status=403)
