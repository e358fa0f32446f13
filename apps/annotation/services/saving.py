"""Saving what a person rates on the screen: one scale at a click, or the whole form at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext

from apps.accounts.models import User
from apps.annotation.models import Evidence, Rating
from apps.annotation.services.answers import Answer, complete, is_changed, read_answer, with_places
from apps.annotation.services.recording import (
    InvalidRating,
    Origin,
    RatingConflict,
    RatingEntry,
    Recorded,
    record_rating,
    record_ratings,
)
from apps.annotation.services.screens import EvidencePart, Screen, load_screen
from apps.frameworks.models import Dimension, ScalePoint
from apps.studies.models import Assignment
from apps.studies.services.reservations import WorkRefused, hold

TRIES = 3


class AnswerRefused(ValueError):  # noqa: N818 - reads as what happened
    """The answer cannot be saved like this; the message says why, to the rater."""


class AnswerConflict(ValueError):  # noqa: N818 - reads as what happened
    """The scale was changed elsewhere meanwhile. `standing` is what stands there now: the rater's own answer."""

    def __init__(self, standing: "Standing") -> None:
        super().__init__(changed_elsewhere(standing.value_text, cannot_tell=standing.cannot_tell))
        self.standing = standing


@dataclass(frozen=True, slots=True)
class Standing:
    """The answer that stands on a scale. `based_on` is the number of changes it has gone through."""

    value_text: str
    cannot_tell: bool
    comment: str
    based_on: int
    evidence: tuple[EvidencePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    standing: Standing
    at: datetime
    n_done: int
    n_scales: int


def save_answer(*, assignment: Assignment, dimension: Dimension, fields: Mapping[str, str], actor: User) -> Saved:
    """Saves one scale, which is one of the item's block, in a constant number of queries.

    Raises WorkRefused where the rater may not write, AnswerRefused where the answer is none, AnswerConflict where the
    scale has changed since the author saw it; nothing is written then.
    """
    answer = read_answer(fields=fields, dimension=dimension.pk, study=assignment.rater.study)
    if answer.errors:
        raise AnswerRefused(" ".join(answer.errors))
    try:
        with transaction.atomic():
            hold(assignment=assignment)
            recorded = _record(assignment, dimension, answer, actor)
    except RatingConflict as conflict:
        standing = _standing(conflict.rating, conflict.rating.events.count(), _passages(assignment, dimension))
        raise AnswerConflict(standing) from conflict
    # Whoever says what they have seen is told the number of events.
    return Saved(_standing(recorded.rating, recorded.n_events or 0), timezone.now(), **_progress(assignment))


def save_form(*, assignment: Assignment, fields: Mapping[str, str], actor: User) -> Screen:
    """Saves every scale of the form that was changed; the screen as it stands then.

    What cannot be saved is on its scale as it was typed, with `errors`; the others are saved all the same. The number
    of queries is the same however many scales. Where the rater may not write, nothing is saved, everything stands as
    typed, and `alert` says why.
    """
    for _ in range(TRIES):
        screen = load_screen(assignment=assignment)
        answers = _answers(screen, fields)
        entries = _entries(assignment, screen, answers)
        try:
            with transaction.atomic():
                # Looking through a skipped item does not take it up again.
                if entries:
                    hold(assignment=assignment)
                record_ratings(entries=entries, origin=Origin.SCREEN, actor=actor)
        except RatingConflict:
            # Changed between reading and writing: the next round sees it, and says so on its scale.
            continue
        except WorkRefused as refusal:
            _show_typed(screen, answers, [*answers])
            screen.alert, screen.is_editable = str(refusal), False
            return screen
        break
    else:
        screen.alert = gettext("This page is being changed elsewhere at the same time. Try again.")
        _show_typed(screen, answers, [*answers])
        return screen
    fresh = load_screen(assignment=assignment)
    _show_typed(fresh, answers, [number for number, answer in answers.items() if answer.errors])
    return fresh


def is_complete(*, assignment: Assignment) -> bool:
    """Whether every scale of the item has an answer. One query."""
    answered = Rating.objects.filter(item=assignment.item_id, rater=assignment.rater_id, dimension=OuterRef("pk"))
    scales = Dimension.objects.filter(framework__blocks=assignment.item.block_id)
    return not scales.exclude(Exists(answered)).exists()


def changed_elsewhere(value_text: str, *, cannot_tell: bool) -> str:
    value = gettext("cannot tell") if cannot_tell else value_text
    return gettext("You have changed this elsewhere meanwhile: it is now %(value)s. Save again to replace that.") % {
        "value": value
    }


def _progress(assignment: Assignment) -> dict[str, int]:
    """How many scales the item has, and how many of them an answer. One query."""
    answered = Rating.objects.filter(item=assignment.item_id, rater=assignment.rater_id, dimension=OuterRef("pk"))
    scales = Dimension.objects.filter(framework__blocks=assignment.item.block_id)
    return scales.aggregate(n_scales=Count("pk"), n_done=Count("pk", filter=Exists(answered)))


def _record(assignment: Assignment, dimension: Dimension, answer: Answer, actor: User) -> Recorded:
    if not answer.is_given:
        _keep_value(assignment, dimension, answer)
    if answer.evidence and any(one.turn is None for one in answer.evidence):
        answer.evidence = with_places(answer.evidence, _passages(assignment, dimension))
    try:
        return record_rating(
            item=assignment.item,
            rater=assignment.rater,
            dimension=dimension,
            value=answer.value,
            cannot_tell=answer.cannot_tell,
            comment=answer.comment,
            evidence=None if answer.evidence is None else [one.as_quote() for one in answer.evidence],
            origin=Origin.SCREEN,
            actor=actor,
            based_on=answer.based_on,
        )
    except InvalidRating as problem:
        # Its own words name the conversation, which raters are not told.
        raise AnswerRefused(gettext("Choose one of the points of the scale.")) from problem


def _keep_value(assignment: Assignment, dimension: Dimension, answer: Answer) -> None:
    """A comment or evidence alone goes to the value that stands."""
    rating = Rating.objects.filter(item=assignment.item_id, rater=assignment.rater_id, dimension=dimension).first()
    if rating is None:
        raise AnswerRefused(gettext("Choose a point first: a comment or evidence belongs to one."))
    answer.value, answer.cannot_tell = rating.value, rating.cannot_tell


def _standing(rating: Rating, n_events: int, evidence: Sequence[EvidencePart] = ()) -> Standing:
    return Standing(
        value_text="" if rating.value is None else ScalePoint(value=float(rating.value)).value_text,
        cannot_tell=rating.cannot_tell,
        comment=rating.comment,
        based_on=n_events,
        evidence=tuple(evidence),
    )


def _passages(assignment: Assignment, dimension: Dimension) -> list[EvidencePart]:
    rows = Evidence.objects.filter(
        rating__item=assignment.item_id, rating__rater=assignment.rater_id, rating__dimension=dimension
    )
    passages = rows.order_by("pk").values_list("quote", "turn__index", "start", "end")
    return [EvidencePart(text, turn, start, end) for text, turn, start, end in passages]


def _answers(screen: Screen, fields: Mapping[str, str]) -> dict[int, Answer]:
    """number of the scale -> what was sent for it, completed by what stands there."""
    answers = {}
    for scale in screen.scales:
        answer = read_answer(fields=fields, dimension=scale.dimension.pk, study=screen.study)
        complete(answer, scale)
        if not answer.errors and answer.based_on != scale.based_on and is_changed(answer, scale):
            answer.errors.append(changed_elsewhere(scale.value_text, cannot_tell=scale.cannot_tell))
        answers[scale.number] = answer
    return answers


def _entries(assignment: Assignment, screen: Screen, answers: Mapping[int, Answer]) -> list[RatingEntry]:
    entries = []
    for scale in screen.scales:
        answer = answers[scale.number]
        if answer.errors or not is_changed(answer, scale):
            continue
        entries.append(
            RatingEntry(
                item_id=assignment.item_id,
                rater_id=assignment.rater_id,
                dimension_id=scale.dimension.pk,
                value=answer.value,
                cannot_tell=answer.cannot_tell,
                comment=answer.comment,
                evidence=None if answer.evidence is None else [one.as_quote() for one in answer.evidence],
                based_on=answer.based_on,
            )
        )
    return entries


def _show_typed(screen: Screen, answers: Mapping[int, Answer], numbers: list[int]) -> None:
    for scale in screen.scales:
        if scale.number in numbers:
            answer = answers[scale.number]
            scale.value_text = "" if answer.cannot_tell else answer.value_text
            scale.cannot_tell = answer.cannot_tell
            scale.comment = scale.comment if answer.comment is None else answer.comment
            scale.evidence = scale.evidence if answer.evidence is None else [replace(one) for one in answer.evidence]
            scale.errors = answer.errors
