"""Snapshots: the agreement of a study computed once for the same data, and kept.

Whether a snapshot still says what the ratings say is told in two steps. `mark_of` is cheap and never misses a change,
but may differ without one (somebody rated in another study). Then the tables are loaded again, and their hash decides.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Max
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.annotation.models import RatingEvent
from apps.common.models import OPEN_STATES, Job
from apps.common.services.jobs import JobRefused, Outcome, Reporter, create_job
from apps.common.version import VERSION
from apps.reliability.agreement import DEFAULT_RESAMPLES, Agreement, Settings, analyse
from apps.reliability.documents import versions
from apps.reliability.frozen import Freezer
from apps.reliability.matrix import RatingTable, content_hash, table_hash
from apps.reliability.models import Snapshot, SnapshotRequest
from apps.reliability.row_files import pack_rows
from apps.reliability.selection import DataSelection
from apps.reliability.services.accounts import account_of
from apps.reliability.services.loading import load_tables
from apps.studies.models import Assignment, Exclusion, Item, Study

SNAPSHOT_TASK = "reliability.take_snapshot"


class NothingRatedError(ValueError):
    """There are no finished ratings in this selection."""


def mark_of(study: Study) -> str:
    """A text that changes whenever the study's finished ratings, items or exclusions may have. A few queries."""
    exclusions = Exclusion.objects.filter(rater__study=study)
    assignments = Assignment.objects.filter(rater__study=study).order_by("state").values("state")
    facts: list[Any] = [
        RatingEvent.objects.aggregate(last=Max("pk")),
        list(assignments.annotate(n=Count("pk"), last=Max("finished_at"))),
        exclusions.aggregate(n=Count("pk"), last=Max("pk"), reverted=Max("reverted_at")),
        Item.objects.filter(block__study=study).aggregate(n=Count("pk"), last=Max("pk")),
        study.raters.aggregate(n=Count("pk"), last=Max("updated_at")),
        study.blocks.aggregate(n=Count("pk"), last=Max("updated_at")),
        study.seed,
    ]
    return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()


def latest_snapshot(*, study: Study, selection: DataSelection, resamples: int = DEFAULT_RESAMPLES) -> Snapshot | None:
    """The youngest snapshot of the selection, of whatever age; without its bytes. `is_current` tells its age."""
    return (
        Snapshot.objects.light()
        .filter(study=study, selection_key=selection.key, resamples=resamples)
        .order_by("-updated_at", "-pk")
        .first()
    )


def is_current(snapshot: Snapshot) -> bool:
    """Whether nothing can have changed since; False where something may have."""
    study = snapshot.study
    return snapshot.program == VERSION and snapshot.seed == study.seed and snapshot.mark == mark_of(study)


def request_snapshot(
    *, study: Study, selection: DataSelection, by: User, resamples: int = DEFAULT_RESAMPLES, back_url: str = ""
) -> Job:
    """The job that computes the selection's agreement; the caller starts it. One that waits or runs is given back."""
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)
        found = SnapshotRequest.objects.filter(
            study=study, selection_key=selection.key, resamples=resamples, job__state__in=OPEN_STATES
        )
        if open_request := found.select_related("job").first():
            return open_request.job
        job = create_job(
            kind="agreement.compute",
            task=SNAPSHOT_TASK,
            title=_("Agreement of %(study)s") % {"study": study.title},
            owner=by,
            back_url=back_url,
        )
        SnapshotRequest.objects.create(
            job=job, study=study, selection=selection.as_dict(), selection_key=selection.key, resamples=resamples
        )
        return job


def open_request(*, study: Study, selection: DataSelection) -> SnapshotRequest | None:
    """A snapshot of the selection that is being computed now, with its job."""
    waiting = SnapshotRequest.objects.filter(study=study, selection_key=selection.key, job__state__in=OPEN_STATES)
    return waiting.select_related("job").first()


def take_requested_snapshot(job: Job, reporter: Reporter) -> Outcome:
    """The work of the job. Raises JobRefused where nothing was rated."""
    wanted = SnapshotRequest.objects.select_related("study").get(job=job)
    try:
        snapshot = take_snapshot(
            study=wanted.study,
            selection=DataSelection.from_dict(wanted.selection),
            by=job.owner,
            resamples=wanted.resamples,
            reporter=reporter,
        )
    except NothingRatedError as problem:
        raise JobRefused(str(problem)) from None
    with transaction.atomic():
        SnapshotRequest.objects.filter(pk=wanted.pk).update(snapshot=snapshot)
        outcome = Outcome(
            _("The agreement is computed."),
            {"ratings": snapshot.n_ratings, "raters": snapshot.n_raters, "scales": snapshot.n_tables},
            url=job.back_url,
        )
        reporter.finish(outcome)
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
    chosen = selection or DataSelection()
    # Before the ratings: what changes meanwhile makes the mark old, never the figures wrong.
    mark = mark_of(study)
    if known := _known(study, chosen, resamples, mark):
        return known
    freezer = Freezer()
    tables = _told(load_tables(study=study, selection=chosen), reporter)
    agreement = analyse(freezer.passing(tables), Settings(resamples=resamples, seed=study.seed), both_conventions=True)
    if not agreement.tables:
        raise NothingRatedError(_("Nothing is rated yet: agreement needs ratings that are handed in."))
    return _kept(study, chosen, agreement, freezer, mark, by)


def _known(study: Study, selection: DataSelection, resamples: int, mark: str) -> Snapshot | None:
    """The snapshot of the data as they are now, where there is one."""
    kept = Snapshot.objects.light().filter(
        study=study, selection_key=selection.key, resamples=resamples, seed=study.seed, program=VERSION
    )
    if not kept.exists():
        return None
    data_hash = content_hash(table_hash(table) for table in load_tables(study=study, selection=selection))
    found = kept.filter(data_hash=data_hash).first()
    if found is not None:
        found.mark = mark
        found.save(update_fields=["mark", "updated_at"])
    return found


def _told(tables: Iterable[RatingTable], reporter: Reporter | None) -> Iterator[RatingTable]:
    """The tables, with word of each before it is computed."""
    for number, table in enumerate(tables):
        if reporter is not None:
            if number == 0:
                reporter.step(_("Computing agreement, scale by scale"))
            reporter.advance(number)
        yield table


def _kept(
    study: Study, selection: DataSelection, agreement: Agreement, freezer: Freezer, mark: str, by: User | None
) -> Snapshot:
    identity = {
        "study": study,
        "selection_key": selection.key,
        "data_hash": agreement.data_hash,
        "seed": agreement.settings.seed,
        "resamples": agreement.settings.resamples,
        "program": VERSION,
    }
    details = {
        "selection": selection.as_dict(),
        "versions": versions(),
        "mark": mark,
        "n_tables": agreement.tables,
        "n_raters": agreement.raters,
        "n_ratings": agreement.ratings,
        "account": account_of(study=study, selection=selection),
        "notes": [asdict(note) for note in agreement.notes],
        "data": freezer.bytes(),
        "results": pack_rows(agreement.rows, agreement.other_rows),
        "created_by": by,
    }
    try:
        with transaction.atomic():
            return Snapshot.objects.create(**identity, **details)
    except IntegrityError:
        # Somebody else computed the same at the same time.
        return Snapshot.objects.light().get(**identity)
