"""Signing in and out, one's own profile and keys, and the people of the site."""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.messages.views import SuccessMessageMixin
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import PersonRequest, admin_required
from apps.accounts.forms import (
    DeactivateForm,
    KeyForm,
    NewPersonForm,
    PasswordResetForm,
    ProfileForm,
    RoleForm,
    SignInForm,
    UserSearchForm,
)
from apps.accounts.models import ApiKey, User
from apps.accounts.services.attempts import forget_attempts_of
from apps.accounts.services.keys import create_key, revoke_key
from apps.accounts.services.users import (
    LastAdminError,
    change_role,
    deactivate_user,
    make_password_link,
    reactivate_user,
    register_user,
)
from apps.common.htmx import render_page_or_partial

PEOPLE_ON_A_PAGE = 50
KEYS_ON_A_PAGE = 25

# --- Signing in and out -------------------------------------------------------------------------------------------


class SignIn(auth_views.LoginView):
    template_name = "accounts/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_success_url(self) -> str:
        """The page asked for; not this one, which would lead back to itself."""
        asked = super().get_success_url()
        return self.get_default_redirect_url() if urlsplit(asked).path == self.request.path else asked


class SignOut(auth_views.LogoutView):
    """By POST only, so that no link or image signs anybody out."""


# --- Passwords ----------------------------------------------------------------------------------------------------


class PasswordChange(SuccessMessageMixin, auth_views.PasswordChangeView):  # type: ignore[type-arg]
    template_name = "accounts/password_change.html"
    success_url = reverse_lazy("accounts:profile")
    success_message = gettext_lazy("Your password is changed. Other devices are signed out.")


class PasswordReset(auth_views.PasswordResetView):
    """The answer is the same for known and unknown addresses."""

    template_name = "accounts/password_reset.html"
    form_class = PasswordResetForm
    email_template_name = "accounts/password_reset_mail.txt"
    subject_template_name = "accounts/password_reset_subject.txt"
    success_url = reverse_lazy("accounts:password-reset-done")
    # The link is made from the site's own address, never from the Host header of whoever asks.
    extra_email_context = {"base_url": settings.BASE_URL, "hours": settings.PASSWORD_RESET_TIMEOUT // 3600}


class PasswordResetDone(auth_views.PasswordResetDoneView):
    template_name = "accounts/password_reset_done.html"


class PasswordResetConfirm(auth_views.PasswordResetConfirmView):
    template_name = "accounts/password_reset_confirm.html"
    success_url = reverse_lazy("accounts:password-reset-complete")

    def form_valid(self, form: "SetPasswordForm[User]") -> HttpResponse:
        response = super().form_valid(form)
        forget_attempts_of(email=form.user.email)
        return response


class PasswordResetComplete(auth_views.PasswordResetCompleteView):
    template_name = "accounts/password_reset_complete.html"


# --- One's own account --------------------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: PersonRequest) -> HttpResponse:
    form = ProfileForm(request.POST or None, instance=request.user)
    if request.method == "POST" and form.is_valid():
        request.user.save(update_fields=["name", "updated_at"])
        messages.success(request, _("Your name is saved."))
        return redirect("accounts:profile")
    return render(request, "accounts/profile.html", {"form": form}, status=_form_status(request))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: PersonRequest) -> HttpResponse:
    """The person's keys. A new one is shown in the answer to the POST that made it, and never again."""
    form = KeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        key, secret = create_key(user=request.user, name=form.cleaned_data["name"])
        response = render(request, "accounts/key_created.html", {"key": key, "secret": secret}, status=201)
        add_never_cache_headers(response)
        return response
    page = Paginator(request.user.api_keys.all(), KEYS_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "accounts/keys.html", {"form": form, "page_obj": page}, status=_form_status(request))


@login_required
@require_POST
def key_revoke(request: PersonRequest, pk: int) -> HttpResponse:
    key: ApiKey = get_object_or_404(request.user.api_keys.select_related("user"), pk=pk)
    revoke_key(key=key, actor=request.user)
    messages.success(request, _("The key %(name)s is revoked.") % {"name": key.name})
    return redirect("accounts:keys")


