"""Which ratings of a study an analysis takes in: the part of a filter that changes the data themselves.

What is merely shown (a block, a framework, some raters) needs no computing: a figure does not depend on which others
stand beside it (docs/agreement.md).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class DataSelection:
    """`metadata`: only conversations in which each of these names (`meta.topic`, `factor.model`, `language`; see
    studies/selection.py) has one of its values; empty: every conversation.
    `with_excluded`: raters and single ratings that are excluded take part all the same."""

    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()
    with_excluded: bool = False

    @classmethod
    def of(cls, metadata: Mapping[str, Iterable[str]] | None = None, *, with_excluded: bool = False) -> Self:
        """A selection in canonical order: the same choice is the same selection, however it was written."""
        chosen = {name: tuple(sorted(set(values))) for name, values in (metadata or {}).items()}
        return cls(tuple(sorted((name, values) for name, values in chosen.items() if values)), with_excluded)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        return cls.of(stored["metadata"], with_excluded=stored["with_excluded"])

    def as_dict(self) -> dict[str, Any]:
        return {
            "metadata": {name: list(values) for name, values in self.metadata},
            "with_excluded": self.with_excluded,
        }

    @property
    def key(self) -> str:
        """SHA-256 of the selection."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()

    @property
    def is_everything(self) -> bool:
        return not self.metadata and not self.with_excluded
