"""Figures on a page: the drawing that fits, the colours of the page, and reach by keyboard."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from apps.accounts.models import User
from tests.browser.conftest import DESKTOP, PHONE, OpenPage, assert_accessible, scrolls_sideways
from tests.conftest import make_dataset, make_framework, make_study
from tests.dashboard.agreement_world import RATINGS, add, compute, rate

VIOLET, VIOLET_BY_NIGHT = "rgb(106, 62, 161)", "rgb(187, 155, 242)"
INK, INK_BY_NIGHT = "rgb(35, 33, 29)", "rgb(235, 230, 220)"


@pytest.fixture
def address(rosa: User) -> str:
    """The agreement of a study in which three experts and a model rated two scales."""
    dataset = make_dataset("warm-talks", conversations=5, owner=rosa)
    study = make_study("warm", owner=rosa, dataset=dataset, frameworks=[make_framework()])
    add(study, "gpt")
    for scale, values in RATINGS.items():
        rate(study, values, dimension=scale)
    compute(study)
    return "/studies/warm/agreement/"


def drawing(page: Page) -> Locator:
    """The picture of the benchmark that is seen."""
    return page.locator("#figure-benchmark svg:visible")


def colour(page: Page, mark: str) -> str:
    """The colour that the browser gives a mark of the picture."""
    return str(drawing(page).locator(mark).first.evaluate("mark => getComputedStyle(mark).fill"))


SHOWN_SIZES = "texts => texts.map(one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"
EXPERTS, TEXT = '[fill="var(--rater-expert)"]', '[fill="var(--ink)"] text'


@pytest.mark.parametrize(("scheme", "violet", "ink"), [("light", VIOLET, INK), ("dark", VIOLET_BY_NIGHT, INK_BY_NIGHT)])
def test_a_picture_has_the_colours_of_the_page(open_page: OpenPage, rosa: User, address: str, scheme, violet, ink):
    page = open_page(rosa, color_scheme=scheme)
    page.goto(address)
    assert (colour(page, EXPERTS), colour(page, TEXT)) == (violet, ink)
    lines = drawing(page).locator('[stroke="var(--hairline)"] line').first
    assert lines.evaluate("line => getComputedStyle(line).stroke") != "none"


def test_the_switch_changes_a_picture_that_stands_there(open_page: OpenPage, rosa: User, address: str):
    page = open_page(rosa, color_scheme="light")
    page.goto(address)
    assert colour(page, EXPERTS) == VIOLET
    page.get_by_role("button", name="Colours").click()
    page.get_by_role("button", name="Colours").click()
    expect(page.get_by_role("button", name="Colours")).to_have_text("Colours: dark")
    assert (colour(page, EXPERTS), colour(page, TEXT)) == (VIOLET_BY_NIGHT, INK_BY_NIGHT)


@pytest.mark.parametrize(("viewport", "side"), [(DESKTOP, "wide"), (PHONE, "narrow")], ids=["desktop", "phone"])
def test_one_drawing_is_shown_and_fits_its_place(open_page: OpenPage, rosa: User, address: str, viewport, side):
    page = open_page(rosa, viewport=viewport)
    page.goto(address)
    expect(drawing(page)).to_have_count(1)
    expect(drawing(page)).to_have_class(f"figure__drawing figure__drawing--{side}")
    frame = page.locator("#figure-benchmark .figure__frame").bounding_box()
    box = drawing(page).bounding_box()
    assert frame is not None
    assert box is not None
    assert frame["x"] <= box["x"]
    assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
    sizes = drawing(page).locator("text").evaluate_all(SHOWN_SIZES)
    assert min(sizes) >= 10.5
    assert not scrolls_sideways(page)
    assert_accessible(page)


def test_no_text_of_a_picture_leaves_it(open_page: OpenPage, rosa: User, address: str):
    for viewport in (DESKTOP, PHONE):
        page = open_page(rosa, viewport=viewport)
        page.goto(address)
        outside = page.locator("svg[role=img]:visible text").evaluate_all(
            """texts => texts.filter(text => {
              const own = text.getBoundingClientRect(), whole = text.ownerSVGElement.getBoundingClientRect()
              return own.left < whole.left - 1 || own.right > whole.right + 1
                || own.top < whole.top - 1 || own.bottom > whole.bottom + 1
            }).map(text => text.textContent)"""
        )
        assert outside == []


def test_a_picture_and_its_table_are_reached_by_keyboard(open_page: OpenPage, rosa: User, address: str):
    page = open_page(rosa)
    page.goto(address)
    figure = page.locator("#figure-benchmark")
    expect(figure.get_by_role("img")).to_have_accessible_description(figure.locator(".figure__summary").inner_text())
    figure.get_by_role("region").first.focus()
    # Two files of each of two widths stand between the picture and its table.
    for _ in range(5):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    table = figure.get_by_role("table")
    expect(table).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/agreement/main/"))
