"""The checks for bias of a run in words and tables, for the run's page and a page of their own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from apps.llm.bias_figures import (
    DRAW_STATISTICS,
    FEWEST_ITEMS,
    LENGTH_STATISTICS,
    ORDER_STATISTICS,
    TESTED,
    Check,
    Doubt,
    Figure,
)
from apps.llm.models import Run
from apps.llm.services.asking_again import left_of_budget
from apps.llm.services.bias import CheckResults
from apps.llm.services.bias_state import CheckState, check_state

COLUMNS: Mapping[str, Promise] = {
    "shift_mean": gettext_lazy("Shift"),
    "share_equal": gettext_lazy("The same"),
    "share_within_one": gettext_lazy("Within one point"),
    "kappa_quadratic": gettext_lazy("Kappa, quadratic"),
    "share_towards_first": gettext_lazy("Moved to the end listed first"),
    "share_towards_last": gettext_lazy("Moved to the other end"),
    "draws_alpha": gettext_lazy("Alpha over draws"),
    "draws_sd": gettext_lazy("Spread of draws"),
    "draws_equal": gettext_lazy("All the same"),
    "slope_model": gettext_lazy("Model"),
    "slope_experts": gettext_lazy("Experts"),
    "slope_difference": gettext_lazy("Model less experts"),
}
REASONS: Mapping[str, Promise] = {
    "not asked again with the points reversed": gettext_lazy("not asked again with the points reversed"),
    "one answer to each question": gettext_lazy("one answer to each question"),
    "no text of a supporter": gettext_lazy("no text of a supporter"),
    "no ratings of experts": gettext_lazy("no ratings of experts"),
    "fewer than ten items": gettext_lazy("fewer than ten items"),
    "no variation": gettext_lazy("no variation"),
    "no shared items": gettext_lazy("no shared items"),
    "too few items": gettext_lazy("too few items"),
    "not defined for nominal scales": gettext_lazy("not defined for nominal scales"),
    "no ratings": gettext_lazy("no ratings"),
    "no items rated twice": gettext_lazy("no items rated twice"),
}
TITLES: Mapping[Check, Promise] = {
    Check.ORDER: gettext_lazy("Order of the points"),
    Check.DRAWS: gettext_lazy("Asked again and again"),
    Check.LENGTH: gettext_lazy("Length"),
}
CAPTIONS: Mapping[Check, Promise] = {
    Check.ORDER: gettext_lazy(
        "The answers with the points listed from the last to the first, beside the answers to the same question as "
        "declared. Shift: reversed less original, in points. An answer that the order sways moves to the end listed "
        "first more often than to the other. p of the shift by the exact sign-flip test over items: over all scales it "
        "is one test, scale by scale it is adjusted by the false discovery rate."
    ),
    Check.DRAWS: gettext_lazy(
        "The answers to one question, drawn several times. Alpha is Krippendorff’s with draws as raters; the spread is "
        "the standard deviation within items, in units of the scale."
    ),
    Check.LENGTH: gettext_lazy(
        "In points per 100 words: by how much the score rises with 100 words of the supporter’s, by least squares over "
        "items; the experts’ is that of their lower median on the same items. p by robust standard errors (HC3), "
        "adjusted over scales by the false discovery rate. Where interval and p point different ways, the row says "
        "what to go by."
    ),
}
# For the captions of parts of a table, where all its figures are of one unit.
UNITS: Mapping[Check, Promise] = {Check.LENGTH: gettext_lazy("points per 100 words")}
STATISTICS: Mapping[Check, Sequence[str]] = {
    Check.ORDER: ORDER_STATISTICS,
    Check.DRAWS: DRAW_STATISTICS,
    Check.LENGTH: LENGTH_STATISTICS,
}
SHARES = frozenset({"share_equal", "share_within_one", "share_towards_first", "share_towards_last", "draws_equal"})
DOUBTS: Mapping[Doubt, Promise] = {
    Doubt.INTERVAL_ALONE: gettext_lazy(
        "%(which)s: the interval leaves out 0, and p does not. With few items, or one that weighs much, such an "
        "interval is unreliable: go by p."
    ),
    Doubt.TEST_ALONE: gettext_lazy(
        "%(which)s: p is small, though the interval holds 0. A few items may weigh much: take it with care."
    ),
    Doubt.OF_MANY: gettext_lazy(
        "%(which)s: the interval looks at this scale alone, and p allows for all the scales: go by p."
    ),
    Doubt.NO_TEST: gettext_lazy(
        "%(which)s: there is no p, since one item holds the line or all lie on it. Do not rely on the interval."
    ),
}


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """`value` is empty where the figure is not defined, `reason` says why. p: adjusted, empty where there is none."""

    column: str
    value: str
    interval: str = ""
    reason: str = ""
    p: str = ""
    n: int = 0


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A scale (or all of them, `label` empty) with its figures and what they say in a sentence.

    doubts: a sentence for each way in which an interval and its p point apart.
    """

    heading: str
    label: str
    cells: tuple[ShownFigure, ...]
    reading: str
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A check: where none of its figures is defined, `reason` says why and there are no rows.

    lead: what it comes to, all scales first; empty where nothing is tested. unit: of all figures; empty where they
    differ.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[ShownRow, ...]
    reason: str
    lead: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ShownChecks:
    """What `llm/_checks.html` shows. left_of_budget: what asking again may cost; empty for a run without a budget."""

    state: CheckState
    tables: tuple[ShownTable, ...]
    sampled_cost: str
    cost_by_item: str
    left_of_budget: str

    @property
    def run(self) -> Run:
        return self.state.run

    @property
    def is_open(self) -> bool:
        return self.state.job is not None and self.state.job.is_open

    @property
    def has_ended_badly(self) -> bool:
        return self.state.job is not None and self.state.job.state in ("failed", "cancelled")


