"""What the agreement pages of a study have to choose from, and how its figures stand: computed, old, on their way."""

from dataclasses import dataclass, replace
from functools import cached_property

from django.core.cache import cache
from django.db import OperationalError
from django.db.models import Count, Max, Q
from django.utils import timezone

from apps.accounts.models import User
from apps.annotation.models import Rating
from apps.common.models import Job, JobState
from apps.common.services.heartbeats import is_worker_alive
from apps.corpus.models import Conversation
from apps.corpus.parsing.records import text_fault
from apps.dashboard.agreement.query import Offer
from apps.reliability.labels import Labels
from apps.reliability.matrix import GROUP_NAMES, Kind
from apps.reliability.models import Snapshot, SnapshotRequest
from apps.reliability.selection import DataSelection
from apps.reliability.services.estimating import computes_quickly
from apps.reliability.services.labelling import labels_of
from apps.reliability.services.snapshots import NothingRatedError, is_current, latest_snapshot, take_snapshot
from apps.studies.models import Item, RaterKind, Study
from apps.studies.selection import Trait, Traits, tally_traits

# Names with more values than these are no groups to look at one by one.
MOST_VALUES = 20
# (until so many seconds after it was asked for, the page asks every so many seconds)
POLLING = ((60, 1), (600, 3))
SLOWEST_POLLING = 10


@dataclass(frozen=True)
class Choices:
    """What a study has to choose from, with its words. raters: (name, kind) of all but the single crowd workers;
    groups: those that have a rater."""

    labels: Labels
    groups: frozenset[str]
    raters: tuple[tuple[str, str], ...]
    traits: tuple[Trait, ...]

    @cached_property
    def offer(self) -> Offer:
        return Offer(
            frameworks={block.slug: [slug for slug, _version in block.frameworks] for block in self.labels.blocks},
            raters={name: GROUP_NAMES[Kind(kind)] for name, kind in self.raters},
            traits={trait.name: [value for value, _n in trait.values] for trait in self.traits},
        )


def choices_of(study: Study, named: list[str]) -> Choices:
    """`named`: raters whom the address names; of the crowd's workers only they are looked for."""
    sought = [name for name in named if not text_fault(name)]
    listed = study.raters.filter(~Q(kind=RaterKind.CROWD) | Q(is_aggregate=True) | Q(name__in=sought))
    kinds = list(Kind)
    raters = sorted(listed.values_list("name", "kind"), key=lambda rater: (kinds.index(Kind(rater[1])), rater[0]))
    groups = frozenset(
        GROUP_NAMES[Kind(kind)] for kind in study.raters.order_by().values_list("kind", flat=True).distinct()
    )
    return Choices(labels_of(study), groups, tuple(raters), tuple(_traits_of(study)))


def _traits_of(study: Study) -> list[Trait]:
    """By which the study's conversations can be told apart: names with a few values. Kept until something changes."""
    items = Item.objects.filter(block__study=study)
    facts = items.aggregate(n=Count("pk"), last=Max("pk"), changed=Max("conversation__updated_at"))
    if not facts["n"]:
        return []
    key = f"agreement-traits:{study.pk}:{facts['n']}:{facts['last']}:{facts['changed'].timestamp()}"
    found: list[Trait] | None = cache.get(key)
    if found is None:
        rows = Conversation.objects.filter(pk__in=items.values("conversation_id")).order_by("pk")
        tallied = tally_traits(Traits(*row) for row in rows.values_list("metadata", "factors", "language").iterator())
        found = [trait for trait in tallied if trait.is_listed and 1 < len(trait.counts) <= MOST_VALUES]
        cache.set(key, found)
    return found


@dataclass(frozen=True)
class Standing:
    """How the figures of one selection stand. `request` is the last time a job was asked for them."""

    study: Study
    selection: DataSelection
    snapshot: Snapshot | None
    request: SnapshotRequest | None
    # Why there is nothing to compute, where that was tried at once.
    nothing: str = ""

    @cached_property
    def job(self) -> Job | None:
        return self.request.job if self.request else None

    @property
    def is_everything(self) -> bool:
        return self.selection.is_everything

    @property
    def is_computing(self) -> bool:
        return self.job is not None and self.job.is_open

    @cached_property
    def is_current(self) -> bool:
        return self.snapshot is not None and is_current(self.snapshot)

    @cached_property
    def has_ratings(self) -> bool:
        return Rating.objects.finished().filter(rater__study=self.study).exists()

    @property
    def ended_badly(self) -> bool:
        """Whether the last attempt failed or was cancelled, and nothing was computed since."""
        if self.job is None or self.job.state not in (JobState.FAILED, JobState.CANCELLED):
            return False
        ended = self.job.finished_at
        return self.snapshot is None or (ended is not None and ended > self.snapshot.updated_at)

    @cached_property
    def has_no_worker(self) -> bool:
        return self.job is not None and self.job.waits_long and not is_worker_alive()

    @property
    def poll_seconds(self) -> int:
        if self.job is None:
            return SLOWEST_POLLING
        age = (timezone.now() - self.job.created_at).total_seconds()
        return next((seconds for until, seconds in POLLING if age < until), SLOWEST_POLLING)


def standing_of(study: Study, selection: DataSelection) -> Standing:
    requests = SnapshotRequest.objects.filter(study=study, selection_key=selection.key)
    snapshot = latest_snapshot(study=study, selection=selection)
    if snapshot is not None:
        snapshot.study = study
    return Standing(study, selection, snapshot, requests.select_related("job").first())


def standing_at_once(study: Study, selection: DataSelection, *, by: User) -> Standing:
    """The same; figures that were never computed are computed here and now where that takes but a moment."""
    standing = standing_of(study, selection)
    if standing.snapshot or standing.request or not standing.has_ratings or not computes_quickly(study):
        return standing
    return computed_at_once(standing, by=by)


def computed_at_once(standing: Standing, *, by: User) -> Standing:
    """With figures as new as the ratings. While the database is busy it stays as it was: a job waits for it."""
    study, selection = standing.study, standing.selection
    try:
        snapshot = take_snapshot(study=study, selection=selection, by=by)
    except NothingRatedError as problem:
        return replace(standing, nothing=str(problem))
    except OperationalError:
        return standing
    snapshot.study = study
    return replace(standing, snapshot=snapshot)
