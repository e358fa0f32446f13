"""`agreement.csv` and `agreement.json` of a report, from its rows or from rows that were computed again. Pure."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from apps.reliability.agreement import Agreement
from apps.reliability.documents import Report, document_of
from apps.reports.contents import ReportContent, ReportOptions
from apps.reports.tables import csv_text


def report_of(content: ReportContent) -> Report:
    """The rows and notes that were chosen, as the writers of `tables` take them."""
    chosen = replace(content.agreement, rows=content.rows, notes=content.notes, other_rows=())
    return Report(
        chosen,
        content.generated_at,
        study=content.study,
        ratings_file=content.ratings_file,
        options=content.comparisons.options,
    )


def agreement_csv(content: ReportContent) -> str:
    return csv_text(report_of(content))


def agreement_json(content: ReportContent) -> str:
    """The document with the versions that computed it, which need not be those that write it."""
    document = document_with(report_of(content), content.options, content.versions)
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def document_with(report: Report, options: ReportOptions, versions: Mapping[str, str]) -> dict[str, Any]:
    """`filter`, within `meta`, says which rows were left out, where any were."""
    document = document_of(report)
    document["meta"]["versions"] = dict(versions)
    if options.narrows:
        chosen = options.as_dict()
        narrowing = ("parts", "statistics", "block", "framework", "groups", "raters")
        document["meta"]["filter"] = {name: chosen[name] for name in narrowing}
    return document


def rebuilt_report(
    recorded: Mapping[str, Any], generated_at: datetime, agreement: Agreement, options: tuple[str, ...]
) -> Report:
    """A report that was computed again, with what the manifest says of the first."""
    return Report(
        agreement,
        generated_at,
        study=recorded.get("study") or "",
        ratings_file=recorded.get("ratings_file") or "",
        options=options,
    )
