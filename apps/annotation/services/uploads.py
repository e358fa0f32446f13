"""Files of finished ratings on their way into a block: handed in, looked at, imported by a job."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.annotation.models import RatingUpload
from apps.annotation.parsing.mapping import MappingQuestion, OpenQuestion, RatingMapping, parse_maps, suggested_fields
from apps.annotation.parsing.reading import ParsedFile, Told
from apps.annotation.parsing.shown import ShownRow, first_rows
from apps.annotation.parsing.values import Scales
from apps.annotation.services.importing import (
    ImportResult,
    RatingImportFollower,
    RatingsFile,
    RatingsRefusedError,
    Target,
    import_ratings,
    read_file,
)
from apps.common.models import Job, JobState
from apps.common.services.files import FileGone, open_stored, store_file
from apps.common.services.jobs import JobRefused, Outcome, Reporter, create_job
from apps.corpus.parsing.records import EncodingError, FileError
from apps.corpus.parsing.rows import Table, open_table
from apps.studies.models import Block, Study, StudyStatus
from apps.studies.services.blindness import may_see_ratings
from apps.studies.services.raters import RaterConflict

IMPORT_TASK = "annotation.import_rating_upload"
# A page answers at once: of a longer file it checks so many rows, and the import checks them all.
ROWS_CHECKED = 20_000


class UploadClosed(Exception):  # noqa: N818 - not a fault of the program
    """The import of an upload waits, runs or is done: nothing about it can change any more."""


@dataclass
class RatingCheck:
    """What an import would make of a file, as far as its first 20,000 rows tell. Nothing stored is looked at but ids.

    `fault`: why the file cannot be imported as it stands, "" where it can; then there is no `parsed`. `questions`: what
    its headers leave open, where that is the fault. `likely`: an encoding worth trying, where the fault is one of
    encoding. `chosen`: field -> column as a form shows it. `scales` and `codes`: key of a dimension -> its label, and
    its slug.
    """

    scales: dict[str, str]
    codes: dict[str, str]
    fault: str = ""
    questions: tuple[OpenQuestion, ...] = ()
    likely: str = ""
    table: Table | None = None
    mapping: RatingMapping | None = None
    chosen: dict[str, str] = field(default_factory=dict)
    parsed: ParsedFile | None = None
    rows: list[ShownRow] = field(default_factory=list)
    new_raters: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return self.table.columns if self.table else []

    @property
    def columns_not_read(self) -> list[str]:
        used = self.mapping.used() if self.mapping else set()
        return [column for column in self.columns if column not in used]

    @property
    def asks_kind(self) -> bool:
        """Whether somebody must be able to say what kind of raters the new ones are: no column does.

        Of a file of which only the beginning is seen more raters may follow.
        """
        columns = self.mapping.columns if self.mapping else {}
        may_follow = self.table is not None and self.table.is_cut and "rater" in columns
        return bool(self.kindless) or ("kind" not in columns and (bool(self.new_raters) or may_follow))

    @property
    def kindless(self) -> list[str]:
        """New raters of whom nothing says what kind they are."""
        return sorted(self.parsed.kindless) if self.parsed else []

    @property
    def may_be_imported(self) -> bool:
        """Whether there is something good in the rows seen."""
        return bool(self.parsed and self.parsed.ratings) or bool(self.table and self.table.is_cut)


def receive_upload(*, upload: "UploadedFile[Any]", owner: User, block: Block, told: Told) -> RatingUpload:
    """Keep the file, and what was said about it. Raises FileRefused where it is empty or too large."""
    with transaction.atomic():
        stored = store_file(upload=upload, owner=owner)
        return RatingUpload.objects.create(
            source=stored, file_name=stored.name, owner=owner, block=block, **_fields_of(told)
        )


def settle_upload(*, upload: RatingUpload, told: Told, maps: Sequence[str], format: str, encoding: str) -> None:
    """How the file is to be read. Raises UploadClosed."""
    with transaction.atomic():
        row = _locked(upload)
        if is_closed(row):
            raise UploadClosed
        changed = {**_fields_of(told), "maps": list(maps), "format": format, "encoding": encoding}
        for name, value in changed.items():
            setattr(row, name, value)
            setattr(upload, name, value)
        row.save(update_fields=[*changed, "updated_at"])


def is_closed(upload: RatingUpload) -> bool:
    """Whether its import waits, runs or is done."""
    return upload.job is not None and (upload.job.is_open or upload.job.state == JobState.DONE)


def told_of(upload: RatingUpload) -> Told:
    return Told(upload.rater, upload.kind, upload.is_aggregate, upload.empty_is_missing)


def _told_to_parser(upload: RatingUpload) -> Told:
    """Where a column says whose ratings they are, the kind is said of those who are new only."""
    told = told_of(upload)
    return told if told.rater else replace(told, kind="", new_kind=told.kind)


def check_upload(*, upload: RatingUpload) -> RatingCheck:
    """What an import of the file would make of its first rows, and why it cannot be imported where it cannot."""
    target = Target.of(upload.block, on_screen=True)
    scales = target.expected.scales
    keys = [one.key for one in scales.all]
    check = RatingCheck(dict(zip(keys, scales.labels(), strict=True)), dict(zip(keys, scales.names(), strict=True)))
    told = replace(_told_to_parser(upload), asks_kind_later=True)
    try:
        with open_stored(upload.source) as file:
            source = RatingsFile(upload.file_name, file, upload.format or None, upload.encoding or None)
            _read_into(check, target, source, told, upload.maps)
    except FileGone:
        check.fault = _("The file is no longer kept here. Please upload it again.")
    except EncodingError as error:
        check.fault, check.likely = str(error), error.likely
    except MappingQuestion as error:
        check.fault, check.questions = _in_a_form(error), error.questions
    except FileError as error:
        check.fault = str(error)
    _choose(check, upload.maps, scales, has_rater=bool(told.rater))
    if check.parsed is not None:
        check.rows = first_rows(check.parsed.ratings, scales)
        names = check.parsed.raters.keys()
        check.new_raters = sorted(names - target.expected.raters.keys())
        people = upload.block.study.raters.filter(user__isnull=False).values_list("name", flat=True)
        check.people = sorted(names & set(people))
    return check


def start_import(*, upload: RatingUpload, skip_problem_rows: bool, by: User) -> Job:
    """The job that imports the upload; the caller starts it. One that waits, runs or is done is given back."""
    with transaction.atomic():
        row = _locked(upload)
        if row.job is not None and is_closed(row):
            return row.job
        study = row.block.study
        row.skip_problem_rows = skip_problem_rows
        row.job = create_job(
            kind="ratings.import",
            task=IMPORT_TASK,
            title=_("Import ratings of %(file)s into %(study)s") % {"file": row.file_name, "study": study.title},
            owner=by,
            back_url=reverse("rating:upload-check", args=[study.slug, row.pk]),
            # An admin may rate in the study, and lines about a file's values would tell them others'.
            is_private=True,
        )
        row.save(update_fields=["skip_problem_rows", "job", "updated_at"])
        return row.job


def import_upload(job: Job, reporter: Reporter) -> Outcome:
    """The work of an import job: everything is stored, or nothing and the reasons are listed (JobRefused)."""
    upload = RatingUpload.objects.select_related("source", "owner", "block__study").get(job=job)
    _refuse_if_not_allowed(upload.block.study, job.owner)
    progress = _Progress(upload, reporter, job.owner)
    try:
        with open_stored(upload.source) as file:
            import_ratings(
                block=upload.block,
                source=RatingsFile(upload.file_name, file, upload.format or None, upload.encoding or None),
                told=_told_to_parser(upload),
                maps=upload.maps,
                skip_problem_rows=upload.skip_problem_rows,
                on_screen=True,
                actor=job.owner,
                follower=progress,
            )
    except FileGone:
        raise JobRefused(_nothing_stored(_("The file is no longer kept here; please upload it again."))) from None
    except FileError as error:
        raise JobRefused(_nothing_stored(_in_a_form(error))) from None
    except RaterConflict as error:
        raise JobRefused(_nothing_stored(str(error))) from None
    except RatingsRefusedError as refusal:
        found = refusal.parsed.problems
        raise JobRefused(_refusal(found.total), [str(one) for one in found.shown], found.total) from None
    return progress.outcome


def refuses_ratings(study: Study) -> bool:
    """Whether no file of ratings may be uploaded: a closed study has its results."""
    return study.status == StudyStatus.CLOSED


# --- Looking at a file --------------------------------------------------------------------------------------------


class _Looker(RatingImportFollower):
    def __init__(self, check: RatingCheck) -> None:
        self._check = check

    def opened(self, table: Table, mapping: RatingMapping) -> None:
        self._check.table, self._check.mapping = table, mapping


def _read_into(check: RatingCheck, target: Target, source: RatingsFile, told: Told, maps: Sequence[str]) -> None:
    # Opened on its own first: where no mapping comes about, its columns are what a person chooses from.
    check.table = open_table(source.file, format=source.format, encoding=source.encoding)
    _, _, check.parsed = read_file(
        target=target, source=source, told=told, maps=maps, rows=ROWS_CHECKED, follower=_Looker(check)
    )


def _in_a_form(error: FileError) -> str:
    """Without the option of the command that would answer it."""
    return " ".join(one.text for one in error.questions) if isinstance(error, MappingQuestion) else str(error)


def _choose(check: RatingCheck, maps: Sequence[str], scales: Scales, *, has_rater: bool) -> None:
    if check.mapping is not None:
        check.chosen = check.mapping.as_dict()
    elif check.table is not None:
        check.chosen = suggested_fields(parse_maps(maps), check.columns, scales, has_rater=has_rater)


# --- The job ------------------------------------------------------------------------------------------------------


class _Progress(RatingImportFollower):
    """Reports on the import of one upload, and ends its job in the transaction that stores its ratings."""

    def __init__(self, upload: RatingUpload, reporter: Reporter, by: User) -> None:
        self._upload = upload
        self._reporter = reporter
        self._by = by
        self.outcome = Outcome("")

    def opened(self, table: Table, mapping: RatingMapping) -> None:
        self._reporter.step(_("Reading the rows of %(file)s") % {"file": self._upload.file_name[:100]})

    def reading(self, rows: int) -> None:
        self._reporter.advance(rows)

    def checked(self, parsed: ParsedFile) -> None:
        count = len(parsed.ratings)
        self._reporter.step(ngettext("Storing %(count)d rating", "Storing %(count)d ratings", count) % {"count": count})

    def stored(self, result: ImportResult) -> None:
        # Locked and looked at again: it may have been closed, or its owner deactivated, while its ratings came in.
        study = Study.objects.select_for_update().get(pk=self._upload.block.study_id)
        self._by.refresh_from_db(fields=["is_active", "role"])
        _refuse_if_not_allowed(study, self._by)
        self.outcome = _outcome(result, study, tells_changes=may_see_ratings(user=self._by, study=study))
        self._reporter.finish(self.outcome)


def _outcome(result: ImportResult, study: Study, *, tells_changes: bool) -> Outcome:
    """Without `tells_changes` it is not told what differed from what was there: that would tell others' values."""
    tally, parsed = result.tally, result.parsed
    message = ngettext("%(count)d rating is stored.", "%(count)d ratings are stored.", tally.total)
    counts = {_("ratings"): tally.total}
    if tells_changes:
        counts |= {_("added"): tally.created, _("changed"): tally.changed, _("as they were"): tally.unchanged}
    more = {
        _("new raters"): len(result.new_raters),
        _("empty cells"): parsed.missing,
        _("repeated"): parsed.repeated,
        _("rows of other blocks"): parsed.other_blocks,
    }
    left_out = parsed.problems.total
    text = message % {"count": tally.total}
    if left_out:
        text += " " + _left_out(parsed)
        counts[_("rows left out")] = parsed.bad_rows
    return Outcome(
        text,
        counts | {name: count for name, count in more.items() if count},
        [str(one) for one in parsed.problems.shown],
        reverse("studies:overview", args=[study.slug]),
        left_out,
    )


