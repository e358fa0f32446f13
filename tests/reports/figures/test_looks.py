"""One look everywhere: the colours of files are those of the page by day, and shapes are those of the style sheet."""

import re
from itertools import pairwise, product
from pathlib import Path

import pytest

from apps.reliability.matrix import Kind, RaterKey
from apps.reports.figures.labels import rater_symbols
from apps.reports.figures.palettes import MM, PAPER, SCREEN
from apps.reports.figures.symbols import symbol_of
from apps.reports.figures.words import text_width
from tests.common.test_style_sheet import contrast, tokens

CSS = Path(__file__).resolve().parents[3] / "static" / "css"


def token(colour: str) -> tuple[str, str]:
    """Light and dark value of `var(--name)`."""
    return tokens()[re.fullmatch(r"var\(--([\w-]+)\)", colour)[1]]


def test_files_have_the_colours_of_the_page_by_day():
    for kind in Kind:
        assert PAPER.kinds[kind] == token(SCREEN.kinds[kind])[0]
    assert PAPER.ramp == tuple(token(colour)[0] for colour in SCREEN.ramp)
    assert PAPER.negative_ramp == tuple(token(colour)[0] for colour in SCREEN.negative_ramp)
    assert PAPER.on_ramp == token(SCREEN.on_ramp)[0]
    assert PAPER.ground == "#ffffff"


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_on_every_step_of_a_ramp_is_legible(scheme):
    ink, on_ramp = token(SCREEN.ink)[scheme], token(SCREEN.on_ramp)[scheme]
    for ramp, steps in ((SCREEN.ramp, SCREEN.ink_steps), (SCREEN.negative_ramp, SCREEN.negative_ink_steps)):
        for place, colour in enumerate(ramp):
            assert contrast(ink if place < steps else on_ramp, token(colour)[scheme]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_neighbouring_steps_can_be_told_apart(scheme):
    for ramp in (SCREEN.ramp, SCREEN.negative_ramp):
        colours = [token(colour)[scheme] for colour in ramp]
        assert all(contrast(one, other) >= 1.2 for one, other in pairwise(colours))


def test_every_kind_has_its_shape_and_a_dozen_models_differ():
    first = {symbol_of(kind).path for kind in Kind}
    assert len(first) == len(Kind)
    models = [symbol_of(Kind.LLM, place) for place in range(12)]
    assert len({(one.path, one.fill) for one in models}) == 12


def test_a_rater_keeps_their_symbol_whoever_is_shown_and_workers_share_one():
    raters = [RaterKey("b", Kind.LLM), RaterKey("a", Kind.LLM), *(RaterKey(f"w{n}", Kind.CROWD) for n in range(3))]
    symbols = rater_symbols(raters)
    assert symbols == rater_symbols(reversed(raters))
    assert symbols["a"] == symbol_of(Kind.LLM, 0)
    assert symbols["b"] == symbol_of(Kind.LLM, 1)
    assert symbols["w0"] == symbols["w2"] == symbols["crowd:mean"]


def test_files_are_as_wide_as_the_columns_of_a_paper():
    assert PAPER.wide.width / MM == pytest.approx(180, abs=0.2)
    assert PAPER.narrow.width / MM == pytest.approx(90, abs=0.2)


def test_the_text_of_a_file_is_at_least_five_points_high_wherever_it_is_small():
    """Journals ask for 5 to 7 points; 0.72 is the smallest share of a figure's type that is used."""
    for layout, share in product((PAPER.wide, PAPER.narrow), (0.85, 1)):
        assert 5 <= layout.font * share * 72 / 96 <= 7


def test_the_shapes_of_the_page_have_no_other_kinds():
    sheet = (CSS / "components" / "raters.css").read_text()
    assert set(re.findall(r"\.rater--(\w+)::before", sheet)) == set(Kind)


def test_widths_of_text_grow_with_it():
    assert text_width("mm", 10) > text_width("ii", 10)
    assert text_width("感情", 10) == 20
    assert text_width("abc", 20) == 2 * text_width("abc", 10)
