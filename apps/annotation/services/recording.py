"""The only door through which ratings are written: for people, imports and models alike.

A rating has one row for its item, rater and dimension; every real change of its value, comment or evidence, the first
included, is an event. Writes are safe to repeat and to run at once: SQLite admits one writer, PostgreSQL locks the
rows, and of two first ratings written at once the second finds the first by the unique key and is tried again as a
change.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from django.db import IntegrityError, connection, transaction
from django.db.models import Count
from django.utils import timezone

from apps.accounts.models import User
from apps.annotation.evidence import Quote
from apps.annotation.models import Evidence, Rating, RatingEvent
from apps.annotation.services.rules import InvalidRating, RuleBook
from apps.annotation.services.support import DrawEntry, replace_draws, replace_evidence
from apps.common.inserting import insert_rows
from apps.frameworks.models import Dimension
from apps.frameworks.services.freezing import freeze_frameworks
from apps.studies.models import Item, Rater
from apps.studies.services.raters import RaterConflict

__all__ = [
    "DrawEntry",
    "InvalidRating",
    "Origin",
    "Quote",
    "RatingConflict",
    "RatingEntry",
    "Recorded",
    "Tally",
    "record_rating",
    "record_ratings",
]

ENTRIES_IN_ONE_BATCH = 2_000
RETRIES = 4
CHANGED_COLUMNS = ("value", "cannot_tell", "comment", "updated_at")
EVENT_COLUMNS = ("rating_id", "at", "value", "cannot_tell", "comment", "actor_id", "origin")

Key = tuple[int, int, int]


class Origin(StrEnum):
    """By which way a rating came; stands in its events."""

    SCREEN = "screen"
    IMPORT = "import"
    MODEL = "model"
    DEMO = "demo"


class RatingConflict(ValueError):  # noqa: N818 - reads as what happened
    """Somebody else changed the rating meanwhile: theirs stays, and this one is told. `rating` is what stands now."""

    def __init__(self, rating: Rating) -> None:
        super().__init__(f"this rating was changed elsewhere meanwhile and is now {_value_in_words(rating)}")
        self.rating = rating


@dataclass(frozen=True, slots=True)
class RatingEntry:
    """A rating to be written. None for comment, evidence or draws leaves what is there.

    `at` is when it was given, where that is known; now otherwise. `based_on` is the number of events of the rating
    that its author had seen; None writes whatever has happened meanwhile.
    """

    item_id: int
    rater_id: int
    dimension_id: int
    value: float | None
    cannot_tell: bool = False
    comment: str | None = None
    evidence: Sequence[Quote] | None = None
    draws: Sequence[DrawEntry] | None = None
    at: datetime | None = None
    based_on: int | None = None

    @property
    def key(self) -> Key:
        return (self.item_id, self.rater_id, self.dimension_id)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of one rating. `n_events` is its number of events now; None where `based_on` did not ask for it."""

    rating: Rating
    created: bool
    changed: bool
    n_events: int | None = None


