"""A methods section to be pasted into a paper: true of the ratings and of what was chosen, with its references. Pure.

Nothing is said that the report does not hold: a statistic is named where a row has it, an interval where one was
computed, an exclusion where there is one. What only the author can know stands as a hint in square brackets.
"""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apps.measures.kappa import Convention
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import EXPERTS_MEDIAN
from apps.reports import sources
from apps.reports.contents import Format, Part, ReportContent
from apps.reports.coverage import Coverage, Shares, coverage_of, listed, raters_in_words
from apps.reports.methods_data import (
    conversations_by_rater,
    conversations_of,
    data_sentences,
    of_the_whole_study,
    origin_in_brief,
    selection_sentences,
)
from apps.reports.methods_statistics import certainty_sentences, named_statistics, rows_by_part, statistics_sentences
from apps.reports.model_checks import model_sentences
from apps.reports.sources import References
from apps.reports.wording import family_text, ratings_left_out

LINE = 96
# Of the many statistics of a report those that a paper leads with, where they are there.
_LEADING = {Part.PAIRS: ("kappa_quadratic",), Part.GROUPS: ("alpha_interval",)}


@dataclass(frozen=True)
class Methods:
    """One paragraph for a paper that is short of room, several for one that is not, and the references of both."""

    short: str
    long: tuple[str, ...]
    references: tuple[str, ...]


def methods_of(content: ReportContent) -> Methods:
    """Both forms. References are numbered in the order in which they are first cited, the short form first."""
    references = References()
    found = coverage_of(content)
    short = " ".join(_short(content, found, references))
    parts = (
        data_sentences(content, found, references),
        statistics_sentences(content, references),
        certainty_sentences(content, references),
        model_sentences(content, found),
        _computing(content),
    )
    long = [" ".join(part) for part in parts]
    return Methods(short, tuple(part for part in long if part), tuple(references.listed))


def methods_text(content: ReportContent) -> str:
    """Both forms and the reference list as plain text, wrapped."""
    methods = methods_of(content)
    wrapped = [textwrap.fill(one, LINE, break_long_words=False, break_on_hyphens=False) for one in methods.long]
    short = textwrap.fill(methods.short, LINE, break_long_words=False, break_on_hyphens=False)
    parts = ["Short form", short, "Long form", *wrapped]
    if methods.references:
        entries = (
            textwrap.fill(f"[{number}] {one}", LINE, subsequent_indent="    ", break_long_words=False)
            for number, one in enumerate(methods.references, start=1)
        )
        parts.append("References\n" + "\n".join(entries))
    return "\n\n".join(parts) + "\n"


# --- The short form -----------------------------------------------------------------------------------------------


def _short(content: ReportContent, found: list[Coverage], references: References) -> Iterator[str]:
    yield from _rated(content, found, references)
    if not content.rows:
        yield "No agreement could be described."
        return
    yield from selection_sentences(content)
    yield from _left_out(content)
    yield from _measures(content, references)
    if any(row.ci_low is not None for row in content.rows):
        yield (
            f"Intervals are 95 % percentile intervals over {content.settings.resamples:,} bootstrap resamples"
            f"{references.cite(sources.EFRON_1993)} of items with all their ratings; they hold for these raters."
        )
    elif not content.settings.resamples:
        yield "No intervals were computed."
    if any(row.p_adjusted is not None for row in content.rows):
        yield (
            "P-values are adjusted by the false discovery rate procedure of Benjamini and Hochberg"
            f"{references.cite(sources.BENJAMINI_1995)} within {family_text(content)}."
        )
    yield f"Computed with Accord {content.versions.get('accord', '')}".rstrip() + f" (seed {content.settings.seed})."


