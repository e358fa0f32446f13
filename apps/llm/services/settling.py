"""Ratings made of answers: once every sample of a question has its last answer, in one transaction with it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Q

from apps.annotation.evidence import Quote
from apps.annotation.services.recording import (
    DrawEntry,
    InvalidRating,
    Origin,
    RatingConflict,
    RatingEntry,
    record_ratings,
)
from apps.corpus.models import Turn
from apps.frameworks.models import Dimension
from apps.llm.evidence import Match
from apps.llm.models import OPEN_CALL_STATES, Call, CallAnswer, Run, RunState
from apps.llm.services.asking import Question
from apps.measures.scale import Level, Scale
from apps.measures.within import score_of_draws

MATCH_WORDS = {match.value for match in Match}


@dataclass(frozen=True, slots=True)
class Group:
    """A question of a run whatever the sample: an item, and a scale or (None) a whole framework."""

    run_id: int
    item_id: int
    framework_id: int
    dimension_id: int | None

    @classmethod
    def of(cls, question: Question) -> "Group":
        return cls(question.run_id, question.item_id, question.framework_id, question.dimension_id)


@dataclass(frozen=True, slots=True)
class _Draw:
    """One sample's answer on one scale; None where it has none."""

    sample: int
    is_open: bool
    answer: CallAnswer | None

    @property
    def valid(self) -> CallAnswer | None:
        return self.answer if self.answer is not None and self.answer.is_valid else None

    @property
    def is_final(self) -> bool:
        """A valid answer is never replaced; without one it is what the call's end left."""
        return self.valid is not None or not self.is_open


def settle(runs: Mapping[int, Run], groups: Iterable[Group]) -> dict[Group, str]:
    """Record the ratings of the groups whose samples all have their last answer. The caller holds the runs' rows.

    A run that only checks records none. A cancelled one records where there is no rating: another run may have asked
    again, and what that one said stands. Given back: groups with an answer that may not be recorded, and why not; the
    others are recorded all the same. Queries do not grow with the number of groups.
    """
    wanted = {group for group in groups if not runs[group.run_id].is_check}
    if not wanted:
        return {}
    draws = _draws(wanted)
    dimensions = {dimension_id for _group, dimension_id in draws}
    scales = _scales(dimensions)
    chosen: dict[tuple[Group, int], tuple[CallAnswer, list[CallAnswer]]] = {}
    for key, found in draws.items():
        valid = [draw.valid for draw in sorted(found, key=lambda draw: draw.sample) if draw.valid is not None]
        if valid and all(draw.is_final for draw in found):
            chosen[key] = _decisive(valid, scales[key[1]]), valid
    passages = _passages(answer for answer, _all in chosen.values())
    entries = [
        (group, _entry(runs[group.run_id], group, dimension_id, answer, valid, passages))
        for (group, dimension_id), (answer, valid) in chosen.items()
    ]
    return _record(entries)


def _draws(groups: set[Group]) -> dict[tuple[Group, int], list[_Draw]]:
    """(group, dimension) -> the answers of its samples. Two queries."""
    one_scale = Q(dimension__in={group.dimension_id for group in groups})
    calls = Call.objects.filter(
        one_scale | Q(dimension=None),
        run__in={group.run_id for group in groups},
        item__in={group.item_id for group in groups},
        framework__in={group.framework_id for group in groups},
    )
    members: dict[Group, list[tuple[int, int, bool]]] = defaultdict(list)
    facts = ("pk", "run_id", "item_id", "framework_id", "dimension_id", "sample", "state")
    for pk, run_id, item_id, framework_id, dimension_id, sample, state in calls.order_by().values_list(*facts):
        group = Group(run_id, item_id, framework_id, dimension_id)
        if group in groups:
            members[group].append((pk, sample, state in OPEN_CALL_STATES))
    answers: dict[int, dict[int, CallAnswer]] = defaultdict(dict)
    call_ids = [pk for calls_of_group in members.values() for pk, _sample, _open in calls_of_group]
    for answer in CallAnswer.objects.filter(call__in=call_ids).order_by():
        answers[answer.call_id][answer.dimension_id] = answer
    return {
        (group, dimension_id): [
            _Draw(sample, is_open, answers[pk].get(dimension_id)) for pk, sample, is_open in calls_of_group
        ]
        for group, calls_of_group in members.items()
        for dimension_id in {dimension_id for pk, _sample, _open in calls_of_group for dimension_id in answers[pk]}
    }


