"""What supports a rating: passages of the conversation, and the several answers of a model it was made from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.annotation.evidence import Quote, TurnText, place_quote
from apps.annotation.models import Draw, Evidence
from apps.corpus.models import SpeakerRole, Turn


@dataclass(frozen=True, slots=True)
class DrawEntry:
    """One of several answers from which a rating is made."""

    value: float | None
    cannot_tell: bool = False
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class _StoredTurn:
    pk: int
    text: TurnText


def replace_evidence(*, given: Mapping[int, tuple[int, Sequence[Quote]]]) -> set[int]:
    """Puts passages in place of those that were there; the ratings for which that changed anything.

    given: primary key of a rating -> (primary key of the conversation, its passages). A passage that is not found in
    the conversation is kept without a place; a blank one is dropped.
    """
    if not given:
        return set()
    known: dict[int, list[tuple[object, ...]]] = {rating_id: [] for rating_id in given}
    rows = Evidence.objects.filter(rating__in=given).order_by("pk")
    for rating_id, *passage in rows.values_list("rating_id", "quote", "turn_id", "start", "end"):
        known[rating_id].append(tuple(passage))
    turns = _turns(talk for talk, quotes in given.values() if quotes)
    wanted = {
        rating_id: [_evidence(rating_id, quote, turns.get(talk, [])) for quote in quotes if quote.text.strip()]
        for rating_id, (talk, quotes) in given.items()
    }
    different = {
        rating_id
        for rating_id, evidence in wanted.items()
        if [(row.quote, row.turn_id, row.start, row.end) for row in evidence] != known[rating_id]
    }
    if not different:
        return different
    Evidence.objects.filter(rating__in=[rating_id for rating_id in different if known[rating_id]]).delete()
    Evidence.objects.bulk_create(row for rating_id, rows in wanted.items() if rating_id in different for row in rows)
    return different


def replace_draws(*, given: Mapping[int, Sequence[DrawEntry]]) -> set[int]:
    """Puts draws in place of those that were there; the ratings for which that changed anything.

    given: primary key of a rating -> its draws in order.
    """
    if not given:
        return set()
    known: dict[int, list[DrawEntry]] = {rating_id: [] for rating_id in given}
    rows = Draw.objects.filter(rating__in=given).order_by("rating_id", "index")
    for rating_id, value, cannot_tell, rationale in rows.values_list("rating_id", "value", "cannot_tell", "rationale"):
        known[rating_id].append(DrawEntry(value, cannot_tell, rationale))
    different = {rating_id for rating_id, draws in given.items() if list(draws) != known[rating_id]}
    Draw.objects.filter(rating__in=[rating_id for rating_id in different if known[rating_id]]).delete()
    Draw.objects.bulk_create(
        Draw(
            rating_id=rating_id,
            index=index,
            value=draw.value,
            cannot_tell=draw.cannot_tell,
            rationale=draw.rationale,
        )
        for rating_id, draws in given.items()
        if rating_id in different
        for index, draw in enumerate(draws)
    )
    return different


def _turns(conversation_ids: Iterable[int]) -> dict[int, list[_StoredTurn]]:
    """conversation -> its turns in order, less those that raters are not shown."""
    wanted = set(conversation_ids)
    if not wanted:
        return {}
    rows = (
        Turn.objects.filter(conversation__in=wanted)
        .exclude(role=SpeakerRole.SYSTEM)
        .order_by("conversation_id", "index")
        .values_list("conversation_id", "pk", "index", "role", "text")
    )
    turns: dict[int, list[_StoredTurn]] = {}
    for conversation_id, pk, index, role, text in rows:
        turn = _StoredTurn(pk, TurnText(index, role == SpeakerRole.SUPPORTER, text))
        turns.setdefault(conversation_id, []).append(turn)
    return turns


def _evidence(rating_id: int, quote: Quote, turns: Sequence[_StoredTurn]) -> Evidence:
    place = place_quote(quote, [turn.text for turn in turns])
    if place is None:
        return Evidence(rating_id=rating_id, quote=quote.text)
    turn_id = next(turn.pk for turn in turns if turn.text.number == place.turn)
    return Evidence(rating_id=rating_id, quote=quote.text, turn_id=turn_id, start=place.start, end=place.end)
