import os
import re
import struct
import threading
from xml.etree import ElementTree

import pytest
from django.core.cache import cache

from apps.reliability.benchmarks import scale_benchmarks
from apps.reliability.matrix import Kind, RaterKey
from apps.reports.figures import render
from apps.reports.figures.benchmark import benchmark_figure
from apps.reports.figures.palettes import PAPER, SCREEN
from apps.reports.figures.render import ForkedError, png_of, svg_of
from tests.reports.figures.conftest import (
    CAST,
    EXPERTS,
    HOSTILE,
    KEY,
    RIGHT_TO_LEFT,
    expert_rows,
    labels_of,
    row,
    study_rows,
)

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _no_pictures_from_before():
    cache.clear()


def figure(palette=SCREEN, rows=None, raters=CAST, scale="Empathy"):
    return benchmark_figure(scale_benchmarks(rows or study_rows(), raters), labels_of(raters, {KEY: scale}), palette)


class TestSvg:
    def test_it_is_named_and_described(self):
        root = ElementTree.fromstring(svg_of(figure()))
        assert root.get("role") == "img"
        by_id = {element.get("id"): element for element in root.iter() if element.get("id")}
        assert by_id[root.get("aria-labelledby")].text == figure().title
        assert by_id[root.get("aria-describedby")].text == figure().summary
        assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]

    def test_ids_are_of_this_picture_only(self):
        ids = [
            re.findall(r'\sid="([^"]*)"', svg_of(figure(), **one))
            for one in ({}, {"narrow": True}, {"place": "top"}, {"narrow": True, "place": "top"})
        ]
        assert ids[0] == ["figure-benchmark-title", "figure-benchmark-desc"]
        assert len({one for found in ids for one in found}) == 8

    @pytest.mark.parametrize("palette", [PAPER, SCREEN], ids=["paper", "screen"])
    @pytest.mark.parametrize("narrow", [False, True])
    def test_it_keeps_to_the_content_security_policy(self, palette, narrow):
        drawn = svg_of(figure(palette), narrow=narrow)
        assert not re.search(r"\sstyle=|<style|<script|\son\w+=|href=|url\(|<image|<foreignObject", drawn)

    def test_on_the_screen_every_colour_is_one_of_the_page(self):
        drawn = svg_of(figure())
        colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn)) - {"none", "transparent"}
        assert colours
        assert all(re.fullmatch(r"var\(--[\w-]+\)", colour) for colour in colours)

    def test_for_a_file_every_colour_is_its_own_and_the_size_is_in_millimetres(self):
        drawn = svg_of(figure(PAPER))
        assert "var(" not in drawn
        assert 'width="179.9mm"' in drawn
        assert 'width="90.0mm"' in svg_of(figure(PAPER), narrow=True)

    def test_names_are_text_whatever_they_are(self):
        raters = [*EXPERTS, RaterKey(HOSTILE, Kind.LLM), RaterKey(RIGHT_TO_LEFT, Kind.LLM)]
        rows = [
            *expert_rows((0.2, 0.7, 0.4)),
            row("experts:median", HOSTILE, 0.5),
            row("experts:median", RIGHT_TO_LEFT, 0.5),
        ]
        root = ElementTree.fromstring(svg_of(figure(rows=rows, raters=raters, scale='<i>"x" & y</i>')))
        said = {element.text for element in root.iter(f"{SVG}text")}
        assert {HOSTILE, '<i>"x" & y</i>'} <= said
        assert any(RIGHT_TO_LEFT in (text or "") for text in said)
        assert not list(root.iter(f"{SVG}b"))

    @pytest.mark.parametrize("character", ["\x00", "\x01", "\x1b", "\x7f", "\x85", "\ufffe", "\uffff", "\U0001ffff"])
    def test_a_character_that_xml_has_no_place_for_is_a_sign(self, character):
        """One of them in a name once ended the process that drew."""
        odd = RaterKey(f"a{character}b", Kind.LLM)
        rows = [*expert_rows((0.2, 0.7, 0.4)), row("experts:median", odd.name, 0.4)]
        found = figure(PAPER, rows, (*EXPERTS, odd), scale=f"Em{character}pathy")
        ElementTree.fromstring(svg_of(found))
        assert png_of(found).startswith(b"\x89PNG")

    def test_a_very_long_name_ends_in_an_ellipsis(self):
        root = ElementTree.fromstring(svg_of(figure(scale="x" * 300)))
        [name] = {element.text for element in root.iter(f"{SVG}text") if (element.text or "").startswith("xxx")}
        assert name.endswith("…")
        assert len(name) < 60


class TestPng:
    def test_it_has_three_hundred_pixels_to_the_inch(self):
        drawn = png_of(figure(PAPER))
        width, height = struct.unpack(">II", drawn[16:24])
        spec = figure(PAPER).spec
        assert width == pytest.approx(180 / 25.4 * 300, abs=4)
        assert height / width == pytest.approx(spec["height"] / spec["width"], rel=0.01)
        narrow = struct.unpack(">II", png_of(figure(PAPER), narrow=True)[16:24])
        assert narrow[0] == pytest.approx(90 / 25.4 * 300, abs=4)

    def test_a_scale_makes_it_larger(self):
        [width] = struct.unpack(">I", png_of(figure(PAPER), 0.5)[16:20])
        assert width == pytest.approx(180 / 25.4 * 150, abs=4)

    def test_colours_of_the_screen_are_refused(self):
        with pytest.raises(ValueError, match="benchmark is drawn for the screen"):
            png_of(figure(SCREEN))


class TestKeeping:
    def test_a_picture_is_drawn_once(self, monkeypatch):
        first = svg_of(figure())
        monkeypatch.setattr(render._engine, "svg", lambda spec: pytest.fail("drawn twice"))
        assert svg_of(figure()) == first

    def test_another_number_is_another_picture(self):
        rows = [*expert_rows((0.2, 0.7, 0.4)), row("experts:median", "crowd", 0.9)]
        assert figure().content_hash != figure(rows=rows).content_hash
        assert svg_of(figure()) != svg_of(figure(rows=rows))

    def test_words_are_never_kept_with_the_picture(self):
        """Two figures may look the same and be called otherwise."""
        benchmarks = scale_benchmarks(study_rows(), CAST)
        one = benchmark_figure(benchmarks, labels_of(CAST), SCREEN, name="one")
        other = benchmark_figure(benchmarks, labels_of(CAST), SCREEN, name="other")
        assert one.content_hash == other.content_hash
        assert "figure-one-title" in svg_of(one)
        assert "figure-other-title" in svg_of(other)

    def test_threads_draw_side_by_side(self):
        drawn: list[str] = []
        values = [0.1, 0.2, 0.3, 0.4]

        def draw(value: float) -> None:
            drawn.append(svg_of(figure(rows=expert_rows((value, value, value)))))

        threads = [threading.Thread(target=draw, args=(value,)) for value in values]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(drawn)) == len(values)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking is what is tested
def test_a_child_of_a_process_that_has_drawn_says_so_and_does_not_hang():
    svg_of(figure())
    child = os.fork()
    if child == 0:
        cache.clear()
        try:
            svg_of(figure())
        except ForkedError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
