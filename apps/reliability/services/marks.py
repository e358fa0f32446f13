"""Whether a study's tables may have changed since they were read: cheap, and never wrong about "no change".

A mark has three parts. `design` is a hash of what the tables depend on beside ratings and work: small, or told by its
last row. Ratings are told by their events: every change of a value is one, with a higher key than those before it. Work
handed in is told by when its row was last written. Transactions may end in another order than they began, so not only
the last event or row is compared but also how many there are in a window before it; and only those of the study count.
What is asked of the database does not grow with the study, only with what happened since.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from django.db.models import BooleanField, Case, Count, Exists, Max, OuterRef, Q, QuerySet, Subquery, When
from django.utils import timezone

from apps.annotation.models import Rating, RatingEvent
from apps.corpus.models import Conversation, Dataset
from apps.studies.models import Assignment, BlockFramework, Exclusion, Item, Rater, Study

# An event of a transaction that is still open can be missed only where this many others were written after it and
# before the transaction ends: seconds of nothing but writing, between the last rating of an import and its end.
WINDOW = 20_000
# The same for work: a transaction that hands an item in is over by then, whatever the clock of its machine says.
WORK_WINDOW = timedelta(minutes=10)
# Further on than this, nobody looks whose events they are: reading the ratings again is as good.
FAR = 100_000


@dataclass(frozen=True, slots=True)
class Mark:
    """The state of a study at one moment.

    `since`: where the window of events begins; `last`: the highest key of an event; `events` and `own`: how many there
    were beyond `since`, of any study and of this one. `work_since`: where the window of work begins (ISO 8601); `work`:
    by state how many of the study's assignments were written in it, and when the last of them.
    """

    design: str
    since: int
    last: int
    events: int
    own: int
    work_since: str
    work: list[list[Any]]

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
    work_since = (timezone.now() - WORK_WINDOW).isoformat()
    return Mark(
        design=_design(study),
        since=since,
        last=last,
        events=events.count(),
        own=_own(events, study).count(),
        work_since=work_since,
        work=_work(study, [work_since])[work_since],
    )


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
        own = _counts(_own(RatingEvent.objects.all(), study), near)
    else:
        own = {mark.since: mark.own for mark in near}
    work = _work(study, [mark.work_since for mark in near])
    design = _design(study)
    return [
        mark in near and own[mark.since] == mark.own and work[mark.work_since] == mark.work and mark.design == design
        for mark in marks
    ]


def _own(events: QuerySet[RatingEvent], study: Study) -> QuerySet[RatingEvent]:
    """Those of the study's ratings."""
    return events.filter(_told_by(Rating.objects.filter(pk=OuterRef("rating"), rater__study=study)))


def _told_by(rows: QuerySet[Any]) -> Case:
    """Whether there is such a row: looked up one by one. Of a join, the database would read everything of a study."""
    return Case(When(Exists(rows), then=True), default=False, output_field=BooleanField())


def _counts(events: QuerySet[RatingEvent], marks: Sequence[Mark]) -> dict[int, int]:
    """How many of the events are beyond each mark's `since`. One query."""
    beyond = sorted({mark.since for mark in marks})
    counts = {f"n{place}": Count("pk", Q(pk__gt=since)) for place, since in enumerate(beyond)}
    found = events.filter(pk__gt=beyond[0]).order_by().aggregate(**counts)
    return {since: found[f"n{place}"] for place, since in enumerate(beyond)}


def _work(study: Study, sinces: Iterable[str]) -> dict[str, list[list[Any]]]:
    """[state, how many, the last] of the study's assignments written since each of the moments. One query.

    Ratings of what was not handed in are drafts.
    """
    moments = {since: datetime.fromisoformat(since) for since in sorted(set(sinces))}
    facts: dict[str, Any] = {}
    for place, moment in enumerate(moments.values()):
        since = Q(updated_at__gt=moment)
        facts |= {f"n{place}": Count("pk", since), f"last{place}": Max("updated_at", filter=since)}
    rater = Rater.objects.filter(pk=OuterRef("rater"), study=study)
    lately = Assignment.objects.filter(_told_by(rater), updated_at__gt=min(moments.values())).order_by("state")
    found: list[Any] = list(lately.values("state").annotate(**facts))
    return {
        since: [[row["state"], row[f"n{place}"], str(row[f"last{place}"])] for row in found if row[f"n{place}"]]
        for place, since in enumerate(moments)
    }


def _design(study: Study) -> str:
    """A hash of what the tables depend on beside ratings and work."""
    facts = [_seed(study), _blocks(study), _items(study), _conversations(study), _raters(study), _exclusions(study)]
    return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()


def _seed(study: Study) -> int | None:
    # As it is now, rather than as it was when the row was fetched.
    return Study.objects.filter(pk=study.pk).values_list("seed", flat=True).first()


def _blocks(study: Study) -> list[Any]:
    """Blocks in their order, and their frameworks by what they say."""
    used = BlockFramework.objects.filter(block__study=study).order_by("block__position", "position")
    columns = ("block__slug", "block__title", "framework__slug", "framework__version", "framework__content_hash")
    return list(used.values_list("block_id", *columns))


def _items(study: Study) -> list[Any]:
    """Items of a block are laid all anew or added at its end, and none is changed: its last one tells them all."""
    last = Item.objects.filter(block=OuterRef("pk")).order_by("-position").values("pk")[:1]
    blocks = study.blocks.order_by("pk").annotate(last_item=Subquery(last))
    return list(blocks.values_list("pk", "last_item"))


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


def _exclusions(study: Study) -> dict[str, Any]:
    found = Exclusion.objects.filter(rater__study=study)
    return found.aggregate(
        n=Count("pk"), in_force=Count("pk", Q(reverted_at=None)), last=Max("pk"), reverted=Max("reverted_at")
    )
