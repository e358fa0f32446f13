"""Text in Markdown becomes HTML that can do no harm and fits below a page's heading."""

import re

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from apps.common.markdown import TAGS, render_markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onmouseover=alert(1)>bold</b> move",
    "[press](javascript:alert(1))",
    "[press](JaVaScRiPt:alert(1))",
    "[press](data:text/html;base64,PHNjcmlwdD4=)",
    "[press](vbscript:x)",
    "![x](https://elsewhere.example/pixel.png)",
    "![x](data:image/png;base64,AAAA)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "| a |\n|--:|\n| <script>1</script> |",
    "```html\n<script>alert(1)</script>\n```",
    "<style>*{display:none}</style>",
    "<!-- --><script>1</script>",
    '[x](https://ok.example ""onclick=alert(1)")',
]


def tags_of(html):
    return set(re.findall(r"<([a-z0-9]+)", html))


@pytest.mark.parametrize("text", HOSTILE)
def test_case_35_what_would_run_is_shown_as_text(text):
    html = render_markdown(text)
    assert tags_of(html) <= TAGS
    assert not re.search(r"""(href|src)=["']?\s*(javascript|data|vbscript)""", html, re.IGNORECASE)
    assert not re.search(r"<[^>]*\s(on\w+|style|src|class|id)=", html)


def test_html_is_shown_as_it_was_typed():
    assert render_markdown("Then <b>rate</b>.") == "<p>Then &lt;b&gt;rate&lt;/b&gt;.</p>\n"


def test_a_picture_is_its_description():
    assert render_markdown("See ![the <scale>](https://elsewhere.example/scale.png).") == (
        "<p>See the &lt;scale&gt;.</p>\n"
    )


def test_links_lead_to_the_web_and_say_no_opener():
    assert render_markdown("[help](https://example.org/)") == (
        '<p><a href="https://example.org/" rel="noopener noreferrer">help</a></p>\n'
    )
    assert 'href="mailto:rosa@example.org"' in render_markdown("<mailto:rosa@example.org>")
    assert 'href="tel:116123"' in render_markdown("[call](tel:116123)")


def test_a_line_break_stays_one():
    assert "Read it all.<br>\nThen rate." in render_markdown("Read it all.\nThen rate.")


def test_tables_and_lists_are_understood():
    html = render_markdown("| a | b |\n|---|--:|\n| 1 | 2 |\n\n3. three\n4. four\n\n~~no~~")
    assert tags_of(html) == {"table", "thead", "tbody", "tr", "th", "td", "ol", "li", "s", "p"}
    assert 'start="3"' in html


@pytest.mark.parametrize(
    ("text", "top", "levels"),
    [
        ("# A\n## B\n# C", 2, [2, 3, 2]),
        ("# A\n#### B\n## C", 3, [3, 4, 4]),
        ("### A\n# B\n###### C", 2, [2, 2, 3]),
        ("A\n===\nB\n---", 4, [4, 5]),
        ("# 1\n## 2\n### 3\n#### 4\n##### 5\n###### 6", 3, [3, 4, 5, 6, 6, 6]),
        ("> # quoted\n\n## B", 2, [2, 3]),
    ],
)
def test_headings_stand_below_the_page_without_gaps(text, top, levels):
    assert [int(level) for level in re.findall(r"<h(\d)>", render_markdown(text, top=top))] == levels


def test_no_text_is_no_html():
    assert render_markdown("") == ""


@given(st.text(alphabet=st.sampled_from("<>[]()!\"'`#*_|-:/= \n\\&;ajsconrg1.~"), max_size=200))
def test_whatever_is_typed_only_the_known_tags_come_out(text):
    html = render_markdown(text)
    assert tags_of(html) <= TAGS
    assert not re.search(r"<[^>]*\s(on\w+|style|src)=", re.sub(r'"[^"]*"', '""', html))


def test_the_filter_of_templates_gives_html():
    template = Template("{% load accord %}{{ text|markdown:3 }}")
    assert template.render(Context({"text": "# A <i>b</i>"})) == "<h3>A &lt;i&gt;b&lt;/i&gt;</h3>\n"
