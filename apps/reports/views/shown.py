"""A stored report in words: what was chosen, what its files are for, and what a reader should know."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.reports.contents import Format, Part
from apps.reports.figures.words import group_label
from apps.reports.models import StoredReport, StoredReportFile
from apps.reports.plans import ReportPlan
from apps.reports.words import CONVENTIONS, FILES, FORMATS, PARTS, STARS


class ShownFile(NamedTuple):
    file: StoredReportFile
    label: str | Promise
    purpose: str | Promise


def in_order(files: Iterable[StoredReportFile]) -> list[StoredReportFile]:
    """What most people open first comes first."""
    order = {str(name): place for place, name in enumerate(FORMATS)}
    return sorted(files, key=lambda file: (order.get(_suffix(file.name), len(order)), file.name))


def shown_files(files: Iterable[StoredReportFile]) -> list[ShownFile]:
    """The files with what their kinds are called and are for."""
    return [ShownFile(file, *_words_of(file.name)) for file in files]


def _words_of(name: str) -> tuple[str | Promise, str | Promise]:
    if name in FILES:
        return FILES[name]
    suffix = _suffix(name)
    return FORMATS[Format(suffix)] if suffix in set(Format) else (suffix.upper(), "")


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lstrip(".").lower()


@dataclass(frozen=True)
class ShownReport:
    report: StoredReport
    plan: ReportPlan

    @property
    def choices(self) -> Iterator[tuple[str, str]]:
        """What was chosen, as (name, words): first what every report has, then what this one leaves out."""
        options, selection = self.plan.options, self.plan.selection
        yield _("Weighted kappa"), str(CONVENTIONS[options.convention])
        yield _("Threshold"), f"{options.threshold:g}"
        yield _("Stars"), str(STARS[options.stars])
        if options.all_figures:
            yield _("Figures drawn"), _("of the whole study, and of each scale and rater")
        if set(options.parts) != set(Part):
            yield _("Only"), "; ".join(str(PARTS[Part(part)]) for part in options.parts)
        if options.block:
            yield _("Only the block"), options.block
        if options.framework:
            yield _("Only the framework"), options.framework
        if options.groups:
            yield _("Only among"), ", ".join(group_label(group) for group in options.groups)
        if options.raters:
            yield _("Only comparisons with"), ", ".join(options.raters)
        for name, values in selection.metadata:
            shown = ", ".join(value or _("no value") for value in values)
            yield _("Only conversations with"), f"{name}: {shown}"
        if selection.with_excluded:
            yield _("Excluded ratings"), _("take part all the same")

    @cached_property
    def warnings(self) -> list[str]:
        """Sentences on what is easily overlooked in this report."""
        summary = self.report.summary
        found = []
        undefined = summary.get("undefined", [])
        if total := sum(n for _reason, n in undefined):
            text = ngettext(
                "%(n)s of %(rows)s statistics is not defined, and has its reason in its place: %(reasons)s.",
                "%(n)s of %(rows)s statistics are not defined, and have their reason in their place: %(reasons)s.",
                total,
            )
            reasons = ", ".join(f"{reason} ({n:,})" for reason, n in undefined)
            found.append(text % {"n": f"{total:,}", "rows": f"{summary['rows']:,}", "reasons": reasons})
        if notes := summary.get("notes", 0):
            text = ngettext(
                "%(n)d number is easily misread; a note in the report says why.",
                "%(n)d numbers are easily misread; notes in the report say why.",
                notes,
            )
            found.append(text % {"n": notes})
        if self.plan.selection.with_excluded:
            found.append(_("Ratings that are excluded from statistics take part in this report."))
        if not self.plan.resamples:
            found.append(_("There are no intervals: no resamples were asked for."))
        if "rows" in summary and not summary["rows"]:
            found.append(_("No statistic is left by what was chosen."))
        return found

    @cached_property
    def archive_name(self) -> str:
        """What the archive is called once it is downloaded; empty where the report has none."""
        names = (file.download_name for file in self.report.files.all() if file.name.endswith(f".{Format.ZIP}"))
        return next(names, "")

    @property
    def format_labels(self) -> list[str]:
        return [str(FORMATS[Format(name)][0]) for name in self.plan.options.formats]
