"""The statistics of a report, their intervals and their tests, in sentences for a paper. Pure."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from apps.measures.arrays import FloatArray
from apps.measures.kappa import Convention
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import CROWD_MEAN, EXPERTS_MEDIAN
from apps.reliability.matrix import GROUP_NAMES, Kind, RatingTable
from apps.reports import sources
from apps.reports.contents import Part, ReportContent, Stars, part_of
from apps.reports.coverage import listed
from apps.reports.sources import References, Source
from apps.reports.wording import family_text

_MODELS_MEDIAN = f"{GROUP_NAMES[Kind.LLM]}:median"
_MEDIANS = {EXPERTS_MEDIAN: Kind.EXPERT, _MODELS_MEDIAN: Kind.LLM}
_EXPERTS_WITHOUT = f"{GROUP_NAMES[Kind.EXPERT]}-without-"
_CROWD_WITHOUT = f"{GROUP_NAMES[Kind.CROWD]}-without-"


def rows_by_part(content: ReportContent) -> dict[Part, list[AgreementRow]]:
    parts: dict[Part, list[AgreementRow]] = {}
    for row in content.rows:
        parts.setdefault(part_of(row), []).append(row)
    return parts


def statistics_sentences(content: ReportContent, references: References) -> Iterator[str]:
    """The statistics that the rows have, with their sources, and how sides are made of several raters."""
    parts = rows_by_part(content)
    if pairs := parts.get(Part.PAIRS):
        yield f"Agreement between two sides is described by {named_statistics(pairs, sources.PAIRS, references)}."
        yield from _convention(content, pairs, references)
        yield from _sides(content, pairs)
    if groups := parts.get(Part.GROUPS):
        who = "of all raters" if not content.study else "of the raters of one kind"
        yield (
            f"Agreement {who} with each other is described by {named_statistics(groups, sources.GROUPS, references)}; "
            "items with missing ratings are kept unless said otherwise."
        )
    if retests := parts.get(Part.RETESTS):
        yield (
            "Raters who rated an item twice are compared with themselves by "
            f"{named_statistics(retests, sources.RETESTS, references)}."
        )
        if not pairs:
            yield from _convention(content, retests, references)


def named_statistics(rows: Iterable[AgreementRow], known: Sequence[Source], references: References) -> str:
    """Those that have a value somewhere in the rows, each with its citation; all of them where none has."""
    rows = list(rows)
    present = {row.statistic for row in rows if row.value is not None} or {row.statistic for row in rows}
    return listed(
        [
            source.name + references.cite(*source.references)
            for source in known
            if present.intersection(source.statistics)
        ]
    )


def _convention(content: ReportContent, rows: Sequence[AgreementRow], references: References) -> Iterator[str]:
    """How weighted kappa measures disagreement, where there is one."""
    rows = [row for row in rows if row.value is not None]
    if not any(row.statistic.endswith(("kappa_quadratic", "kappa_linear")) for row in rows):
        return
    if content.settings.convention is Convention.OBSERVED:
        yield (
            "Weighted kappa takes as categories the values that the two sides happened to use, and the distances of "
            f"their ranks as disagreement (convention “observed”){references.cite(sources.KUMAR_2026)}."
        )
        return
    yield (
        "Weighted kappa takes the distances between the declared points of the scale as disagreement, whether or "
        "not they were used (convention “scale”)."
    )
    quadratic = [row for row in rows if row.statistic == "kappa_quadratic"]
    if quadratic and _has_values_between_points(content, quadratic):
        yield (
            "Where a mean or a median lies between points, quadratic weighted kappa is taken of the values as they "
            f"are; it is then Lin's concordance correlation coefficient{references.cite(sources.LIN_1989)}."
        )


def _has_values_between_points(content: ReportContent, rows: Iterable[AgreementRow]) -> bool:
    """Whether a side of the rows has a value that is no point: a mean, a median of an even number, or as imported."""
    sides: dict[tuple[str, str, str], set[str]] = {}
    for row in rows:
        sides.setdefault((row.block, row.framework, row.dimension), set()).update((row.a, row.b))
    for table in content.frozen.tables(block=content.options.block, framework=content.options.framework):
        names = sides.get(table.key, set())
        shown = [place for place, rater in enumerate(table.raters) if rater.name in names]
        if any(":mean" in name or "-without-" in name for name in names):
            return True
        if not table.scale.on_points(_given(table.values[:, shown])):
            return True
        if any(side in names and _has_even_counts(table, kind) for side, kind in _MEDIANS.items()):
            return True
    return False


def _has_even_counts(table: RatingTable, kind: Kind) -> bool:
    """Whether an even number of raters of the kind rated some item: their median may lie between points."""
    members = [place for place, rater in enumerate(table.raters) if rater.kind is kind]
    counts = (~np.isnan(table.values[:, members])).sum(axis=1)
    return bool(((counts > 0) & (counts % 2 == 0)).any())


def _given(values: FloatArray) -> FloatArray:
    return values[~np.isnan(values)]


def _sides(content: ReportContent, rows: Sequence[AgreementRow]) -> Iterator[str]:
    """How values of groups came about, where there are some."""
    names = {name for row in rows for name in (row.a, row.b)}
    with_others = {start for start in (_EXPERTS_WITHOUT, _CROWD_WITHOUT) for name in names if name.startswith(start)}
    if EXPERTS_MEDIAN in names or _EXPERTS_WITHOUT in with_others:
        yield "The experts' value of an item is their median, where at least two of them rated it."
    yield from _crowd(content, rows, is_mean=CROWD_MEAN in names or _CROWD_WITHOUT in with_others)
    if _MODELS_MEDIAN in names:
        yield "The models' value of an item is their median, where at least two of them rated it."
    if with_others:
        yield "A rater is compared with their group only without them."


def _crowd(content: ReportContent, rows: Sequence[AgreementRow], *, is_mean: bool) -> Iterator[str]:
    """The crowd's value: made of its workers, or brought along by an import, which need not be so everywhere."""
    names = {name for row in rows for name in (row.a, row.b)}
    brought = [
        rater.name
        for rater in content.raters
        if rater.kind is Kind.CROWD and rater.is_aggregate and rater.name in names
    ]
    if is_mean:
        start = "Where crowd workers are single raters, the crowd's" if brought else "The crowd's"
        yield f"{start} value of an item is the mean of its workers, where at least two of them rated it."
    if brought:
        start = "Elsewhere the crowd is" if is_mean else "The crowd is"
        what = "one imported aggregate" if len(brought) == 1 else f"{len(brought)} imported aggregates"
        yield f"{start} {what} ({', '.join(brought)}), compared as imported."


