"""Reading frameworks in the browser: any signed-in person may."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from apps.frameworks.framework_file import dump_framework
from apps.frameworks.models import Framework

FRAMEWORKS_ON_A_PAGE = 25


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
