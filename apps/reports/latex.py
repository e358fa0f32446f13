"""Tables for a paper, in LaTeX: weighted kappa in both conventions, and the agreement within each group. Pure.

A document needs `\\usepackage{booktabs,longtable}`, and an engine that reads UTF-8, as all of the present do.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from apps.measures.kappa import Convention
from apps.measures.pairs import PAIR_STATISTICS
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import ScaleBenchmark, group_alphas
from apps.reliability.matrix import TableKey
from apps.reports.benchmark_rows import benchmarks_of, shown_in
from apps.reports.contents import Part, ReportContent, Stars, part_of
from apps.reports.wording import CONVENTIONS, filter_text, intervals_text, undefined_text

# Group statistics of the second table: what is reported most, and beside it what does not correct for chance.
GROUP_STATISTICS_SHOWN = ("alpha_interval", "alpha_ordinal", "ac2_quadratic", "percent_agreement")
_NOMINAL_SHOWN = ("alpha_nominal", "fleiss_kappa", "ac1", "percent_agreement")
# Columns of sides beside the experts that fit across a page.
MAX_SIDES = 6
# Before a row that belongs to the one above.
_SAME_PAGE = r"\nopagebreak"
_SPECIALS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "[": r"{[}",
    "]": r"{]}",
    "`": r"\`{}",
    # After the end of a row it would be taken for a command.
    "*": "{*}",
    "-": r"{-}",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

Pairs = dict[tuple[str, ...], AgreementRow]


@dataclass(frozen=True)
class LatexTable:
    """A table: caption, label, the alignment of each column, the head, rows of finished cells, and notes below."""

    caption: str
    label: str
    columns: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in (self.head, *self.rows)):
            raise ValueError(f"a row of {self.label} has not {len(self.columns)} cells")


def escape(text: str) -> str:
    """Any text as LaTeX that prints it: specials escaped, white space and control characters as single spaces."""
    return "".join(_SPECIALS.get(character, character) for character in _CONTROL.sub(" ", text))


def sentence(text: str) -> str:
    """A sentence of ours as LaTeX: its dashes stay dashes, so that lines may break after them."""
    return escape(text).replace("{-}", "-")


def tables_tex(content: ReportContent) -> str:
    """All tables as one file to be `\\input`."""
    tables = [*_kappa_tables(content), *_group_tables(content)]
    parts = [_head(content), *(_written(table) for table in tables)]
    if not tables:
        parts.append("% There is no weighted kappa and no group to show in this report.\n")
    return "\n".join(parts)


def _head(content: ReportContent) -> str:
    lines = [
        f"Agreement: {content.title}",
        f"Accord {content.versions.get('accord', '')}, data {content.agreement.data_hash}",
        "Needs \\usepackage{booktabs,longtable} in the preamble; include with \\input{tables.tex}.",
    ]
    return "".join(f"% {_CONTROL.sub(' ', line)}\n" for line in lines)


def _written(table: LatexTable) -> str:
    head = " & ".join(table.head)
    lines = [
        f"\\begin{{longtable}}{{{table.columns}}}",
        f"\\caption{{{table.caption}}}\\label{{{table.label}}}\\\\",
        "\\toprule",
        f"{head} \\\\",
        "\\midrule",
        "\\endfirsthead",
        "\\toprule",
        f"{head} \\\\",
        "\\midrule",
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
        *(f"{' & '.join(row)} \\\\" for row in table.rows),
        "\\end{longtable}",
        "\\begin{quote}\\footnotesize",
        " ".join(table.notes),
        "\\end{quote}",
    ]
    return "\n".join(lines) + "\n"


def _kappa_tables(content: ReportContent) -> Iterator[LatexTable]:
    """One table for each convention, the chosen one first; by expert benchmark where there are experts."""
    chosen = content.settings.convention
    other = Convention.OBSERVED if chosen is Convention.SCALE else Convention.SCALE
    for convention, rows in ((chosen, content.rows), (other, content.other_rows)):
        kappas = [row for row in rows if row.statistic == "kappa_quadratic" and part_of(row) is Part.PAIRS]
        benchmarks = benchmarks_of(content, kappas)
        if benchmarks:
            yield _benchmark_table(content, convention, benchmarks, kappas)
        elif kappas:
            yield _pairs_table(content, convention, kappas)


def _benchmark_table(
    content: ReportContent, convention: Convention, benchmarks: Sequence[ScaleBenchmark], kappas: Sequence[AgreementRow]
) -> LatexTable:
    """Dimensions by sides: the experts' pairs, then each side with the experts' median, with stars and n."""
    sides = list(dict.fromkeys(side.name for one in benchmarks for side in one.sides))
    shown, hidden = sides[:MAX_SIDES], sides[MAX_SIDES:]
    by_place: Pairs = {(*_key(row), row.a, row.b): row for row in kappas}
    rows = [row for one in _in_order(content, benchmarks) for row in _benchmark_rows(content, one, shown, by_place)]
    notes = [
        sentence("Experts: lowest, median and highest kappa of the pairs of experts. The other columns hold each side"),
        sentence(
            "with the median of the experts; in brackets the number of conversations that both rated"
            + (", and below it the 95 % interval." if _has_intervals(rows) else ".")
        ),
        *_notes(content, convention, shown_in(benchmarks, kappas)),
    ]
    if hidden:
        notes.append(
            sentence(
                f"Not shown for want of room: {', '.join(map(content.side_label, hidden))}; agreement.csv has them."
            )
        )
    return LatexTable(
        caption=sentence(
            f"Quadratic weighted kappa of each scale, convention “{convention.value}”: experts among each other, and "
            "others with their median"
        ),
        label=f"tab:kappa-{convention.value}",
        columns="ll" + "r" * (3 + len(shown)),
        head=["Framework", "Scale", "Low", "Median", "High", *(escape(content.side_label(name)) for name in shown)],
        rows=rows,
        notes=notes,
    )


def _benchmark_rows(
    content: ReportContent,
    one: ScaleBenchmark,
    shown: Sequence[str],
    by_place: Pairs,
) -> Iterator[list[str]]:
    """The values and, where a side has one, the intervals below them on the same page."""
    cells = [escape(content.place_of(one.key)), escape(content.label_of(one.key))]
    undefined = "undefined" if one.expert_pairs else ""
    cells += [number(value) if value is not None else undefined for value in (one.low, one.median, one.high)]
    found = [_between(one, name, by_place) for name in shown]
    yield [*cells, *(_estimate(row, content.options.stars) if row else "" for row in found)]
    intervals = [_interval(row) if row else "" for row in found]
    if any(intervals):
        small = (f"{{\\footnotesize {text}}}" if text else "" for text in intervals)
        yield [_SAME_PAGE, *[""] * (len(cells) - 1), *small]


def _between(one: ScaleBenchmark, name: str, by_place: Pairs) -> AgreementRow | None:
    """The row of a side with the experts' value, whichever of them comes first."""
    pair = (one.compared_with, name)
    return by_place.get((*one.key, *pair)) or by_place.get((*one.key, *reversed(pair)))


