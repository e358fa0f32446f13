"""An agreement as a JSON document: its rows, and everything needed to compute them again."""

import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from apps.common.version import VERSION
from apps.reliability.agreement import COLUMNS, Agreement, AgreementRow

PACKAGES = ("numpy", "scipy", "krippendorff")

INTERVALS = (
    "95 % percentile intervals over resampled items, each with all its raters. They hold for these raters: "
    "a few experts are not a sample of experts."
)
ADJUSTMENT = "Benjamini-Hochberg within one statistic of one framework in one block, over all dimensions and pairs"


@dataclass(frozen=True, slots=True)
class Report:
    """An agreement with where it comes from: the study's slug, or the name of a file of ratings."""

    agreement: Agreement
    generated_at: datetime
    study: str = ""
    ratings_file: str = ""
    options: tuple[str, ...] = ()


def meta_of(report: Report) -> dict[str, Any]:
    """How the numbers were computed, and from what."""
    agreement = report.agreement
    settings = agreement.settings
    return {
        "study": report.study or None,
        "ratings_file": report.ratings_file or None,
        "generated_at": report.generated_at.isoformat(timespec="seconds"),
        "convention": settings.convention.value,
        "seed": settings.seed,
        "resamples": settings.resamples,
        "options": list(report.options),
        "intervals": INTERVALS if settings.resamples else "none were computed",
        "p_adjusted": ADJUSTMENT,
        "tables": agreement.tables,
        "raters": agreement.raters,
        "ratings": agreement.ratings,
        "data_hash": agreement.data_hash,
        "undefined": agreement.undefined_counts(),
        "versions": versions(),
    }


def document_of(report: Report) -> dict[str, Any]:
    """The whole report: `meta`, `notes`, `averages` and `rows`, of plain values only."""
    agreement = report.agreement
    return {
        "meta": meta_of(report),
        "notes": [asdict(note) for note in agreement.notes],
        "averages": averages_of(agreement.rows),
        "rows": [row_as_dict(row) for row in agreement.rows],
    }


def row_as_dict(row: AgreementRow) -> dict[str, str | float | int | None]:
    return {column: getattr(row, column) for column in COLUMNS}


def averages_of(rows: Iterable[AgreementRow]) -> list[dict[str, Any]]:
    """The mean of each statistic over the dimensions of a framework, with how many were undefined and left out.

    Only where a framework has several dimensions. `value` is null where none is defined.
    """
    alike: dict[tuple[str, str, str, str, str], list[AgreementRow]] = {}
    for row in rows:
        alike.setdefault((row.block, row.framework, row.statistic, row.a, row.b), []).append(row)
    averages = []
    for (block, framework, statistic, a, b), found in alike.items():
        defined = [row.value for row in found if row.value is not None]
        if len(found) > 1:
            averages.append(
                {
                    "block": block,
                    "framework": framework,
                    "statistic": statistic,
                    "a": a,
                    "b": b,
                    "convention": next((row.convention for row in found if row.convention), ""),
                    "value": sum(defined) / len(defined) if defined else None,
                    "n_dimensions": len(defined),
                    "n_undefined": len(found) - len(defined),
                }
            )
    return averages


def versions() -> dict[str, str]:
    """Versions of what computes: Accord, Python and the packages behind the statistics."""
    found = {"accord": VERSION, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