def certainty_sentences(content: ReportContent, references: References) -> Iterator[str]:
    """Intervals, tests, and what is undefined."""
    settings = content.settings
    if not content.rows:
        return
    if settings.resamples:
        yield (
            f"Intervals are 95 % percentile intervals of a bootstrap{references.cite(sources.EFRON_1993)} that "
            f"resamples items with all their ratings ({settings.resamples:,} resamples, seed {settings.seed}); "
            "resamples that leave a statistic undefined are set aside and counted. "
            "The intervals hold for these raters: a few raters are not a sample of all raters."
        )
    else:
        yield "No intervals were computed."
    yield from _tests(content, references)
    if any(row.value is None for row in content.rows):
        yield "Statistics that are undefined are left out of averages."


def _tests(content: ReportContent, references: References) -> Iterator[str]:
    tested = [row for row in content.rows if row.p_value is not None]
    if not tested:
        return
    statistics = {row.statistic for row in tested}
    if any("kappa" in statistic for statistic in statistics):
        how = "its variance if kappa is 0" if content.settings.convention is Convention.SCALE else "its plain variance"
        cited = references.cite(sources.FLEISS_1969)
        yield f"Kappa is tested against 0 by the normal distribution and {how}, for large samples{cited}."
    if "spearman" in statistics:
        yield "Spearman's correlation is tested against 0 by Student's t distribution with n - 2 degrees of freedom."
    if "kendall_tau_b" in statistics:
        yield (
            "Kendall's tau-b is tested against 0 by the normal distribution, with its variance corrected for ties"
            f"{references.cite(sources.KENDALL_1970)}; without ties and for few items by its exact distribution."
        )
    yield (
        "All tests are two-sided. P-values are adjusted by the false discovery rate procedure of Benjamini and "
        f"Hochberg{references.cite(sources.BENJAMINI_1995)} within {family_text(content)}, over all its scales "
        "and pairs; the raw ones stand beside them."
    )
    if content.options.stars is not Stars.NONE:
        which = "adjusted p-values" if content.options.stars is Stars.ADJUSTED else "raw p-values"
        yield f"Stars mark {which} below 0.05 (*), 0.01 (**) and 0.001 (***)."
