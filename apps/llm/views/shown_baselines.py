"""The baselines of a study in words: what each rule does, what it used on each scale, and what it reaches there."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.common.models import Job
from apps.llm.lexicon import Cue, Rule, Unit
from apps.llm.models import Baseline, BaselineRule
from apps.llm.services.baseline_scales import LeftOut, StudyScale, Unrated

CUES: Mapping[str, Promise] = {
    Cue.INVITATIONS: gettext_lazy("questions and invitations to say more"),
    Cue.ADVICE: gettext_lazy("phrases of advice, and sentences that begin with an imperative"),
    Cue.FIRST_PERSON: gettext_lazy("words such as I, me and my"),
    Cue.VALIDATION: gettext_lazy("phrases that call a feeling understandable"),
    Cue.CONCERN: gettext_lazy("phrases of sympathy, and warm words"),
    Cue.DISMISSAL: gettext_lazy("phrases that play a feeling down"),
    Cue.UNDERSTANDING: gettext_lazy("phrases that give back or claim understanding"),
    Cue.EMPATHY: gettext_lazy("words for feelings, and phrases of sympathy and understanding"),
    Cue.SHARED_WORDS: gettext_lazy("content words that the seeker uses, too"),
}
LEFT_OUT: Mapping[str, Promise] = {
    LeftOut.NO_EXPERTS: gettext_lazy("Left out: no expert has rated it."),
    LeftOut.NO_RULE: gettext_lazy("Left out: there is no rule for it."),
    LeftOut.NO_ITEMS: gettext_lazy("Left out: there is no item that can be rated."),
}
# The keys of figures in the order of the table's columns, each with the figure of guessing beside it.
COLUMNS = (
    ("kappa", ""),
    ("f1_weighted", "guess_f1_weighted"),
    ("percent_agreement", "guess_percent_agreement"),
)


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """`value` is empty where the figure is not defined, `reason` says why; `guess`: what guessing reaches."""

    value: str
    interval: str = ""
    reason: str = ""
    guess: str = ""


@dataclass(frozen=True, slots=True)
class ShownScale:
    """One scale: the heading it stands under, what the baseline used, what it left out, and its figures.

    `n_compared`: the items that experts rated, too, where these are not all that the baseline rated.
    """

    heading: str
    label: str
    used: str
    notes: tuple[str, ...]
    left_out: str
    n_compared: int | None
    cells: tuple[ShownFigure, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """The scale on which a baseline agrees most with the experts, and on how many in a hundred items."""

    label: str
    percent: int


@dataclass(frozen=True, slots=True)
class ShownBaseline:
    """A rule with what it gave, if it was computed: `may_be_old` where experts changed since."""

    rule: BaselineRule
    baseline: Baseline | None
    scales: tuple[ShownScale, ...]
    may_be_old: bool
    lesson: Lesson | None = None

    @property
    def job(self) -> Job | None:
        return self.baseline.job if self.baseline else None

    @property
    def is_open(self) -> bool:
        return self.job is not None and self.job.is_open

    @property
    def has_ended_badly(self) -> bool:
        return self.job is not None and self.job.state in ("failed", "cancelled")


def shown_scales(baseline: Baseline, scales: Iterable[StudyScale]) -> Iterator[ShownScale]:
    """In the order of the study; what was computed of a scale that it no longer has is not shown."""
    details = {(row["block"], row["dimension"]): row for row in baseline.details}
    for scale in scales:
        if row := details.get(scale.key):
            yield _shown(row, scale, is_constant=baseline.rule == BaselineRule.CONSTANT)


def lesson_of(baseline: Baseline, scales: Iterable[StudyScale]) -> Lesson | None:
    """None where nothing could be compared."""
    labels = {scale.key: scale.dimension.label for scale in scales}
    found = [
        (row["figures"]["percent_agreement"]["value"], labels[row["block"], row["dimension"]])
        for row in baseline.details
        if "figures" in row and (row["block"], row["dimension"]) in labels
    ]
    known = [(value, label) for value, label in found if value is not None]
    if not known:
        return None
    value, label = max(known, key=lambda one: one[0])
    return Lesson(label, round(100 * value))


def _shown(row: Mapping[str, Any], scale: StudyScale, *, is_constant: bool) -> ShownScale:
    figures = row.get("figures", {})
    n_compared = figures["kappa"]["n_items"] if figures else None
    return ShownScale(
        heading=_heading(scale),
        label=scale.dimension.label,
        used=_used(row, scale, is_constant=is_constant),
        notes=tuple(_notes(row)),
        left_out=str(LEFT_OUT.get(row.get("left_out", ""), "")),
        n_compared=n_compared if n_compared != row.get("items") else None,
        cells=tuple(_figure(figures, name, "" if is_constant else guess) for name, guess in COLUMNS) if figures else (),
    )


def _heading(scale: StudyScale) -> str:
    block, framework = scale.block.title, scale.framework.name
    return framework if block == framework else f"{block}: {framework}"


def _used(row: Mapping[str, Any], scale: StudyScale, *, is_constant: bool) -> str:
    if is_constant and "point" in row:
        return _("always %(point)s: %(count)s of %(total)s expert ratings") % {
            "point": _point(row["point"], scale),
            "count": f"{row['count']:,}",
            "total": f"{row['total']:,}",
        }
    if "cue" not in row:
        return ""
    rule = Rule(Cue(row["cue"]), row["full"])
    if rule.unit == Unit.TURNS:
        return _("%(cues)s; %(full)s to a turn count as the most") % {"cues": CUES[rule.cue], "full": f"{rule.full:g}"}
    # A share of words.
    text = _("%(cues)s; %(full)s in 100 count as the most")
    return text % {"cues": CUES[rule.cue], "full": f"{100 * rule.full:g}"}


def _point(value: float, scale: StudyScale) -> str:
    return next((str(point) for point in scale.dimension.points.all() if point.value == value), f"{value:g}")


def _notes(row: Mapping[str, Any]) -> Iterator[str]:
    if items := row.get("items", 0):
        yield _counted(ngettext("%(count)s item rated", "%(count)s items rated", items), items)
    unrated = row.get("unrated", {})
    if count := unrated.get(Unrated.NO_TEXT, 0):
        yield _counted(ngettext("%(count)s without text", "%(count)s without text", count), count)
    if count := unrated.get(Unrated.OTHER_LANGUAGE, 0):
        yield _counted(ngettext("%(count)s in another language", "%(count)s in another language", count), count)
    if count := unrated.get(Unrated.NO_SUPPORTER, 0):
        text = ngettext("%(count)s without a supporter’s word", "%(count)s without a supporter’s word", count)
        yield _counted(text, count)


def _counted(text: str, count: int) -> str:
    return text % {"count": f"{count:,}"}


def _figure(figures: Mapping[str, Any], name: str, guess: str) -> ShownFigure:
    found = figures[name]
    if found["value"] is None:
        return ShownFigure("", reason=found["reason"])
    interval = ""
    # Without a width, as that of a constant's kappa, it would say nothing.
    if found["ci_low"] is not None and found["ci_low"] < found["ci_high"]:
        interval = _("%(low)s to %(high)s") % {"low": _decimals(found["ci_low"]), "high": _decimals(found["ci_high"])}
    beside = figures[guess]["value"] if guess else None
    return ShownFigure(_decimals(found["value"]), interval, guess="" if beside is None else _decimals(beside))


def _decimals(value: float) -> str:
    # Adding zero leaves no minus before 0.00.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")
