"""The models of a report: what each was asked with, and the checks for bias of its runs, for every kind of file. Pure.

The checks are no part of a snapshot: they are written as they were when the report was built, each with its moment.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC
from typing import Any

from apps.common.formulas import escape_formula
from apps.frameworks.scales import NUMBER
from apps.llm.bias_figures import FEWEST_ITEMS, LENGTH_STATISTICS, Check, Doubt, Figure
from apps.llm.model_accounts import CheckedRun, ModelAccount
from apps.reports.contents import ReportContent
from apps.reports.coverage import Coverage
from apps.reports.csv_rows import row_writer
from apps.reports.html_tables import MOST_ROWS, Cell, Table

FILE = "model_checks.csv"
DECIMALS = 6
COLUMNS = (
    "run",
    "rater",
    "framework",
    "dimension",
    "check",
    "statistic",
    "value",
    "ci_low",
    "ci_high",
    "p_value",
    "p_adjusted",
    "n_items",
    "reason",
    "n_ratings",
    "n_scales",
    "n_resamples",
    "n_degenerate",
    "convention",
    "computed_at",
)
# What is shown of the checks over all scales, in the columns of the report to read.
_ORDER = (
    ("shift_mean", "Shift, in points"),
    ("share_equal", "The same"),
    ("share_towards_first", "Moved to the end listed first"),
    ("share_towards_last", "Moved to the other end"),
)
_LENGTH = (("slope_model", "Model"), ("slope_experts", "Experts"), ("slope_difference", "Model less experts"))
_TITLES = dict((*_ORDER, *_LENGTH))
_DOUBTS = {
    Doubt.INTERVAL_ALONE: "The interval leaves out 0, and p does not; with few items, or one that weighs much, such an "
    "interval is unreliable, so go by p:",
    Doubt.TEST_ALONE: "P is small, though the interval holds 0; a few items may weigh much, so take it with care:",
    Doubt.OF_MANY: "The interval looks at one scale alone, and p allows for all the scales, so go by p:",
    Doubt.NO_TEST: "There is no p, since one item holds the line or all lie on it, so do not rely on the interval:",
}
# So many figures are named in a note.
_MOST_NAMED = 8


# --- The file -----------------------------------------------------------------------------------------------------


def model_checks_csv(content: ReportContent) -> str:
    """One row for each figure of each check; an empty dimension stands for all scales of the run."""
    out = io.StringIO(newline="")
    writer = row_writer(out)
    writer.writerow(COLUMNS)
    for row in check_rows(content):
        writer.writerow([_text(row[name]) for name in COLUMNS])
    return out.getvalue()


def check_rows(content: ReportContent) -> Iterator[dict[str, Any]]:
    """The rows by column, numbers as numbers, None for what is undefined."""
    for checked in content.shown_checks:
        for figure in checked.figures:
            named = {"run": checked.run, "rater": checked.rater, "computed_at": _moment(checked)}
            yield {name: value for name, value in (asdict(figure) | named).items() if name in COLUMNS}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{round(value, DECIMALS) + 0.0:.{DECIMALS}f}"
    text = str(value)
    return text if NUMBER.fullmatch(text) else escape_formula(text)


def _moment(checked: CheckedRun) -> str:
    return checked.computed_at.astimezone(UTC).isoformat(timespec="seconds")


# --- The manifest -------------------------------------------------------------------------------------------------


def manifest_models(content: ReportContent) -> list[dict[str, Any]]:
    """What each model rater is, with its runs, as plain values."""
    return [_plain(one) for one in content.shown_models]


def _plain(one: ModelAccount) -> dict[str, Any]:
    plain = asdict(one)
    plain["parameters"] = dict(one.parameters)
    plain["runs"] = [
        {
            "run": run.number,
            "state": run.state,
            "started_at": run.started_at.isoformat(timespec="seconds") if run.started_at else None,
            "finished_at": run.finished_at.isoformat(timespec="seconds") if run.finished_at else None,
        }
        for run in one.runs
    ]
    return plain


# --- The report to read -------------------------------------------------------------------------------------------


def models_table(content: ReportContent) -> Table:
    """What each model was asked with."""
    rows = [
        [
            one.rater,
            one.model,
            one.base_url or f"{one.provider}, its own address",
            f"{one.prompt} v{one.prompt_version}, one {one.asks_for} a call",
            _parameters(one),
            f"{one.samples}",
            one.content_hash[:12],
        ]
        for one in content.shown_models
    ]
    columns = ("Rater", "Model", "Address", "Prompt", "Parameters", "Samples", "Hash")
    note = "The hash names all that makes a model this rater; manifest.json has it whole."
    return Table("models", "What the models were asked with", columns, rows, (note,), texts=len(columns))


def check_tables(content: ReportContent) -> Iterator[Table]:
    """Order and draws over all scales of a run, length scale by scale; the file has everything."""
    if not content.shown_checks:
        return
    yield _over_all(content)
    rows: list[list[str | Cell]] = [
        [checked.rater, _scale(checked, key), *(_cell(found.get(name)) for name, _title in _LENGTH)]
        for checked in content.shown_checks
        for key, found in _by_scale(checked, Check.LENGTH).items()
    ]
    notes = [
        "Points by which scores rise with 100 words of the supporter's, by least squares over items; the experts' are "
        "those of their lower median on the same items. p is adjusted by the false discovery rate over the scales of "
        "a run.",
        _beside(content),
        *_doubt_notes(content, lambda one: one.check == Check.LENGTH),
        *([f"The first {MOST_ROWS:,} of {len(rows):,}; {FILE} has all."] if len(rows) > MOST_ROWS else []),
    ]
    columns = ("Rater", "Scale", *(title for _name, title in _LENGTH))
    yield Table("checks-length", "Scores and length", columns, rows[:MOST_ROWS], notes, texts=2)


def _over_all(content: ReportContent) -> Table:
    rows: list[list[str | Cell]] = []
    for checked in content.shown_checks:
        found = {one.statistic: one for one in checked.figures if not one.dimension}
        figures = [_cell(found.get(name), is_share=name.startswith("share")) for name, _title in _ORDER]
        rows.append(
            [
                Cell(
                    checked.rater, (f"run {checked.run}", f"{checked.computed_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC")
                ),
                *figures,
                _cell(found.get("draws_equal"), is_share=True),
            ]
        )
    columns = ("Rater", *(title for _name, title in _ORDER), "All draws the same")
    notes = (
        "The order of the points: the model's answers with the points listed from the last to the first, beside its "
        "answers to the same questions as declared; shift is reversed less original. The last column: of the items "
        "with several answers to one question, those whose answers are all the same. p of the shift is that of the "
        f"exact sign-flip test over items, of which it takes {FEWEST_ITEMS}. Over all scales of a run; {FILE} has each "
        "scale, its p adjusted by the false discovery rate over the scales of a run.",
        _beside(content),
        *_doubt_notes(content, lambda one: one.check == Check.ORDER and not one.dimension),
    )
    return Table("checks-order", "The order of the points, and answers drawn again", columns, rows, notes)


def _beside(content: ReportContent) -> str:
    resamples = sorted({checked.resamples for checked in content.shown_checks})
    times = " or ".join(f"{number:,}" for number in resamples)
    return f"Beside each value its 95 % percentile interval over {times} resamples of items, and the number of items."


def _doubt_notes(content: ReportContent, is_shown: Callable[[Figure], bool]) -> Iterator[str]:
    """A sentence for each way in which an interval and its p point apart, with the figures that it is true of."""
    found: dict[Doubt, list[str]] = {}
    for checked in content.shown_checks:
        for one in filter(is_shown, checked.figures):
            if one.doubt:
                label = checked.scales.get((one.framework, one.dimension), ("", one.dimension))[1]
                parts = (checked.rater, label, _TITLES[one.statistic])
                found.setdefault(one.doubt, []).append(", ".join(part for part in parts if part))
    for doubt, names in found.items():
        more = f"; and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        yield f"{_DOUBTS[doubt]} {'; '.join(names[:_MOST_NAMED])}{more}."


def _by_scale(checked: CheckedRun, check: Check) -> dict[tuple[str, str], dict[str, Figure]]:
    found: dict[tuple[str, str], dict[str, Figure]] = {}
    for figure in checked.figures:
        if figure.check == check and figure.dimension:
            found.setdefault((figure.framework, figure.dimension), {})[figure.statistic] = figure
    return found


def _scale(checked: CheckedRun, key: tuple[str, str]) -> Cell:
    framework, label = checked.scales.get(key, key)
    return Cell(label, (framework,))


def _cell(figure: Figure | None, *, is_share: bool = False) -> Cell:
    if figure is None or figure.value is None:
        return Cell("not defined", (figure.reason,) if figure else ())
    lighter = []
    if figure.ci_low is not None and figure.ci_high is not None:
        lighter.append(f"{_number(figure.ci_low, is_share)} to {_number(figure.ci_high, is_share)}")
    lighter.append(f"n {figure.n_items:,}")
    if figure.p_told is not None:
        lighter.append(_p(figure.p_told, " "))
    return Cell(_number(figure.value, is_share), tuple(lighter))


def _p(value: float, sign: str) -> str:
    return "p < 0.001" if value < 0.001 else f"p{sign}{value:.3f}"


def _number(value: float, is_share: bool) -> str:
    if is_share:
        return f"{100 * value:.0f} %"
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


# --- The methods --------------------------------------------------------------------------------------------------


def model_sentences(content: ReportContent, found: Sequence[Coverage]) -> Iterator[str]:
    """The paragraph on models that Accord asked; nothing where there is none."""
    for one in content.shown_models:
        where = f"at {one.base_url}" if one.base_url else f"at the address of its provider ({one.provider})"
        times = "" if one.samples == 1 else f", {one.samples} answers to each question"
        yield (
            f"The rater {one.rater} is the model {one.model} {where}, asked with version {one.prompt_version} of the "
            f"prompt “{one.prompt}”, one {one.asks_for} a call ({_parameters(one)}{times}; content hash "
            f"{one.content_hash[:12]})."
        )
        if one.examples:
            yield _examples_sentence(one, found)
    for checked in content.shown_checks:
        yield from _check_sentences(checked)


def _examples_sentence(one: ModelAccount, found: Sequence[Coverage]) -> str:
    """Told from the ratings behind the report: exclusions may be taken back, or passed over on request."""
    rated = {(block.block, name) for block in found for name in block.by_rater.get(one.rater, ())}
    shown = len(one.examples)
    counted = sum(not rated.isdisjoint(places) for places in one.examples)
    is_one = shown == 1
    conversations = "1 conversation as an example" if is_one else f"{shown:,} conversations as examples"
    if not counted:
        use = f"{'this one is' if is_one else 'these are'} left out of its evaluation"
    elif is_one:
        use = "this one takes part in its evaluation all the same"
    elif counted < shown:
        use = f"{counted:,} of these {'takes' if counted == 1 else 'take'} part in its evaluation all the same"
    else:
        use = "these take part in its evaluation all the same"
    return f"Its prompt shows {conversations}, with the experts' medians; {use}."


def _parameters(one: ModelAccount) -> str:
    sent = dict(one.parameters)
    named = [f"{name.replace('_', ' ')} {_value(value)}" for name, value in sorted(sent.items())]
    return ", ".join([*named, *([] if "temperature" in sent else ["temperature not sent"])])


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _check_sentences(checked: CheckedRun) -> Iterator[str]:
    over_all = {one.statistic: one for one in checked.figures if not one.dimension}
    yield (
        f"Run {checked.run} of {checked.rater} ({checked.n_items:,} items) was checked for what moves its scores "
        f"besides the conversation, on {checked.computed_at.astimezone(UTC):%Y-%m-%d}; {FILE} has every figure."
    )
    yield from _order_sentences(over_all, [one for one in checked.figures if one.statistic == "shift_mean"])
    equal = over_all.get("draws_equal")
    if equal and equal.value is not None:
        yield f"Of the items asked about several times {_number(equal.value, True)} got the same score each time."
    yield from _length_sentences([one for one in checked.figures if one.statistic in LENGTH_STATISTICS])


def _order_sentences(over_all: Mapping[str, Figure], shifts: Sequence[Figure]) -> Iterator[str]:
    """All scales jointly first, then on how many of them by themselves a shift can be told."""
    shift = over_all.get("shift_mean")
    if shift is None or shift.value is None:
        return
    beside = []
    if shift.ci_low is not None and shift.ci_high is not None:
        beside.append(f"95 % interval {_number(shift.ci_low, False)} to {_number(shift.ci_high, False)}")
    if shift.p_told is not None:
        beside.append(f"{_p(shift.p_told, ' = ')} by an exact sign-flip test over items")
    told_beside = f" ({'; '.join(beside)})" if beside else ""
    items = "item" if shift.n_items == 1 else "items"
    yield (
        f"With the points listed from the last to the first, its scores of {shift.n_items:,} {items} differed by "
        f"{_number(shift.value, False)} points on average over all scales{told_beside}."
    )
    if shift.n_items < FEWEST_ITEMS:
        yield f"Fewer than {FEWEST_ITEMS} items are too few to tell a shift."
    tested = [one for one in shifts if one.dimension and one.p_told is not None]
    if tested:
        told = sum(one.is_told for one in tested)
        yield (
            f"Scale by scale, a shift could be told on {told} of {len(tested)} (the same test, p adjusted by the false "
            "discovery rate, below 0.05)."
        )


def _length_sentences(figures: Sequence[Figure]) -> Iterator[str]:
    differences = [one for one in figures if one.statistic == "slope_difference" and one.value is not None]
    if not differences:
        return
    told = [one for one in differences if one.is_told]
    scales = "scale" if len(differences) == 1 else "scales"
    yield (
        f"On {len(told)} of {len(differences)} {scales} the slope of its scores on the words of the supporter's text "
        "differed from the experts' (least squares over items with robust standard errors, p adjusted by the false "
        "discovery rate, below 0.05)."
    )
