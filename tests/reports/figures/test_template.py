import re
from html import unescape
from html.parser import HTMLParser

from django.template.loader import render_to_string

from apps.reliability.benchmarks import scale_benchmarks
from apps.reliability.matrix import Kind, RaterKey
from apps.reports.figures.benchmark import benchmark_figure
from apps.reports.figures.palettes import SCREEN
from tests.reports.figures.conftest import CAST, EXPERTS, HOSTILE, KEY, expert_rows, labels_of, row, study_rows


def figure(rows=None, raters=CAST, **others):
    benchmarks = scale_benchmarks(rows or study_rows(), raters)
    return benchmark_figure(benchmarks, labels_of(raters, **others), SCREEN)


def page(shown=None, **context) -> str:
    return render_to_string("reports/_figure.html", {"figure": shown or figure(), **context})


def test_title_summary_pictures_caption_and_table_are_there():
    html = page()
    assert re.findall(r"<h2[^>]*>([^<]*)</h2>", html) == [figure().title]
    assert figure().summary in unescape(html)
    assert figure().caption in unescape(html)
    assert len(re.findall(r'<svg [^>]*role="img"', html)) == 2
    cells = re.findall(r"<t[dh][^>]*>(?:<bdi>)?([^<]+)", html)
    assert [unescape(cell) for cell in cells] == [*figure().columns, *figure().rows[0]]


def test_no_id_occurs_twice_even_if_a_figure_does():
    ids = re.findall(r'\sid="([^"]+)"', page() + page(place="again"))
    assert len(ids) == len(set(ids)) == 14
    references = re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', page())
    assert set(references) <= set(ids)


def test_what_scrolls_can_be_reached_and_has_a_name():
    regions = re.findall(r'<div [^>]*role="region"[^>]*>', page())
    assert len(regions) == 2
    assert all('tabindex="0"' in region and "aria-label" in region for region in regions)


def test_files_are_offered_where_there_are_addresses():
    assert "download" not in page()
    html = page(svg_url="/x.svg?a=1&b=2", png_url="/x.png")
    assert re.findall(r'<a href="([^"]+)" download>', html) == [
        *["/x.svg?a=1&amp;b=2&amp;width=90", "/x.png?width=90"],
        *["/x.svg?a=1&amp;b=2", "/x.png"],
    ]


def test_a_row_leads_to_its_scale():
    html = page(figure(scale_links={KEY: "/studies/s/agreement/main/warmth/empathy/"}))
    assert '<th scope="row"><a href="/studies/s/agreement/main/warmth/empathy/"><bdi>Empathy</bdi></a></th>' in html


def test_the_level_of_the_heading_is_the_pages():
    assert "<h3" in page(heading=3)
    assert "<h2" not in page(heading=3)


def test_names_never_become_elements():
    class Elements(HTMLParser):
        found: set[str] = set()

        def handle_starttag(self, tag, attrs):
            self.found.add(tag)
            assert not any(name.startswith("on") for name, _ in attrs)

    raters = [*EXPERTS, RaterKey(HOSTILE, Kind.LLM)]
    rows = [*expert_rows((0.2, 0.7, 0.4)), row("experts:median", HOSTILE, 0.5)]
    elements = Elements()
    elements.feed(page(figure(rows, raters)))
    assert "b" not in elements.found
    assert "svg" in elements.found
