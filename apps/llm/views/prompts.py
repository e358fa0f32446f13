"""Prompts of a study: written, read, compared, deleted."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.llm.forms.prompt_preview import PreviewForm
from apps.llm.forms.prompts import TypedVersionForm
from apps.llm.models import PromptVersion
from apps.llm.services.example_choice import dimensions_of
from apps.llm.services.example_exclusions import example_exclusions
from apps.llm.services.prompt_listing import compared, n_left_out, raters_of, siblings_of, study_examples
from apps.llm.services.prompt_preview import Draft
from apps.llm.services.prompting import PromptingError, create_version, delete_version, versions_of
from apps.llm.templates import TemplateError, Use
from apps.llm.views.prompt_editing import DRAW, Editor, editor_of
from apps.llm.views.prompt_preview import previewed
from apps.studies.access import managed_study, readable_study
from apps.studies.models import Study
from apps.studies.services.blindness import may_see_ratings

VERSIONS_ON_A_PAGE = 20
MOST_RATERS = 50
SHOWS_AND_TAKES = require_http_methods(["GET", "HEAD", "POST"])


@login_required
@SHOWS_AND_TAKES
def prompt_new(request: PersonRequest, slug: str) -> HttpResponse:
    """`?use=` says what one call asks for; without it, that is asked first."""
    study = managed_study(request.user, slug)
    use = next((use for use in Use if use == request.GET.get("use")), None)
    if use is None:
        return render(request, "llm/prompt_use.html", {"study": study, "is_managed": True})
    return _written(request, editor_of(request, study, use, None))


@login_required
@SHOWS_AND_TAKES
def prompt_edit(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """A new version from another: what is saved under its own number never changes."""
    study = managed_study(request.user, slug)
    base = version_of(study, pk)
    return _written(request, editor_of(request, study, Use(base.use), base))


@require_safe
@login_required
def prompt_version(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """With `preview-item` in the address, also its prompt about that conversation: the part `preview`."""
    study = readable_study(request.user, slug)
    version = version_of(study, pk)
    sees = may_see_ratings(user=request.user, study=study)
    draft = Draft.of_version(version, with_examples=sees)
    asked = request.GET if "preview-item" in request.GET else None
    form = PreviewForm(asked, study=study, use=Use(version.use), dimensions=dimensions_of(draft.frameworks))
    raters = raters_of(version)
    context: dict[str, Any] = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "version": version,
        "frameworks": draft.frameworks,
        "raters": raters[:MOST_RATERS],
        "n_raters": len(raters),
        "sees_examples": sees,
        "n_examples": version.examples.count(),
        "n_left_out": n_left_out(version),
        "exclusions": example_exclusions(version),
        "example_rows": study_examples(version) if sees else [],
        "page_obj": Paginator(siblings_of(version), VERSIONS_ON_A_PAGE).get_page(request.GET.get("page")),
        "preview_form": form,
        **previewed(study, form, draft),
    }
    return render_page_or_partial(request, "llm/prompt_version.html", context, partial="preview")


@require_safe
@login_required
def prompt_diff(request: PersonRequest, slug: str, pk: int, other_pk: int) -> HttpResponse:
    """What is another in the version of `other_pk` than in that of `pk`."""
    study = readable_study(request.user, slug)
    old, new = version_of(study, pk), version_of(study, other_pk)
    sees = may_see_ratings(user=request.user, study=study)
    context = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "old": old,
        "new": new,
        "diff": compared(old, new, with_examples=sees),
        "sees_examples": sees,
    }
    return render(request, "llm/prompt_diff.html", context)


@login_required
@SHOWS_AND_TAKES
def prompt_delete(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study = managed_study(request.user, slug)
    version = version_of(study, pk)
    n_raters = version.model_raters.count()
    form = TypedVersionForm(request.POST or None, version=str(version))
    if request.method == "POST" and form.is_valid():
        try:
            delete_version(version=version, by=request.user)
        except PromptingError as problem:
            form.add_error(None, str(problem))
        else:
            messages.success(request, _("%(version)s is deleted.") % {"version": version})
            return redirect("llm:home", study.slug)
    context = {"study": study, "is_managed": True, "version": version, "n_raters": n_raters, "form": form}
    return render(request, "llm/prompt_delete.html", context, status=_status(request))


def version_of(study: Study, pk: int) -> PromptVersion:
    """One of the study's versions; 404 for any other."""
    return get_object_or_404(versions_of(study), pk=pk)


def _written(request: PersonRequest, editor: Editor) -> HttpResponse:
    """The form's page, or, once it is saved, that of the version."""
    act = request.POST.get("act")
    status = 200
    if request.method == "POST" and act != DRAW:
        if editor.form.is_valid() and (version := _saved(request, editor)) is not None:
            return redirect("llm:prompt-version", editor.study.slug, version.pk)
        status = 422
    context = {
        **editor.context(),
        "preview_form": editor.preview_form(None),
        "is_unsaved": request.method == "POST",
        "is_drawn": act == DRAW,
    }
    return render(request, "llm/prompt_form.html", context, status=status)


def _saved(request: PersonRequest, editor: Editor) -> PromptVersion | None:
    """None, with an error in the form, where it cannot be kept."""
    form, base = editor.form, editor.base
    name = base.prompt.name if base is not None else form.cleaned_data["name"]
    newest = versions_of(editor.study).filter(prompt__name=name).order_by("-number").first()
    try:
        version = create_version(study=editor.study, name=name, new=form.new_version(), by=request.user)
    except (PromptingError, TemplateError) as problem:
        form.add_error(None, str(problem))
        return None
    if version == newest:
        messages.info(request, _("Nothing changed: %(version)s says exactly this already.") % {"version": version})
    else:
        messages.success(request, _("%(version)s is saved.") % {"version": version})
    return version


def _status(request: PersonRequest) -> int:
    """A page that is drawn after a POST is drawn because the form was refused."""
    return 422 if request.method == "POST" else 200
