"""A new run: chosen, estimated, made, and perhaps started at once."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.llm.forms.runs import RunForm
from apps.llm.models import Endpoint, Run
from apps.llm.services.consent import ConsentError
from apps.llm.services.controls import RunError, start_run
from apps.llm.services.making_runs import RunOrder, make_run, preview_run
from apps.llm.services.model_raters import ModelRaterError
from apps.llm.services.planning import PlanError
from apps.llm.services.prompting import PromptingError
from apps.llm.tasks import trigger_endpoint
from apps.llm.views.shown_plan import ShownPlan
from apps.studies.access import managed_study
from apps.studies.models import Study, StudyStatus
from apps.studies.services.blindness import may_see_ratings

REFUSALS = (PlanError, ModelRaterError, PromptingError, ConsentError)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_new(request: PersonRequest, slug: str) -> HttpResponse:
    """What it would take is shown before it can be made: whatever was chosen is estimated first, and nothing written.

    `?endpoint=NAME` and `?version=NUMBER` choose beforehand.
    """
    study = managed_study(request.user, slug)
    if refusal := _why_not(study):
        messages.error(request, refusal)
        return redirect("llm:home", study.slug)
    form = RunForm(request.POST or None, study=study, initial=_chosen_before(request, study))
    plan, has_changed = None, False
    if request.method == "POST" and form.is_valid():
        order, is_made = form.order, "make" in request.POST
        has_changed = is_made and not form.was_estimated
        run = _made(request, study, form, order) if is_made and not has_changed else None
        if run is not None:
            return _leave_for(request, run)
        if set(form.errors) <= {"confirm"}:
            plan = _plan(request, study, form, order)
    context = {
        "study": study,
        "is_managed": True,
        "form": form,
        "plan": plan,
        "has_changed": has_changed,
    }
    status = 422 if form.errors else 200
    return render_page_or_partial(request, "llm/run_new.html", context, partial="run-form", status=status)


def _why_not(study: Study) -> str:
    if study.status == StudyStatus.DRAFT:
        return _("The study is a draft, and its items may still change: activate it first.")
    if not Endpoint.objects.in_use().exists():
        return _("There is no endpoint yet that could be asked: an admin of this site sets one up.")
    return ""


def _chosen_before(request: PersonRequest, study: Study) -> dict[str, str]:
    """What the address names and is there; anything else is left to the form."""
    chosen = {}
    endpoint = Endpoint.objects.in_use().filter(name=request.GET.get("endpoint", "").replace("\0", "")).first()
    if endpoint is not None:
        chosen["endpoint"] = str(endpoint.pk)
    if request.GET.get("version", "").isdecimal():
        chosen["version"] = request.GET["version"]
    return chosen


def _plan(request: PersonRequest, study: Study, form: RunForm, order: RunOrder) -> ShownPlan | None:
    """What the choices would make; None where they cannot, which the form then says."""
    try:
        preview = preview_run(study=study, order=order, by=request.user)
    except REFUSALS as refusal:
        _tell(form, refusal)
        return None
    return ShownPlan(preview, order, may_see_ratings(user=request.user, study=study))


def _made(request: PersonRequest, study: Study, form: RunForm, order: RunOrder) -> Run | None:
    form.check_confirmed()
    if form.errors:
        return None
    try:
        return make_run(study=study, order=order, by=request.user)
    except REFUSALS as refusal:
        _tell(form, refusal)
        return None


def _leave_for(request: PersonRequest, run: Run) -> HttpResponse:
    if request.POST["make"] == "start":
        try:
            start_run(run=run, by=request.user)
        except RunError as problem:
            messages.error(request, str(problem))
        else:
            trigger_endpoint(run.endpoint_id)
    else:
        messages.success(request, _("The run is made. Nothing is sent before you start it."))
    return redirect("llm:run", run.study.slug, run.pk)


def _tell(form: RunForm, refusal: Exception) -> None:
    field = refusal.field if isinstance(refusal, ModelRaterError) else None
    form.add_error(field if field in form.fields else None, str(refusal))
