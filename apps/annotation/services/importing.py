"""Finished ratings of a file into a block: all of them or none, and nothing twice."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from django.db import transaction

from apps.accounts.models import User
from apps.annotation.parsing.mapping import MappingQuestion, OpenQuestion, RatingMapping, complete_mapping, parse_maps
from apps.annotation.parsing.reading import (
    Expected,
    ItemKey,
    ParsedFile,
    RaterFacts,
    Told,
    computed_here,
    read_ratings,
)
from apps.annotation.parsing.values import DimensionScale, Scales
from apps.annotation.services.recording import Origin, RatingEntry, Tally, record_ratings
from apps.common.digests import sha256_of
from apps.common.models import AuditEntry
from apps.corpus.parsing.records import FileError, text_fault
from apps.corpus.parsing.rows import Table, open_table
from apps.frameworks.models import Dimension
from apps.frameworks.scales import LevelName, PointSpec
from apps.studies.models import Block, RaterKind
from apps.studies.services.raters import NewRater, ensure_raters


@dataclass(frozen=True)
class RatingsFile:
    """A file to import, the name its owner knows it by, and its format and encoding where they are told."""

    name: str
    file: BinaryIO
    format: str | None = None
    encoding: str | None = None


@dataclass
class ImportResult:
    """What an import did, or would do."""

    parsed: ParsedFile
    tally: Tally = field(default_factory=Tally)
    new_raters: list[str] = field(default_factory=list)


class RatingsRefusedError(Exception):
    """The file has problems, and it was not asked to leave those rows out. Nothing was stored."""

    def __init__(self, parsed: ParsedFile) -> None:
        super().__init__(f"{parsed.problems.total} problems")
        self.parsed = parsed


class RatingImportFollower:
    """Told how an import goes, step by step. What a method raises ends the import, with nothing stored."""

    def opened(self, table: Table, mapping: RatingMapping) -> None:
        """The file's format and mapping are known."""

    def reading(self, rows: int) -> None:
        """So many rows are read so far."""

    def checked(self, parsed: ParsedFile) -> None:
        """All is read, and its good rows will be written: before the transaction."""

    def stored(self, result: ImportResult) -> None:
        """All is written: within the same transaction, whatever was changed."""


def read_file(
    *,
    target: "Target",
    source: RatingsFile,
    told: Told,
    maps: Sequence[str] = (),
    rows: int | None = None,
    follower: RatingImportFollower | None = None,
) -> tuple[Table, RatingMapping, ParsedFile]:
    """Reads and checks a file, or no more than its first `rows`. Raises FileError where file or mapping is unusable."""
    follower = follower or RatingImportFollower()
    _check_told(told, target.expected)
    given = parse_maps(maps)
    table = open_table(source.file, format=source.format, encoding=source.encoding)
    mapping = complete_mapping(given, table.columns, target.expected.scales, has_rater=bool(told.rater))
    follower.opened(table, mapping)
    if rows is not None:
        table.cut(rows)
    table.watch(follower.reading)
    parsed = read_ratings(table, mapping, target.expected, told)
    if not parsed.rows and not parsed.problems.total:
        raise FileError("The file holds no rows besides its header.")
    if parsed.rows and parsed.other_blocks == parsed.rows and not table.is_cut:
        column = mapping.columns["block"]
        fault = f"The column {column} names the block {target.block.slug} in no row."
        raise MappingQuestion(
            OpenQuestion(
                f"{fault} If it is about something else, choose no column for the block.",
                f"{fault} If it is about something else, add --map block=.",
                "block",
            )
        )
    return table, mapping, parsed


def import_ratings(
    *,
    block: Block,
    source: RatingsFile,
    told: Told,
    maps: Sequence[str] = (),
    skip_problem_rows: bool = False,
    dry_run: bool = False,
    on_screen: bool = False,
    actor: User | None = None,
    follower: RatingImportFollower | None = None,
) -> ImportResult:
    """Reads and checks the whole file, then writes its ratings and the raters they need in one transaction.

    `maps` are texts `field=column`; `on_screen` as for `Target.of`. A second import of the same file changes nothing.
    Raises FileError where the file or the mapping is unusable, RatingsRefusedError where rows have problems and
    `skip_problem_rows` is off, RaterConflict where a rater was added otherwise meanwhile.
    """
    follower = follower or RatingImportFollower()
    target = Target.of(block, on_screen=on_screen)
    _, mapping, parsed = read_file(target=target, source=source, told=told, maps=maps, follower=follower)
    if parsed.problems.total and not skip_problem_rows:
        raise RatingsRefusedError(parsed)
    follower.checked(parsed)
    with transaction.atomic():
        result = _store(target, source.name, parsed, actor)
        if result.tally.created or result.tally.changed:
            _note(block, source, mapping, result, actor)
        follower.stored(result)
        transaction.set_rollback(dry_run)
    return result


