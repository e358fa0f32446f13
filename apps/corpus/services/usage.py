"""Which studies use a dataset or a conversation, as far as a person may know of them.

Studies are rows of a higher app: they are asked for over the relations of this app's rows, and never imported.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.corpus.models import Conversation, Dataset

STUDIES_SHOWN = 20
DRAFTS_OFFERED = 10


@dataclass(frozen=True)
class Usage:
    """The studies to be named, and how many more there are: not the person's to know, or beyond the first 20."""

    studies: list[Any]
    others: int

    @property
    def total(self) -> int:
        return len(self.studies) + self.others


def drafts_of(*, user: User) -> list[Any]:
    """The drafts that the person may give a block of a dataset, the latest changed first; ten at most."""
    drafts = _studies().managed_by(user).filter(status="draft")
    return list(drafts.order_by("-updated_at", "pk")[:DRAFTS_OFFERED])


def usage_of_dataset(*, dataset: Dataset, user: User) -> Usage:
    return _usage(dataset.blocks.all(), user)


def usage_of_conversation(*, conversation: Conversation, user: User) -> Usage:
    return _usage(conversation.dataset.blocks.filter(items__conversation=conversation), user)


def _usage(blocks: QuerySet[Any], user: User) -> Usage:
    studies = _studies()
    used_by = {"pk__in": blocks.order_by().values("study")}
    known = list(studies.readable_by(user).filter(**used_by)[:STUDIES_SHOWN])
    return Usage(known, studies.filter(**used_by).count() - len(known))


def _studies() -> Any:
    block = Dataset._meta.get_field("blocks").related_model
    return block._meta.get_field("study").related_model._default_manager  # type: ignore[union-attr]
