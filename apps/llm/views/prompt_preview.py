"""What a model would be sent, of a version that is stored or still being written. Nothing is sent."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.llm.forms.prompt_preview import PreviewForm
from apps.llm.services.prompt_preview import Draft, PreviewError, preview
from apps.llm.services.prompting import versions_of
from apps.llm.templates import Use
from apps.llm.views.prompt_editing import Editor, editor_of
from apps.studies.access import managed_study
from apps.studies.models import Study

# Fields without which a preview is as good.
NOT_SENT = ("name", "note", "seed")


@require_POST
@login_required
def prompt_preview(request: PersonRequest, slug: str) -> HttpResponse:
    """Of the form of a prompt as it was sent: the part `preview`, or without htmx the form's page with it.

    `base`: the version that the form began from; `use`: what one call asks for, where it began from none.
    """
    study = managed_study(request.user, slug)
    editor = _editor(request, study)
    form = editor.preview_form(request.POST)
    context = {**editor.context(), "preview_form": form, "is_unsaved": True, **_previewed(study, form, editor)}
    return render_page_or_partial(request, "llm/prompt_form.html", context, partial="preview")


def previewed(study: Study, form: PreviewForm, draft: Draft) -> dict[str, Any]:
    """`preview`, or `preview_problems` in sentences; neither where nothing was asked for."""
    if not form.is_bound:
        return {}
    if not form.is_valid():
        return {"preview_problems": _problems(form, ())}
    framework_id, dimension_id = form.framework_and_dimension
    try:
        shown = preview(
            study=study,
            draft=draft,
            item=form.cleaned_data["item"],
            framework_id=framework_id,
            dimension_id=dimension_id,
            endpoint=form.cleaned_data["endpoint"],
        )
    except PreviewError as problem:
        return {"preview_problems": [str(problem)]}
    return {"preview": shown}


def _previewed(study: Study, form: PreviewForm, editor: Editor) -> dict[str, Any]:
    editor.form.is_valid()
    if problems := _problems(editor.form, NOT_SENT):
        return {"preview_problems": problems}
    return previewed(study, form, editor.draft())


def _editor(request: PersonRequest, study: Study) -> Editor:
    number = request.POST.get("base", "")
    if number:
        versions = versions_of(study)
        is_number = number.isascii() and number.isdigit() and len(number) < 19
        base = get_object_or_404(versions, pk=int(number) if is_number else 0)
        return editor_of(request, study, Use(base.use), base)
    use = next((use for use in Use if use == request.POST.get("use")), None)
    if use is None:
        raise Http404
    return editor_of(request, study, use, None)


def _problems(form: Any, ignored: tuple[str, ...]) -> list[str]:
    return [
        f"{form[name].label}: {problem}" if name in form.fields else str(problem)
        for name, problems in form.errors.items()
        if name not in ignored
        for problem in problems
    ]
