"""Everything that pages and reports read from a snapshot. No live row of the study is asked."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from apps.measures.pairs import Convention
from apps.reliability import frozen, kept, row_files
from apps.reliability.accounting import Account
from apps.reliability.agreement import Agreement, AgreementRow, Settings
from apps.reliability.frozen import FrozenTables
from apps.reliability.labels import Labels, ScaleLabel
from apps.reliability.matrix import RaterKey, RatingTable, TableKey, content_hash, table_hash
from apps.reliability.models import Snapshot
from apps.reliability.notes import Note
from apps.reliability.row_files import unpack_rows


class SnapshotView:
    """A snapshot as rows, tables and words. Bytes are fetched when first asked for, one query each.

    Everything that reads what is kept raises `kept.UnreadableError` (a ValueError) where it is damaged or of another
    version of Accord. Taking the snapshot again mends it.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @property
    def is_whole(self) -> bool:
        """Whether ratings and figures can be read, all of them."""
        data, results = bytes(self.snapshot.data), bytes(self.snapshot.results)
        return kept.is_whole(data, frozen.KIND) and kept.is_whole(results, row_files.KIND)

    def rows(
        self,
        *,
        convention: str = Convention.SCALE,
        block: str = "",
        framework: str = "",
        dimension: str = "",
        statistics: Collection[str] = (),
    ) -> list[AgreementRow]:
        """The figures in the order of the study, narrowed by what is given; the other scales are not read."""
        return unpack_rows(
            bytes(self.snapshot.results),
            convention=convention,
            block=block,
            framework=framework,
            dimension=dimension,
            statistics=statistics,
        )

    def tables(self, *, block: str = "", framework: str = "", dimension: str = "") -> Iterator[RatingTable]:
        """The ratings the figures were computed from, one table at a time."""
        return self.frozen.tables(block=block, framework=framework, dimension=dimension)

    @cached_property
    def frozen(self) -> FrozenTables:
        return FrozenTables(bytes(self.snapshot.data))

    def raters(self) -> list[RaterKey]:
        """Everybody whose ratings took part, by kind and name."""
        return self.frozen.raters()

    def keys(self) -> list[TableKey]:
        """The scales that have figures, in the order of the study."""
        return [scale.key for scale in self.frozen.scales()]

    @cached_property
    def labels(self) -> Labels:
        """Blocks and frameworks in words, also those without a rating."""
        with kept.reading():
            return Labels.from_dict(self.snapshot.labels)

    def scales(self) -> list[ScaleLabel]:
        """The scales that have figures in words, in the order of the study."""
        known = {scale.key: scale for scale in self.labels.scales()}
        return [known[key] for key in self.keys()]

    def scale(self, key: TableKey) -> ScaleLabel:
        """One scale in words, with figures or without. Raises KeyError."""
        return {scale.key: scale for scale in self.labels.scales()}[key]

    @cached_property
    def account(self) -> Account:
        """Who and what took part, and what did not and why."""
        with kept.reading():
            return Account.from_dict(self.snapshot.account)

    def notes(self) -> list[Note]:
        """Sentences on figures that are easily misread; the same in both conventions."""
        return [Note(**note) for note in self.snapshot.notes]

    def settings(self, convention: str = Convention.SCALE) -> Settings:
        return Settings(Convention(convention), self.snapshot.resamples, self.snapshot.seed)

    def agreement(self, convention: str = Convention.SCALE, *, block: str = "", framework: str = "") -> Agreement:
        """All of it, or of one block or framework, as `analyse` gives it: for `documents.Report`."""
        rows = tuple(self.rows(convention=convention, block=block, framework=framework))
        notes = tuple(note for note in self.notes() if block in ("", note.block) and framework in ("", note.framework))
        snapshot = self.snapshot
        whole = Agreement(
            rows=rows,
            notes=notes,
            settings=self.settings(convention),
            tables=snapshot.n_tables,
            raters=snapshot.n_raters,
            ratings=snapshot.n_ratings,
            data_hash=snapshot.data_hash,
        )
        return self._narrowed(whole, block, framework) if block or framework else whole

    def _narrowed(self, whole: Agreement, block: str, framework: str) -> Agreement:
        hashes: list[str] = []
        raters: set[str] = set()
        ratings = 0
        for table in self.tables(block=block, framework=framework):
            hashes.append(table_hash(table))
            raters.update(rater.name for rater in table.raters)
            ratings += int((~np.isnan(table.values)).sum())
        return replace(whole, tables=len(hashes), raters=len(raters), ratings=ratings, data_hash=content_hash(hashes))