def checks_of(run: Run) -> ShownChecks:
    """Only for those who may see the study's ratings. A constant number of queries.

    `run` comes with its endpoint, study and model rater; it is no check itself.
    """
    state = check_state(run)
    again = state.asking_again
    return ShownChecks(
        state=state,
        tables=tuple(shown_tables(state.results)) if state.results else (),
        sampled_cost=_money(again.sampled_cost, again.currency),
        cost_by_item=_money(again.cost_by_item, again.currency),
        left_of_budget=_money(left_of_budget(run), again.currency),
    )


def shown_tables(results: CheckResults) -> Iterator[ShownTable]:
    """A table for each check, the figures over all scales first."""
    found = {(one.check, one.framework, one.dimension, one.statistic): one for one in results.figures}
    scales = [(one.framework, one.dimension, one.framework_name, one.label) for one in results.scales]
    for check in Check:
        names = STATISTICS[check]
        rows = []
        for framework, dimension, heading, label in [("", "", "", ""), *scales]:
            figures = {name: one for name in names if (one := found.get((check, framework, dimension, name)))}
            if figures:
                cells = tuple(_cell(name, figures.get(name)) for name in names)
                rows.append(ShownRow(heading, label, cells, _reading(check, figures), tuple(_doubts(figures))))
        yield ShownTable(
            name=check.value,
            title=str(TITLES[check]),
            caption=str(CAPTIONS[check]),
            columns=tuple(str(COLUMNS[name]) for name in names),
            rows=tuple(rows) if _is_any_defined(results, check) else (),
            reason=_common_reason(results, check),
            lead=_lead(results, check),
            unit=str(UNITS.get(check, "")),
        )


def _is_any_defined(results: CheckResults, check: Check) -> bool:
    return any(one.value is not None for one in results.figures if one.check == check)


def _common_reason(results: CheckResults, check: Check) -> str:
    """Why the check has no figure at all."""
    if _is_any_defined(results, check):
        return ""
    if results.is_excluded:
        return _("the rater is excluded from the study’s figures")
    reasons = dict.fromkeys(one.reason for one in results.figures if one.check == check)
    return ", ".join(reason_in_words(reason) for reason in reasons) or _("no scales")


def reason_in_words(reason: str) -> str:
    return str(REASONS.get(reason, reason))


# --- Figures --------------------------------------------------------------------------------------------------------


def _cell(name: str, figure: Figure | None) -> ShownFigure:
    column = str(COLUMNS[name])
    if figure is None:
        return ShownFigure(column, "", reason=_("by scale only"))
    if figure.value is None:
        return ShownFigure(column, "", reason=reason_in_words(figure.reason), n=figure.n_items)
    interval = ""
    if figure.ci_low is not None and figure.ci_high is not None:
        text = pgettext("interval", "%(low)s to %(high)s")
        interval = text % {"low": _number(name, figure.ci_low), "high": _number(name, figure.ci_high)}
    return ShownFigure(
        column=column,
        value=_number(name, figure.value),
        interval=interval,
        p="" if figure.p_told is None else _p(figure.p_told),
        n=figure.n_items,
    )


