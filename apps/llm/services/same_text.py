"""Which items of a study a model cannot tell apart: what stands in a prompt is the turns, and nothing else.

Title, metadata and experimental factors tell two conversations apart for people. A model that was shown one of them
with its scores has seen the other as well.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence

from django.db.models import CharField, Count, F, Func, Value

from apps.corpus.models import SpeakerRole, Turn
from apps.llm.services.rendering import turns_of
from apps.llm.transcript import PromptTurn
from apps.studies.models import Item

# Conversations whose texts are in memory at once.
CONVERSATIONS_AT_ONCE = 1_000
# A turn of nothing else says nothing. So named, it is the same to every database.
BLANK = " \t\r\n"


def text_key(turns: Sequence[PromptTurn]) -> bytes:
    """Equal exactly where the same is said in the same roles, however its white space stands. 32 bytes."""
    digest = hashlib.sha256()
    for turn in _said(turns):
        # Neither a role nor folded text holds a line feed, so no two lists of turns are written alike.
        digest.update(f"{turn.role}\n{' '.join(turn.text.split())}\n".encode())
    return digest.digest()


def items_like(study_id: int, conversation_ids: Collection[int]) -> set[int]:
    """The items of the study, in whatever role, whose conversation is one of these or says the same as one of them.

    Two queries, and two more for every CONVERSATIONS_AT_ONCE conversations with as many turns as one of these; none
    without conversations.
    """
    if not conversation_ids:
        return set()
    shown = [turns for turns in turns_of(conversation_ids).values() if _said(turns)]
    keys = {text_key(turns) for turns in shown}
    same = set(conversation_ids)
    for some in _in_parts(_conversations_of_length(study_id, {len(_said(turns)) for turns in shown})):
        same |= {pk for pk, turns in turns_of(some).items() if text_key(turns) in keys}
    items = Item.objects.filter(block__study=study_id).order_by().values_list("pk", flat=True)
    return {pk for some in _in_parts(sorted(same)) for pk in items.filter(conversation__in=some)}


def _said(turns: Iterable[PromptTurn]) -> list[PromptTurn]:
    return [turn for turn in turns if turn.text.strip(BLANK)]


def _conversations_of_length(study_id: int, lengths: Collection[int]) -> list[int]:
    """Conversations of the study with so many turns in which something is said: few of them are read."""
    in_study = Item.objects.filter(block__study=study_id).order_by().values("conversation")
    text = Func(F("text"), Value(BLANK), function="TRIM", output_field=CharField())
    said = Turn.objects.filter(conversation__in=in_study).exclude(role=SpeakerRole.SYSTEM)
    counted = said.annotate(said=text).exclude(said="").order_by().values("conversation").annotate(n=Count("pk"))
    return sorted(counted.filter(n__in=lengths).values_list("conversation", flat=True))


def _in_parts(pks: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(pks), CONVERSATIONS_AT_ONCE):
        yield pks[start : start + CONVERSATIONS_AT_ONCE]