@dataclass(slots=True)
class Tally:
    """What became of many entries. Those that said what stood there already are unchanged."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0

    @property
    def total(self) -> int:
        return self.created + self.changed + self.unchanged


def record_rating(
    *,
    item: Item,
    rater: Rater,
    dimension: Dimension,
    value: float | None,
    origin: str,
    cannot_tell: bool = False,
    comment: str | None = None,
    evidence: Sequence[Quote] | None = None,
    draws: Sequence[DrawEntry] | None = None,
    actor: User | None = None,
    at: datetime | None = None,
    based_on: int | None = None,
) -> Recorded:
    """Writes one rating, in a constant number of queries; arguments as in `RatingEntry`.

    Raises InvalidRating where it is not allowed, RatingConflict where it would overwrite events that `based_on` had
    not seen, RaterConflict where it is imported for a rater that Accord computes. Nothing is written then.
    """
    entry = RatingEntry(
        item_id=item.pk,
        rater_id=rater.pk,
        dimension_id=dimension.pk,
        value=value,
        cannot_tell=cannot_tell,
        comment=comment,
        evidence=evidence,
        draws=draws,
        at=at,
        based_on=based_on,
    )
    rules = RuleBook()
    rules.know(item=item, rater=rater, dimension=dimension)
    [pending] = _record_batch([entry], rules, origin, actor, is_all=True)
    return Recorded(pending.rating, pending.is_new, pending.is_changed, pending.n_events)


def record_ratings(*, entries: Iterable[RatingEntry], origin: str, actor: User | None = None) -> Tally:
    """Writes many ratings: all of them or, where one is not allowed, none.

    Several entries for one rating are successive changes, in the order given. Raises InvalidRating, RatingConflict and
    RaterConflict as `record_rating` does. Queries grow with the number of batches, not of ratings.
    """
    tally = Tally()
    # Neighbours share items and turns, and two imports at once lock rows in the same order.
    ordered = iter(sorted(entries, key=lambda entry: entry.key))
    with transaction.atomic():
        rules = RuleBook()
        while batch := list(islice(ordered, ENTRIES_IN_ONE_BATCH)):
            for pending in _record_batch(batch, rules, origin, actor):
                tally.created += pending.is_new
                tally.changed += pending.is_changed and not pending.is_new
                tally.unchanged += not (pending.is_new or pending.is_changed)
            rules.forget_items()
        _freeze(rules)
    return tally


class _Event(NamedTuple):
    at: datetime
    value: float | None
    cannot_tell: bool
    comment: str


@dataclass(slots=True)
class _Pending:
    """A rating on its way to the database with everything that happened to it in this batch."""

    rating: Rating
    is_new: bool
    n_before: int | None = None  # events before this batch, where an entry asks for it
    is_changed: bool = False
    events: list[_Event] = field(default_factory=list)
    evidence: Sequence[Quote] | None = None
    draws: Sequence[DrawEntry] | None = None

    @property
    def n_events(self) -> int | None:
        return None if self.n_before is None else self.n_before + len(self.events)

    def would_be(self, entry: RatingEntry) -> tuple[float | None, bool, str]:
        return (entry.value, entry.cannot_tell, self.rating.comment if entry.comment is None else entry.comment)

    def is_changed_by(self, entry: RatingEntry) -> bool:
        rating = self.rating
        is_unwritten = self.is_new and not self.events
        return is_unwritten or self.would_be(entry) != (rating.value, rating.cannot_tell, rating.comment)

    def has_other_evidence(self, entry: RatingEntry) -> bool:
        """Whether the entry brings other passages than those that stand; asks the database."""
        if entry.evidence is None or self.is_new:
            return False
        standing = Evidence.objects.filter(rating=self.rating).order_by("pk").values_list("quote", flat=True)
        return [quote.text for quote in entry.evidence if quote.text.strip()] != list(standing)

    def apply(self, entry: RatingEntry) -> None:
        """Takes over what the entry says, with an event if that changes the value or the comment."""
        rating = self.rating
        if self.is_changed_by(entry):
            at = entry.at or timezone.now()
            if self.is_new and not self.events:
                rating.created_at = at
            wanted = rating.value, rating.cannot_tell, rating.comment = self.would_be(entry)
            self.is_changed = True
            self.events.append(_Event(at, *wanted))
        self.evidence = self.evidence if entry.evidence is None else entry.evidence
        self.draws = self.draws if entry.draws is None else entry.draws

    def note_evidence(self, at: datetime) -> None:
        """Other passages stand now: an event, unless the answer's own change is one already."""
        self.is_changed = True
        if not self.events:
            self.events.append(_Event(at, self.rating.value, self.rating.cannot_tell, self.rating.comment))


def _record_batch(
    entries: Sequence[RatingEntry], rules: RuleBook, origin: str, actor: User | None, *, is_all: bool = False
) -> list[_Pending]:
    """Writes the entries in one transaction. `is_all`: none follow, so the frameworks freeze with them."""
    if origin == Origin.IMPORT:
        _refuse_computed({entry.rater_id for entry in entries})
    _check(entries, rules)
    for _ in range(RETRIES):
        try:
            return _write(entries, rules, origin, actor, is_all)
        except IntegrityError:
            # Another writer was first with one of these ratings: now it is there to be found.
            continue
    return _write(entries, rules, origin, actor, is_all)


def _refuse_computed(rater_ids: set[int]) -> None:
    """What a model said, or a rule gives, is overwritten by no file: its calls and figures would tell another story."""
    name = Rater.objects.computed_here().filter(pk__in=rater_ids).values_list("name", flat=True).first()
    if name is not None:
        raise RaterConflict(f"{name} is a rater that Accord computes itself: its ratings are not taken from a file")


