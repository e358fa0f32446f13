"""Files of conversations on their way into a dataset: handed in, settled by their owner, imported by a job."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, cast

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.common.models import Job, StoredFile
from apps.common.services.files import store_file
from apps.common.services.jobs import JobRefused, Outcome, Reporter, create_job
from apps.corpus.field_labels import field_label
from apps.corpus.models import ConversationUpload, Dataset
from apps.corpus.parsing.mapping import ColumnMapping, mapping_from_json
from apps.corpus.parsing.reading import ConversationReader
from apps.corpus.parsing.records import FileError, Finding, Hint, text_fault
from apps.corpus.parsing.rows import open_table
from apps.corpus.parsing.speakers import normal
from apps.corpus.services.freezing import DatasetFrozenError
from apps.corpus.services.importing import ImportFollower, ImportRefusedError, ImportResult, SourceFile, import_files

IMPORT_TASK = "corpus.import_upload"
LABELS_NAMED = 10
NOTICES_NAMED = 10


class UploadClosedError(Exception):
    """The import of an upload waits, runs or is done: nothing about it can change any more."""


class UnlistedSpeakersError(Exception):
    """Far down in the file stand speaker labels that are not known and that nobody was shown. Nothing was stored."""

    def __init__(self, labels: Mapping[str, int]) -> None:
        self.labels = dict(labels)
        super().__init__(f"{len(labels)} speaker labels")


def receive_upload(
    *,
    upload: "UploadedFile[Any]",
    owner: User,
    dataset_slug: str,
    dataset_name: str,
    about: Mapping[str, str] | None = None,
) -> ConversationUpload:
    """Keep the file, and what is to be made of it. `about`: description, source and licence of a new dataset.

    Raises FileRefused where the file is empty or too large.
    """
    with transaction.atomic():
        stored = store_file(upload=upload, owner=owner)
        return ConversationUpload.objects.create(
            source=stored,
            file_name=stored.name,
            owner=owner,
            dataset_slug=dataset_slug,
            dataset_name=dataset_name,
            dataset_about=dict(about or {}),
        )


def replace_source(*, upload: ConversationUpload, file: "UploadedFile[Any]", by: User) -> None:
    """Another file in the place of an upload's, with the dataset and the mapping kept.

    Fields whose column the new file has not are guessed anew, and so is its format. Raises FileRefused where the file
    is empty or too large, UploadClosedError where the import has begun.
    """
    with transaction.atomic():
        _update(upload)  # Refused before anything is written to disk.
        stored = store_file(upload=file, owner=by)
        before = upload.source
        _update(upload, source=stored, file_name=stored.name, format="")
        with suppress(FileError):
            _update(upload, mapping=_refitted(upload).as_json())
        if before is not None:
            _delete_source(before)


def _refitted(upload: ConversationUpload) -> ColumnMapping:
    """The mapping without the columns that the file has not. Raises FileError where it cannot be read."""
    with opened_source(upload) as file:
        headers = open_table(file, encoding=upload.encoding or None).columns
    mapping = mapping_of(upload)
    columns = {name: column for name, column in mapping.columns.items() if not column or column in headers}
    return replace(mapping, columns=columns, left_out=tuple(name for name in mapping.left_out if name in headers))


def _delete_source(source: StoredFile) -> None:
    source.delete()
    transaction.on_commit(partial(source.file.storage.delete, str(source.file.name)))


@contextmanager
def opened_source(upload: ConversationUpload) -> Iterator[BinaryIO]:
    """The bytes of the file. Raises FileError where they are no longer kept."""
    gone = _("The file is no longer kept here. Upload it again.")
    if upload.source is None:
        raise FileError(gone)
    try:
        stored = upload.source.file.storage.open(str(upload.source.file.name), "rb")
    except FileNotFoundError:
        raise FileError(gone) from None
    with stored:
        yield cast(BinaryIO, stored.file)


def mapping_of(upload: ConversationUpload) -> ColumnMapping:
    """The mapping as its owner left it."""
    return mapping_from_json(upload.mapping)


def target_of(upload: ConversationUpload) -> Dataset:
    """The dataset the upload goes into, unsaved where the import is to make it.

    Raises Dataset.DoesNotExist where its short name belongs to a dataset that the upload's owner may not change.
    """
    dataset = Dataset.objects.filter(slug=upload.dataset_slug).first()
    if dataset is None:
        name = upload.dataset_name or upload.dataset_slug
        return Dataset(slug=upload.dataset_slug, name=name, owner=upload.owner, **upload.dataset_about)
    _check_theirs(dataset, upload.owner)
    return dataset


def _check_theirs(dataset: Dataset, owner: User) -> None:
    Dataset.objects.editable_by(owner).get(pk=dataset.pk)


# --- What its owner settles ---------------------------------------------------------------------------------------


def settle_reading(*, upload: ConversationUpload, format: str, encoding: str, mapping: ColumnMapping) -> None:
    """How the file is read. Raises UploadClosedError."""
    _update(upload, format=format, encoding=encoding, mapping=mapping.as_json())


def settle_mapping(*, upload: ConversationUpload, mapping: ColumnMapping, skip_problem_rows: bool) -> None:
    """What its columns mean, and whether rows with problems are left out. Raises UploadClosedError."""
    _update(upload, mapping=mapping.as_json(), skip_problem_rows=skip_problem_rows)


def _update(upload: ConversationUpload, **values: object) -> None:
    with transaction.atomic():
        row = _locked(upload)
        if row.is_running or row.is_imported:
            raise UploadClosedError
        for name, value in values.items():
            setattr(row, name, value)
            setattr(upload, name, value)
        row.save(update_fields=[*values, "updated_at"])


def _locked(upload: ConversationUpload) -> ConversationUpload:
    return ConversationUpload.objects.select_for_update().get(pk=upload.pk)


def start_import(*, upload: ConversationUpload, by: User, labels: Mapping[str, int]) -> Job:
    """The job that imports the upload; the caller starts it. One that waits, runs or is done is given back.

    `labels`: the unknown speaker labels that `by` has been shown, each with its count.
    """
    with transaction.atomic():
        row = _locked(upload)
        if row.job is not None and (row.is_running or row.is_imported):
            return row.job
        row.job = create_job(
            kind="conversations.import",
            task=IMPORT_TASK,
            title=_("Import %(file)s into %(dataset)s") % {"file": row.file_name, "dataset": row.dataset_slug},
            owner=by,
            back_url=reverse("corpus:upload-check", args=[row.pk]),
        )
        row.labels_listed = {**row.labels_listed, **labels}
        row.save(update_fields=["job", "labels_listed", "updated_at"])
        return row.job


def discard_upload(*, upload: ConversationUpload) -> None:
    """Forget an upload and its file; what was imported from it stays. Raises UploadClosedError while it runs."""
    with transaction.atomic():
        row = _locked(upload)
        if row.is_running:
            raise UploadClosedError
        source, job = row.source, row.job
        row.delete()
        if job is not None:
            # Its page would lead back to what is gone.
            Job.objects.filter(pk=job.pk).update(back_url="")
        if source is not None:
            _delete_source(source)


# --- The job ------------------------------------------------------------------------------------------------------


class _Progress(ImportFollower):
    """Reports on the import of one upload, and ends its job in the transaction that stores its conversations."""

    def __init__(self, upload: ConversationUpload, reporter: Reporter) -> None:
        self.upload = upload
        self.reporter = reporter
        self.reader: ConversationReader | None = None
        self.outcome: Outcome | None = None

    def opened(self, name: str, reader: ConversationReader) -> None:
        self.reader = reader
        self.reporter.step(_("Reading the rows of %(file)s") % {"file": name[:100]})

    def reading(self, name: str, rows: int) -> None:
        self.reporter.advance(rows)

    def gathered(self, conversations: int) -> None:
        self.reporter.step(
            ngettext(
                "Storing %(count)d conversation, unless it is there",
                "Storing what is new among %(count)d conversations",
                conversations,
            )
            % {"count": conversations}
        )

    def checked(self, dataset: Dataset, result: ImportResult) -> None:
        # Looked at again: reading may have taken long.
        _refuse_if_not_allowed(self.upload.owner)
        # Another person may have made a dataset of that short name since the file was handed in.
        _check_theirs(dataset, self.upload.owner)
        unlisted = self._unlisted(self.reader.maker.speakers.unknown) if self.reader is not None else {}
        if unlisted:
            raise UnlistedSpeakersError(unlisted)
        self.reporter.step(
            ngettext("Storing %(count)d conversation", "Storing %(count)d conversations", result.added)
            % {"count": result.added}
        )

    def _unlisted(self, unknown: Counter[str]) -> dict[str, int]:
        listed = {normal(label) for label in self.upload.labels_listed}
        # A label that no database holds stands in rows that are problems.
        return {label: n for label, n in unknown.most_common() if normal(label) not in listed and not text_fault(label)}

    def stored(self, dataset: Dataset, result: ImportResult) -> None:
        self.outcome = _outcome(dataset, result)
        self.reporter.finish(self.outcome)


def import_upload(job: Job, reporter: Reporter) -> Outcome:
    """The work of an import job: everything is stored, or nothing and the reasons are listed (JobRefused)."""
    upload = ConversationUpload.objects.select_related("source", "owner").get(job=job)
    progress = _Progress(upload, reporter)
    _refuse_if_not_allowed(upload.owner)
    try:
        with opened_source(upload) as file:
            import_files(
                dataset=target_of(upload),
                files=[SourceFile(upload.file_name, file)],
                mapping=mapping_of(upload),
                format=upload.format or None,
                encoding=upload.encoding or None,
                actor=job.owner,
                skip_problem_rows=upload.skip_problem_rows,
                follower=progress,
            )
    except (FileError, DatasetFrozenError) as error:
        raise JobRefused(f"{error} {_nothing_stored()}") from None
    except Dataset.DoesNotExist:
        raise JobRefused(_taken(upload)) from None
    except ImportRefusedError as refusal:
        raise JobRefused(_refusal(refusal.result), _lines(refusal.result), _n_lines(refusal.result)) from None
    except UnlistedSpeakersError as unlisted:
        ConversationUpload.objects.filter(pk=upload.pk).update(
            labels_listed={**upload.labels_listed, **unlisted.labels}
        )
        raise JobRefused(_who_are_they(unlisted.labels)) from None
    return progress.outcome or Outcome("")


def _refuse_if_not_allowed(owner: User) -> None:
    """Raises JobRefused where the person was deactivated, or is no researcher any more."""
    owner.refresh_from_db(fields=["is_active", "role"])
    if not owner.is_researcher:
        sentence = _("%(person)s may no longer import conversations.") % {"person": owner}
        raise JobRefused(f"{sentence} {_nothing_stored()}")


def _nothing_stored() -> str:
    return _("Nothing was stored.")


def _taken(upload: ConversationUpload) -> str:
    sentence = _("The short name %(slug)s is taken by a dataset of somebody else. Upload the file under another one.")
    return f"{sentence % {'slug': upload.dataset_slug}} {_nothing_stored()}"


def _who_are_they(labels: Mapping[str, int]) -> str:
    named = ", ".join(f"{label} ({count})" for label, count in list(labels.items())[:LABELS_NAMED])
    more = len(labels) - LABELS_NAMED
    if more > 0:
        named = _("%(labels)s and %(more)d more") % {"labels": named, "more": more}
    sentence = _(
        "Nothing was stored yet: below the first rows stand speaker labels that are not known: %(labels)s. They are on "
        "the check page now: choose a role for each, and import again."
    )
    return sentence % {"labels": named}


def _outcome(dataset: Dataset, result: ImportResult) -> Outcome:
    parts = [
        ngettext("%(count)d conversation added", "%(count)d conversations added", result.added)
        % {"count": result.added},
        ngettext("%(count)d was there already", "%(count)d were there already", result.skipped)
        % {"count": result.skipped},
        _conflicts(result.conflicts.total),
    ]
    if result.problems.total:
        parts.append(
            ngettext("%(count)d problem left out", "%(count)d problems left out", result.problems.total)
            % {"count": result.problems.total}
        )
    return Outcome(
        message=", ".join(parts) + ".",
        result=_counts(result),
        problems=_lines(result),
        n_problems=_n_lines(result),
        url=reverse("corpus:dataset", args=[dataset.slug]),
    )


def _conflicts(count: int) -> str:
    return ngettext("%(count)d conflict", "%(count)d conflicts", count) % {"count": count}


def _refusal(result: ImportResult) -> str:
    found = []
    if result.problems.total:
        total = result.problems.total
        found.append(ngettext("%(count)d problem", "%(count)d problems", total) % {"count": total})
    if result.conflicts.total:
        found.append(_conflicts(result.conflicts.total))
    sentence = _(
        "Nothing was stored: %(found)s. Mend the file and upload it again, or tick on the check page that rows with "
        "problems are left out."
    ) % {"found": _(" and ").join(found)}
    if result.conflicts.total:
        sentence += " " + _("If only columns that are kept as metadata differ, mark these as not used.")
    return sentence


def _lines(result: ImportResult) -> list[str]:
    return [_line(finding) for finding in (*result.problems.shown, *result.conflicts.shown)]


def _line(finding: Finding) -> str:
    """A finding as pages tell it: its field in the words of the check page."""
    return str(replace(finding, field=field_label(finding.field)))


def _n_lines(result: ImportResult) -> int:
    return result.problems.total + result.conflicts.total


def _counts(result: ImportResult) -> dict[str, Any]:
    """The counts by name, and the first warnings in words. Hints are left out: the check page has shown them."""
    notices = [_line(notice) for notice in result.warnings.shown if not isinstance(notice, Hint)]
    total = result.warnings.total - sum(isinstance(notice, Hint) for notice in result.warnings.shown)
    counts: dict[str, Any] = result.counts() | {"warnings": total}
    if notices:
        named = "; ".join(notices[:NOTICES_NAMED])
        more = total - NOTICES_NAMED
        counts["worth knowing"] = f"{named}; {_('and %(more)d more') % {'more': more}}" if more > 0 else named
    return counts
