import re
from xml.etree import ElementTree

import vl_convert

from apps.reliability.benchmarks import scale_benchmarks
from apps.reports.figures.benchmark import benchmark_figure
from apps.reports.figures.palettes import PAPER
from apps.reports.figures.tidying import HANDED_DOWN, SVG, tidied
from tests.reports.figures.conftest import CAST, labels_of, study_rows


def marks(svg: str) -> list[tuple]:
    """Every mark with its text, its place to a hundredth, and what it looks like, handed down or its own."""
    found = []

    def visit(element, inherited):
        own = inherited | {name: value for name, value in element.attrib.items() if name in HANDED_DOWN}
        if element.tag != f"{{{SVG}}}g" and len(element) == 0:
            where = [element.get(name, "") for name in ("transform", "d", "x2", "y2", "opacity")]
            look = {name: number(value) for name, value in own.items()}
            found.append((element.tag, element.text, *map(number, where), sorted(look.items())))
        for child in element:
            visit(child, own)

    visit(ElementTree.fromstring(svg), {})
    return found


def number(text: str) -> str:
    """With every number in it at one decimal."""
    return re.sub(r"\d+(\.\d+)?", lambda match: f"{float(match[0]):.1f}", text)


def test_a_tidied_picture_shows_the_same_in_fewer_bytes():
    figure = benchmark_figure(scale_benchmarks(study_rows(), CAST), labels_of(CAST), PAPER)
    drawn = vl_convert.vegalite_to_svg(figure.spec, vl_version="v6.4")
    assert marks(tidied(drawn)) == marks(drawn)
    assert len(tidied(drawn)) < 0.8 * len(drawn)


def test_only_what_all_marks_share_moves_to_their_group():
    first, second = 'opacity="1" stroke="a">&lt;b&gt; 1.23456</text>', 'opacity="1" transform="translate({})">x</text>'
    drawn = (
        f'<svg xmlns="{SVG}"><g class="mark-text role-mark"><text fill="red" {first}'
        f'<text fill="red" {second.format("1.23456,-0.009")}</g></svg>'
    )
    assert tidied(drawn) == (
        f'<svg xmlns="{SVG}"><g class="mark-text role-mark" fill="red"><text {first}'
        f"<text {second.format('1.23,-0.01')}</g></svg>"
    )
