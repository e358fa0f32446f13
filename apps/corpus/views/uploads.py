"""Uploading conversations: hand in a file, check how it is read, let a job import it. For researchers and admins."""

from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.access import PersonRequest, researcher_required
from apps.common.htmx import render_page_or_partial, wants_partial
from apps.common.services.files import FileRefused
from apps.common.tasks import start_job
from apps.corpus.excerpts import excerpt_of
from apps.corpus.field_labels import field_label, quoted_labels
from apps.corpus.forms.mapping import MappingForm, MappingNameForm
from apps.corpus.forms.mapping_faults import fault_on_page
from apps.corpus.forms.uploads import FileForm, ReadingForm, UploadForm
from apps.corpus.models import ConversationUpload, Dataset, SpeakerRole
from apps.corpus.parsing.doubts import NO_SUPPORTER
from apps.corpus.parsing.guessing import guess_mapping, told_by_values
from apps.corpus.parsing.mapping import ColumnMapping
from apps.corpus.parsing.preview import Preview, SpeakerPreview, preview_table
from apps.corpus.parsing.records import EncodingError, FileError, Finding, Hint, Notice
from apps.corpus.parsing.rows import open_table
from apps.corpus.parsing.speakers import normal
from apps.corpus.services.saved_mappings import offered_mappings
from apps.corpus.services.uploads import (
    UploadClosedError,
    discard_upload,
    mapping_of,
    opened_source,
    receive_upload,
    replace_source,
    settle_mapping,
    settle_reading,
    start_import,
    target_of,
)

UPLOADS_ON_A_PAGE = 25
PROBLEMS_SHOWN = 50
NOTICES_SHOWN = 20


@dataclass
class Look:
    """A look at an upload's file: the preview and the form, or the error that kept it from being read."""

    preview: Preview | None = None
    form: MappingForm | None = None
    error: FileError | None = None
    is_valid: bool = True
    speakers: list[SpeakerPreview] = field(default_factory=list)
    told_by_values: list[str] = field(default_factory=list)

    @property
    def can_be_imported(self) -> bool:
        return self.preview is not None and self.is_valid and not self.preview.fault

    @property
    def unnamed(self) -> dict[str, int]:
        """The labels on the page that nobody has given a role, each with its count."""
        given = {normal(label) for label in self.preview.mapping.roles} if self.preview is not None else set()
        return {
            speaker.label: speaker.count
            for speaker in self.speakers
            if not speaker.is_known and normal(speaker.label) not in given
        }


def upload_of(request: PersonRequest, pk: int) -> ConversationUpload:
    uploads = ConversationUpload.objects.open_to(request.user).select_related("source", "owner", "job")
    return get_object_or_404(uploads, pk=pk)


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload_new(request: PersonRequest, slug: str | None = None) -> HttpResponse:
    """Hand in a file: for a dataset chosen on the page, or for the one of the address."""
    dataset = None if slug is None else get_object_or_404(Dataset.objects.editable_by(request.user), slug=slug)
    if dataset is not None and dataset.is_frozen:
        return render(request, "corpus/upload_frozen.html", {"dataset": dataset})
    if request.method != "POST":
        form = UploadForm(user=request.user, dataset=dataset)
        return render(request, "corpus/upload.html", {"form": form, "dataset": dataset})
    form = UploadForm(request.POST, request.FILES, user=request.user, dataset=dataset)
    if form.is_valid():
        try:
            upload = receive_upload(upload=form.cleaned_data["file"], owner=request.user, **form.target)
        except FileRefused as refusal:
            form.add_error("file", str(refusal))
        else:
            return redirect("corpus:upload-check", upload.pk)
    return render(request, "corpus/upload.html", {"form": form, "dataset": dataset}, status=422)


@researcher_required
@require_safe
def upload_list(request: PersonRequest) -> HttpResponse:
    """One's own uploads, the latest first; admins see those of others too."""
    uploads = ConversationUpload.objects.open_to(request.user).select_related("owner", "job")
    page = Paginator(uploads, UPLOADS_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "corpus/upload_list.html", {"page_obj": page})


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload_check(request: PersonRequest, pk: int) -> HttpResponse:
    """How the file is read and what its columns mean. A POST keeps the mapping and looks again."""
    upload = upload_of(request, pk)
    if upload.is_running or upload.is_imported:
        return check_page(request, upload, Look())
    if request.method != "POST":
        return check_page(request, upload, look_at(upload))
    look = settled_look(upload, request.POST)
    if not look.is_valid:
        return check_page(request, upload, look, status=422)
    if wants_partial(request) or look.error is not None:
        return check_page(request, upload, look)
    return redirect("corpus:upload-check", upload.pk)


