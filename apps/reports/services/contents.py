"""What a report of a study holds, from a snapshot or computed at once, in words that were kept with the figures."""

from dataclasses import replace
from datetime import datetime
from functools import partial

from apps.measures.pairs import Convention
from apps.reliability.agreement import Settings, analyse
from apps.reliability.comparisons import study_plan
from apps.reliability.documents import versions
from apps.reliability.frozen import Freezer, FrozenTables
from apps.reliability.models import Snapshot
from apps.reliability.selection import DataSelection
from apps.reliability.services.accounts import account_of
from apps.reliability.services.labelling import labels_of
from apps.reliability.services.loading import load_tables
from apps.reliability.services.reading import SnapshotView
from apps.reports.commands import study_command
from apps.reports.contents import Comparisons, ReportContent, ReportOptions
from apps.studies.models import Study


def content_of_snapshot(snapshot: Snapshot, options: ReportOptions) -> ReportContent:
    """The report that `options` choose from the snapshot. Raises kept.UnreadableError where its bytes are damaged."""
    view = SnapshotView(snapshot)
    study = snapshot.study
    other = Convention.OBSERVED if options.convention is Convention.SCALE else Convention.SCALE
    agreement = replace(view.agreement(options.convention.value), other_rows=tuple(view.rows(convention=other.value)))
    return ReportContent(
        title=study.title,
        study=study.slug,
        ratings_file="",
        generated_at=snapshot.created_at,
        agreement=agreement,
        comparisons=Comparisons(),
        options=options,
        scales=tuple(view.scales()),
        account=view.account,
        selection=snapshot.chosen,
        versions=snapshot.versions,
        command=study_command(study.slug, agreement.settings, options, snapshot.chosen, Comparisons()),
        data=bytes(snapshot.data),
        description=study.description,
    )


def content_of_study(
    *,
    study: Study,
    settings: Settings,
    options: ReportOptions,
    comparisons: Comparisons,
    selection: DataSelection,
    at: datetime,
) -> ReportContent:
    """The report of the ratings as they are now, with comparisons or a seed that no snapshot has.

    Nothing is stored. A study without a finished rating has a report without rows.
    """
    freezer = Freezer()
    plan = partial(study_plan, all_pairs=comparisons.all_pairs, pool_models=comparisons.pool_models)
    tables = load_tables(study=study, selection=selection)
    agreement = analyse(freezer.passing(tables), settings, plan=plan, both_conventions=True)
    data = freezer.bytes()
    known = {scale.key: scale for scale in labels_of(study).scales()}
    return ReportContent(
        title=study.title,
        study=study.slug,
        ratings_file="",
        generated_at=at,
        agreement=agreement,
        comparisons=comparisons,
        options=options,
        scales=tuple(known[scale.key] for scale in FrozenTables(data).scales()),
        account=account_of(study=study, tables=tables),
        selection=selection,
        versions=versions(),
        command=study_command(study.slug, settings, options, selection, comparisons),
        data=data,
        description=study.description,
    )
