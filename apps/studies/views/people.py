"""The people of a study, for those who work with it; and how somebody starts and stops rating."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.db.models.functions import Coalesce, Lower, NullIf
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.studies.access import managed_study, readable_study
from apps.studies.forms.people import MemberForm, RemoveForm, RoleForm, StartRatingForm, StopRatingForm
from apps.studies.models import FINISHED_STATES, MemberRole, Membership, Rater, Study
from apps.studies.services.people import (
    PeopleError,
    UnknownPersonError,
    add_member,
    change_member_role,
    join_as_rater,
    leave_as_rater,
    remove_member,
)
from apps.studies.services.slots import OPEN_STATES

PEOPLE_ON_A_PAGE = 50

# --- The list -----------------------------------------------------------------------------------------------------


@login_required
@require_safe
def people(request: PersonRequest, slug: str) -> HttpResponse:
    """Members by role and name. Who stands behind a pseudonym is for owners and admins only."""
    return _people_page(request, readable_study(request.user, slug), MemberForm())


@login_required
@require_POST
def member_add(request: PersonRequest, slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _people_page(request, study, form)
    try:
        membership = add_member(study=study, by=request.user, **form.cleaned_data)
    except UnknownPersonError as problem:
        form.add_error("email", _("%(problem)s Invite them instead.") % {"problem": problem})
        return _people_page(request, study, form)
    except PeopleError as problem:
        form.add_error(None, str(problem))
        return _people_page(request, study, form)
    messages.success(request, _("%(person)s takes part now.") % {"person": membership.user})
    return redirect("studies:people", slug=slug)


def _people_page(request: PersonRequest, study: Study, form: MemberForm) -> HttpResponse:
    manages = study.is_managed_by(request.user)
    left = manages and request.GET.get("show") == "left"
    rows: QuerySet[Any] = _former_raters(study) if left else _members(study)
    page = Paginator(rows, PEOPLE_ON_A_PAGE).get_page(request.GET.get("page"))
    raters = {} if left or not manages else _raters_by_user(study, [row.user_id for row in page.object_list])
    context = {
        "study": study,
        "manages": manages,
        "left": left,
        "page_obj": page,
        "rows": [(row, raters.get(row.user_id)) for row in page],
        "form": form,
        "own_rater": study.raters.filter(user=request.user).first(),
        "n_open_invitations": study.invitations.open().count() if manages else 0,
    }
    status = 422 if request.method == "POST" else 200
    return render_page_or_partial(request, "studies/people.html", context, partial="people-list", status=status)


def _members(study: Study) -> QuerySet[Membership]:
    # By name, not by when they joined: pseudonyms are numbered in that order, and would show through.
    rank = Case(
        *[When(role=role, then=Value(place)) for place, role in enumerate(MemberRole)], output_field=IntegerField()
    )
    name = Lower(Coalesce(NullIf("user__name", Value("")), "user__email"))
    return study.memberships.select_related("user").order_by(rank, name, "pk")


def _former_raters(study: Study) -> QuerySet[Rater]:
    return study.raters.filter(user__isnull=False, left_at__isnull=False).select_related("user").order_by("name")


def _raters_by_user(study: Study, users: list[int]) -> dict[int | None, Rater]:
    return {rater.user_id: rater for rater in study.raters.filter(user__in=users)}


# --- One member ---------------------------------------------------------------------------------------------------


@login_required
@require_safe
def member(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study = managed_study(request.user, slug)
    return _member_page(request, study, _member_of(study, pk))


@login_required
@require_POST
def member_role(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study = managed_study(request.user, slug)
    membership = _member_of(study, pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _member_page(request, study, membership, role_form=form)
    try:
        change_member_role(membership=membership, by=request.user, **form.cleaned_data)
    except PeopleError as problem:
        form.add_error(None, str(problem))
        return _member_page(request, study, membership, role_form=form)
    messages.success(request, _("The role of %(person)s is saved.") % {"person": membership.user})
    return _back_to_people(request, study)


@login_required
@require_POST
def member_remove(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    study = managed_study(request.user, slug)
    membership = _member_of(study, pk)
    form = RemoveForm(request.POST, membership=membership)
    if not form.is_valid():
        return _member_page(request, study, membership, remove_form=form)
    try:
        remove_member(membership=membership, by=request.user)
    except PeopleError as problem:
        form.add_error(None, str(problem))
        return _member_page(request, study, membership, remove_form=form)
    messages.success(request, _("%(person)s no longer takes part.") % {"person": membership.user})
    return _back_to_people(request, study)


def _member_of(study: Study, pk: int) -> Membership:
    return get_object_or_404(study.memberships.select_related("user", "study"), pk=pk)


def _member_page(
    request: PersonRequest,
    study: Study,
    membership: Membership,
    *,
    role_form: RoleForm | None = None,
    remove_form: RemoveForm | None = None,
) -> HttpResponse:
    context = {
        "study": study,
        "member": membership,
        "rater": study.raters.filter(user=membership.user_id).first(),
        "role_form": role_form or RoleForm(initial={"role": membership.role}, auto_id="role_%s"),
        "remove_form": remove_form or RemoveForm(membership=membership, auto_id="remove_%s"),
    }
    return render(request, "studies/member.html", context, status=422 if request.method == "POST" else 200)


def _back_to_people(request: PersonRequest, study: Study) -> HttpResponse:
    """To the list, which whoever has just given up the owner's role may no longer look at."""
    if study.is_readable_by(request.user):
        return redirect("studies:people", slug=study.slug)
    return redirect("studies:list")


# --- Rating oneself -----------------------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def rating_join(request: PersonRequest, slug: str) -> HttpResponse:
    """Those who work with the study may rate as well; the page says what they give up for it."""
    study = readable_study(request.user, slug)
    rater = study.raters.filter(user=request.user).first()
    form = StartRatingForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            rater = join_as_rater(study=study, user=request.user, kind=form.cleaned_data["kind"])
        except PeopleError as problem:
            form.add_error(None, str(problem))
        else:
            messages.success(request, _("You rate in this study now, as %(rater)s.") % {"rater": rater.name})
            return redirect("studies:overview", slug=slug)
    context = {"study": study, "rater": rater, "form": form}
    return render(request, "studies/rating_join.html", context, status=422 if request.method == "POST" else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def rating_leave(request: PersonRequest, slug: str) -> HttpResponse:
    """A rater gives up rating for good, after being told what becomes of their work."""
    study = get_object_or_404(Study.objects.visible_to(request.user), slug=slug)
    rater = get_object_or_404(study.raters, user=request.user, left_at=None)
    form = StopRatingForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        leave_as_rater(study=study, user=request.user)
        messages.success(request, _("You no longer rate in %(study)s. What you submitted stays.") % {"study": study})
        return (
            redirect("studies:overview", slug=slug)
            if study.is_readable_by(request.user)
            else redirect("dashboard:home")
        )
    context = {
        "study": study,
        "rater": rater,
        "form": form,
        "reads": study.is_readable_by(request.user),
        "n_submitted": rater.assignments.filter(state__in=FINISHED_STATES).count(),
        "n_held": rater.assignments.filter(state__in=OPEN_STATES).count(),
    }
    return render(request, "studies/rating_leave.html", context, status=422 if request.method == "POST" else 200)