@researcher_required
@require_POST
def upload_reading(request: PersonRequest, pk: int) -> HttpResponse:
    """Read the file in another encoding or format. Where its columns change, they are guessed anew."""
    upload = upload_of(request, pk)
    form = ReadingForm(request.POST)
    if not form.is_valid():
        return check_page(request, upload, look_at(upload), reading=form, status=422)
    before = look_at(upload)
    upload.encoding, upload.format = form.cleaned_data["encoding"], form.cleaned_data["format"]
    after = look_at(upload)
    stays = before.form is not None and after.form is not None and before.form.mark == after.form.mark
    try:
        settle_reading(
            upload=upload,
            encoding=upload.encoding,
            format=upload.format,
            mapping=mapping_of(upload) if stays else ColumnMapping(),
        )
    except UploadClosedError:
        messages.warning(request, _closed())
    return redirect("corpus:upload-check", upload.pk)


@researcher_required
@require_POST
def upload_import(request: PersonRequest, pk: int) -> HttpResponse:
    """Import the file as the form says. Asked twice, the job that is there goes on."""
    upload = upload_of(request, pk)
    if upload.is_running or upload.is_imported:
        return redirect("common:job", upload.job_id)
    look = settled_look(upload, request.POST)
    latest = upload_of(request, pk)
    if latest.is_running or latest.is_imported:
        # The button was pressed twice, and the other one was first.
        return redirect("common:job", latest.job_id)
    if look.can_be_imported and _goes_elsewhere(upload, request.POST):
        messages.warning(
            request, _("Since you opened this page, the dataset this file goes into was made, or deleted. Look again.")
        )
        return redirect("corpus:upload-check", upload.pk)
    if not look.can_be_imported:
        return check_page(request, upload, look, status=422)
    unnamed = look.unnamed
    if unnamed and look.form is not None and not look.form.initial["others_are_other"]:
        return check_page(request, upload, look, asks_roles=True, status=422)
    job = start_import(upload=upload, by=request.user, labels=unnamed)
    start_job(job)
    return redirect("common:job", job.pk)


@researcher_required
@require_POST
def upload_replace(request: PersonRequest, pk: int) -> HttpResponse:
    """Another file in the place of this one: mended, or longer. The dataset and the mapping stay."""
    upload = upload_of(request, pk)
    if upload.is_running or upload.is_imported:
        messages.warning(request, _closed())
        return redirect("corpus:upload-check", upload.pk)
    form = FileForm(request.POST, request.FILES, auto_id="id_new_%s")
    if form.is_valid():
        try:
            replace_source(upload=upload, file=form.cleaned_data["file"], by=request.user)
        except FileRefused as refusal:
            form.add_error("file", str(refusal))
        except UploadClosedError:
            messages.warning(request, _closed())
            return redirect("corpus:upload-check", upload.pk)
        else:
            messages.success(request, _("The file is replaced by %(file)s.") % {"file": upload.file_name})
            return redirect("corpus:upload-check", upload.pk)
    return check_page(request, upload, look_at(upload), replacing=form, status=422)


@researcher_required
@require_POST
def upload_discard(request: PersonRequest, pk: int) -> HttpResponse:
    """Forget the upload and its file. What was imported from it stays."""
    upload = upload_of(request, pk)
    try:
        discard_upload(upload=upload)
    except UploadClosedError:
        messages.warning(request, _("The import of this file is under way: cancel it first."))
        return redirect("corpus:upload-check", upload.pk)
    messages.success(request, _("%(file)s is forgotten.") % {"file": upload.file_name})
    return redirect("corpus:uploads")


# --- Looking at a file --------------------------------------------------------------------------------------------


def look_at(upload: ConversationUpload, data: MultiValueDict[str, Any] | None = None) -> Look:
    """Open the file, and show its first rows under the mapping of `data`, else under that of the upload."""
    try:
        with opened_source(upload) as file:
            table = open_table(file, format=upload.format or None, encoding=upload.encoding or None)
            given = mapping_of(upload)
            mapping = guess_mapping(table.columns, table.sample, given)
            by_values = told_by_values(table.columns, table.sample, given)
            skip = upload.skip_problem_rows
            sent = None
            if data is not None:
                sent = MappingForm(data, headers=table.columns, mapping=mapping, skip_problem_rows=skip)
                if sent.is_valid():
                    mapping, skip = sent.mapping, sent.cleaned_data["skip_problem_rows"]
            preview = preview_table(table, mapping)
    except FileError as error:
        return Look(error=error)
    if sent is not None and not sent.is_valid():
        return Look(preview, sent, is_valid=False)
    speakers = [*preview.speakers, *_listed_before(upload, preview)]
    form = MappingForm(headers=table.columns, mapping=mapping, speakers=speakers, skip_problem_rows=skip)
    form.initial["others_are_other"] = sent is not None and sent.cleaned_data["others_are_other"]
    return Look(preview, form, speakers=speakers, told_by_values=by_values)


