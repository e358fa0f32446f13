"""The agreement of a study from its ratings as they are now: computed, or from a snapshot that holds it already."""

from collections.abc import Iterable, Sequence
from functools import partial

from apps.reliability.agreement import Agreement, Planner, Settings, analyse
from apps.reliability.comparisons import study_plan
from apps.reliability.documents import versions
from apps.reliability.kept import UnreadableError
from apps.reliability.matrix import RaterKey
from apps.reliability.selection import DataSelection
from apps.reliability.services.loading import load_tables
from apps.reliability.services.reading import SnapshotView
from apps.reliability.services.snapshots import is_current, latest_snapshot
from apps.studies.models import Study


def agreement_of_study(
    *,
    study: Study,
    settings: Settings,
    block: str | None = None,
    framework: str | None = None,
    all_pairs: bool = False,
    pool_models: bool = False,
    most_comparisons: int | None = None,
) -> Agreement:
    """Every comparison of the study, or of one block or framework (slugs). Nothing is stored.

    Raises TooManyComparisonsError where there would be more than `most_comparisons`, before any is computed.
    """
    plan = partial(study_plan, all_pairs=all_pairs, pool_models=pool_models)
    tables = load_tables(study=study, block=block, framework=framework)
    _check_number(tables.raters_by_table(), plan, most_comparisons)
    return analyse(tables, settings, plan=plan)


def kept_agreement(
    *,
    study: Study,
    settings: Settings,
    block: str | None = None,
    framework: str | None = None,
    most_comparisons: int | None = None,
) -> Agreement | None:
    """What `agreement_of_study` would compute, to the last digit, from a snapshot. None where none was taken with these
    settings, or something may have changed since."""
    snapshot = latest_snapshot(study=study, selection=DataSelection(), resamples=settings.resamples)
    if snapshot is None or snapshot.seed != settings.seed or snapshot.versions != versions():
        return None
    if not is_current(snapshot):
        return None
    view = SnapshotView(snapshot)
    try:
        scales = (scale.key for scale in view.frozen.scales())
        wanted = [key for key in scales if block in (None, key.block) and framework in (None, key.framework)]
        _check_number((view.frozen.raters_of(key.block) for key in wanted), study_plan, most_comparisons)
        return view.agreement(settings.convention, block=block or "", framework=framework or "")
    except UnreadableError:
        return None


def _check_number(tables: Iterable[Sequence[RaterKey]], plan: Planner, most: int | None) -> None:
    """Raises TooManyComparisonsError."""
    if most is None:
        return
    plans = [plan(raters) for raters in tables]
    total = sum(len(one.pairs) + len(one.groups) for one in plans)
    if total > most:
        raise TooManyComparisonsError(total)


class TooManyComparisonsError(ValueError):
    """More comparisons than a caller is ready to wait for; `total` says how many."""

    def __init__(self, total: int) -> None:
        super().__init__(f"{total} comparisons")
        self.total = total