def _check(entries: Sequence[RatingEntry], rules: RuleBook) -> None:
    rules.learn(
        item_ids=(entry.item_id for entry in entries),
        rater_ids=(entry.rater_id for entry in entries),
        dimension_ids=(entry.dimension_id for entry in entries),
    )
    for entry in entries:
        rules.check(
            item_id=entry.item_id,
            rater_id=entry.rater_id,
            dimension_id=entry.dimension_id,
            answers=[
                (entry.value, entry.cannot_tell),
                *((draw.value, draw.cannot_tell) for draw in entry.draws or ()),
            ],
        )


@transaction.atomic
def _write(
    entries: Sequence[RatingEntry], rules: RuleBook, origin: str, actor: User | None, is_all: bool
) -> list[_Pending]:
    pending = _locked_ratings(entries)
    for key, count in _event_counts(entries, pending).items():
        pending[key].n_before = count
    for entry in entries:
        known = pending.get(entry.key)
        if known is None:
            rating = Rating(item_id=entry.item_id, rater_id=entry.rater_id, dimension_id=entry.dimension_id)
            known = pending[entry.key] = _Pending(rating, is_new=True, n_before=0)
        is_stale = entry.based_on is not None and entry.based_on != known.n_events
        if is_stale and (known.is_changed_by(entry) or known.has_other_evidence(entry)):
            raise RatingConflict(known.rating)
        if not is_stale:  # what is, and stays, says the same: draws that others brought are theirs
            known.apply(entry)
    written = [pending[key] for key in dict.fromkeys(entry.key for entry in entries)]
    _store(written, rules)
    _insert_events(written, origin, actor)
    if is_all:
        _freeze(rules)
    return written


def _store(written: Sequence[_Pending], rules: RuleBook) -> None:
    Rating.objects.bulk_create([one.rating for one in written if one.is_new])
    of_ratings = {one.rating.pk: one for one in written}
    supported = replace_evidence(
        given={
            pk: (rules.conversation_of(one.rating.item_id), one.evidence)
            for pk, one in of_ratings.items()
            if one.evidence is not None and (one.evidence or not one.is_new)
        }
    )
    now = timezone.now()
    for pk in supported:
        of_ratings[pk].note_evidence(now)
    for pk in replace_draws(given={pk: one.draws for pk, one in of_ratings.items() if one.draws is not None}):
        of_ratings[pk].is_changed = True
    changed = [one.rating for one in written if one.is_changed and not one.is_new]
    for rating in changed:
        rating.updated_at = now
    if len(changed) == 1:
        changed[0].save(update_fields=CHANGED_COLUMNS)
    elif changed:
        Rating.objects.bulk_update(changed, CHANGED_COLUMNS)


def _insert_events(written: Sequence[_Pending], origin: str, actor: User | None) -> None:
    actor_id = None if actor is None else actor.pk
    rows = [
        (one.rating.pk, connection.ops.adapt_datetimefield_value(at), *answer, actor_id, str(origin))
        for one in written
        for at, *answer in one.events
    ]
    insert_rows(RatingEvent, EVENT_COLUMNS, rows)


def _event_counts(entries: Sequence[RatingEntry], pending: dict[Key, _Pending]) -> dict[Key, int]:
    """How many events there are of the ratings whose entries ask for it.

    Not counted in the query that locks: having waited for the lock, it would still count what it saw before.
    """
    asked = {
        pending[entry.key].rating.pk: entry.key
        for entry in entries
        if entry.based_on is not None and entry.key in pending
    }
    if not asked:
        return {}
    counts = RatingEvent.objects.filter(rating__in=asked).order_by().values_list("rating_id").annotate(Count("pk"))
    return {asked[rating_id]: count for rating_id, count in counts}


def _locked_ratings(entries: Sequence[RatingEntry]) -> dict[Key, _Pending]:
    found = Rating.objects.select_for_update().filter(
        item__in={entry.item_id for entry in entries},
        rater__in={entry.rater_id for entry in entries},
        dimension__in={entry.dimension_id for entry in entries},
    )
    wanted = {entry.key for entry in entries}
    ratings = (
        ((rating.item_id, rating.rater_id, rating.dimension_id), rating)
        for rating in found.order_by("item_id", "rater_id", "dimension_id")
    )
    return {key: _Pending(rating, is_new=False) for key, rating in ratings if key in wanted}


def _freeze(rules: RuleBook) -> None:
    if frameworks := rules.frameworks_to_freeze():
        freeze_frameworks(framework_ids=frameworks)


def _value_in_words(rating: Rating) -> str:
    return "cannot tell" if rating.value is None else f"{rating.value:g}"
