"""What admins and key holders do with a mouse."""

import re

from playwright.sync_api import expect

from apps.accounts.models import User


def test_the_list_of_people_follows_what_is_typed(open_page, ada, rosa, emil):
    page = open_page(ada)
    page.goto("/accounts/users/")
    expect(page.get_by_role("row")).to_have_count(4)
    page.get_by_label("Find by name or e-mail address").press_sequentially("ros")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"\?q=ros$"))
    expect(page.get_by_role("status")).to_have_text("1 person")
    # The page of that address, and the way back, are whole pages.
    page.reload()
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="rosa@example.org").click()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("People")


def test_a_person_is_deactivated_only_by_typing_the_address(open_page, watch, ada, rosa):
    watch.expected.append("422 (Unprocessable")
    page = open_page(ada)
    page.goto(f"/accounts/users/{rosa.pk}/")
    page.get_by_label("E-mail address of the person").fill("ada@example.org")
    page.get_by_role("button", name="Deactivate this person").click()
    expect(page.get_by_text("This is not the address of this person").first).to_be_visible()
    page.get_by_label("E-mail address of the person").fill("rosa@example.org")
    page.get_by_role("button", name="Deactivate this person").click()
    expect(page.get_by_text("Rosa is deactivated.")).to_be_visible()
    assert not User.objects.get(pk=rosa.pk).is_active


def test_a_new_key_is_copied_with_one_click(open_page, rosa):
    page = open_page(rosa, permissions=["clipboard-read", "clipboard-write"])
    page.goto("/accounts/keys/")
    page.get_by_label("What the key is for").fill("notebook")
    page.get_by_role("button", name="Make key").click()
    secret = page.locator("#new-key").text_content()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
