"""Snapshots: the agreement of a study computed once for the same data, and kept.

Whether a snapshot still says what the ratings say is told in two steps. Its mark (marks.py) is cheap and never misses a
change, but may tell of one where there is none. Then the tables are read again, and their hash decides.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import OPEN_STATES, Job
from apps.common.services.jobs import JobRefused, Outcome, Reporter, create_job
from apps.common.version import VERSION
from apps.reliability.accounting import Account
from apps.reliability.agreement import DEFAULT_RESAMPLES, Settings, analyse
from apps.reliability.documents import versions
from apps.reliability.frozen import Freezer
from apps.reliability.labels import Labels
from apps.reliability.matrix import RatingTable, content_hash, table_hash
from apps.reliability.models import Snapshot, SnapshotRequest
from apps.reliability.row_files import pack_rows
from apps.reliability.selection import DataSelection
from apps.reliability.services.accounts import account_of
from apps.reliability.services.labelling import labels_of
from apps.reliability.services.loading import StudyTables, load_tables
from apps.reliability.services.marks import Mark, mark_of, still_holds, which_hold
from apps.reliability.services.reading import SnapshotView
from apps.studies.models import Study
from apps.studies.services.blindness import may_see_ratings

SNAPSHOT_TASK = "reliability.take_snapshot"
# What there is one snapshot of.
IDENTITY = ("study", "selection_key", "data_hash", "seed", "resamples", "program")
# A change between two readings of one attempt is rare, and what was read last is good all the same.
READINGS = 2
# Somebody may be looking at a snapshot, or a report may be about to hold it.
SUPERSEDED_KEPT_FOR = timedelta(hours=1)


class NothingRatedError(ValueError):
    """There are no finished ratings in this selection."""


def latest_snapshot(*, study: Study, selection: DataSelection, resamples: int = DEFAULT_RESAMPLES) -> Snapshot | None:
    """The youngest snapshot of the selection, of whatever age; without its bytes. `is_current` tells its age."""
    return (
        Snapshot.objects.light()
        .filter(study=study, selection_key=selection.key, resamples=resamples)
        .order_by("-updated_at", "-pk")
        .first()
    )


def is_current(snapshot: Snapshot) -> bool:
    """Whether nothing can have changed since; False where something may have. A constant number of queries."""
    return bool(current_among([snapshot], study=snapshot.study))


def current_among(snapshots: Iterable[Snapshot], *, study: Study) -> set[int]:
    """The keys of those snapshots of the study that `is_current` holds for, in as many queries as one of them takes."""
    seed = Study.objects.filter(pk=study.pk).values_list("seed", flat=True).first()
    marks = {
        one.pk: Mark.from_dict(one.mark)
        for one in snapshots
        if one.study_id == study.pk and one.program == VERSION and one.seed == seed and one.mark
    }
    if not marks:
        return set()
    return {pk for pk, holds in zip(marks, which_hold(list(marks.values()), study), strict=True) if holds}


def request_snapshot(
    *, study: Study, selection: DataSelection, by: User, resamples: int = DEFAULT_RESAMPLES, back_url: str = ""
) -> Job:
    """The job that computes the selection's agreement; the caller starts it. One that waits or runs is given back:
    it may be somebody else's.

    Raises PermissionDenied for whoever may not see the study's ratings.
    """
    if not may_see_ratings(user=by, study=study):
        raise PermissionDenied
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if waiting := open_request(study=study, selection=selection, resamples=resamples):
            return waiting.job
        job = create_job(
            kind="agreement.compute",
            task=SNAPSHOT_TASK,
            title=_("Agreement of %(study)s") % {"study": study.title},
            owner=by,
            back_url=back_url,
            # An admin who rates in the study sees that it runs, and nothing of what it found.
            is_private=True,
        )
        SnapshotRequest.objects.create(
            job=job, study=study, selection=selection.as_dict(), selection_key=selection.key, resamples=resamples
        )
        return job


def open_request(
    *, study: Study, selection: DataSelection, resamples: int = DEFAULT_RESAMPLES
) -> SnapshotRequest | None:
    """A snapshot of the selection that is being computed now, with its job."""
    waiting = SnapshotRequest.objects.filter(
        study=study, selection_key=selection.key, resamples=resamples, job__state__in=OPEN_STATES
    )
    return waiting.select_related("job").first()


def take_requested_snapshot(job: Job, reporter: Reporter) -> Outcome:
    """The work of the job. Raises JobRefused where nothing was rated."""
    wanted = SnapshotRequest.objects.select_related("study").get(job=job)
    selection = DataSelection.from_dict(wanted.selection)
    try:
        found = _find_or_compute(wanted.study, selection, wanted.resamples, reporter)
    except NothingRatedError as problem:
        raise JobRefused(str(problem)) from None
    with transaction.atomic():
        snapshot = _kept(found, by=job.owner)
        SnapshotRequest.objects.filter(pk=wanted.pk).update(snapshot=snapshot)
        outcome = Outcome(
            _("The agreement is computed."),
            {"ratings": snapshot.n_ratings, "raters": snapshot.n_raters, "scales": snapshot.n_tables},
            url=job.back_url,
        )
        reporter.finish(outcome)
    forget_superseded(wanted.study)
    return outcome


def take_snapshot(
    *,
    study: Study,
    selection: DataSelection | None = None,
    by: User | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    reporter: Reporter | None = None,
) -> Snapshot:
    """Computes the study's agreement in both conventions and keeps it with its ratings.

    Where the ratings are those of a snapshot that exists, that one is given back. Raises NothingRatedError.
    """
    found = _find_or_compute(study, selection or DataSelection(), resamples, reporter)
    with transaction.atomic():
        snapshot = _kept(found, by=by)
    forget_superseded(study)
    return snapshot


def forget_superseded(study: Study) -> int:
    """Deletes snapshots in whose place there is a later one of the same selection, but for those that a report holds
    and those in use until lately. How many were deleted."""
    latest: set[tuple[str, int]] = set()
    gone = 0
    before = timezone.now() - SUPERSEDED_KEPT_FOR
    rows = study.snapshots.order_by("-updated_at", "-pk").values_list("pk", "selection_key", "resamples", "updated_at")
    for pk, selection_key, resamples, updated_at in rows:
        if (selection_key, resamples) not in latest:
            latest.add((selection_key, resamples))
        elif updated_at < before:
            gone += _deleted(pk)
    return gone


def _deleted(pk: int) -> bool:
    try:
        with transaction.atomic():
            # Not fetched with its bytes, only to be deleted.
            for snapshot in Snapshot.objects.light().filter(pk=pk):
                snapshot.delete()
    except (ProtectedError, IntegrityError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Read:
    """A study's ratings with what is told of them, read at one moment: `mark` is from before."""

    study: Study
    selection: DataSelection
    mark: Mark
    tables: StudyTables
    account: Account
    labels: Labels


