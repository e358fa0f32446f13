"""The rating screen of one person: the page, and what its form and its scripts send.

Nothing here reads another rater's answers. The form does everything without a script; the scripts save one scale at a
time and report the time.
"""

from dataclasses import asdict

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import PersonRequest
from apps.annotation.access import own_assignment, rater_required, rater_required_json, wants_json
from apps.annotation.services.rules import DECISIVE_FIELDS
from apps.annotation.services.saving import (
    AnswerConflict,
    AnswerRefused,
    Saved,
    Standing,
    is_complete,
    save_answer,
    save_form,
)
from apps.annotation.services.screens import Screen, load_screen
from apps.annotation.services.skipping import ReasonMissing, reason_given
from apps.frameworks.models import Dimension
from apps.studies.models import Assignment, AssignmentState, StudyStatus
from apps.studies.services import reservations, timing
from apps.studies.services.reservations import WorkRefused
from apps.studies.services.slots import full_items


# The page with all its guidelines is five times as heavy without. Django varies the length at random, so that it tells
# nothing of what is inside.
@gzip_page
@require_http_methods(["GET", "HEAD", "POST"])
@rater_required
def item(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """GET: the screen. POST: the whole form, which saves what was changed and then does what its button says."""
    assignment = own_assignment(request, slug, pk, "item__block", "item__conversation")
    if request.method == "POST":
        return _act(request, assignment)
    if assignment.rater.study.status == StudyStatus.ACTIVE:
        reservations.open_assignment(assignment=assignment)
    return _show(request, _screen(assignment))


@require_POST
@rater_required_json
def save(request: PersonRequest, slug: str, pk: int) -> JsonResponse:
    """One scale. Answers: saved; conflict (409); refused (422); closed (403)."""
    assignment = own_assignment(request, slug, pk)
    number = request.POST.get("dimension", "")
    scales = Dimension.objects.filter(framework__blocks=assignment.item.block_id)
    decisive = scales.select_related("framework").only(*DECISIVE_FIELDS)
    dimension = get_object_or_404(decisive, pk=int(number) if _is_number(number) else 0)
    try:
        saved = save_answer(assignment=assignment, dimension=dimension, fields=request.POST, actor=request.user)
    except WorkRefused as refusal:
        return _closed(refusal)
    except AnswerRefused as refusal:
        return JsonResponse({"state": "refused", "dimension": dimension.pk, "message": str(refusal)}, status=422)
    except AnswerConflict as conflict:
        return JsonResponse(_conflict(dimension, conflict), status=409)
    return JsonResponse(_saved(dimension, saved))


@require_POST
@rater_required_json
def time(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """The seconds since the screen's last report."""
    assignment = own_assignment(request, slug, pk)
    try:
        reservations.check_open(assignment.rater)
        timing.report_time(
            assignment=assignment,
            wall=float(request.POST.get("wall", "")),
            active=float(request.POST.get("active", "")),
        )
    except WorkRefused as refusal:
        return _closed(refusal)
    except Assignment.DoesNotExist:
        # The last report of a window that was closed may come when its item is gone.
        raise Http404 from None
    except ValueError:
        message = gettext("wall and active are seconds since the last report.")
        return JsonResponse({"state": "refused", "message": message}, status=422)
    return HttpResponse(status=204)


@require_POST
@rater_required
def flag(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """Flags the item, or takes the flag away; `flagged` (1 or 0) says which, so a repeated request does no harm."""
    return _flag(request, own_assignment(request, slug, pk))


@require_POST
@rater_required
def skip(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _skip(request, own_assignment(request, slug, pk))


@require_POST
@rater_required
def submit(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    return _submit(request, own_assignment(request, slug, pk))


def forward(assignment: Assignment) -> HttpResponseRedirect:
    """To the rater's next item, or to the page that says there is none."""
    return _forward_to(assignment.rater.study.slug, reservations.take_next(rater=assignment.rater))


def _forward_to(slug: str, following: Assignment | None) -> HttpResponseRedirect:
    return redirect("rating:done", slug) if following is None else redirect("rating:item", slug, following.pk)


def _flag(request: PersonRequest, assignment: Assignment) -> HttpResponse:
    wanted = {"1": True, "0": False}.get(request.POST.get("flagged", ""), not assignment.is_flagged)
    try:
        reservations.set_flag(assignment=assignment, is_flagged=wanted)
    except WorkRefused as refusal:
        return _refused(request, assignment, refusal)
    if wants_json(request):
        return JsonResponse({"state": "saved", "flagged": wanted})
    return redirect("rating:item", assignment.rater.study.slug, assignment.pk)


def _act(request: PersonRequest, assignment: Assignment) -> HttpResponse:
    # A script that counts the time itself says so.
    if "timed" not in request.POST and assignment.rater.study.status == StudyStatus.ACTIVE:
        timing.count_gap(assignment=assignment)
    screen = save_form(assignment=assignment, fields=request.POST, actor=request.user)
    if screen.alert or any(scale.errors for scale in screen.scales):
        return _show(request, screen, status=422 if screen.is_editable else 403)
    action = request.POST.get("action", "save")
    if action == "submit":
        return _submit(request, assignment, screen)
    if action == "skip":
        return _skip(request, assignment)
    if action == "flag":
        return _flag(request, assignment)
    return _go(screen, assignment, action)


def _go(screen: Screen, assignment: Assignment, action: str) -> HttpResponse:
    slug = screen.study.slug
    if action == "pause":
        return redirect("rating:start", slug)
    if action == "next" and screen.next is None and screen.is_submitted and screen.is_editable:
        return forward(assignment)
    neighbour = {"previous": screen.previous, "next": screen.next}.get(action)
    return redirect("rating:item", slug, (neighbour or assignment).pk)


def _submit(request: PersonRequest, assignment: Assignment, screen: Screen | None = None) -> HttpResponse:
    """`screen`: as the form was just saved. It knows how many conversations there are; nobody is asked again."""
    if not is_complete(assignment=assignment):
        return _show_missing(request, assignment)
    try:
        reservations.submit(assignment=assignment)
        total = screen.place.total if screen else None
        told = {"number": assignment.position + 1, "total": total}
        if total is None:
            return _moved_on(request, assignment, gettext("Conversation %(number)d is submitted.") % told)
        return _moved_on(request, assignment, gettext("Conversation %(number)d of %(total)d is submitted.") % told)
    except WorkRefused as refusal:
        return _refused(request, assignment, refusal)


def _skip(request: PersonRequest, assignment: Assignment) -> HttpResponse:
    key, words = request.POST.get("reason", ""), request.POST.get("reason-words", "")
    try:
        reservations.skip(assignment=assignment, reason=reason_given(key=key, words=words))
        told = gettext("Conversation %(number)d is skipped. It stays in your list.")
        return _moved_on(request, assignment, told % {"number": assignment.position + 1})
    except WorkRefused as refusal:
        return _refused(request, assignment, refusal)
    except ReasonMissing as problem:
        if wants_json(request):
            return JsonResponse({"state": "refused", "message": str(problem)}, status=422)
        screen = _screen(assignment)
        screen.alert, screen.skip_reason = str(problem), key
        return _show(request, screen, status=422)


def _moved_on(request: PersonRequest, assignment: Assignment, told: str) -> HttpResponse:
    following = reservations.take_next(rater=assignment.rater)
    response = _forward_to(assignment.rater.study.slug, following)
    messages.success(request, told if following is None else f"{told} {gettext('Here is the next one.')}")
    if wants_json(request):
        return JsonResponse({"state": assignment.state, "url": response.headers["Location"]})
    return response


def _show_missing(request: PersonRequest, assignment: Assignment) -> HttpResponse:
    screen = _screen(assignment)
    scales = [{"dimension": scale.dimension.pk, "label": scale.dimension.label} for scale in screen.missing]
    screen.alert = ngettext(
        "Not submitted yet: one scale has no answer: %(scales)s.",
        "Not submitted yet: these scales have no answer: %(scales)s.",
        len(scales),
    ) % {"scales": ", ".join(scale.dimension.label for scale in screen.missing)}
    if wants_json(request):
        return JsonResponse({"state": "missing", "message": screen.alert, "missing": scales}, status=422)
    return _show(request, screen, status=422)


def _screen(assignment: Assignment) -> Screen:
    """The screen; a skipped item that others have taken can only be read."""
    is_editable = assignment.rater.study.status == StudyStatus.ACTIVE
    if is_editable and assignment.state == AssignmentState.SKIPPED:
        is_editable = not full_items(rater=assignment.rater, item_ids=[assignment.item_id])
    return load_screen(assignment=assignment, is_editable=is_editable)


def _show(request: PersonRequest, screen: Screen, status: int = 200) -> HttpResponse:
    return render(request, "annotation/item.html", {"screen": screen, "study": screen.study}, status=status)


def _refused(request: PersonRequest, assignment: Assignment, refusal: WorkRefused) -> HttpResponse:
    if wants_json(request):
        return _closed(refusal)
    screen = _screen(assignment)
    screen.alert = str(refusal)
    return _show(request, screen, status=403)


def _closed(refusal: WorkRefused) -> JsonResponse:
    return JsonResponse({"state": "closed", "message": str(refusal)}, status=403)


def _saved(dimension: Dimension, saved: Saved) -> dict[str, object]:
    return {
        "state": "saved",
        "dimension": dimension.pk,
        **_value(saved.standing),
        "based_on": saved.standing.based_on,
        "saved_at": timezone.localtime(saved.at).strftime("%H:%M"),
        "n_done": saved.n_done,
        "n_scales": saved.n_scales,
    }


def _conflict(dimension: Dimension, conflict: AnswerConflict) -> dict[str, object]:
    standing = conflict.standing
    return {
        "state": "conflict",
        "dimension": dimension.pk,
        "message": str(conflict),
        **_value(standing),
        "comment": standing.comment,
        "evidence": [asdict(passage) for passage in standing.evidence],
        "based_on": standing.based_on,
    }


def _value(standing: Standing) -> dict[str, object]:
    return {"value": standing.value_text or None, "cannot_tell": standing.cannot_tell}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19
