"""Endpoints: researchers read what is there, admins set them up, try them and retire them."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import PersonRequest, admin_required, researcher_required
from apps.common.htmx import render_page_or_partial
from apps.common.tasks import start_job
from apps.common.views.jobs import progress_of
from apps.llm.forms.endpoints import EndpointForm, initial_from, initial_of
from apps.llm.models import Endpoint
from apps.llm.presets import PRESETS
from apps.llm.providers.registry import is_installed
from apps.llm.services.endpoint_lists import listed_endpoints, shown, shown_endpoints, studies_using
from apps.llm.services.endpoints import (
    EndpointError,
    create_endpoint,
    currency_is_fixed,
    identity_is_fixed,
    retire_endpoint,
    return_endpoint,
    update_endpoint,
)
from apps.llm.services.made_up import SPEAKERS, TURNS, scale
from apps.llm.services.trying import read_test, request_test

ENDPOINTS_ON_A_PAGE = 25
TESTS_ON_A_PAGE = 10
STUDIES_SHOWN = 20
SHOWS_AND_TAKES = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
@researcher_required
def endpoint_list(request: PersonRequest) -> HttpResponse:
    page = Paginator(listed_endpoints(), ENDPOINTS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"page_obj": page, "rows": shown_endpoints(list(page)), "presets": PRESETS}
    return render(request, "llm/endpoint_list.html", context)


@require_safe
@researcher_required
def endpoint(request: PersonRequest, name: str) -> HttpResponse:
    """The page asks for its part `test` again and again while the newest test is open."""
    found = get_object_or_404(Endpoint, name=name)
    tests = Paginator(found.tests.select_related("job", "endpoint"), TESTS_ON_A_PAGE)
    page = tests.get_page(request.GET.get("page"))
    newest = page[0] if page.number == 1 and page.object_list else found.tests.select_related("job").first()
    studies = list(studies_using(found, user=request.user)[: STUDIES_SHOWN + 1])
    context: dict[str, Any] = {
        "endpoint": found,
        "shown": shown(found, newest),
        "is_installed": is_installed(found.provider),
        "is_fixed": identity_is_fixed(found),
        "studies": studies[:STUDIES_SHOWN],
        "has_more_studies": len(studies) > STUDIES_SHOWN,
        "page_obj": page,
        "newest": read_test(newest) if newest else None,
        "earlier": [read_test(test) for test in page if newest is None or test.pk != newest.pk],
        "asked": _asked(),
    }
    if newest is not None:
        context |= {"job": newest.job, **progress_of(newest.job)}
    return render_page_or_partial(request, "llm/endpoint.html", context, partial="test")


@require_safe
@researcher_required
def endpoint_reply(request: PersonRequest, name: str) -> HttpResponse:
    """What came back from the newest test, whole: the page shows the beginning of a long one."""
    test = get_object_or_404(Endpoint, name=name).tests.first()
    if test is None or not test.reply:
        raise Http404
    response = HttpResponse(test.reply, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}-reply.txt"'
    return response


@sensitive_post_parameters("name", "key_variable", "base_url", "model")
@admin_required
@SHOWS_AND_TAKES
def endpoint_new(request: PersonRequest) -> HttpResponse:
    """The address may give values to begin with, as the presets do."""
    form = EndpointForm(request.POST or None, initial=initial_from(request.GET.dict()))
    if request.method == "POST" and form.is_valid():
        try:
            made = create_endpoint(by=request.user, **form.cleaned_data)
        except EndpointError as problem:
            form.add_error(problem.field, str(problem))
        else:
            messages.success(request, _("The endpoint is set up. Test it before somebody starts a run with it."))
            return redirect("endpoints:endpoint", made.name)
    return _form_page(request, form, None)


@sensitive_post_parameters("name", "key_variable", "base_url", "model")
@admin_required
@SHOWS_AND_TAKES
def endpoint_edit(request: PersonRequest, name: str) -> HttpResponse:
    found = get_object_or_404(Endpoint, name=name)
    form = EndpointForm(
        request.POST or None,
        endpoint=found,
        is_fixed=identity_is_fixed(found),
        is_currency_fixed=currency_is_fixed(found),
        initial=initial_of(found),
    )
    if request.method == "POST" and form.is_valid():
        try:
            changed = update_endpoint(endpoint=found, by=request.user, **form.cleaned_data)
        except EndpointError as problem:
            form.add_error(problem.field, str(problem))
        else:
            messages.success(request, _("Saved."))
            return redirect("endpoints:endpoint", changed.name)
    return _form_page(request, form, found)


@require_POST
@admin_required
def endpoint_test(request: PersonRequest, name: str) -> HttpResponse:
    found = get_object_or_404(Endpoint, name=name)
    start_job(request_test(endpoint=found, by=request.user).job)
    return redirect("endpoints:endpoint", found.name)


@require_POST
@admin_required
def endpoint_retire(request: PersonRequest, name: str) -> HttpResponse:
    found = get_object_or_404(Endpoint, name=name)
    retire_endpoint(endpoint=found, by=request.user)
    messages.success(request, _("The endpoint is retired: no new runs begin with it."))
    return redirect("endpoints:endpoint", found.name)


@require_POST
@admin_required
def endpoint_return(request: PersonRequest, name: str) -> HttpResponse:
    found = get_object_or_404(Endpoint, name=name)
    return_endpoint(endpoint=found, by=request.user)
    messages.success(request, _("The endpoint is back: new runs may begin with it."))
    return redirect("endpoints:endpoint", found.name)


def _form_page(request: PersonRequest, form: EndpointForm, found: Endpoint | None) -> HttpResponse:
    context = {
        "form": form,
        "endpoint": found,
        "is_fixed": form.fields["provider"].disabled,
        "presets": PRESETS,
    }
    # A page that is drawn after a POST is drawn because the form was refused.
    return render(request, "llm/endpoint_form.html", context, status=422 if request.method == "POST" else 200)


def _asked() -> dict[str, Any]:
    """What a test asks: the conversation as people read it, and the scale."""
    turns = [{"role": turn.role, "speaker": SPEAKERS[turn.role], "text": turn.text} for turn in TURNS]
    return {"turns": turns, "scale": scale()}
