"""A model asked again, with the points the other way round, to see whether their order sways it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import PersonRequest
from apps.llm.access import study_in_sight
from apps.llm.forms.checks import ReversedForm
from apps.llm.services.asking_again import ask_again
from apps.llm.services.controls import RunError
from apps.llm.services.planning import PlanError
from apps.llm.tasks import trigger_endpoint
from apps.llm.views.checks import checks_context, run_of


@login_required
@require_POST
def run_reversed(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """Asks about a sample of the run's items once more, with the points from the last to the first."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    if not study.is_managed_by(request.user):
        raise PermissionDenied
    run = run_of(study, pk)
    form = ReversedForm(request.POST)
    if form.is_valid():
        try:
            check = ask_again(run=run, n_items=form.cleaned_data["n_items"], by=request.user)
        except (PlanError, RunError) as problem:
            form.add_error(None, str(problem))
        else:
            trigger_endpoint(check.endpoint_id)
            messages.success(request, _("The model is asked again. Check once more when all answers are there."))
            return redirect("llm:run-checks", study.slug, run.pk)
    if run.is_check:
        messages.error(request, _("This run is a check itself: choose the run that it checks."))
        return redirect("llm:run-checks", study.slug, run.checks_id)
    context = checks_context(request, study, run, form)
    return render(request, "llm/checks.html", context, status=422)
