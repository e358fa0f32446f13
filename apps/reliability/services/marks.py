"""Whether a study's tables may have changed since they were read: cheap, and never wrong about "no change".

A mark has two parts. `design` is a hash of everything but ratings that the tables depend on. Ratings are told by their
events: every change of a value is one, and a new event has a higher key than those before it, but for transactions
that end in another order than they began. So not only the last key is compared but also how many events there are in a
window before it, and in any case only those of this study count.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.db.models import Count, Max, Q, QuerySet

from apps.annotation.models import RatingEvent
from apps.corpus.models import Conversation, Dataset
from apps.studies.models import Assignment, BlockFramework, Exclusion, Item, Study

# An event of a transaction that is still open can be missed only where this many others were written after it and
# before the transaction ends: seconds of nothing but writing, between the last rating of an import and its end.
WINDOW = 20_000
# Further on than this, nobody looks whose events they are: reading the ratings again is as good.
FAR = 100_000


@dataclass(frozen=True, slots=True)
class Mark:
    """The state of a study at one moment.

    `since`: where the window begins; `last`: the highest key of an event; `events` and `own`: how many there were
    beyond `since`, of any study and of this one.
    """

    design: str
    since: int
    last: int
    events: int
    own: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**stored)


def mark_of(study: Study) -> Mark:
    """Take it before the ratings are read: what changes meanwhile then makes the mark old, never the figures wrong."""
    last = RatingEvent.objects.aggregate(last=Max("pk"))["last"] or 0
    since = max(0, last - WINDOW)
    events = RatingEvent.objects.filter(pk__gt=since).order_by()
    return Mark(_design(study), since, last, events.count(), events.filter(rating__rater__study=study).count())


def still_holds(mark: Mark, study: Study) -> bool:
    """Whether nothing can have changed since; False where something may have."""
    return which_hold([mark], study) == [True]


def which_hold(marks: Sequence[Mark], study: Study) -> list[bool]:
    """`still_holds` for several marks of one study: as many queries as for one."""
    last = RatingEvent.objects.aggregate(last=Max("pk"))["last"] or 0
    near = [mark for mark in marks if last - mark.last <= FAR]
    if not near:
        return [False] * len(marks)
    # Mostly nobody rated anywhere, and that is told without asking whose ratings they are.
    events = _counts(RatingEvent.objects.all(), near)
    if any(events[mark.since] != mark.events for mark in near):
        own = _counts(RatingEvent.objects.filter(rating__rater__study=study), near)
    else:
        own = {mark.since: mark.own for mark in near}
    design = _design(study)
    return [mark in near and own[mark.since] == mark.own and mark.design == design for mark in marks]


def _counts(events: QuerySet[RatingEvent], marks: Sequence[Mark]) -> dict[int, int]:
    """How many of the events are beyond each mark's `since`. One query."""
    beyond = sorted({mark.since for mark in marks})
    counts = {f"n{place}": Count("pk", Q(pk__gt=since)) for place, since in enumerate(beyond)}
    found = events.filter(pk__gt=beyond[0]).order_by().aggregate(**counts)
    return {since: found[f"n{place}"] for place, since in enumerate(beyond)}


def _design(study: Study) -> str:
    """A hash of what the tables depend on beside the ratings."""
    facts = [_seed(study), _blocks(study), _items(study), _conversations(study), _raters(study), _work(study)]
    return hashlib.sha256(json.dumps([*facts, _exclusions(study)], default=str).encode()).hexdigest()


def _seed(study: Study) -> int | None:
    # As it is now, rather than as it was when the row was fetched.
    return Study.objects.filter(pk=study.pk).values_list("seed", flat=True).first()


def _blocks(study: Study) -> list[Any]:
    """Blocks in their order, and their frameworks by what they say."""
    used = BlockFramework.objects.filter(block__study=study).order_by("block__position", "position")
    columns = ("block__slug", "block__title", "framework__slug", "framework__version", "framework__content_hash")
    return list(used.values_list("block_id", *columns))


def _items(study: Study) -> list[Any]:
    """Items come and go with new keys; none is changed."""
    items = Item.objects.filter(block__study=study).order_by("block_id", "role")
    return list(items.values_list("block_id", "role").annotate(Count("pk"), Max("pk")))


def _conversations(study: Study) -> list[Any]:
    """Ids and metadata of conversations change only in datasets that are not frozen: the others need no look."""
    datasets = Dataset.objects.filter(blocks__study=study).distinct()
    frozen = list(datasets.order_by("pk").values_list("pk", "frozen_at"))
    free = Conversation.objects.filter(dataset__in=[pk for pk, frozen_at in frozen if frozen_at is None])
    changed = free.order_by("dataset_id").values_list("dataset_id").annotate(Count("pk"), Max("updated_at"))
    return [frozen, list(changed)]


def _raters(study: Study) -> list[Any]:
    columns = ("pk", "name", "kind", "is_aggregate", "is_simulated", "left_at")
    return list(study.raters.order_by("pk").values_list(*columns))


def _work(study: Study) -> list[Any]:
    """What was handed in, and what was not: ratings of the latter are drafts."""
    work = Assignment.objects.filter(rater__study=study).order_by("state")
    return list(work.values_list("state").annotate(Count("pk"), Max("pk"), Max("finished_at")))


def _exclusions(study: Study) -> dict[str, Any]:
    found = Exclusion.objects.filter(rater__study=study)
    return found.aggregate(
        n=Count("pk"), in_force=Count("pk", Q(reverted_at=None)), last=Max("pk"), reverted=Max("reverted_at")
    )