# --- The people of the site ---------------------------------------------------------------------------------------


@admin_required
@require_safe
def users(request: PersonRequest) -> HttpResponse:
    search = UserSearchForm(request.GET)
    people = User.objects.order_by("email")
    if search.is_valid() and search.cleaned_data["q"]:
        people = people.matching(search.cleaned_data["q"])
    page = Paginator(people, PEOPLE_ON_A_PAGE).get_page(request.GET.get("page"))
    return render_page_or_partial(
        request, "accounts/users.html", {"page_obj": page, "search": search}, partial="user-list"
    )


@admin_required
@require_http_methods(["GET", "HEAD", "POST"])
def user_new(request: PersonRequest) -> HttpResponse:
    """A login without a study. The person sets the password by a link, which the admin hands over."""
    form = NewPersonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            person = register_user(password=None, actor=request.user, **form.cleaned_data)
        except ValidationError as error:
            form.add_problems(error)
        else:
            return _password_link_page(request, person)
    return render(request, "accounts/user_new.html", {"form": form}, status=_form_status(request))


@admin_required
@require_POST
def user_password_link(request: PersonRequest, pk: int) -> HttpResponse:
    """A link by which the person sets a new password: for those who got no mail, or whose link has expired."""
    return _password_link_page(request, get_object_or_404(User, pk=pk, is_active=True))


def _password_link_page(request: PersonRequest, person: User) -> HttpResponse:
    uid, token = make_password_link(user=person, actor=request.user)
    path = reverse("accounts:password-reset-confirm", args=[uid, token])
    context = {
        "person": person,
        "address": request.build_absolute_uri(path),
        "hours": settings.PASSWORD_RESET_TIMEOUT // 3600,
    }
    response = render(request, "accounts/password_link.html", context, status=201)
    add_never_cache_headers(response)
    return response


@admin_required
@require_safe
def user_detail(request: PersonRequest, pk: int) -> HttpResponse:
    return _user_page(request, get_object_or_404(User, pk=pk))


@admin_required
@require_POST
def user_role(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(User, pk=pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _user_page(request, person, role_form=form)
    try:
        change_role(user=person, role=form.cleaned_data["role"], actor=request.user)
    except LastAdminError as error:
        form.add_error("role", str(error))
        return _user_page(request, person, role_form=form)
    messages.success(request, _("The role of %(person)s is saved.") % {"person": person})
    # Whoever has just given up the admin's role may no longer look at this page.
    return redirect("dashboard:home") if person == request.user else redirect("accounts:user", pk=pk)


@admin_required
@require_POST
def user_deactivate(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(User, pk=pk)
    form = DeactivateForm(request.POST, user=person)
    if not form.is_valid():
        return _user_page(request, person, deactivate_form=form)
    try:
        deactivate_user(user=person, actor=request.user)
    except LastAdminError as error:
        form.add_error(None, str(error))
        return _user_page(request, person, deactivate_form=form)
    if person == request.user:
        return redirect("accounts:sign-in")
    messages.success(request, _("%(person)s is deactivated.") % {"person": person})
    return redirect("accounts:user", pk=pk)


@admin_required
@require_POST
def user_reactivate(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(User, pk=pk)
    reactivate_user(user=person, actor=request.user)
    messages.success(request, _("%(person)s may sign in again.") % {"person": person})
    return redirect("accounts:user", pk=pk)


def _user_page(
    request: PersonRequest,
    person: User,
    *,
    role_form: RoleForm | None = None,
    deactivate_form: DeactivateForm | None = None,
) -> HttpResponse:
    context = {
        "person": person,
        "role_form": role_form or RoleForm(initial={"role": person.role}),
        "deactivate_form": deactivate_form or DeactivateForm(user=person),
    }
    return render(request, "accounts/user.html", context, status=_form_status(request))


def _form_status(request: HttpRequest) -> int:
    """A page that is drawn after a POST is drawn because the form was refused."""
    return 422 if request.method == "POST" else 200
