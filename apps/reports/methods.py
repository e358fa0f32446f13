"""A methods paragraph to be pasted into a paper: true of the ratings and of what was chosen, with its references. Pure.

Nothing is said that the report does not hold: a statistic is named where a row has it, an interval where one was
computed, an exclusion where there is one.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from apps.measures.kappa import Convention
from apps.reliability.accounting import ItemUse
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import CROWD_MEAN, EXPERTS_MEDIAN
from apps.reliability.labels import FrameworkLabel, ScaleLabel
from apps.reliability.matrix import GROUP_NAMES, Kind
from apps.reports import sources
from apps.reports.contents import Format, Part, ReportContent, Stars, part_of
from apps.reports.coverage import Coverage, coverage_of, listed, raters_in_words
from apps.reports.sources import Source
from apps.reports.wording import filter_text, rater_reason, ratings_left_out, undefined_counts

LINE = 96
# Simulated raters are named as far as a sentence can hold them.
_MOST_NAMES = 8
_MODELS_MEDIAN = f"{GROUP_NAMES[Kind.LLM]}:median"
_EXPERTS_WITHOUT = f"{GROUP_NAMES[Kind.EXPERT]}-without-"
_CROWD_WITHOUT = f"{GROUP_NAMES[Kind.CROWD]}-without-"


class References:
    """Publications in the order in which they are first cited."""

    def __init__(self) -> None:
        self.listed: list[str] = []

    def cite(self, *references: str) -> str:
        """` [1, 2]`, or nothing for nothing."""
        numbers = []
        for reference in references:
            if reference and reference not in self.listed:
                self.listed.append(reference)
            if reference:
                numbers.append(str(self.listed.index(reference) + 1))
        return f" [{', '.join(dict.fromkeys(numbers))}]" if numbers else ""


def methods_paragraphs(content: ReportContent) -> tuple[list[str], list[str]]:
    """(paragraphs, references)."""
    references = References()
    paragraphs = [
        " ".join(part)
        for part in (
            list(_data(content, references)),
            list(_statistics(content, references)),
            list(_certainty(content, references)),
            list(_computing(content)),
        )
        if part
    ]
    return paragraphs, references.listed


def methods_text(content: ReportContent) -> str:
    """The paragraphs and the reference list as plain text, wrapped."""
    paragraphs, references = methods_paragraphs(content)
    parts = [textwrap.fill(one, LINE, break_long_words=False, break_on_hyphens=False) for one in paragraphs]
    if references:
        entries = (
            textwrap.fill(f"[{number}] {one}", LINE, subsequent_indent="    ", break_long_words=False)
            for number, one in enumerate(references, start=1)
        )
        parts.append("References\n" + "\n".join(entries))
    return "\n\n".join(parts) + "\n"


def _data(content: ReportContent, references: References) -> Iterator[str]:
    """What was rated by whom, and what was left out."""
    for one in coverage_of(content):
        yield _block(content, one, references)
    if not content.rows:
        yield "No agreement could be described."
    yield from _selection(content)
    yield from _left_out(content)
    if content.options.narrows:
        yield filter_text(content.options)


def _block(content: ReportContent, one: Coverage, references: References) -> str:
    scales = [scale for scale in content.shown_scales if scale.block.slug == one.block]
    raters = raters_in_words(one.raters)
    if not content.study:
        return (
            f"The file {content.ratings_file} holds {one.ratings:,} ratings of {_items(one)} by {raters} on "
            f"{_scales_of_file(scales)}; it does not say of what kind the raters are."
        )
    several = len({scale.block.slug for scale in content.shown_scales}) > 1
    place = scales[0].block.title or one.block
    dataset = scales[0].block.dataset
    where = f" of the dataset {dataset}" if dataset else ""
    # A block is named only where there are several.
    intro = f"In {place}, " if several else ""
    second = f", and {one.repeats:,} second ratings of repeated items" if one.repeats else ""
    verb = "was" if one.rated == 1 else "were"
    what = f"{_items(one)}{where} {verb} rated by {raters} on {_frameworks(scales, references)}"
    return f"{intro}{what}: {one.ratings:,} ratings{second}."


def _items(one: Coverage) -> str:
    noun = "conversation" if one.block else "item"
    text = f"{one.rated:,} {noun}{'' if one.rated == 1 else 's'}"
    return text if one.rated == one.items else f"{text} (of {one.items:,})"


def _scales_of_file(scales: Sequence[ScaleLabel]) -> str:
    if len(scales) == 1:
        return f"one {_points(scales[0])}"
    return f"{len(scales)} scales, each of them a {_points(scales[0])}"


def _points(scale: ScaleLabel) -> str:
    points = scale.dimension.points
    span = f"from {points[0].value:g} to {points[-1].value:g}"
    labelled = [point.text for point in points if point.text]
    if len(labelled) == len(points):
        span = f"called {', '.join(labelled)}"
    return f"{scale.dimension.level} scale of {len(points)} points {span}"


def _frameworks(scales: Sequence[ScaleLabel], references: References) -> str:
    """Each framework with its version, how many scales were rated, their points, and its citation."""
    found: dict[tuple[str, int], list[ScaleLabel]] = {}
    for scale in scales:
        found.setdefault((scale.framework.slug, scale.framework.version), []).append(scale)
    return listed([_framework(own[0].framework, own, references) for own in found.values()])


def _framework(framework: FrameworkLabel, scales: Sequence[ScaleLabel], references: References) -> str:
    kinds = listed(list(dict.fromkeys(_points(scale) for scale in scales)))
    count = "1 scale" if len(scales) == 1 else f"{len(scales)} scales"
    cited = references.cite(framework.citation.strip())
    return f"{count} of {framework.name}, version {framework.version}{cited} ({kinds})"


def _selection(content: ReportContent) -> Iterator[str]:
    selection = content.selection
    if selection.metadata:
        chosen = "; ".join(f"{name}: {' or '.join(values)}" for name, values in selection.metadata)
        yield f"Only conversations with these properties take part: {chosen}."
    if content.study:
        yield "Only finished ratings enter the analysis; “cannot tell” is a missing value."
    if selection.with_excluded:
        yield "Raters and ratings that the study excludes take part all the same."
    simulated = [one.name for one in content.account.raters_used() if one.is_simulated]
    if simulated:
        who = listed(simulated) if len(simulated) <= _MOST_NAMES else f"{len(simulated):,} raters"
        yield f"The ratings of {who} are simulated."


def _left_out(content: ReportContent) -> Iterator[str]:
    """Exclusions and everything else without a part, with the number and the reason."""
    account = content.account
    reasons: dict[str, int] = {}
    for rater in account.raters_not_used():
        reason = rater_reason(rater)
        reasons[reason] = reasons.get(reason, 0) + 1
    if reasons:
        total = sum(reasons.values())
        yield f"{total:,} {'rater takes' if total == 1 else 'raters take'} no part: {_counted(reasons)}."
    if left_out := ratings_left_out(account.ratings):
        total = sum(count for _reason, count in left_out)
        verb = "has" if total == 1 else "have"
        yield f"Of {account.ratings.stored:,} stored ratings {total:,} {verb} no part: {_counted(dict(left_out))}."
    items: dict[str, int] = {}
    for block in account.blocks:
        for group in block.beside:
            if group.use is not ItemUse.REPEAT and content.options.block in ("", block.block):
                items[group.use.value] = items.get(group.use.value, 0) + group.n
    if items:
        yield f"Items without a part: {_counted(items)}."


def _counted(reasons: dict[str, int]) -> str:
    return "; ".join(f"{reason} ({count:,})" for reason, count in reasons.items())


def _statistics(content: ReportContent, references: References) -> Iterator[str]:
    """The statistics that the rows have, with their sources, and how sides are made of several raters."""
    parts: dict[Part, list[AgreementRow]] = {}
    for row in content.rows:
        parts.setdefault(part_of(row), []).append(row)
    if pairs := parts.get(Part.PAIRS):
        yield f"Agreement between two sides is described by {_named(pairs, sources.PAIRS, references)}."
        yield from _convention(content, pairs, references)
        yield from _sides({name for row in pairs for name in (row.a, row.b)})
    if groups := parts.get(Part.GROUPS):
        who = "of all raters" if not content.study else "of the raters of one kind"
        yield (
            f"Agreement {who} among each other is described by {_named(groups, sources.GROUPS, references)}; items "
            "with missing ratings are kept unless said otherwise."
        )
    if retests := parts.get(Part.RETESTS):
        yield (
            "Raters who rated an item twice are compared with themselves by "
            f"{_named(retests, sources.RETESTS, references)}."
        )
        if not pairs:
            yield from _convention(content, retests, references)


def _named(rows: Iterable[AgreementRow], known: Sequence[Source], references: References) -> str:
    present = {row.statistic for row in rows}
    return listed(
        [
            source.name + references.cite(*source.references)
            for source in known
            if present.intersection(source.statistics)
        ]
    )


def _convention(content: ReportContent, rows: Sequence[AgreementRow], references: References) -> Iterator[str]:
    """How weighted kappa measures disagreement, where there is one."""
    if not any(row.statistic.endswith(("kappa_quadratic", "kappa_linear")) for row in rows):
        return
    if content.settings.convention is Convention.SCALE:
        yield (
            "Weighted kappa takes the distances between the declared points of the scale as disagreement, whether or "
            "not they were used (convention “scale”)."
        )
    else:
        yield (
            "Weighted kappa takes as categories the values that the two sides happened to use, and the distances of "
            f"their ranks as disagreement (convention “observed”){references.cite(sources.KUMAR_2026)}."
        )


def _sides(names: set[str]) -> Iterator[str]:
    """How values of groups came about, where there are some."""
    with_others = {start for start in (_EXPERTS_WITHOUT, _CROWD_WITHOUT) for name in names if name.startswith(start)}
    if EXPERTS_MEDIAN in names or _EXPERTS_WITHOUT in with_others:
        yield "The experts' value of an item is their median, where at least two of them rated it."
    if CROWD_MEAN in names or _CROWD_WITHOUT in with_others:
        yield "The crowd's value of an item is the mean of its workers, where at least two of them rated it."
    if _MODELS_MEDIAN in names:
        yield "The models' value of an item is their median, where at least two of them rated it."
    if with_others:
        yield "A rater is compared with their group only without them."


def _certainty(content: ReportContent, references: References) -> Iterator[str]:
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
    counts = undefined_counts(content.rows)
    if counts:
        total = sum(count for _reason, count in counts)
        words = ", ".join(f"{reason} ({count:,})" for reason, count in counts)
        yield (
            f"{total:,} of {len(content.rows):,} figures {'is' if total == 1 else 'are'} undefined and left out of "
            f"averages: {words}."
        )
    else:
        yield f"All {len(content.rows):,} figures are defined."


def _tests(content: ReportContent, references: References) -> Iterator[str]:
    tested = [row for row in content.rows if row.p_value is not None]
    if not tested:
        return
    if any("kappa" in row.statistic for row in tested):
        how = "its variance if kappa is 0" if content.settings.convention is Convention.SCALE else "its plain variance"
        cited = references.cite(sources.FLEISS_1969)
        yield f"Kappa is tested against 0 by the normal distribution and {how}, for large samples{cited}."
    yield (
        f"P-values are adjusted{references.cite(sources.BENJAMINI_1995)} within one statistic of one framework in one "
        "block, over all scales and pairs; the raw ones stand beside them."
    )
    if content.options.stars is not Stars.NONE:
        which = "adjusted p-values" if content.options.stars is Stars.ADJUSTED else "raw p-values"
        yield f"Stars mark {which} below 0.05 (*), 0.01 (**) and 0.001 (***)."


def _computing(content: ReportContent) -> Iterator[str]:
    """The software, and what tells that the ratings are the same."""
    names = {"accord": "Accord", "python": "Python"}
    versions = [f"{names.get(name, name)} {number}" for name, number in content.versions.items()]
    yield f"Computed with {listed(versions)}; the SHA-256 of the ratings is {content.agreement.data_hash}."
    if Format.ZIP in content.options.formats:
        yield (
            "The archive of the report holds the ratings under pseudonyms; python manage.py recompute computes every "
            "figure again from it."
        )