@dataclass(frozen=True)
class Target:
    """The block ratings go into: its rows by what files call them, and what a file may say."""

    block: Block
    items: dict[ItemKey, int]
    dimensions: dict[str, Dimension]
    expected: Expected

    @classmethod
    def of(cls, block: Block, *, on_screen: bool = False) -> "Target":
        """`on_screen`: messages call scales and kinds of raters by their labels, not as the command does."""
        items, dimensions = _items(block), _dimensions(block)
        raters = block.study.raters.values_list("name", "kind", "is_aggregate", "is_simulated")
        expected = Expected(
            block=block.slug,
            scales=Scales((scale_of(key, one) for key, one in dimensions.items()), by_label=on_screen),
            items=items,
            raters={row[0]: RaterFacts(*row[1:]) for row in raters},
            kinds={kind.value: str(kind.label) if on_screen else kind.value for kind in RaterKind},
            computed=frozenset(block.study.raters.computed_here().values_list("name", flat=True)),
        )
        return cls(block, items, dimensions, expected)


def _items(block: Block) -> dict[ItemKey, int]:
    """(external id, role) -> primary key, in the order of the block."""
    rows = block.items.order_by("position").values_list("conversation__external_id", "role", "pk")
    return {(external_id, role): pk for external_id, role, pk in rows.iterator()}


def _dimensions(block: Block) -> dict[str, Dimension]:
    """FRAMEWORK/SLUG -> dimension, in the order of the rating screen."""
    used = block.block_frameworks.select_related("framework").prefetch_related("framework__dimensions__points")
    return {
        f"{row.framework.slug}/{dimension.slug}": dimension
        for row in used
        for dimension in row.framework.dimensions.all()
    }


def scale_of(key: str, dimension: Dimension) -> DimensionScale:
    """The dimension as parsers know it, with its points in ascending order."""
    framework, _, slug = key.partition("/")
    points = sorted((point.value, point.label) for point in dimension.points.all())
    specs = tuple(PointSpec(value, label) for value, label in points)
    level: LevelName = "nominal" if dimension.is_nominal else "ordinal"
    return DimensionScale(framework, slug, specs, level, dimension.label, dimension.framework.name)


def _check_told(told: Told, expected: Expected) -> None:
    """What every row would repeat is said once."""
    if fault := text_fault(told.rater):
        raise FileError(f"The rater's name {fault}.")
    if told.rater in expected.computed:
        raise FileError(f"{computed_here(told.rater)}.")
    if told.kind and told.kind not in expected.kinds:
        raise FileError(f"{told.kind} is no kind of rater; expected one of {', '.join(expected.kinds)}.")
    has_kind = told.kind or told.new_kind or told.asks_kind_later
    if told.rater and told.rater not in expected.raters and not has_kind:
        raise FileError(f"{told.rater} is new to the study; say of which kind: {', '.join(expected.kinds.values())}.")


def _store(target: Target, name: str, parsed: ParsedFile, actor: User | None) -> ImportResult:
    wanted = [
        NewRater(facts.kind, rater, facts.is_aggregate, facts.is_simulated, source=name)
        for rater, facts in parsed.raters.items()
    ]
    raters = ensure_raters(study=target.block.study, raters=wanted, actor=actor)
    tally = record_ratings(
        entries=(
            RatingEntry(
                item_id=target.items[one.item],
                rater_id=raters[one.rater].pk,
                dimension_id=target.dimensions[one.dimension].pk,
                value=one.answer.value,
                cannot_tell=one.answer.cannot_tell,
                comment=one.comment,
                evidence=one.evidence,
            )
            for one in parsed.ratings
        ),
        origin=Origin.IMPORT,
        actor=actor,
    )
    return ImportResult(parsed, tally, sorted(parsed.raters.keys() - target.expected.raters.keys()))


def _note(block: Block, source: RatingsFile, mapping: RatingMapping, result: ImportResult, actor: User | None) -> None:
    AuditEntry.objects.create(
        actor=actor,
        action="ratings.import",
        subject=f"{block.study.slug}/{block.slug}",
        details={
            "file": source.name,
            "sha256": sha256_of(source.file),
            "mapping": mapping.as_dict(),
            "created": result.tally.created,
            "changed": result.tally.changed,
            "unchanged": result.tally.unchanged,
            "problems": result.parsed.problems.total,
            "raters": sorted(result.parsed.raters),
        },
    )
