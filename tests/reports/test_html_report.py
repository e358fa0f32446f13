import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from apps.reliability.accounting import Account, RaterAccount, RaterUse
from apps.reliability.matrix import Kind
from apps.reliability.notes import Note
from apps.reports.contents import ReportContent, ReportOptions
from apps.reports.html_report import html_of
from apps.reports.html_tables import GROUP_COLUMNS, Table, figure_tables
from tests.reliability.conftest import make_table
from tests.reports.made import content_of, file_tables, study_tables

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Reader(HTMLParser):
    """Elements in their order, with a check that every one is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(content: ReportContent) -> Reader:
    reader = Reader(html_of(content))
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def content() -> ReportContent:
    return content_of(study_tables())


@pytest.fixture(scope="module")
def html(content):
    return html_of(content)


def test_it_stands_alone(html):
    """No script, nothing from elsewhere, not even a style that names another file."""
    reader = Reader(html)
    names = {tag for tag, _attributes in reader.elements}
    assert not names & {"script", "link", "img", "iframe", "object", "form", "base"}
    for tag, attributes in reader.elements:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "action", "data"):
            address = attributes.get(name)
            assert address is None or (tag == "a" and address.startswith("#"))
    assert "@import" not in html
    assert "url(" not in html.replace("url(#", "")
    assert "default-src 'none'" in html


def test_every_link_leads_to_a_place_of_the_page(html):
    reader = Reader(html)
    places = [attributes["id"] for _tag, attributes in reader.elements if "id" in attributes]
    links = {attributes["href"][1:] for tag, attributes in reader.elements if tag == "a"}
    assert links <= set(places)
    assert len(set(places)) == len(places)


def test_it_holds_figures_tables_methods_and_origins(content, html):
    text = " ".join(Reader(html).text)
    assert "Letters of grief" in text
    assert html.count("<svg") == 4  # the benchmark and the alphas, each wide and narrow
    for words in (
        "Quadratic weighted kappa, convention “scale”",
        "convention “observed”",
        "References",
        "Nothing was left out",
    ):
        assert words in text
    assert "7 of 8" in text
    assert "Cell(" not in text
    assert content.agreement.data_hash in text
    assert content.command in text
    assert "1 not at all; 2; 3 somewhat" in text


def test_figures_of_each_scale_and_rater_are_folded_up_under_their_names():
    content = content_of(study_tables(), resamples=0, options=ReportOptions(all_figures=True))
    html = html_of(content)
    test_it_stands_alone(html)
    test_every_link_leads_to_a_place_of_the_page(html)
    summaries = re.findall(r'<details class="fold">\s*<summary>([^<]*)', html)
    assert [text.strip() for text in summaries] == ["Warmth", "Fluency", "e1", "e2", "e3", "crowd", "gpt"]
    # Four drawings of the overview; one of each scale's three figures and of each of five raters.
    assert html.count("<svg") == 4 + 2 * 3 + 5
    text = " ".join(Reader(html).text)
    assert "Experts' median and gpt on Warmth, point by point" in text
    assert "Matrices, point by point, of 2 pairs: values between points." in text


def test_without_them_nothing_is_folded_up(html):
    assert '<details class="fold"' not in html
    assert 'id="figures-left-out"' not in html


def test_every_figure_stands_under_its_name(content):
    """The cells of both tables against the rows they are made from."""
    by_place = {(row.dimension, row.statistic, row.a, row.b): row for row in content.rows}
    kappa, _other, groups = figure_tables(content)
    assert kappa.columns == ("Scale", "Experts among each other", "crowd", "gpt")
    warmth = next(row for row in kappa.rows if row[0].text == "Warmth")
    for column, name in ((2, "crowd"), (3, "gpt")):
        row = by_place["warmth", "kappa_quadratic", "experts:median", name]
        assert warmth[column].text.rstrip("*") == f"{row.value:.2f}"
        assert warmth[column].lighter == (f"{row.ci_low:.2f} to {row.ci_high:.2f}", f"n {row.n_items}")
    assert len(groups.rows) == 2
    statistics = {title: statistic for statistic, title in GROUP_COLUMNS}
    for cells in groups.rows:
        assert cells[1] == "Experts"
        dimension, group = cells[0].text.lower(), "experts"
        for title, cell in zip(groups.columns[2:], cells[2:], strict=True):
            row = by_place[dimension, statistics[title], group, ""]
            assert cell.text == ("not defined" if row.value is None else f"{row.value:.2f}".replace("-", "\u2212"))


def test_models_are_called_so_as_on_pages():
    tables = [make_table({"gpt": [1, 2, 3], "claude": [1, 3, 3]}, kinds=dict.fromkeys(("gpt", "claude"), Kind.LLM))]
    text = html_of(content_of(tables, resamples=0, options=ReportOptions(groups=("llms",))))
    assert "llms" not in text.partition("The same again")[0]
    assert "Shown are only kinds of raters: models." in text
    assert ">Models<" in text


def test_without_intervals_none_is_announced():
    without, with_them = (list(figure_tables(content_of(study_tables(), resamples=n))) for n in (0, 50))
    assert not any("95 %" in note for table in without for note in table.notes)
    assert all(any("its 95 % interval" in note for note in table.notes) for table in with_them)


def test_a_row_without_a_cell_for_each_column_is_refused():
    with pytest.raises(ValueError, match="a row of x has not 2 cells"):
        Table("x", "X", ("a", "b"), [["1"]])


def test_colours_follow_light_and_dark_and_paper(html):
    assert "color-scheme: light dark" in html
    assert "@media print" in html
    assert "var(--rater-expert)" in html


def test_undefined_is_said_in_words():
    """CASES 18."""
    made = content_of(file_tables({"a": [3, 3], "b": [3, 3]}), of_study=False)
    text = " ".join(read(made).text)
    assert re.search(r"not defined\s+no variation", text)
    assert "Not defined: no variation (100% raw agreement)" in text
    assert not re.search(r"\bnan\b", text, re.I)


def test_text_of_people_is_text():
    """CASES 35."""
    hostile = "<script>alert(1)</script>"
    columns = {hostile: [1, 2, 3], '"><img src=x onerror=alert(1)>': [1, 3, 3]}
    made = content_of(file_tables(columns, dimension="</style><b>"), of_study=False, resamples=0)
    note = Note("", "", "</style><b>", "all", hostile)
    account = Account(raters=(RaterAccount(hostile, "expert", RaterUse.EXCLUDED, reason="hand", explanation=hostile),))
    made = replace(
        made,
        title=hostile,
        command=hostile,
        account=account,
        agreement=replace(made.agreement, notes=(note,)),
        ratings_file=f"{hostile}.csv",
    )
    reader = read(made)
    names = {tag for tag, _attributes in reader.elements}
    assert not names & {"script", "img", "b"}
    assert "".join(reader.text).count(hostile) >= 5


def test_a_narrowed_report_says_so():
    made = content_of(study_tables(), resamples=0, options=ReportOptions(parts=("groups",)))
    text = " ".join(read(made).text)
    assert "Shown are only comparisons of: the raters of one kind among each other." in text
    assert "Quadratic weighted kappa, convention" not in text


def test_a_file_of_ratings_has_its_pairs_and_its_group():
    made = content_of(file_tables({"a": [1, 2, 3, 5], "b": [1, 3, 3, 4]}), of_study=False)
    text = " ".join(read(made).text)
    assert "Quadratic weighted kappa of each pair" in text
    assert "Agreement of all raters" in text
    assert "file ratings.csv" in text


def test_a_report_without_rows_is_a_page():
    text = " ".join(read(content_of([], resamples=0)).text)
    assert "No agreement could be described." in text


def test_the_same_report_gives_the_same_page(content, html):
    assert html_of(content) == html
