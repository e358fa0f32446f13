"""Frameworks in the browser: any signed-in person reads them; researchers and admins load them."""

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access import PersonRequest, researcher_required
from apps.frameworks.forms import FrameworkTextForm
from apps.frameworks.framework_file import dump_framework
from apps.frameworks.models import Framework
from apps.frameworks.services.catalog import example_framework
from apps.frameworks.services.loading import (
    BuiltinFrameworkError,
    Loaded,
    Outcome,
    load_framework,
    rehearse_loading,
)

FRAMEWORKS_ON_A_PAGE = 25
LONGEST_SLUG = 80


@require_safe
@login_required
def framework_list(request: HttpRequest) -> HttpResponse:
    """The newest version of each framework."""
    frameworks = Framework.objects.latest_versions().with_dimension_counts()
    page = Paginator(frameworks, FRAMEWORKS_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "frameworks/framework_list.html", {"page_obj": page})


@require_safe
@login_required
def framework(request: HttpRequest, slug: str, version: int | None = None) -> HttpResponse:
    """One version, the newest unless the address names another."""
    shown = get_object_or_404(Framework.objects.with_scales().version_of(slug, version))
    return render(
        request,
        "frameworks/framework.html",
        {"framework": shown, "dimensions": shown.dimensions.all(), "other_versions": shown.other_versions()},
    )


@require_safe
@login_required
def framework_file(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """A version as the file that it could be loaded from."""
    asked = get_object_or_404(Framework.objects.with_scales().version_of(slug, version))
    return HttpResponse(
        dump_framework(asked.as_spec()),
        content_type="application/yaml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{asked.slug}-v{asked.version}.yaml"'},
    )


# --- Loading ------------------------------------------------------------------------------------------------------


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def framework_upload(request: PersonRequest) -> HttpResponse:
    """Check a text and show its scales; load it once exactly this text was shown."""
    if request.method != "POST":
        return _editor(request, FrameworkTextForm(initial={"text": example_framework()}), is_example=True)
    form = FrameworkTextForm(request.POST, request.FILES)
    if not form.is_valid() or form.spec is None:
        return _editor(request, form.shown_again(), problems=form.problems_shown(), n_problems=len(form.problems))
    wants_loading = request.POST.get("act") == "load"
    try:
        if wants_loading and form.was_checked:
            return _loaded(request, load_framework(spec=form.spec, actor=request.user))
        foreseen = rehearse_loading(spec=form.spec, actor=request.user)
    except BuiltinFrameworkError as error:
        return _editor(request, form.shown_again(), refusal=str(error))
    except IntegrityError:
        # Somebody has loaded a framework of this name at this very moment: what was foreseen no longer holds.
        foreseen = rehearse_loading(spec=form.spec, actor=request.user)
    return _preview(request, form, foreseen, has_changed=wants_loading)


@researcher_required
@require_safe
def framework_start_from(request: PersonRequest, slug: str, version: int) -> HttpResponse:
    """The editor with a version's own text in it."""
    origin = get_object_or_404(Framework.objects.with_scales().version_of(slug, version))
    spec = origin.as_spec()
    is_renamed = not request.user.is_admin and Framework.objects.that_come_with_accord(slug).exists()
    if is_renamed:
        spec = replace(spec, slug=f"{slug[: LONGEST_SLUG - len('-own')]}-own")
    form = FrameworkTextForm(initial={"text": dump_framework(spec)})
    return _editor(request, form, origin=origin, is_renamed=is_renamed)


def _loaded(request: PersonRequest, loaded: Loaded) -> HttpResponse:
    said = {
        Outcome.CREATED: _("%(framework)s is loaded. Studies can use it now."),
        Outcome.NEW_VERSION: _("%(framework)s is loaded. Studies keep the version they were given."),
        Outcome.REPLACED: _("%(framework)s is loaded in place of what it was: nothing had used it."),
        Outcome.UNCHANGED: _("%(framework)s was there already. Nothing has changed."),
    }
    messages.success(request, said[loaded.outcome] % {"framework": loaded.framework})
    return redirect("frameworks:version", loaded.framework.slug, loaded.framework.version)


def _preview(request: PersonRequest, form: FrameworkTextForm, foreseen: Loaded, *, has_changed: bool) -> HttpResponse:
    shown = foreseen.framework
    context = {
        "form": form.shown_again(),
        "foreseen": foreseen.outcome.name,
        "framework": shown,
        "dimensions": shown.dimensions.all(),
        "newest": Framework.objects.version_of(shown.slug).first(),
        "has_changed": has_changed,
    }
    return render(request, "frameworks/framework_upload.html", context)


def _editor(request: PersonRequest, form: FrameworkTextForm, **context: Any) -> HttpResponse:
    # After a POST the editor is drawn only because the text was refused.
    status = 422 if request.method == "POST" else 200
    return render(request, "frameworks/framework_upload.html", {"form": form} | context, status=status)
