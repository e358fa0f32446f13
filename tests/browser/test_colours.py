"""Light, dark, and the switch between them."""

import pytest
from playwright.sync_api import Page, expect

LIGHT, DARK = "rgb(250, 248, 243)", "rgb(27, 26, 24)"


def ground(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


@pytest.mark.parametrize(("scheme", "colour"), [("light", LIGHT), ("dark", DARK)])
def test_the_systems_choice_holds_at_first_without_script_too(open_page, db, scheme, colour):
    for script in (True, False):
        page = open_page(color_scheme=scheme, java_script_enabled=script)
        page.goto("/")
        # Evaluation works in a page whose own scripts are off.
        assert ground(page) == colour
        expect(page.locator("[data-theme-switch]")).to_be_visible(visible=script)


def test_the_switch_persists_over_pages_and_visits(open_page, db):
    page = open_page(color_scheme="light")
    page.goto("/")
    switch = page.get_by_role("button", name="Colours")
    expect(switch).to_have_text("Colours: as the system")
    switch.click()
    switch.click()
    expect(switch).to_have_text("Colours: dark")
    assert ground(page) == DARK
    page.goto("/accounts/sign-in/")
    assert ground(page) == DARK
    again = page.context.new_page()
    again.goto("/")
    assert ground(again) == DARK
    again.get_by_role("button", name="Colours").click()
    expect(again.get_by_role("button", name="Colours")).to_have_text("Colours: as the system")
    assert ground(again) == LIGHT
