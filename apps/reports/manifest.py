"""`manifest.json` of an archive: what was computed, from what and how, and the hash of every file. Pure."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeVar

from apps.measures.kappa import Convention
from apps.measures.scale import Level, Scale
from apps.reliability.accounting import ItemUse, RaterAccount
from apps.reliability.agreement import Settings
from apps.reliability.labels import ScaleLabel
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey
from apps.reports.contents import Comparisons, ReportContent, ReportOptions
from apps.reports.long_table import ROLES, TableHead
from apps.reports.model_checks import manifest_models
from apps.reports.wording import rater_reason

NAME = "manifest.json"
SCHEMA = "accord-report"
SCHEMA_VERSION = 1

T = TypeVar("T")


class ManifestError(ValueError):
    """The manifest is not one of a report, or not one this version of Accord can read; one sentence."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of the archive: its size in bytes and the SHA-256 of its content."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """A manifest that was read. `recorded` is all of it as plain values."""

    settings: Settings
    comparisons: Comparisons
    options: ReportOptions
    heads: tuple[TableHead, ...]
    files: tuple[FileEntry, ...]
    versions: Mapping[str, str]
    data_hash: str
    generated_at: datetime
    recorded: Mapping[str, Any]


def manifest_of(content: ReportContent, files: Sequence[FileEntry]) -> dict[str, Any]:
    """The manifest as plain values."""
    agreement, settings = content.agreement, content.settings
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "title": content.title,
        "study": content.study or None,
        "ratings_file": content.ratings_file or None,
        "generated_at": content.generated_at.isoformat(timespec="seconds"),
        "command": content.command,
        "data_hash": agreement.data_hash,
        "settings": {
            "convention": settings.convention.value,
            "resamples": settings.resamples,
            "seed": settings.seed,
        },
        "comparisons": {
            "of": "study" if content.comparisons.of_study else "file",
            "all_pairs": content.comparisons.all_pairs,
            "pool_models": content.comparisons.pool_models,
        },
        "options": content.options.as_dict(),
        "selection": content.selection.as_dict(),
        "counts": {"tables": agreement.tables, "raters": agreement.raters, "ratings": agreement.ratings},
        "rows": len(content.rows),
        "scales": _scales(content),
        "raters": {
            "used": [_rater(rater) for rater in content.raters],
            "left_out": [_left_out_rater(one) for one in content.account.raters_not_used()],
        },
        "items": {
            "used_and_not": "items.csv",
            "left_out": [
                {"block": block.block, "role": ROLES[group.use], "reason": group.use.value, "items": group.n}
                for block in content.account.blocks
                for group in block.beside
                if group.use is not ItemUse.REPEAT
            ],
        },
        **({"models": manifest_models(content)} if content.shown_models else {}),
        "ratings": asdict(content.account.ratings) if content.study else None,
        # With excluded ratings in, none is left out.
        "single_exclusions": [] if content.selection.with_excluded else [asdict(one) for one in content.account.single],
        "versions": dict(content.versions),
        "files": [{"name": one.name, "size": one.size, "sha256": one.sha256} for one in files],
    }


def manifest_text(content: ReportContent, files: Sequence[FileEntry]) -> str:
    return json.dumps(manifest_of(content, files), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _scales(content: ReportContent) -> list[dict[str, Any]]:
    labels = {scale.key: scale for scale in content.scales}
    return [_scale(table, labels.get(table.key)) for table in content.frozen.tables()]


def _scale(table: RatingTable, words: ScaleLabel | None) -> dict[str, Any]:
    framework, dimension = (words.framework, words.dimension) if words else (None, None)
    return {
        "block": table.key.block,
        "framework": table.key.framework,
        "framework_name": framework.name if framework else "",
        "framework_version": (framework.version or None) if framework else None,
        "citation": framework.citation if framework else "",
        "dimension": table.key.dimension,
        "label": dimension.label if dimension else table.key.dimension,
        "level": table.scale.level.value,
        "points": list(table.scale.points),
        "labels": [point.text for point in dimension.points] if dimension else [],
        "raters": [rater.name for rater in table.raters],
        "has_repeats": table.repeats is not None,
    }


def _rater(rater: RaterKey) -> dict[str, Any]:
    return {"name": rater.name, "kind": rater.kind.value if rater.kind else None, "aggregate": rater.is_aggregate}


def _left_out_rater(one: RaterAccount) -> dict[str, Any]:
    return {"name": one.name, "kind": one.kind, "reason": rater_reason(one)}


def read_manifest(data: bytes) -> Manifest:
    """Raises ManifestError in one sentence."""
    recorded = _object(data)
    if recorded.get("schema") != SCHEMA:
        raise ManifestError(f"{NAME} is not that of an agreement report of Accord.")
    if recorded.get("schema_version") != SCHEMA_VERSION:
        raise ManifestError(
            f"{NAME} is of schema version {recorded.get('schema_version')}; this version of Accord reads "
            f"{SCHEMA_VERSION}."
        )
    settings = _part(recorded, "settings", _settings)
    return Manifest(
        settings=settings,
        comparisons=_part(recorded, "comparisons", _comparisons),
        options=_part(recorded, "options", ReportOptions.from_dict),
        heads=_heads(recorded),
        files=_part(recorded, "files", lambda rows: tuple(_file(row) for row in rows)),
        versions=_part(recorded, "versions", _texts),
        data_hash=_part(recorded, "data_hash", str),
        generated_at=_part(recorded, "generated_at", datetime.fromisoformat),
        recorded=recorded,
    )


def _object(data: bytes) -> dict[str, Any]:
    try:
        recorded = json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ManifestError(f"{NAME} is no JSON.") from None
    if not isinstance(recorded, dict):
        raise ManifestError(f"{NAME} holds no JSON object.")
    return recorded


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _part(recorded: Mapping[str, Any], name: str, read: Callable[[Any], T]) -> T:
    try:
        return read(recorded[name])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        why = f": {error}" if type(error) is ValueError else ""
        raise ManifestError(f"{NAME}, {name}: is missing or not what a report has{why}") from None


def _settings(given: Any) -> Settings:
    return Settings(Convention(given["convention"]), int(given["resamples"]), int(given["seed"]))


def _comparisons(given: Any) -> Comparisons:
    return Comparisons(
        of_study={"study": True, "file": False}[given["of"]],
        all_pairs=bool(given["all_pairs"]),
        pool_models=bool(given["pool_models"]),
    )


def _texts(given: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in given.items()}


def _file(given: Any) -> FileEntry:
    return FileEntry(str(given["name"]), int(given["size"]), str(given["sha256"]))


def _heads(recorded: Mapping[str, Any]) -> tuple[TableHead, ...]:
    raters = _part(recorded, "raters", lambda given: {str(one["name"]): _key_of(one) for one in given["used"]})
    heads = _part(recorded, "scales", lambda given: tuple(_head(one, raters) for one in given))
    if len({head.key for head in heads}) < len(heads):
        raise ManifestError(f"{NAME}, scales: one is listed twice.")
    return heads


def _key_of(given: Any) -> RaterKey:
    return RaterKey(
        str(given["name"]), None if given["kind"] is None else Kind(given["kind"]), bool(given["aggregate"])
    )


def _head(given: Any, raters: Mapping[str, RaterKey]) -> TableHead:
    return TableHead(
        TableKey(str(given["block"]), str(given["framework"]), str(given["dimension"])),
        Scale(tuple(float(point) for point in given["points"]), Level(given["level"])),
        tuple(raters[name] for name in given["raters"]),
        bool(given["has_repeats"]),
    )
