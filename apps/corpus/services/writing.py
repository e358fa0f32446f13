"""Conversations written, changed and deleted by hand, one at a time, as long as nothing stands on their text."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.corpus.models import Conversation, Dataset, Turn
from apps.corpus.parsing.mapping import ABOUT_FIELDS
from apps.corpus.parsing.records import ConversationRecord, TurnRecord
from apps.corpus.services.freezing import refuse_if_frozen

TWINS_NAMED = 3
NUMBERED = 50  # ids tried before a suggestion falls back on the content's own


class Outcome(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Saved:
    """What became of a conversation, and the ids of others in its dataset that say the same."""

    conversation: Conversation
    outcome: Outcome
    twins: list[str]


class IdTakenError(Exception):
    """Another conversation of the dataset has this id. Nothing was stored."""

    def __init__(self, external_id: str) -> None:
        super().__init__(gettext("%(id)s is in the dataset already. Choose another id.") % {"id": external_id})


class ChangedMeanwhileError(Exception):
    """The conversation is no longer what its editor saw. Nothing was stored."""


class ConversationInUseError(Exception):
    """Ratings stand on the conversation's text, or a study has it as an item. Nothing was stored."""


def stored_record(conversation: Conversation) -> ConversationRecord:
    """The conversation as an import would have read it. One query, for its turns."""
    return ConversationRecord(
        row=0,
        external_id=conversation.external_id,
        turns=[TurnRecord(turn.role, turn.speaker, turn.text, turn.raw_text) for turn in conversation.turns.all()],
        metadata=conversation.metadata,
        factors=conversation.factors,
        **{name: getattr(conversation, name) for name in ABOUT_FIELDS},
    )


@transaction.atomic
def add_conversation(*, dataset: Dataset, record: ConversationRecord, actor: User) -> Saved:
    """Store a new conversation, last in its dataset. Raises DatasetFrozenError, IdTakenError."""
    dataset = _locked(dataset)
    _refuse_taken_id(dataset, record.external_id)
    last = dataset.conversations.aggregate(last=Max("position"))["last"]
    conversation = Conversation.objects.create(
        dataset=dataset,
        external_id=record.external_id,
        content_hash=record.content_hash,
        position=0 if last is None else last + 1,
        **_fields_of(record),
    )
    _store_turns(conversation, record)
    _note(conversation, actor, "conversation.create", content_hash=record.content_hash)
    return Saved(conversation, Outcome.ADDED, _twins(conversation))


@transaction.atomic
def change_conversation(*, conversation: Conversation, record: ConversationRecord, seen: str, actor: User) -> Saved:
    """Store other content of a conversation, of which its editor saw the revision `seen`.

    Raises DatasetFrozenError, ConversationInUseError where it has been rated, ChangedMeanwhileError, IdTakenError;
    Conversation.DoesNotExist where it was deleted meanwhile.
    """
    dataset = _locked(conversation.dataset)
    conversation = dataset.conversations.get(pk=conversation.pk)
    before = stored_record(conversation)
    changed = _changed_parts(before, record)
    if not changed:
        return Saved(conversation, Outcome.UNCHANGED, [])
    _refuse_rated(conversation)
    if conversation.revision != seen:
        raise ChangedMeanwhileError
    if "external_id" in changed:
        _refuse_taken_id(dataset, record.external_id)
    for name, value in _fields_of(record).items():
        setattr(conversation, name, value)
    old_hash, conversation.content_hash = conversation.content_hash, record.content_hash
    conversation.external_id = record.external_id
    conversation.save()
    if "turns" in changed:
        conversation.turns.all().delete()
        _store_turns(conversation, record)
    hashes = {"content_hash_before": old_hash, "content_hash": record.content_hash}
    _note(conversation, actor, "conversation.edit", changed=changed, **hashes)
    return Saved(conversation, Outcome.CHANGED, _twins(conversation))


@transaction.atomic
def delete_conversation(*, conversation: Conversation, actor: User) -> None:
    """Raises DatasetFrozenError, and ConversationInUseError where a study has the conversation as an item."""
    dataset = _locked(conversation.dataset)
    conversation = dataset.conversations.get(pk=conversation.pk)
    if conversation.items.exists():
        raise ConversationInUseError(gettext("A study has this conversation as an item, so it cannot be deleted."))
    _note(conversation, actor, "conversation.delete", content_hash=conversation.content_hash)
    conversation.delete()


def suggested_id(*, dataset: Dataset) -> str:
    """An id in the manner of the last conversation's: its number counted on, else the dataset's name with a number."""
    last = dataset.conversations.order_by("-position").values_list("external_id", flat=True).first() or ""
    stem = last.rstrip("0123456789")
    digits = last[len(stem) :]
    if not digits or len(digits) > 9:
        stem, digits = f"{dataset.slug}-", "0"
    first = int(digits) + 1
    candidates = [f"{stem}{number:0{len(digits)}d}" for number in range(first, first + NUMBERED)]
    taken = set(dataset.conversations.filter(external_id__in=candidates).values_list("external_id", flat=True))
    return next((candidate for candidate in candidates if candidate not in taken), "")


def _locked(dataset: Dataset) -> Dataset:
    """The dataset's row, held against imports and other edits. Raises DatasetFrozenError."""
    locked = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    refuse_if_frozen(locked)
    return locked


def _refuse_taken_id(dataset: Dataset, external_id: str) -> None:
    if dataset.conversations.filter(external_id=external_id).exists():
        raise IdTakenError(external_id)


def _refuse_rated(conversation: Conversation) -> None:
    if conversation.is_rated:
        raise ConversationInUseError(
            gettext("This conversation has been rated. What the ratings are about can no longer change.")
        )


def _changed_parts(before: ConversationRecord, after: ConversationRecord) -> list[str]:
    """Names of the fields that differ, as JSON sees them: 1 and 1.0, or true and 1, are not the same."""
    old: dict[str, Any] = json.loads(before.content)
    new: dict[str, Any] = json.loads(after.content)
    changed = [name for name in new if json.dumps(new[name], sort_keys=True) != json.dumps(old[name], sort_keys=True)]
    return changed + (["external_id"] if before.external_id != after.external_id else [])


def _fields_of(record: ConversationRecord) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(record.content)
    del fields["turns"]
    return fields


def _store_turns(conversation: Conversation, record: ConversationRecord) -> None:
    Turn.objects.bulk_create(
        Turn(conversation=conversation, index=index, **turn._asdict()) for index, turn in enumerate(record.turns)
    )


def _twins(conversation: Conversation) -> list[str]:
    same = conversation.dataset.conversations.filter(content_hash=conversation.content_hash)
    return list(same.exclude(pk=conversation.pk).values_list("external_id", flat=True)[:TWINS_NAMED])


def _note(conversation: Conversation, actor: User, action: str, **details: object) -> None:
    """The texts are not repeated: people tell sad things in them, and audit entries are never deleted."""
    subject = f"{conversation.dataset.slug}/{conversation.external_id}"[:200]
    AuditEntry.objects.create(actor=actor, action=action, subject=subject, details=details)
