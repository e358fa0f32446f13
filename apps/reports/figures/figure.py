"""A figure: its Vega-Lite specs, and beside them everything that says the same without a picture."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Spec = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Figure:
    """One figure in one palette.

    name: a slug, which is its file name too. caption: how to read it. summary: what it shows, in plain sentences made
    from its numbers. columns, rows: the same as a table; a row has a text for each column. row_links: an address for
    each row, or nothing. spec: the picture at full width; narrow_spec: at the width of a phone or of one column.
    physical: whether it is for a page of paper, and its pixels stand for 1/96 inch. numeric_columns: which columns
    of the table hold numbers, from 0.
    """

    name: str
    title: str
    caption: str
    summary: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spec: Spec
    narrow_spec: Spec
    physical: bool = False
    numeric_columns: frozenset[int] = field(default_factory=frozenset)
    row_links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of {self.name} has not {len(self.columns)} cells")
        if self.row_links and len(self.row_links) != len(self.rows):
            raise ValueError(f"{self.name} has {len(self.rows)} rows and {len(self.row_links)} links")

    def spec_of(self, *, narrow: bool = False) -> Spec:
        return self.narrow_spec if narrow else self.spec

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of what is drawn."""
        drawn = json.dumps([self.physical, self.spec, self.narrow_spec], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(drawn.encode()).hexdigest()


def slug_of(*parts: str) -> str:
    """Parts of a name as one slug for a file: `slug_of("raters", "main", "Café 1")` is `raters-main-café-1`."""
    words = (re.sub(r"[^\w]+", "-", part.casefold()).strip("-_") for part in parts)
    return "-".join(word for word in words if word)