def _has_intervals(rows: Sequence[Sequence[str]]) -> bool:
    return any(row[0] == _SAME_PAGE for row in rows)


def _in_order(content: ReportContent, benchmarks: Sequence[ScaleBenchmark]) -> list[ScaleBenchmark]:
    """In the order of the study: a table is looked up by its scales, a figure by its height."""
    place = {scale.key: number for number, scale in enumerate(content.scales)}
    return sorted(benchmarks, key=lambda one: place.get(one.key, len(place)))


def _pairs_table(content: ReportContent, convention: Convention, kappas: Sequence[AgreementRow]) -> LatexTable:
    """Every pair in a row, where there is no expert to hold the others against."""
    rows = [
        [*_scale_and_pair(content, row), _value(row, content.options.stars), _interval(row), str(row.n_items)]
        for row in kappas
    ]
    return LatexTable(
        caption=sentence(f"Quadratic weighted kappa of each pair of raters, convention “{convention.value}”"),
        label=f"tab:kappa-{convention.value}",
        columns="lllrrr",
        head=["Scale", "A", "B", "Kappa", "95 \\% interval", "n"],
        rows=rows,
        notes=_notes(content, convention, kappas),
    )


def _scale_and_pair(content: ReportContent, row: AgreementRow) -> list[str]:
    return [escape(content.label_of(_key(row))), *(escape(content.side_label(side)) for side in (row.a, row.b))]


def _group_tables(content: ReportContent) -> Iterator[LatexTable]:
    """The agreement within each group, scale by scale, with intervals."""
    found = {name: group_alphas(content.rows, name) for name in (*GROUP_STATISTICS_SHOWN, *_NOMINAL_SHOWN)}
    rows = [row for row in content.rows if part_of(row) is Part.GROUPS and row.statistic not in PAIR_ONLY]
    by_place: Pairs = {(*_key(row), row.a, row.statistic): row for row in rows}
    for statistics, nominal in ((GROUP_STATISTICS_SHOWN, False), (_NOMINAL_SHOWN, True)):
        places = dict.fromkeys((one.key, one.group) for name in statistics for one in found[name])
        wanted = [place for place in places if _is_nominal(content, place[0]) is nominal]
        if wanted:
            yield _group_table(content, statistics, wanted, by_place, nominal=nominal)


