"""The words that every file of a report shares: what was chosen, how it was computed, what is undefined. Pure."""

from collections.abc import Iterable

from apps.measures.kappa import Convention
from apps.reliability.accounting import RaterAccount, RaterUse, RatingCounts
from apps.reliability.agreement import AgreementRow
from apps.reliability.documents import ADJUSTMENT
from apps.reports.contents import Part, ReportContent, ReportOptions, Stars
from apps.reports.figures.words import group_label

CONVENTIONS = {
    Convention.SCALE: (
        "weighted kappa in the convention “scale”: disagreement is the distance between the declared points of the "
        "scale, whether or not they occur"
    ),
    Convention.OBSERVED: (
        "weighted kappa in the convention “observed”: the categories are the values that the two raters happened to "
        "use, and disagreement is the distance of their ranks, as in Kumar et al. (2026)"
    ),
}
STARS = {
    Stars.ADJUSTED: "Stars by the adjusted p: *** p < 0.001, ** p < 0.01, * p < 0.05.",
    Stars.RAW: "Stars by the p of each test on its own: *** p < 0.001, ** p < 0.01, * p < 0.05.",
    Stars.NONE: "No stars are shown.",
}
PARTS = {
    Part.PAIRS: "pairs of raters or groups",
    Part.GROUPS: "the raters of one kind among each other",
    Part.RETESTS: "raters with themselves",
}
# Codes of studies.Exclusion.
EXCLUSIONS = {"hand": "decided by hand", "rule": "quality rule", "leakage": "shown to the model as an example"}
_LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def stars_of(row: AgreementRow, rule: Stars) -> str:
    """`***`, `**`, `*` or nothing."""
    p = {Stars.ADJUSTED: row.p_adjusted, Stars.RAW: row.p_value, Stars.NONE: None}[rule]
    return "" if p is None else next((stars for level, stars in _LEVELS if p < level), "")


def intervals_text(content: ReportContent) -> str:
    """How intervals came about, or that there are none."""
    settings = content.settings
    if not settings.resamples:
        return "No intervals were computed."
    return (
        f"Intervals are 95 % percentile intervals over {settings.resamples:,} resamples of items, each with all its "
        f"ratings (seed {settings.seed}). They hold for these raters: a few raters are not a sample of raters."
    )


def family_text(content: ReportContent) -> str:
    """Within what p-values are adjusted together (reliability.agreement.adjusted). A file is one block."""
    place = " in one framework of one block" if content.study else ""
    return f"each family of tests: one statistic{place}"


def adjustment_text() -> str:
    return f"p_adjusted: {ADJUSTMENT}."


def undefined_counts(rows: Iterable[AgreementRow]) -> list[tuple[str, int]]:
    """Reasons and how many rows have no value for them, the most frequent first."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.value is None:
            counts[row.reason] = counts.get(row.reason, 0) + 1
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def undefined_text(rows: Iterable[AgreementRow]) -> str:
    """How many statistics are undefined, and why."""
    counts = undefined_counts(rows)
    total = sum(count for _reason, count in counts)
    if not total:
        return "Every statistic is defined."
    reasons = ", ".join(f"{reason} ({count:,})" for reason, count in counts)
    verb = "1 statistic is undefined" if total == 1 else f"{total:,} statistics are undefined"
    return f"{verb}: {reasons}."


def rater_reason(rater: RaterAccount) -> str:
    """Why a rater has no part: `excluded, decided by hand: too fast`."""
    if rater.use is not RaterUse.EXCLUDED:
        return rater.use.value
    return exclusion_reason(rater.reason, rater.explanation)


def exclusion_reason(code: str, explanation: str) -> str:
    reason = f"excluded, {EXCLUSIONS.get(code, code)}" if code else "excluded"
    return f"{reason}: {explanation}" if explanation else reason


def ratings_left_out(counts: RatingCounts) -> list[tuple[str, int]]:
    """Reasons and how many ratings have no part for them."""
    reasons = [
        ("not handed in", counts.drafts),
        ("“cannot tell”", counts.cannot_tell),
        ("of excluded raters", counts.of_excluded_raters),
        ("on items without a part", counts.of_other_items),
        ("excluded one by one", counts.excluded_singly),
    ]
    return [(reason, count) for reason, count in reasons if count]


def filter_text(options: ReportOptions) -> str:
    """Which statistics are shown, where some were left out; else nothing."""
    chosen = [
        ("block", options.block),
        ("framework", options.framework),
        ("kinds of raters", ", ".join(group_label(group).lower() for group in options.groups)),
        ("raters", ", ".join(options.raters)),
        ("statistics", ", ".join(options.statistics)),
        (
            "comparisons of",
            ", ".join(PARTS[Part(part)] for part in options.parts) if len(options.parts) < len(Part) else "",
        ),
    ]
    listed = "; ".join(f"{name}: {value}" for name, value in chosen if value)
    return f"Shown are only {listed}. Adjusted p-values are those of all comparisons." if listed else ""
