"""The calls of a run: listed, and one with its requests, its replies and what they say. For who may see ratings."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.llm.access import study_in_sight
from apps.llm.forms.calls import CallFilterForm
from apps.llm.services.call_export import call_lines
from apps.llm.services.call_reading import calls_of, rows_of, show_call, texts_of_call
from apps.llm.services.run_listing import runs_of

CALLS_ON_A_PAGE = 50


@require_safe
@login_required
def calls(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    run = get_object_or_404(runs_of(study), pk=pk)
    form = CallFilterForm(request.GET, run=run)
    chosen = form.chosen()
    page = Paginator(calls_of(run, chosen), CALLS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "run": run,
        "form": form,
        "is_narrowed": any(value not in ("", None) for value in chosen),
        "page_obj": page,
        "rows": rows_of(list(page)),
        "query": form.query,
    }
    return render_page_or_partial(request, "llm/calls.html", context, partial="call-list")


@require_safe
@login_required
def calls_file(request: PersonRequest, slug: str, pk: int) -> HttpResponseBase:
    """Every call of a run as lines of JSON; sent while it is read, so that it begins at once however many there are."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    run = get_object_or_404(runs_of(study), pk=pk)
    lines = call_lines(run) if request.method == "GET" else iter(())
    response = StreamingHttpResponse(lines, content_type="application/x-ndjson; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-run-{pk}-calls.jsonl"'
    return response


@require_safe
@login_required
def call(request: PersonRequest, slug: str, pk: int, call_pk: int) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    run = get_object_or_404(runs_of(study), pk=pk)
    form = CallFilterForm(request.GET, run=run)
    chosen = form.chosen()
    known = run.calls.select_related("item__conversation", "item__block__dataset", "framework", "dimension")
    found = get_object_or_404(known, pk=call_pk)
    context = {
        "study": study,
        "is_managed": study.is_managed_by(request.user),
        "run": run,
        "call": found,
        "shown": show_call(found, chosen),
        "query": form.query,
    }
    return render(request, "llm/call.html", context)


@require_safe
@login_required
def call_texts(request: PersonRequest, slug: str, pk: int, call_pk: int) -> HttpResponseBase:
    """Every request and reply of a call, whole: the page shows the beginnings of long ones."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    run = get_object_or_404(runs_of(study), pk=pk)
    found = get_object_or_404(run.calls.all(), pk=call_pk)
    pieces = texts_of_call(found) if request.method == "GET" else iter(())
    response = StreamingHttpResponse(pieces, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-run-{pk}-call-{found.position + 1}.txt"'
    return response