def _number(name: str, value: float) -> str:
    if name in SHARES:
        return _("%(share)s %%") % {"share": f"{100 * value:.0f}"}
    text = _decimals(value)
    return f"+{text}" if name in TESTED and value > 0 and text != "0.00" else text


def _decimals(value: float) -> str:
    """Two decimals: no minus sign before a zero, and a true one."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def _p(value: float) -> str:
    return _("p < 0.001") if value < 0.001 else _("p = %(p)s") % {"p": f"{value:.3f}"}


def _money(amount: Decimal | None, currency: str) -> str:
    """Empty: not known."""
    if amount is None:
        return ""
    number = f"{amount:.2f}" if amount >= 1 else f"{Decimal(f'{amount:.2g}').normalize():f}"
    return f"{number} {currency}"


# --- Sentences ------------------------------------------------------------------------------------------------------


def _reading(check: Check, figures: Mapping[str, Figure]) -> str:
    if check is Check.ORDER:
        return _order_reading(figures)
    return _draw_reading(figures) if check is Check.DRAWS else _length_reading(figures)


def _lead(results: CheckResults, check: Check) -> str:
    """All scales jointly before each by itself: of many scales some always look as if they moved."""
    if check is Check.DRAWS:
        return ""
    name = "shift_mean" if check is Check.ORDER else "slope_difference"
    figures = [one for one in results.figures if one.statistic == name]
    known = {"told": sum(one.is_told for one in figures if one.dimension)}
    known["n"] = sum(one.p_told is not None for one in figures if one.dimension)
    over_all = next((one for one in figures if not one.dimension and one.value is not None), None)
    parts = [_("Over all scales:"), _order_reading({name: over_all})] if over_all else []
    if known["n"]:
        text = (
            _("Scale by scale, a shift can be told on %(told)d of %(n)d.")
            if check is Check.ORDER
            else _("Scale by scale, a difference from the experts can be told on %(told)d of %(n)d.")
        )
        parts.append(text % known)
    return " ".join(parts)


def _doubts(figures: Mapping[str, Figure]) -> Iterator[str]:
    found: dict[Doubt, list[str]] = {}
    for name, figure in figures.items():
        if figure.doubt:
            found.setdefault(figure.doubt, []).append(str(COLUMNS[name]))
    for doubt, names in found.items():
        yield str(DOUBTS[doubt]) % {"which": ", ".join(names)}


def _order_reading(figures: Mapping[str, Figure]) -> str:
    shift = figures["shift_mean"]
    if shift.value is None:
        return ""
    if shift.n_items < FEWEST_ITEMS:
        return _("Too few items to tell a shift: it takes %(n)d.") % {"n": FEWEST_ITEMS}
    if not shift.is_told:
        return _("No shift can be told.")
    text = (
        _("The scores move by %(points)s points to the end that stands first.")
        if shift.value > 0
        else _("The scores move by %(points)s points to the end that stands last.")
    )
    return text % {"points": _decimals(abs(shift.value))}


def _draw_reading(figures: Mapping[str, Figure]) -> str:
    equal = figures["draws_equal"]
    if equal.value is None:
        return ""
    return _("Asked again, the model says the same of %(share)s of the items.") % {
        "share": _number("draws_equal", equal.value)
    }


def _length_reading(figures: Mapping[str, Figure]) -> str:
    """Held against the experts where there is something to hold against; else only what the model does."""
    difference = figures["slope_difference"]
    if difference.value is not None:
        if not difference.is_told:
            return _("No difference from the experts can be told.")
        text = (
            _("The scores rise by %(points)s points per 100 words more than the experts’ do.")
            if difference.value > 0
            else _("The scores rise by %(points)s points per 100 words less than the experts’ do.")
        )
        return text % {"points": _decimals(abs(difference.value))}
    model = figures["slope_model"]
    if model.value is None:
        return ""
    if not model.is_told:
        return _("No slope can be told.")
    text = (
        _("The scores rise by %(points)s points per 100 words; the experts’ are not known.")
        if model.value > 0
        else _("The scores fall by %(points)s points per 100 words; the experts’ are not known.")
    )
    return text % {"points": _decimals(abs(model.value))}
