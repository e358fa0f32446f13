"""The seal over models' scores: set and broken by those who manage the study."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import PersonRequest
from apps.llm.forms.seal import seal_form_of
from apps.studies.access import managed_study
from apps.studies.models import Study
from apps.studies.services.status import StatusError, set_seal

CHOICES = ("sealed", "unsealed")


@require_POST
@login_required
def seal(request: PersonRequest, slug: str) -> HttpResponse:
    """Back to the page of the run that asked for it (`run`), or to that of the models."""
    study = managed_study(request.user, slug)
    to = request.POST.get("to")
    problem = _problem(request, study, to)
    if problem:
        messages.error(request, problem)
    else:
        try:
            set_seal(study=study, is_sealed=to == "sealed", by=request.user)
        except StatusError as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(
                request, _("The models’ scores are sealed.") if to == "sealed" else _("They are unsealed.")
            )
    run = request.POST.get("run", "")
    found = study.runs.filter(pk=int(run)).first() if run.isascii() and run.isdecimal() and len(run) < 18 else None
    return redirect("llm:run", study.slug, found.pk) if found else redirect("llm:home", study.slug)


def _problem(request: PersonRequest, study: Study, to: str | None) -> str:
    """Why the seal is not touched; "" where it may be. Breaking it asks for the study's short name."""
    if to not in CHOICES:
        return _("To: choose sealed or unsealed.")
    form = seal_form_of(study, request.POST)
    if to == "sealed" or not study.model_scores_sealed or form.is_valid():
        return ""
    field = form["confirm"]
    return f"{field.label}: {field.errors[0]}"
