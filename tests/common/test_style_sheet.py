"""The style sheet keeps its own rules, and the templates keep to the style sheet."""

import re
from itertools import product
from pathlib import Path

import pytest

from apps.reports import html_report

ROOT = Path(__file__).resolve().parents[2]
CSS = ROOT / "static" / "css"
SHEETS = sorted(CSS.rglob("*.css"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
# No page of the site but a file to be downloaded, with a policy of its own.
STANDS_ALONE = ROOT / "templates" / html_report.TEMPLATE
DEFINED = {name for sheet in SHEETS for name in re.findall(r"\.([a-z][\w-]*)", sheet.read_text())}


def without_comments(css: str) -> str:
    return re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)


def tokens() -> dict[str, tuple[str, str]]:
    """Name of a colour to its light and its dark value."""
    found = re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", (CSS / "tokens.css").read_text())
    return {name: (light, dark) for name, light, dark in found}


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours `#rrggbb`, 1 to 21 (WCAG 2.2, relative luminance)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_of_contrast_is_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "surface"])
class TestContrast:
    @pytest.mark.parametrize("text", ["ink", "ink-soft", "accent", "accent-strong", "good", "care", "bad"])
    def test_text_is_legible(self, text, ground, scheme):
        assert contrast(tokens()[text][scheme], tokens()[ground][scheme]) >= 4.5

    @pytest.mark.parametrize(
        "mark", ["edge", *(f"rater-{kind}" for kind in ["expert", "llm", "crowd", "self", "reference", "baseline"])]
    )
    def test_marks_and_edges_are_seen(self, mark, ground, scheme):
        assert contrast(tokens()[mark][scheme], tokens()[ground][scheme]) >= 3


# Swagger UI keeps its own light sheet.
MAY_NAME_COLOURS = {"tokens.css", "api_docs.css"}


@pytest.mark.parametrize(
    "sheet", [sheet for sheet in SHEETS if sheet.name not in MAY_NAME_COLOURS], ids=lambda path: path.name
)
def test_colours_are_named_in_one_file(sheet):
    assert re.findall(r"#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(", without_comments(sheet.read_text())) == []


def test_every_token_that_is_used_exists():
    defined = set(re.findall(r"^\s*(--[\w-]+):", (CSS / "tokens.css").read_text(), flags=re.MULTILINE))
    used = {name for sheet in SHEETS for name in re.findall(r"var\((--[\w-]+)", sheet.read_text())}
    assert used - defined == set()


def test_every_sheet_is_linked():
    linked = {name for page in TEMPLATES for name in re.findall(r"static 'css/([\w/]+\.css)'", page.read_text())}
    # A report that is downloaded stands alone: its sheets are written into it.
    written = {name.removeprefix("css/") for name in html_report.SHEETS}
    assert {sheet.relative_to(CSS).as_posix() for sheet in SHEETS} == linked | written


def classes_of(html: str) -> set[str]:
    """The classes of a template; those put together from variables count up to the variable."""
    attributes = re.findall(r'class="((?:[^"{]|\{[{%].*?[%}]\})*)"', html)
    plain = [re.sub(r"\{%.*?%\}", " ", value) for value in attributes]
    words = {word for value in plain for word in re.sub(r"\{\{.*?\}\}", "{", value).split()}
    return {word for word in words if "{" not in word}


def test_classes_are_read_from_templates():
    html = '<p class="a b--{{ kind }}{% if x %} c{% endif %}"><i class="{% if y %}d{% else %}e{% endif %}">'
    assert classes_of(html) == {"a", "c", "d", "e"}


@pytest.mark.parametrize("page", TEMPLATES, ids=lambda path: path.relative_to(ROOT / "templates").as_posix())
class TestTemplates:
    def test_every_class_exists(self, page):
        assert classes_of(page.read_text()) - DEFINED == set()

    def test_nothing_is_inline(self, page):
        """The content security policy refuses it without a word to the reader."""
        html = page.read_text()
        if page == STANDS_ALONE:
            html = html.replace("<style>\n{{ styles }}\n</style>", "")
        assert re.findall(r"\sstyle=|<style|\son[a-z]+=", html) == []
        assert [tag for tag in re.findall(r"<script[^>]*>", html) if "src=" not in tag] == []

    def test_nothing_comes_from_another_host(self, page):
        assert re.findall(r'(?:src|href|action)="(?:https?:)?//', page.read_text()) == []


def test_the_guide_names_classes_that_exist():
    guide = (CSS / "README.md").read_text()
    assert classes_of(guide) - DEFINED == set()
    assert set(re.findall(r"`([a-z]+--[a-z]+)`", guide)) - DEFINED == set()


def test_every_kind_of_rater_has_its_colour_and_its_shape():
    from apps.studies.models import RaterKind

    sheet = (CSS / "components" / "raters.css").read_text()
    shapes = dict(re.findall(r"\.rater--(\w+)::before \{([^}]*)\}", sheet))
    assert set(shapes) == set(RaterKind.values)
    assert all(f"--rater-{kind}" in rule for kind, rule in shapes.items())
    outlines = [re.sub(r"background:[^;]*;", "", rule).split() for rule in shapes.values()]
    for one, other in product(range(len(outlines)), repeat=2):
        assert one == other or outlines[one] != outlines[other]
