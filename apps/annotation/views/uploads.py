"""Finished ratings of a file, in the browser: handed in, looked at, imported in the background.

Nothing here shows a rating that is stored: whoever rates in the study is blind to the others', and may upload.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import PersonRequest
from apps.annotation.forms.uploads import (
    LONG,
    WIDE,
    ConfirmForm,
    RatingMappingForm,
    RatingReadingForm,
    RatingUploadForm,
)
from apps.annotation.models import RatingUpload
from apps.annotation.services.uploads import (
    RatingCheck,
    UploadClosed,
    check_upload,
    is_closed,
    receive_upload,
    refuses_ratings,
    settle_upload,
    start_import,
    told_of,
)
from apps.annotation.views.upload_summary import (
    Summary,
    names_in_short,
    summary_of_answers,
    summary_of_check,
    summary_of_refusal,
)
from apps.common.services.files import FileRefused
from apps.common.tasks import start_job
from apps.studies.models import Study


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: PersonRequest, slug: str) -> HttpResponse:
    study = _study(request, slug)
    if refuses_ratings(study):
        return render(request, "annotation/upload_closed.html", {"study": study}, status=_status(request))
    initial = {"block": request.GET["block"]} if "block" in request.GET else {}
    form = RatingUploadForm(request.POST or None, request.FILES or None, study=study, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            received = receive_upload(upload=data["file"], owner=request.user, block=data["block"], told=form.told)
        except FileRefused as refusal:
            form.add_error("file", str(refusal))
        else:
            return redirect("rating:upload-check", study.slug, received.pk)
    context = {"study": study, "form": form, "has_blocks": study.blocks.exists()}
    return render(request, "annotation/upload.html", context, status=_status(request))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def check(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """How the file was understood; by POST, how it is to be understood instead."""
    study = _study(request, slug)
    received = _upload(request, study, pk)
    if received.job is not None and is_closed(received):
        return redirect("common:job", received.job.pk)
    seen = check_upload(upload=received)
    shape = _shape(request, seen)
    reading = _reading_form(received, seen, request.POST or None)
    mapping = _mapping_form(received, seen, shape, request.POST or None)
    if request.method == "POST" and reading.is_valid():
        reads_anew = _reads_anew(received, reading)
        if reads_anew or mapping is None or mapping.is_valid():
            maps = [] if reads_anew or mapping is None else mapping.maps()
            return _settle(request, received, reading, maps)
    is_refused = request.method == "POST"
    summary = summary_of_answers(reading, mapping) if is_refused else summary_of_check(seen, mapping)
    return _page(request, received, seen, summary, reading=reading, mapping=mapping, is_told=not is_refused)


@login_required
@require_POST
def start(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """Import it: in the background, whatever its size."""
    study = _study(request, slug)
    received = _upload(request, study, pk)
    if received.job is None or not is_closed(received):
        form = ConfirmForm(request.POST)
        form.is_valid()
        skips = form.cleaned_data["skip_problem_rows"]
        seen = check_upload(upload=received)
        fault = _("The study is closed: it takes no more ratings.") if refuses_ratings(study) else ""
        if fault or not _may_begin(seen, skips=skips):
            mapping = _mapping_form(received, seen, _shape(request, seen))
            summary = summary_of_refusal(seen, mapping, fault)
            return _page(request, received, seen, summary, reading=_reading_form(received, seen), mapping=mapping)
        job = start_import(upload=received, skip_problem_rows=skips, by=request.user)
        start_job(job)
        return redirect("common:job", job.pk)
    return redirect("common:job", received.job.pk)


def _study(request: PersonRequest, slug: str) -> Study:
    return get_object_or_404(Study.objects.readable_by(request.user), slug=slug)


def _upload(request: PersonRequest, study: Study, pk: int) -> RatingUpload:
    """One of the person's own uploads into the study; else 404."""
    uploads = RatingUpload.objects.filter(owner=request.user, block__study=study)
    return get_object_or_404(uploads.select_related("block__study", "source", "job"), pk=pk)


