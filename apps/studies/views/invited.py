"""What somebody who was invited sees: what the study is, and the way in."""

from django.contrib import messages
from django.contrib.auth import login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from apps.accounts.forms import RegistrationForm
from apps.accounts.models import User
from apps.studies.models import Invitation, InvitationState, MemberRole, Study
from apps.studies.services.invitations import (
    DeadInvitationError,
    Effect,
    ForeignInvitationError,
    accept_invitation,
    check_open,
    effect_of,
    register_and_accept,
)
from apps.studies.services.people import PeopleError

# The hash of the token, never the token: sessions are rows.
OPENED = "invitation"
MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest, token: str) -> HttpResponse:
    """Behind the link. The browser's session keeps that it was opened, so that no other address needs the token."""
    digest = Invitation.digest_of(token)
    response = _answer(request, digest)
    if response.status_code == 200 and not request.user.is_authenticated:
        request.session[OPENED] = digest
    return _private(response)


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def opened(request: HttpRequest) -> HttpResponse:
    """The invitation that this browser opened, after signing in."""
    return _private(_answer(request, str(request.session.get(OPENED, ""))))


def _private(response: HttpResponse) -> HttpResponse:
    add_never_cache_headers(response)
    # Never more than the site's name. With `no-referrer` browsers would send `Origin: null` along with the form, and
    # the check against foreign forms would refuse it.
    response["Referrer-Policy"] = "strict-origin"
    return response


def _answer(request: HttpRequest, digest: str) -> HttpResponse:
    invitation = Invitation.objects.select_related("study", "created_by").filter(token_hash=digest).first()
    if invitation is None:
        return render(request, "studies/invitation_dead.html", status=404)
    user = request.user if isinstance(request.user, User) else None
    if user is not None and invitation.used_by_id == user.pk and _takes_part(user, invitation):
        return redirect(_way_in(invitation, user))
    try:
        check_open(invitation)
        if user is None:
            return _for_strangers(request, invitation)
        return _for_people(request, invitation, user)
    except DeadInvitationError as problem:
        used = problem.state == InvitationState.USED
        context = {"reason": str(problem), "used": used}
        return render(request, "studies/invitation_dead.html", context, status=410)


def _takes_part(user: User, invitation: Invitation) -> bool:
    """Whoever joined may have left since, or been removed."""
    return Study.objects.visible_to(user).filter(pk=invitation.study_id).exists()


def _for_people(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    if not invitation.is_for(user):
        return render(request, "studies/invitation_foreign.html", status=403)
    effect = effect_of(invitation=invitation, user=user)
    problem = ""
    if request.method == "POST":
        try:
            return _joined(request, invitation, user, accept_invitation(invitation=invitation, user=user))
        except ForeignInvitationError:
            return render(request, "studies/invitation_foreign.html", status=403)
        except DeadInvitationError:
            raise
        except PeopleError as error:
            problem = str(error)
    context = {
        "invitation": invitation,
        "study": invitation.study,
        "effect": effect,
        "problem": problem,
        "membership": invitation.study.memberships.filter(user=user).first(),
    }
    return render(request, "studies/invited.html", context, status=409 if problem else 200)


def _for_strangers(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    form = RegistrationForm(request.POST or None, fixed_email=invitation.email)
    if request.method == "POST" and form.is_valid():
        try:
            user = register_and_accept(invitation=invitation, **form.cleaned_data)
        except ValidationError as error:
            form.add_problems(error)
        else:
            login(request, user, backend=MODEL_BACKEND)
            return _joined(request, invitation, user, Effect.JOIN)
    context = {
        "invitation": invitation,
        "study": invitation.study,
        "form": form,
        "has_account": bool(invitation.email) and User.objects.filter(email=invitation.email).exists(),
    }
    return render(request, "studies/invited.html", context, status=422 if request.method == "POST" else 200)


def _joined(request: HttpRequest, invitation: Invitation, user: User, effect: Effect) -> HttpResponse:
    request.session.pop(OPENED, None)
    if effect == Effect.NOTHING:
        messages.info(request, _("You take part in this study already. The invitation stays good for somebody else."))
    else:
        messages.success(request, _("Welcome. You take part in “%(study)s” now.") % {"study": invitation.study})
    return redirect(_way_in(invitation, user))


def _way_in(invitation: Invitation, user: User) -> str:
    """Who was invited to rate begins where one rates: the instructions stand there."""
    rates = invitation.study.raters.filter(user=user, left_at=None).exists()
    page = "rating:start" if rates and invitation.role == MemberRole.RATER else "studies:overview"
    return reverse(page, args=[invitation.study.slug])
