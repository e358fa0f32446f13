"""Signing in, as a person with a keyboard and eyes does."""

import re

from playwright.sync_api import expect

from tests.conftest import PASSWORD


def test_the_keyboard_alone_suffices(page, rosa):
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/accounts/sign-in/$"))
    # The first field has the focus already.
    page.keyboard.type("rosa@example.org")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello, Rosa")


def test_what_has_the_focus_is_seen(page, db):
    page.goto("/accounts/sign-in/")
    stops = page.locator("a:visible, button:visible, input:visible").count()
    assert stops >= 8
    page.locator(".skip-link").focus()
    for _ in range(stops - 1):
        page.keyboard.press("Tab")
        element, outline = page.evaluate(
            "[document.activeElement.outerHTML, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert outline != "none", element


def test_a_wrong_password_is_told_and_keeps_the_address(page, rosa):
    page.goto("/accounts/sign-in/")
    page.get_by_label("E-mail address").fill("rosa@example.org")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not belong together")
    expect(page.get_by_label("E-mail address")).to_have_value("rosa@example.org")
    expect(page.get_by_label("Password")).to_have_value("")


def test_signing_out_shows_nothing_more(open_page, rosa):
    page = open_page(rosa)
    page.goto("/accounts/profile/")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/accounts/sign-in/$"))
    page.goto("/accounts/profile/")
    expect(page).to_have_url(re.compile("/accounts/sign-in/"))
