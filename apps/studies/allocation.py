"""Who rates what, and in which order: seeded arithmetic without models.

Every choice is made by ranking SHA-256 digests of the seed and the keys involved. So the result is the same on every
Python version and platform, does not depend on the order in which keys arrive, and changes only where it must: a
larger sample contains the smaller one, and one rater's order does not move when another rater joins.
"""

import hashlib
import heapq
from collections.abc import Iterable, Sequence


class AllocationError(ValueError):
    """The plan that was asked for does not exist; the message says why."""


def sample_items(ids: Iterable[str], size: int, seed: int) -> list[str]:
    """`size` of the ids, drawn without replacement, in the order in which they were given.

    Raises AllocationError when an id is given twice or there are fewer ids than `size`.
    """
    ids = _distinct(ids, "item")
    if size < 0:
        raise AllocationError(f"a sample cannot have {size} items")
    if size > len(ids):
        raise AllocationError(f"a sample of {size} items was asked for, but there are only {len(ids)}")
    chosen = set(heapq.nsmallest(size, ids, key=lambda item: _rank(seed, "sample", item)))
    return [item for item in ids if item in chosen]


def order_for_rater(item_ids: Iterable[str], rater_key: str, seed: int) -> list[str]:
    """The items in this rater's own shuffled order, whatever other raters there are."""
    return sorted(_distinct(item_ids, "item"), key=lambda item: _rank(seed, "order", rater_key, item))


def _rank(seed: int, *keys: str) -> bytes:
    # Lengths keep ("ab", "c") and ("a", "bc") apart.
    text = "".join(f"{len(key)}:{key}" for key in keys)
    return hashlib.sha256(f"{seed}|{text}".encode()).digest()


def _distinct(keys: Iterable[str], noun: str) -> Sequence[str]:
    keys = list(keys)
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise AllocationError(f"{noun} {key!r} is given twice")
        seen.add(key)
    return keys
