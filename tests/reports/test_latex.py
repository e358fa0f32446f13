import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.measures.scale import Level
from apps.reliability.matrix import Kind, TableKey
from apps.reports.contents import ReportOptions, Stars
from apps.reports.latex import escape, number, tables_tex
from tests.reliability.conftest import make_table
from tests.reports.made import KINDS, OBSERVED, content_of, file_tables, study_tables

COMMENT = re.compile(r"(?<!\\)%.*")
ENVIRONMENT = re.compile(r"\\(begin|end)\{(\w+)\}")


def check(tex: str) -> list[str]:
    """What a compiler would stumble over, as far as one can see without one; and the rows of all tables."""
    body = "\n".join(COMMENT.sub("", line) for line in tex.splitlines())
    depth = 0
    for character in re.sub(r"\\[\\{}$&#%_`]", "", body):
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert re.sub(r"\\\$", "", body).count("$") % 2 == 0
    assert not set(re.findall(r"(?<!\\)[#&~]", re.sub(r" & ", " ", body)))
    assert not re.findall(r"(?<!\\)_", re.sub(r"\$[^$]*\$", "", body))
    open_ones: list[str] = []
    for what, name in ENVIRONMENT.findall(body):
        if what == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert open_ones == []
    return rows_of(body)


def rows_of(body: str) -> list[str]:
    rows = []
    for columns, table in re.findall(r"\\begin\{longtable\}\{(\w+)\}(.*?)\\end\{longtable\}", body, re.S):
        for line in table.splitlines():
            if " & " in line:
                assert line.endswith(r"\\")
                assert len(re.split(r"(?<!\\)&", line)) == len(columns)
                rows.append(line)
    assert rows or "longtable}{" not in body
    return rows


def test_both_conventions_and_the_groups_have_a_table():
    tex = tables_tex(content_of(study_tables()))
    rows = check(tex)
    labels = re.findall(r"\\label\{([^}]*)\}", tex)
    assert labels == ["tab:kappa-scale", "tab:kappa-observed", "tab:groups"]
    assert any(re.match(r"Care Scales & Warmth & 0\.\d\d & 0\.\d\d & 0\.\d\d & ", row) for row in rows)
    assert "Framework & Scale & Low & Median & High & crowd & gpt" in tex
    assert tex.count(r"\toprule") == 6
    assert tex.count(r"\begin{quote}") == 3


def test_the_chosen_convention_comes_first():
    labels = re.findall(r"\\label\{([^}]*)\}", tables_tex(content_of(study_tables(), options=OBSERVED, resamples=0)))
    assert labels[:2] == ["tab:kappa-observed", "tab:kappa-scale"]


def test_a_kappa_has_its_value_its_stars_and_its_n():
    content = content_of(study_tables(["warmth"]))
    [row] = [
        one for one in content.rows if (one.statistic, one.a, one.b) == ("kappa_quadratic", "experts:median", "gpt")
    ]
    cell, below = re.findall(r"Warmth & .*& (.*?) \\\\\n\\nopagebreak & .* & (.*?) \\\\", tables_tex(content))[0]
    value, stars, n = re.fullmatch(r"([\d.]+)(?:\$\^\{(\*+)\}\$)? \((\d+)\)", cell).groups()
    assert (value, int(n)) == (f"{row.value:.2f}", row.n_items)
    assert row.p_adjusted is not None
    assert len(stars or "") == sum(row.p_adjusted < level for level in (0.05, 0.01, 0.001))
    assert row.ci_low is not None
    assert below == rf"{{\footnotesize {number(row.ci_low)} to {number(row.ci_high)}}}"


def test_without_intervals_no_row_is_kept_for_them():
    tex = tables_tex(content_of(study_tables(), resamples=0))
    check(tex)
    assert "nopagebreak" not in tex
    assert "95 " not in tex
    assert "in brackets the number of conversations that both rated." in tex
    with_them = tables_tex(content_of(study_tables()))
    assert with_them.count("and below it the 95 \\% interval.") == 2


@pytest.mark.parametrize("tables", [study_tables(), file_tables({"a": [1, 2, 3], "b": [1, 3, 3]})])
def test_each_caption_of_kappa_names_its_convention(tables):
    tex = tables_tex(content_of(tables, of_study=bool(tables[0].key.block), resamples=0))
    captions = [one for one in re.findall(r"\\caption\{(.*?)\}\\label", tex) if "kappa" in one]
    assert len(captions) == 2
    assert "convention “scale”" in captions[0]
    assert "convention “observed”" in captions[1]