def _listed_before(upload: ConversationUpload, preview: Preview) -> list[SpeakerPreview]:
    """Labels that an import met below the first rows, the commonest first."""
    shown = {normal(speaker.label) for speaker in preview.speakers}
    listed = sorted(upload.labels_listed.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        SpeakerPreview(label, count, SpeakerRole.OTHER, is_known=False)
        for label, count in listed
        if normal(label) not in shown
    ]


def settled_look(upload: ConversationUpload, data: MultiValueDict[str, Any]) -> Look:
    """The same look with the mapping of `data`, which is kept where it is valid and the upload still open."""
    look = look_at(upload, data)
    if look.form is not None and look.is_valid:
        skip = bool(look.form.initial["skip_problem_rows"])
        try:
            settle_mapping(upload=upload, mapping=look.form.base, skip_problem_rows=skip)
        except UploadClosedError:
            look.is_valid = False
    return look


def _goes_elsewhere(upload: ConversationUpload, data: MultiValueDict[str, Any]) -> bool:
    """Whether the page it was sent from said that a dataset is made where one is there by now, or the other way round.

    Two files of one name, uploaded before either is imported, are both said to make the dataset of that name.
    """
    seen = data.get("dataset_seen")
    try:
        pk = target_of(upload).pk
    except Dataset.DoesNotExist:
        return False
    return seen is not None and seen != str(pk or "")


def _closed() -> str:
    return _("The import of this file waits, runs or is done: it is read as it was.")


def _notices(look: Look) -> list[Notice]:
    """Without what the page says elsewhere: unknown labels, and that none of them is the supporter yet."""
    shown = look.preview.notices.shown if look.preview is not None else []
    return [one for one in shown if not (isinstance(one, Hint) or (look.unnamed and one.message == NO_SUPPORTER))]


def _named(finding: Finding) -> Finding:
    """With its field in the words of the page."""
    return replace(finding, field=field_label(finding.field))


def check_page(
    request: PersonRequest,
    upload: ConversationUpload,
    look: Look,
    *,
    reading: ReadingForm | None = None,
    naming: MappingNameForm | None = None,
    replacing: FileForm | None = None,
    asks_roles: bool = False,
    status: int = 200,
) -> HttpResponse:
    preview = look.preview
    context: dict[str, Any] = {
        "upload": upload,
        "look": look,
        "preview": preview,
        "form": look.form,
        "reading": reading or ReadingForm(initial={"encoding": upload.encoding, "format": upload.format}),
        "naming": naming or MappingNameForm(),
        "replacing": replacing or FileForm(auto_id="id_new_%s"),
        "asks_roles": asks_roles,
        "likely_encoding": look.error.likely if isinstance(look.error, EncodingError) else "",
        "is_open": not (upload.is_running or upload.is_imported),
    }
    try:
        context["dataset"] = target_of(upload)
    except Dataset.DoesNotExist:
        context["is_taken"] = True
    if preview is not None and look.form is not None:
        rows = look.form.column_rows()
        context |= {
            "columns": [(column, rows.get(column.name)) for column in preview.columns],
            "fault": fault_on_page(preview.error),
            "unnamed": look.unnamed,
            "told_by_values": quoted_labels(tuple(look.told_by_values)),
            "excerpts": [excerpt_of(record) for record in preview.conversations],
            "problems": [_named(problem) for problem in preview.problems.shown[:PROBLEMS_SHOWN]],
            "hidden_problems": preview.problems.total - len(preview.problems.shown[:PROBLEMS_SHOWN]),
            "notices": [_named(one) for one in _notices(look)][:NOTICES_SHOWN],
            "offers_commas": bool(preview.rows_with_comma_mark) or preview.mapping.clean_commas,
            "offered": offered_mappings(owner=request.user, headers=[column.name for column in preview.columns]),
        }
    return render_page_or_partial(request, "corpus/upload_check.html", context, partial="result", status=status)