def _status(request: PersonRequest) -> int:
    return 422 if request.method == "POST" else 200


def _initial(received: RatingUpload, seen: RatingCheck) -> dict[str, Any]:
    told = told_of(received)
    return {
        "rater": told.rater,
        "kind": told.kind,
        "is_aggregate": told.is_aggregate,
        "empty_is_missing": told.empty_is_missing,
        "format": received.format,
        "encoding": received.encoding or seen.likely,
    }


def _shape(request: PersonRequest, seen: RatingCheck) -> str:
    """As asked for, else as the file was understood."""
    asked = request.POST.get("shape") or request.GET.get("shape")
    if asked in (LONG, WIDE):
        return asked
    if seen.mapping is not None:
        return WIDE if seen.mapping.is_wide else LONG
    return LONG if {"dimension", "value"} <= seen.chosen.keys() else WIDE


def _reading_form(received: RatingUpload, seen: RatingCheck, data: QueryDict | None = None) -> RatingReadingForm:
    initial = _initial(received, seen)
    return RatingReadingForm(data, study=received.block.study, asks_kind=seen.asks_kind, initial=initial)


def _mapping_form(
    received: RatingUpload, seen: RatingCheck, shape: str, data: QueryDict | None = None
) -> RatingMappingForm | None:
    """None where the file could not be opened: then nobody knows its columns."""
    if seen.table is None:
        return None
    return RatingMappingForm(
        data,
        shape=shape,
        columns=seen.columns,
        scales=seen.scales,
        codes=seen.codes,
        has_rater=bool(received.rater),
        initial=seen.chosen,
    )


def _reads_anew(received: RatingUpload, reading: RatingReadingForm) -> bool:
    """Whether the columns may be others now, so that what was chosen among them says nothing."""
    data = reading.cleaned_data
    return (data["format"], data["encoding"]) != (received.format, received.encoding)


def _settle(
    request: PersonRequest, received: RatingUpload, reading: RatingReadingForm, maps: Sequence[str]
) -> HttpResponse:
    data, told = reading.cleaned_data, reading.told
    if told.rater:
        maps = [text for text in maps if not text.startswith("rater=")]
    try:
        settle_upload(upload=received, told=told, maps=maps, format=data["format"], encoding=data["encoding"])
    except UploadClosed:
        messages.warning(request, _("The import has begun already: nothing was changed."))
    return redirect("rating:upload-check", received.block.study.slug, received.pk)


def _may_begin(seen: RatingCheck, *, skips: bool) -> bool:
    """Whether the import may: nothing is left open, and somebody has said what becomes of rows with problems."""
    has_problems = seen.parsed is not None and seen.parsed.problems.total > 0
    return not seen.fault and not seen.kindless and seen.may_be_imported and (skips or not has_problems)


def _page(
    request: PersonRequest,
    received: RatingUpload,
    seen: RatingCheck,
    summary: Summary,
    *,
    reading: RatingReadingForm,
    mapping: RatingMappingForm | None,
    is_told: bool = True,
) -> HttpResponse:
    """`is_told`: what was found is shown; not beside answers that were not taken, of which it says nothing."""
    asked = {question.field for question in seen.questions} | set(mapping.errors if mapping else ())
    skips = {"skip_problem_rows": received.skip_problem_rows}
    context = {
        "study": received.block.study,
        "upload": received,
        "check": seen,
        "reading": reading,
        "mapping": mapping,
        "summary": summary,
        "is_told": is_told,
        "confirm": ConfirmForm(initial=skips),
        "confirm_below": ConfirmForm(initial=skips, auto_id="below_%s"),
        "new_raters": names_in_short(seen.new_raters),
        "is_asked": bool(seen.fault) or "shape" in request.GET,
        "asks_rater": "rater" in asked,
        "asks_evidence": any(name.startswith("evidence.") for name in asked),
        "asks_rare": mapping is not None and any(mapping.is_rare(name) for name in asked),
        "other_shape": LONG if mapping is not None and mapping.shape == WIDE else WIDE,
    }
    return render(request, "annotation/upload_check.html", context, status=_status(request))
