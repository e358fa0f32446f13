"""Of what the figures of a view were made: items and their conversations, and where the API gives the same rows."""

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from apps.dashboard.agreement.query import Query
from apps.reliability.api import MOST_RESAMPLES
from apps.reliability.models import Snapshot
from apps.reliability.services.reading import SnapshotView

# A block of which a choice of conversations leaves fewer items is too small to say much.
FEW_ITEMS = 30


def items_context(view: SnapshotView, query: Query) -> dict[str, Any]:
    """n_conversations: None where no two blocks share some, so that it would be the number of items.

    few: (title, number of items) of blocks that a choice of conversations leaves too few of.
    """
    blocks = view.account.blocks
    n_items = sum(block.n_rated for block in blocks)
    n_conversations = _count_conversations(view)
    titles = {block.slug: block.title for block in view.labels.blocks}
    shown = [block for block in blocks if query.block in ("", block.block)] if query.selection.metadata else []
    return {
        "n_items": n_items,
        "n_conversations": n_conversations if n_conversations is not None and n_conversations < n_items else None,
        "few": [(titles.get(one.block, one.block), one.n_rated) for one in shown if 0 < one.n_rated < FEW_ITEMS],
    }


def _count_conversations(view: SnapshotView) -> int | None:
    """None where items lack a rating: the list of a block does not say which."""
    if any(block.n_rated != block.n_rows for block in view.account.blocks):
        return None
    datasets = {block.slug: block.dataset for block in view.labels.blocks}
    rated = [block.block for block in view.account.blocks if block.n_rated]
    return len({(datasets.get(block), item) for block in rated for item in view.frozen.items_of(block)})


def json_address(snapshot: Snapshot, query: Query) -> str:
    """Where the API gives these rows; empty where it cannot: it knows no choice of conversations or raters."""
    if not query.selection.is_everything or snapshot.resamples > MOST_RESAMPLES:
        return ""
    given = {"convention": query.convention.value, "block": query.block, "framework": query.framework}
    pairs = {name: value for name, value in given.items() if value} | {"bootstrap": snapshot.resamples}
    return f"{reverse('api-study-agreement', args=[snapshot.study.slug])}?{urlencode(pairs)}"