def _scales(dimension_ids: Iterable[int]) -> dict[int, Scale]:
    """Of dimensions, in two queries."""
    dimensions = Dimension.objects.filter(pk__in=set(dimension_ids)).with_points()
    return {
        dimension.pk: Scale(tuple(sorted(dimension.scale_points)), Level(dimension.level)) for dimension in dimensions
    }


def _decisive(valid: Sequence[CallAnswer], scale: Scale) -> CallAnswer:
    """The first answer that says what the rating says: the draws' score, or that most of them cannot tell."""
    values = [answer.value for answer in valid if answer.value is not None]
    if len(values) < len(valid) - len(values):
        return next(answer for answer in valid if answer.cannot_tell)
    score = float(score_of_draws(np.array([values]), scale)[0])
    return next(answer for answer in valid if answer.value == score)


def _entry(
    run: Run,
    group: Group,
    dimension_id: int,
    answer: CallAnswer,
    valid: Sequence[CallAnswer],
    passages: Mapping[tuple[int, int, int, int], str],
) -> RatingEntry:
    draws = [DrawEntry(draw.value, draw.cannot_tell, draw.rationale) for draw in valid]
    return RatingEntry(
        item_id=group.item_id,
        rater_id=run.model_rater.rater_id,
        dimension_id=dimension_id,
        value=answer.value,
        cannot_tell=answer.cannot_tell,
        comment=answer.rationale,
        evidence=[_quote(quote, group.item_id, passages) for quote in answer.evidence],
        draws=draws if run.model_rater.samples > 1 else None,
        based_on=0 if run.state == RunState.CANCELLED else None,
    )


# --- Evidence -------------------------------------------------------------------------------------------------------


def _place(quote: Mapping[str, Any]) -> tuple[int, int, int] | None:
    if quote.get("absent") or quote.get("turn") is None:
        return None
    return int(quote["turn"]), int(quote["start"]), int(quote["end"])


def _passages(answers: Iterable[CallAnswer]) -> dict[tuple[int, int, int, int], str]:
    """(item, turn, start, end) -> the words of the conversation there, where the quote's own differ. One query."""
    wanted: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    calls: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for answer in answers:
        for quote in answer.evidence:
            place = _place(quote)
            if place is not None and quote.get("match") != Match.EXACT:
                calls[answer.call_id].append(place)
    if not calls:
        return {}
    of_calls = dict(Call.objects.filter(pk__in=calls).order_by().values_list("pk", "item_id"))
    for call_id, places in calls.items():
        for turn, start, end in places:
            wanted[of_calls[call_id], turn].add((start, end))
    rows = Turn.objects.filter(
        conversation__items__in={item_id for item_id, _turn in wanted}, index__in={turn for _item, turn in wanted}
    )
    return {
        (item_id, turn, start, end): text[start:end]
        for item_id, turn, text in rows.order_by().values_list("conversation__items", "index", "text")
        for start, end in wanted.get((item_id, turn), ())
    }


def _quote(quote: Mapping[str, Any], item_id: int, passages: Mapping[tuple[int, int, int, int], str]) -> Quote:
    """The passage as it stands in the conversation, with its place; the model's words where it stands nowhere."""
    place = _place(quote)
    if place is None:
        return Quote(quote["text"])
    return Quote(passages.get((item_id, *place), quote["text"]), *place)


# --- Recording ------------------------------------------------------------------------------------------------------


def _record(entries: Sequence[tuple[Group, RatingEntry]]) -> dict[Group, str]:
    """All at once; where one is not allowed or comes too late, one by one."""
    try:
        record_ratings(entries=[entry for _group, entry in entries], origin=Origin.MODEL)
    except (InvalidRating, RatingConflict) as refusal:
        if len(entries) == 1:
            is_late = isinstance(refusal, RatingConflict)  # its answer stays as it was said, beside the rating
            return {} if is_late else {entries[0][0]: str(refusal)}
    else:
        return {}
    refused: dict[Group, str] = {}
    for one in entries:
        refused |= _record([one])
    return refused