def _left_out(parsed: ParsedFile) -> str:
    """Rows, and the cells of ratings in them where a row has several."""
    rows, cells = parsed.bad_rows, parsed.bad_cells
    if cells > rows:
        text = ngettext(
            "%(rows)d row with problems was left out, with its %(cells)d cells.",
            "%(rows)d rows with problems were left out, with their %(cells)d cells.",
            rows,
        )
    else:
        text = ngettext("%(rows)d row with problems was left out.", "%(rows)d rows with problems were left out.", rows)
    return text % {"rows": rows, "cells": cells}


def _refuse_if_not_allowed(study: Study, user: User) -> None:
    if refuses_ratings(study):
        raise JobRefused(_nothing_stored(_("The study is closed: it takes no more ratings.")))
    if not study.is_readable_by(user):
        raise JobRefused(_nothing_stored(_("You are no longer owner or researcher of the study.")))


def _refusal(total: int) -> str:
    found = ngettext("Nothing was stored: %(count)d problem.", "Nothing was stored: %(count)d problems.", total)
    hint = _("Mend the file and upload it again, or tick on the check page that these rows are left out.")
    return f"{found % {'count': total}} {hint}"


def _nothing_stored(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}. " + _("Nothing was stored.")


def _locked(upload: RatingUpload) -> RatingUpload:
    return RatingUpload.objects.select_for_update().get(pk=upload.pk)


def _fields_of(told: Told) -> dict[str, Any]:
    return {
        "rater": told.rater,
        "kind": told.kind,
        "is_aggregate": told.is_aggregate,
        "empty_is_missing": told.empty_is_missing,
    }