def _rated(content: ReportContent, found: list[Coverage], references: References) -> Iterator[str]:
    if not found:
        return
    everybody = sorted({rater for one in found for rater in one.raters}, key=lambda rater: rater.order)
    count = sum(one.ratings + one.repeats for one in found)
    if not content.study:
        scales = len(content.shown_scales)
        where = "one scale" if scales == 1 else f"{scales} scales"
        who = raters_in_words(everybody, found[0].shares)
        yield f"{_counted(found[0].rated, 'item')} by {who} on {where} ({count:,} ratings)."
        yield "[Say who the raters are and how they rated.]"
        return
    frameworks = {(one.framework.slug, one.framework.version): one.framework for one in content.shown_scales}
    scales = len({(one.framework.slug, one.framework.version, one.dimension.slug) for one in content.shown_scales})
    cited = references.cite(*(one.citation.strip() for one in frameworks.values()))
    names = list(frameworks.values())
    where = f"{len(names)} frameworks" if len(names) > 1 else names[0].name
    total = len(conversations_of(content, found))
    own = {name: len(some) for name, some in conversations_by_rater(content, found).items()}
    who = raters_in_words(everybody, Shares.of(own, total, "conversation"))
    origin = origin_in_brief(content, found)
    yield (
        f"{_counted(total, 'conversation')} by {who} on "
        f"{scales} {'scale' if scales == 1 else 'scales'} of {where}{cited} ({count:,} ratings{origin})."
    )
    if len({one.raters for one in found}) > 1:
        yield f"There are {len(found)} blocks, and not every rater rated in every block."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun} was rated" if count == 1 else f"{count:,} {noun}s were rated"


def _left_out(content: ReportContent) -> Iterator[str]:
    raters = len(content.account.raters_not_used())
    ratings = sum(count for _reason, count in ratings_left_out(content.account.ratings))
    parts = [f"{raters:,} {'rater' if raters == 1 else 'raters'}"] if raters else []
    parts += [f"{ratings:,} stored {'rating' if ratings == 1 else 'ratings'}"] if ratings else []
    if parts:
        verb = "has" if raters + ratings == 1 else "have"
        yield f"{listed(parts)}{of_the_whole_study(content)} {verb} no part in the analysis."


def _measures(content: ReportContent, references: References) -> Iterator[str]:
    """What agreement is described by: the statistics that a paper leads with, or all where none of those is there."""
    parts = rows_by_part(content)
    if pairs := parts.get(Part.PAIRS):
        leading = _defined(row for row in pairs if row.statistic in _LEADING[Part.PAIRS])
        weighing = ""
        if leading:
            weighing = {
                Convention.SCALE: ", weighted by the distances between the declared points",
                Convention.OBSERVED: ", weighted by the distances between the ranks of the values used",
            }[content.settings.convention]
        named = named_statistics(leading or pairs, sources.PAIRS, references)
        yield f"Agreement between two sides is described by {named}{weighing}."
        if any(EXPERTS_MEDIAN in (row.a, row.b) for row in pairs):
            yield (
                "Where experts rated, their agreement with each other is the benchmark, and the other raters are "
                "compared with their median."
            )
    if groups := parts.get(Part.GROUPS):
        leading = _defined(row for row in groups if row.statistic in _LEADING[Part.GROUPS])
        who = "of the raters of one kind" if content.study else "of all raters"
        named = named_statistics(leading or groups, sources.GROUPS, references)
        yield f"Agreement {who} with each other is described by {named}."
    if (retests := parts.get(Part.RETESTS)) and len(parts) == 1:
        yield f"Raters are compared with themselves by {named_statistics(retests, sources.RETESTS, references)}."


def _defined(rows: Iterable[AgreementRow]) -> list[AgreementRow]:
    return [row for row in rows if row.value is not None]


# --- The end of the long form -------------------------------------------------------------------------------------


def _computing(content: ReportContent) -> Iterator[str]:
    """The software, and what tells that the ratings are the same."""
    names = {"python": "Python"}
    packages = [f"{names.get(name, name)} {number}" for name, number in content.versions.items() if name != "accord"]
    ours = f"Accord {content.versions.get('accord', '')}".rstrip()
    beside = f", {listed(packages)}" if packages else ""
    yield (
        f"Computed with {ours} (free software, GPL-3.0-or-later) [add where it can be had]{beside}. "
        f"The SHA-256 of the ratings is {content.agreement.data_hash}."
    )
    if Format.ZIP in content.options.formats:
        yield (
            "The archive of the report holds the ratings under pseudonyms; python manage.py recompute computes every "
            "number again from it."
        )
