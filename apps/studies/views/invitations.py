"""Invitations as the owners of a study make, watch and end them. A token is shown once, in answer to its making."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.studies.access import managed_study
from apps.studies.forms.people import DEFAULT_DAYS, InvitationForm
from apps.studies.models import MemberRole, Study
from apps.studies.services.invitation_mail import send_invitations, site_sends_mail
from apps.studies.services.invitations import (
    InvitationError,
    NewInvitation,
    create_invitations,
    renew_invitation,
    revoke_invitation,
)

INVITATIONS_ON_A_PAGE = 50


@login_required
@require_safe
def invitations(request: PersonRequest, slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    rows = study.invitations.select_related("created_by", "used_by", "revoked_by")
    page = Paginator(rows, INVITATIONS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"study": study, "page_obj": page}
    return render_page_or_partial(request, "studies/invitation_list.html", context, partial="invitation-list")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def invite(request: PersonRequest, slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    form = InvitationForm(request.POST or None, study=study)
    if request.method == "POST" and form.is_valid():
        return _created_page(request, study, create_invitations(study=study, by=request.user, **form.cleaned_data))
    context = {"study": study, "form": form, "sends_mail": site_sends_mail()}
    return render(request, "studies/invitation_form.html", context, status=422 if request.method == "POST" else 200)


@login_required
@require_POST
def invitation_revoke(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study = managed_study(request.user, slug)
    invitation = get_object_or_404(study.invitations, pk=pk)
    try:
        revoke_invitation(invitation=invitation, by=request.user)
    except InvitationError as problem:
        messages.error(request, str(problem))
    else:
        messages.success(request, _("The invitation is revoked: its link no longer works."))
    return redirect("studies:invitations", slug=slug)


@login_required
@require_POST
def invitation_renew(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study = managed_study(request.user, slug)
    invitation = get_object_or_404(study.invitations, pk=pk)
    try:
        renewed = renew_invitation(invitation=invitation, days=DEFAULT_DAYS, by=request.user)
    except InvitationError as problem:
        messages.error(request, str(problem))
        return redirect("studies:invitations", slug=slug)
    return _created_page(request, study, [renewed])


def _created_page(request: HttpRequest, study: Study, created: list[NewInvitation]) -> HttpResponse:
    """The links, this once; those with an address are mailed where the site can."""
    sends_mail = site_sends_mail() and any(new.invitation.email for new in created)
    failed = send_invitations(created) if sends_mail else []
    first = created[0].invitation
    kinds = set(study.blocks.values_list("groups__kind", flat=True))
    links = [{"invitation": new.invitation, "address": _address(request, new.token)} for new in created]
    context = {
        "study": study,
        "links": links,
        "is_local": _is_of_this_computer(str(links[0]["address"])),
        "sends_mail": sends_mail,
        "failed": failed,
        "expires_at": first.expires_at,
        "nothing_to_rate": first.role == MemberRole.RATER and first.rater_kind not in kinds,
        "kind": first.get_rater_kind_display(),
    }
    response = render(request, "studies/invitations_created.html", context, status=201)
    add_never_cache_headers(response)
    return response


def _is_of_this_computer(address: str) -> bool:
    """Whether nobody on another machine can follow the address."""
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _address(request: HttpRequest, token: str) -> str:
    """The link under the name by which the inviter reached the site: nobody may have set the site's own yet."""
    path = reverse("invitations:link", args=[token])
    own = urlsplit(settings.BASE_URL)
    # Behind a proxy that ends TLS the request does not know of it; the site's own address does.
    return f"{settings.BASE_URL}{path}" if own.netloc == request.get_host() else request.build_absolute_uri(path)