def test_groups_are_called_as_on_pages():
    kinds = {"gpt": Kind.LLM, "claude": Kind.LLM, "w1": Kind.CROWD, "w2": Kind.CROWD, "e1": Kind.EXPERT}
    tables = [make_table({name: [1, 2, 3, 4] for name in [*kinds, "e2"]}, kinds=kinds)]
    tex = tables_tex(content_of(tables, resamples=0))
    check(tex)
    assert "llms" not in tex
    assert re.search(r"& Models & ", tex)
    assert "& Crowd mean & " in tex


@pytest.mark.parametrize(
    ("stars", "said"),
    [(Stars.ADJUSTED, "Stars by p adjusted"), (Stars.RAW, "Stars by the p of each test"), (Stars.NONE, "")],
)
def test_notes_say_what_the_stars_mean(stars, said):
    tex = tables_tex(content_of(study_tables(), options=ReportOptions(stars=stars), resamples=0))
    check(tex)
    assert (said in tex) if said else ("Stars" not in tex and "$^{*" not in tex)
    assert "No intervals were computed." in tex


def test_notes_say_convention_and_intervals_and_what_is_undefined():
    tex = tables_tex(content_of([make_table({"e1": [3, 3], "e2": [3, 3], "gpt": [3, 3]}, kinds=KINDS)]))
    check(tex)
    assert "convention “scale”" in tex
    assert "convention “observed”" in tex
    assert r"95 \% percentile intervals over 50 resamples of items" in tex
    assert "undefined: no variation" in tex
    assert "& undefined" in tex


def test_a_file_of_ratings_has_its_pairs():
    tex = tables_tex(content_of(file_tables({"a_1": [1, 2, 3, 5], "50%": [1, 3, 3, 4]}), of_study=False))
    rows = check(tex)
    assert any(r"50\% & a\_1 & " in row for row in rows)
    assert "Scale & A & B & Kappa" in tex


def test_nominal_scales_have_a_table_of_their_own():
    tables = [
        make_table({"e1": [1, 2, 1], "e2": [2, 2, 1]}, kinds=KINDS, level=Level.NOMINAL),
        make_table({"e1": [1, 2, 1], "e2": [2, 2, 1]}, kinds=KINDS, key=TableKey("main", "warmth", "other")),
    ]
    tex = tables_tex(content_of(tables, resamples=0))
    check(tex)
    assert r"\label{tab:groups-nominal}" in tex
    assert "Alpha nominal" in tex


def test_without_rows_there_is_a_comment():
    assert "There is no weighted kappa" in tables_tex(content_of([], resamples=0))


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("a & b_c#1 50% $2 {x}", r"a \& b\_c\#1 50\% \$2 \{x\}"),
        ("\\input{secret}", r"\textbackslash{}input\{secret\}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("line\nbreak\x00", "line break "),
        ("café 😀", "café 😀"),
        ("*[1]", "{*}{[}1{]}"),
    ],
)
def test_any_text_prints_as_it_is(text, tex):
    assert escape(text) == tex


@given(st.text(max_size=30))
def test_escaped_text_holds_no_command_but_those_of_escapes(text):
    escaped = escape(text)
    known = (
        r"\\(textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar|char34)\{\}|\\[{}$&#%_]|\\`\{\}"
    )
    rest = re.sub(known, "", escaped)
    assert "\\" not in rest
    assert not set(rest) & set("$&#%_^~\n\r")
    assert len(re.findall(r"\{", re.sub(known, "", escaped))) == len(re.findall(r"\}", rest))


NAMES = st.text(min_size=1, max_size=8)


@settings(deadline=None, max_examples=30)
@given(st.lists(NAMES, min_size=2, max_size=3, unique=True), NAMES)
def test_no_name_breaks_the_tables(names, dimension):
    columns = {name: [1, 2, 3] for name in names}
    check(tables_tex(content_of(file_tables(columns, dimension=dimension), of_study=False, resamples=0)))


@pytest.mark.parametrize(("value", "text"), [(0.625, "0.62"), (-0.001, "0.00"), (-0.5, "$-0.50$"), (1.0, "1.00")])
def test_numbers_have_two_decimals_and_no_negative_zero(value, text):
    assert number(value) == text
