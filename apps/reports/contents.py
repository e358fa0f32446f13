"""One description of what a report holds; every file of it is written from that, so that all of them agree. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

from apps.llm.model_accounts import CheckedRun, ModelAccount
from apps.measures.groups import GROUP_STATISTICS
from apps.measures.kappa import Convention
from apps.measures.pairs import PAIR_STATISTICS
from apps.measures.within import RETEST_STATISTICS
from apps.reliability.accounting import Account
from apps.reliability.agreement import Agreement, AgreementRow, Settings
from apps.reliability.documents import averages_of
from apps.reliability.frozen import FrozenTables
from apps.reliability.labels import ScaleLabel
from apps.reliability.matrix import GROUP_NAMES, Kind, RaterKey, TableKey
from apps.reliability.notes import Note
from apps.reliability.selection import DataSelection
from apps.reports.figures.words import group_label

DEFAULT_THRESHOLD = 0.6
STATISTICS = tuple(dict.fromkeys((*PAIR_STATISTICS, *GROUP_STATISTICS, *RETEST_STATISTICS)))


class Part(StrEnum):
    """What a row is about: two sides, a whole group, or a rater with themselves."""

    PAIRS = "pairs"
    GROUPS = "groups"
    RETESTS = "retests"


class Stars(StrEnum):
    """Which p decides on the stars."""

    ADJUSTED = "p_adjusted"
    RAW = "p_value"
    NONE = "none"


class Format(StrEnum):
    """What a report may be written as. `txt` is the methods paragraph, `zip` the archive of everything."""

    CSV = "csv"
    JSON = "json"
    XLSX = "xlsx"
    TEX = "tex"
    HTML = "html"
    TXT = "txt"
    SVG = "svg"
    PNG = "png"
    ZIP = "zip"


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What somebody chose. Everything but `convention` only says what is shown, and changes no figure.

    Empty means all. `groups` are names such as `experts`: a row stays where each of its sides is one of them, or of
    them. `raters`: a row stays where it names one of them. `all_figures`: the figures of each scale and rater are
    drawn, too. Raises ValueError in a sentence for an unknown choice.
    """

    convention: Convention = Convention.SCALE
    parts: tuple[str, ...] = tuple(Part)
    statistics: tuple[str, ...] = ()
    block: str = ""
    framework: str = ""
    groups: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    stars: Stars = Stars.ADJUSTED
    threshold: float = DEFAULT_THRESHOLD
    formats: tuple[str, ...] = (Format.CSV, Format.JSON)
    all_figures: bool = False

    def __post_init__(self) -> None:
        _check("convention", [self.convention], tuple(Convention))
        _check("star rule", [self.stars], tuple(Stars))
        _check("part", self.parts, tuple(Part))
        _check("statistic", self.statistics, STATISTICS)
        _check("group", self.groups, tuple(GROUP_NAMES.values()))
        _check("format", self.formats, tuple(Format))
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"The threshold is {self.threshold:g}; expected a number from 0 to 1.")

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`; what is not named takes its default. Raises ValueError in a sentence."""
        if unknown := set(stored) - {one.name for one in fields(cls)}:
            raise ValueError(f"Unknown option {', '.join(sorted(unknown))}.")
        given: dict[str, Any] = dict(stored)
        for name in ("parts", "statistics", "groups", "raters", "formats"):
            if name in given:
                given[name] = tuple(str(one) for one in given[name])
        _check("convention", [given.get("convention", Convention.SCALE)], tuple(Convention))
        _check("star rule", [given.get("stars", Stars.ADJUSTED)], tuple(Stars))
        given["convention"] = Convention(given.get("convention", Convention.SCALE))
        given["stars"] = Stars(given.get("stars", Stars.ADJUSTED))
        given["threshold"] = float(given.get("threshold", DEFAULT_THRESHOLD))
        given["all_figures"] = bool(given.get("all_figures", False))
        return cls(**given)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return {name: _plain(getattr(self, name)) for name in (one.name for one in fields(self))}

    @property
    def narrows(self) -> bool:
        """Whether rows are left out."""
        chosen = self.statistics, self.block, self.framework, self.groups, self.raters
        return any(chosen) or set(self.parts) != set(Part)


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Which comparisons were computed: those of a study (with its two options) or those of a file of ratings."""

    of_study: bool = True
    all_pairs: bool = False
    pool_models: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(name for name in ("all_pairs", "pool_models") if getattr(self, name))


@dataclass(frozen=True)
class ReportContent:
    """What a report holds, and what it was made from.

    agreement: every statistic in the chosen convention, `other_rows` the same rows in the other one. data: the ratings
    (reliability.frozen). study: its slug, or empty where the ratings are those of a file, which has no account.
    description: what the study says of itself. models, checks: of the study, as they were when the report was made.
    """

    title: str
    study: str
    ratings_file: str
    generated_at: datetime
    agreement: Agreement
    comparisons: Comparisons
    options: ReportOptions
    scales: tuple[ScaleLabel, ...]
    account: Account
    selection: DataSelection
    versions: Mapping[str, str]
    command: str
    data: bytes
    description: str = ""
    models: tuple[ModelAccount, ...] = ()
    checks: tuple[CheckedRun, ...] = ()

    @property
    def settings(self) -> Settings:
        return self.agreement.settings

    @cached_property
    def frozen(self) -> FrozenTables:
        return FrozenTables(self.data)

    @cached_property
    def raters(self) -> tuple[RaterKey, ...]:
        """Everybody in any table."""
        return tuple(self.frozen.raters())

    @cached_property
    def rows(self) -> tuple[AgreementRow, ...]:
        """The rows that were chosen."""
        return narrowed(self.agreement.rows, self.options, self.raters)

    @cached_property
    def other_rows(self) -> tuple[AgreementRow, ...]:
        """The rows of the other convention that were chosen."""
        return narrowed(self.agreement.other_rows, self.options, self.raters)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """The notes on groups of which a row was chosen."""
        shown = {(row.block, row.framework, row.dimension, row.a) for row in self.rows if not row.b}
        return tuple(note for note in self.agreement.notes if note_place(note) in shown)

    @cached_property
    def _chosen_models(self) -> set[str]:
        """Names of the raters, used or not, that the report knows and the options choose."""
        known = {rater.name for rater in self.raters} | {one.name for one in self.account.raters_not_used()}
        groups, names = self.options.groups, self.options.raters
        is_chosen = not groups or GROUP_NAMES[Kind.LLM] in groups
        return (known & set(names) if names else known) if is_chosen else set()

    @cached_property
    def shown_models(self) -> tuple[ModelAccount, ...]:
        return tuple(one for one in self.models if one.rater in self._chosen_models)

    @cached_property
    def shown_checks(self) -> tuple[CheckedRun, ...]:
        """Whole runs: a block or framework that is chosen leaves nothing of them out."""
        return tuple(one for one in self.checks if one.rater in self._chosen_models)

    @cached_property
    def averages(self) -> list[dict[str, Any]]:
        return averages_of(self.rows)

    @cached_property
    def _labels(self) -> dict[TableKey, str]:
        return {scale.key: scale.dimension.label for scale in self.scales}

    def label_of(self, key: TableKey) -> str:
        """A scale's name for a reader."""
        return self._labels.get(key, key.dimension)

    def side_label(self, name: str) -> str:
        """A group or its value in words, as pages call it; the name of a rater as it is."""
        return name if any(rater.name == name for rater in self.raters) else group_label(name)

    def place_of(self, key: TableKey) -> str:
        """The framework of a scale, and its block where the study has the framework in several; empty for a file."""
        scale = next((one for one in self.scales if one.key == key), None)
        name = scale.framework.name if scale else key.framework
        blocks = {one.block.slug for one in self.scales if one.framework.slug == key.framework}
        if scale is None or len(blocks) < 2:
            return name
        title = scale.block.title or key.block
        return title if title.startswith(name) else f"{name}, {title}"

    @property
    def shown_scales(self) -> list[ScaleLabel]:
        """Scales of the chosen block and framework."""
        wanted = self.options
        return [
            scale
            for scale in self.scales
            if wanted.block in ("", scale.block.slug) and wanted.framework in ("", scale.framework.slug)
        ]


def note_place(note: Note) -> tuple[str, str, str, str]:
    return note.block, note.framework, note.dimension, note.a


def part_of(row: AgreementRow) -> Part:
    """What a row is about."""
    if row.b:
        return Part.PAIRS
    return Part.RETESTS if row.statistic in RETEST_STATISTICS else Part.GROUPS


def narrowed(
    rows: Iterable[AgreementRow], options: ReportOptions, raters: Sequence[RaterKey]
) -> tuple[AgreementRow, ...]:
    """The rows that the options choose, in their order. No figure changes; `p_adjusted` stays that of all rows."""
    if not options.narrows:
        return tuple(rows)
    group_of = {rater.name: GROUP_NAMES[rater.kind] for rater in raters if rater.kind is not None}
    return tuple(row for row in rows if _is_chosen(row, options, group_of))


def _is_chosen(row: AgreementRow, options: ReportOptions, group_of: Mapping[str, str]) -> bool:
    sides = [side for side in (row.a, row.b) if side]
    return (
        part_of(row) in options.parts
        and (not options.statistics or row.statistic in options.statistics)
        and options.block in ("", row.block)
        and options.framework in ("", row.framework)
        and (not options.groups or all(group_of_side(side, group_of) in options.groups for side in sides))
        and (not options.raters or any(side in options.raters for side in sides))
    )


def group_of_side(side: str, group_of: Mapping[str, str]) -> str:
    """The group of a rater, of `experts`, of `experts:median` or of `experts-without-expert1:median`; "" for others."""
    if side in group_of:
        return group_of[side]
    for group in GROUP_NAMES.values():
        if side == group or side.startswith((f"{group}:", f"{group}-without-")):
            return group
    return ""


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, str) else value


def _check(what: str, given: Collection[str], known: Sequence[str]) -> None:
    if unknown := [str(one) for one in given if one not in known]:
        raise ValueError(f"Unknown {what} {', '.join(unknown)}; expected one of {', '.join(known)}.")