def _find_or_compute(
    study: Study, selection: DataSelection, resamples: int, reporter: Reporter | None
) -> Snapshot | dict[str, Any]:
    """The snapshot of the data as they are now, or the fields of a new one."""
    if reporter is not None:
        reporter.step(_("Reading the ratings"))
    study.refresh_from_db(fields=["seed"])
    read = _read(study, selection)
    if not len(read.tables):
        raise NothingRatedError(_nothing_rated(read))
    return _known(read, resamples) or _computed(read, resamples, reporter)


def _read(study: Study, selection: DataSelection) -> _Read:
    """Once more where something changed while it was read: half of it would be from before the change.

    On a study in which people rate without a pause that may be so again. The mark then no longer holds, and the
    figures are never said to be current.
    """
    for attempt in range(1, READINGS + 1):
        mark = mark_of(study)
        tables = load_tables(study=study, selection=selection)
        read = _Read(study, selection, mark, tables, account_of(study=study, tables=tables), labels_of(study))
        if attempt == READINGS or still_holds(mark, study):
            break
    return read


def _nothing_rated(read: _Read) -> str:
    counts = read.account.ratings
    if counts.stored == 0:
        return _("Nothing is rated yet. Agreement needs ratings.")
    if counts.finished == 0:
        return _("Nothing is handed in yet. Agreement is computed from items that raters have finished.")
    if read.selection.metadata:
        return _("None of the chosen conversations has a finished rating that takes part. Choose others.")
    if counts.of_excluded_raters or counts.excluded_singly:
        return _("No rating takes part: every rating of a main item is excluded. Take excluded raters in to see them.")
    return _("No rating takes part: only practice, gold and attention items are rated so far.")


def _known(read: _Read, resamples: int) -> Snapshot | None:
    """The snapshot of the data as they are now, where there is one, with the mark of now."""
    kept = Snapshot.objects.light().filter(
        study=read.study,
        selection_key=read.selection.key,
        resamples=resamples,
        seed=read.study.seed,
        program=VERSION,
    )
    if not kept.exists():
        return None
    same = kept.filter(data_hash=content_hash(map(table_hash, read.tables)))
    # Labels and account may have changed although no rating has: a rater left, a block has another title.
    told = {"mark": read.mark.as_dict(), "labels": read.labels.as_dict(), "account": read.account.as_dict()}
    found = same.first() if same.update(**told, updated_at=timezone.now()) else None
    return found if found is not None and SnapshotView(found).is_whole else None


def _computed(read: _Read, resamples: int, reporter: Reporter | None) -> dict[str, Any]:
    """The fields of a snapshot, but for who asked for it."""
    freezer = Freezer()
    settings = Settings(resamples=resamples, seed=read.study.seed)
    agreement = analyse(freezer.passing(_told(read.tables, reporter)), settings, both_conventions=True)
    return {
        "study": read.study,
        "selection": read.selection.as_dict(),
        "selection_key": read.selection.key,
        "data_hash": agreement.data_hash,
        "seed": settings.seed,
        "resamples": resamples,
        "program": VERSION,
        "versions": versions(),
        "mark": read.mark.as_dict(),
        "n_tables": agreement.tables,
        "n_raters": agreement.raters,
        "n_ratings": agreement.ratings,
        "labels": read.labels.as_dict(),
        "account": read.account.as_dict(),
        "notes": [asdict(note) for note in agreement.notes],
        "data": freezer.bytes(),
        "results": pack_rows(agreement.rows, agreement.other_rows),
    }


def _told(tables: StudyTables, reporter: Reporter | None) -> Iterable[RatingTable]:
    return tables if reporter is None else _telling(tables, reporter)


def _telling(tables: StudyTables, reporter: Reporter) -> Iterator[RatingTable]:
    """The tables, with word of each before it is computed."""
    reporter.step(_("Computing agreement, scale by scale"), total=len(tables))
    for number, table in enumerate(tables):
        reporter.advance(number)
        yield table
    reporter.step(_("Keeping the figures"))


def _kept(found: Snapshot | dict[str, Any], *, by: User | None) -> Snapshot:
    """Within a transaction. What somebody else has computed from the same data at the same time is given back."""
    if isinstance(found, Snapshot):
        return found
    try:
        with transaction.atomic():
            return Snapshot.objects.create(**found, created_by=by)
    except IntegrityError:
        same = Snapshot.objects.filter(**{name: found[name] for name in IDENTITY})
        if not SnapshotView(same.get()).is_whole:
            # Its figures are those of the same ratings: only the bytes are another's.
            same.update(**{name: found[name] for name in found if name not in IDENTITY})
        return same.light().get()