PAIR_ONLY = frozenset(PAIR_STATISTICS) - {"percent_agreement"}


def _group_table(
    content: ReportContent,
    statistics: Sequence[str],
    places: Sequence[tuple[TableKey, str]],
    by_place: Pairs,
    *,
    nominal: bool,
) -> LatexTable:
    names = [name for name in statistics if any((*key, group, name) in by_place for key, group in places)]
    rows = []
    for key, group in places:
        found = [by_place.get((*key, group, name)) for name in names]
        n_items = max(row.n_items for row in found if row)
        cells = [escape(content.place_of(key)), escape(content.label_of(key)), escape(content.side_label(group))]
        rows.append([*cells, *(_with_interval(row) if row else "" for row in found), str(n_items)])
    used = [row for key, group in places for name in names if (row := by_place.get((*key, group, name)))]
    brackets = "95 % intervals in brackets; " if any(row.ci_low is not None for row in used) else ""
    kind = "nominal scales" if nominal else "ordinal scales"
    return LatexTable(
        caption=sentence(f"Agreement of the raters of each kind among each other, {kind}"),
        label="tab:groups-nominal" if nominal else "tab:groups",
        columns="lll" + "r" * (len(names) + 1),
        head=["Framework", "Scale", "Raters", *(escape(_title(name)) for name in names), "n"],
        rows=rows,
        notes=[
            sentence(f"{brackets}n is the number of conversations that entered."),
            sentence(intervals_text(content)),
            sentence(undefined_text(used)),
            *([sentence(filter_text(content.options))] if content.options.narrows else []),
        ],
    )


def _title(statistic: str) -> str:
    words = statistic.split("_")
    return " ".join([words[0].upper() if words[0].startswith("ac") else words[0].capitalize(), *words[1:]])


def _is_nominal(content: ReportContent, key: TableKey) -> bool:
    return any(scale.key == key and scale.dimension.level == "nominal" for scale in content.scales)


def _notes(content: ReportContent, convention: Convention, rows: Iterable[AgreementRow]) -> list[str]:
    text = CONVENTIONS[convention]
    stars = {
        Stars.ADJUSTED: "Stars by p adjusted after Benjamini and Hochberg within a framework",
        Stars.RAW: "Stars by the p of each test on its own",
        Stars.NONE: "",
    }[content.options.stars]
    notes = [sentence(f"{text[0].upper()}{text[1:]}."), sentence(intervals_text(content))]
    if stars:
        notes.append(rf"{sentence(stars)}: $^{{*}}\,p < 0.05$, $^{{**}}\,p < 0.01$, $^{{***}}\,p < 0.001$.")
    notes.append(sentence(undefined_text(rows)))
    if content.options.narrows:
        notes.append(sentence(filter_text(content.options)))
    return notes


def _key(row: AgreementRow) -> TableKey:
    return TableKey(row.block, row.framework, row.dimension)


def number(value: float) -> str:
    """Two decimals, with a true minus sign and none before a zero."""
    rounded = round(value, 2) + 0.0
    return f"${rounded:.2f}$" if rounded < 0 else f"{rounded:.2f}"


def _value(row: AgreementRow, rule: Stars) -> str:
    if row.value is None:
        return "undefined"
    p = {Stars.ADJUSTED: row.p_adjusted, Stars.RAW: row.p_value, Stars.NONE: None}[rule]
    count = 0 if p is None else sum(p < level for level in (0.001, 0.01, 0.05))
    return number(row.value) + (f"$^{{{'*' * count}}}$" if count else "")


def _estimate(row: AgreementRow, rule: Stars) -> str:
    """Value, stars and n."""
    return f"{_value(row, rule)} ({row.n_items})"


def _interval(row: AgreementRow) -> str:
    if row.ci_low is None or row.ci_high is None:
        return ""
    return f"{number(row.ci_low)} to {number(row.ci_high)}"


def _with_interval(row: AgreementRow) -> str:
    if row.value is None:
        return "undefined"
    interval = _interval(row)
    return f"{number(row.value)} ({interval})" if interval else number(row.value)
