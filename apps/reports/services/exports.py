"""What an export of a study's ratings holds, and one figure by which a reader can tell that they read it rightly."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext_lazy as _

from apps.annotation.models import Rating
from apps.annotation.rating_export import FORMATS
from apps.annotation.services.exporting import exported_ratings
from apps.reliability.agreement import AgreementRow
from apps.reliability.matrix import KIND_ORDER, Kind, RaterKey
from apps.reliability.models import Snapshot
from apps.reliability.services.reading import SnapshotView
from apps.reliability.services.snapshots import is_current
from apps.reports.snippets import STATISTIC, Snippets, snippets_for
from apps.studies.models import Exclusion, RaterKind, Study

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


COLUMN_WORDS = {
    "block": _("The block of the study, by its short name"),
    "framework": _("The framework, by its short name"),
    "framework_version": _("Its version"),
    "dimension": _("The scale, by its short name"),
    "item": _("The id of the conversation"),
    "item_role": _("main; or practice, gold, attention, repeat, which do not enter statistics as ratings of their own"),
    "rater": _("The rater's pseudonym"),
    "kind": _("What kind of rater: expert, crowd, llm, self, reference, baseline"),
    "is_aggregate": _("true where the values are means or medians of several people"),
    "is_simulated": _("true where the rater is made up for a demonstration"),
    "value": _("A point of the scale, or between points for aggregates; empty where the rater could not tell"),
    "cannot_tell": _("true where the rater could not tell"),
    "comment": _("The rater's words"),
    "created_at": _("When it was first given, ISO 8601"),
    "updated_at": _("When it was last changed"),
    "evidence": _("Passages of the conversation as a JSON list, with their places"),
    "excluded": _("Why the rating is left out of statistics; empty where it counts"),
}


@dataclass
class BlockCount:
    """Finished ratings of one block: of each kind of rater, in the order of the kinds."""

    title: str
    slug: str
    kinds: dict[RaterKind, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.kinds.values())

    @property
    def kinds_in_words(self) -> list[dict[str, Any]]:
        return [{"kind": kind.value, "label": kind.label, "n": n} for kind, n in self.kinds.items()]


@dataclass(frozen=True)
class Contents:
    blocks: list[BlockCount]
    n_exclusions: int

    @property
    def total(self) -> int:
        return sum(block.total for block in self.blocks)


@dataclass(frozen=True)
class CheckedFigure:
    """One figure of the youngest snapshot, the names in it as pages show them, and programs that print it."""

    row: AgreementRow
    a: RaterKey
    b: RaterKey
    snippets: Snippets
    is_current: bool


def contents_of(study: Study) -> Contents:
    """How many ratings an export holds. Three queries."""
    found = {block.pk: BlockCount(block.title, block.slug) for block in study.blocks.order_by("position")}
    rows = Rating.objects.finished().filter(rater__study=study).order_by()
    for block, kind, n in rows.values_list("item__block", "rater__kind").annotate(Count("pk")):
        found[block].kinds[RaterKind(kind)] = n
    for one in found.values():
        one.kinds = dict(sorted(one.kinds.items(), key=lambda entry: KIND_ORDER[Kind(entry[0])]))
    return Contents(list(found.values()), Exclusion.objects.in_force().filter(rater__study=study).count())


def export_name(study: Study, suffix: str) -> str:
    return f"{study.slug}-ratings.{suffix}"


def export_pieces(study: Study, suffix: str) -> Iterator[bytes]:
    """The file piece by piece, the first one at once: memory does not grow with the number of ratings."""
    return FORMATS[f".{suffix}"](exported_ratings(study=study))


def checked_figure(study: Study, snapshot: Snapshot) -> CheckedFigure | None:
    """A figure that the export alone gives again: of the two people, experts if possible, who share most items.

    None where no two raters of the snapshot have a defined kappa.
    """
    view = SnapshotView(snapshot)
    raters = {rater.name: rater for rater in view.raters()}
    rows = [
        row
        for row in view.rows(statistics=[STATISTIC])
        if row.a in raters and row.b in raters and row.value is not None
    ]
    if not rows:
        return None

    def rank(row: AgreementRow) -> tuple[int, int]:
        experts = sum(raters[name].kind is Kind.EXPERT for name in (row.a, row.b))
        return experts, row.n_items

    row = max(rows, key=rank)
    snippets = snippets_for(row, export_name(study, "csv"))
    return CheckedFigure(row, raters[row.a], raters[row.b], snippets, is_current(snapshot))
