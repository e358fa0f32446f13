"""Finished ratings uploaded as a researcher does it: choose a file, look, mend what is asked, import, see the end."""

import pytest
from playwright.sync_api import Page, expect

from apps.annotation.models import Rating, RatingUpload
from tests.browser.conftest import DESKTOP, PHONE, assert_accessible, scrolls_sideways

UPLOAD = "/studies/grief/ratings/upload/"
BAD = 'nr,warmth,scale_2\nletters-001,3,4\nletters-002,9,5\nletters-003,"3,5",2\n'


def hand_in(page: Page, content: bytes, rater: str = "expert2") -> None:
    page.goto(UPLOAD)
    page.get_by_label("File").set_input_files({"name": "ratings.csv", "mimeType": "text/csv", "buffer": content})
    page.get_by_label("Whose ratings").fill(rater)
    page.get_by_role("button", name="Upload and check").click()
    page.wait_for_url(f"**{UPLOAD}*/")


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_from_the_file_to_the_stored_ratings(open_page, rosa, grief, viewport):
    page = open_page(rosa, viewport=viewport, reduced_motion="reduce")
    hand_in(page, BAD.encode())
    expect(page.get_by_role("alert")).to_contain_text("Choose the column that holds the conversation’s id.")
    expect(page.get_by_role("alert")).to_be_focused()
    assert_accessible(page)
    page.get_by_label("Conversation", exact=True).select_option("nr")
    values = page.get_by_role("group", name="Values of each dimension")
    expect(values.get_by_label("Scale 2")).to_have_value("scale_2")
    values.get_by_label("Scale 1").select_option("warmth")
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_text("Say what the columns mean")).to_be_visible()
    expect(page.get_by_role("heading", name="2 problems")).to_be_visible()
    expect(page.get_by_text("row 4, warmth: 3,5 has a decimal comma, write 3.5")).to_be_visible()
    assert_accessible(page)
    assert not scrolls_sideways(page)
    page.get_by_label("Store the good rows and leave out those with problems").first.check()
    page.get_by_role("button", name="Import 2 ratings").first.click()
    told = "2 ratings are stored. 2 rows with problems were left out, with their 4 cells."
    expect(page.get_by_text(told)).to_be_visible()
    assert_accessible(page)
    assert set(Rating.objects.values_list("rater__name", "value")) == {("expert2", 3), ("expert2", 4)}
    page.get_by_role("link", name="Open the study").click()
    expect(page.get_by_role("heading", name="Grief", level=1)).to_be_visible()


def test_what_stops_an_import_is_said_at_the_top_and_its_links_lead_to_the_field(open_page, rosa, grief, watch):
    watch.expected.append("422")
    page = open_page(rosa, viewport=PHONE, reduced_motion="reduce")
    hand_in(page, b"nr,who,Scale 1\nletters-001,anna,3\nletters-002,anna,9\nletters-003,ben,4\n", rater="")
    alert = page.get_by_role("alert")
    page.get_by_label("Conversation", exact=True).select_option("nr")
    page.get_by_label("Rater", exact=True).select_option("who")
    page.get_by_label("Scale 1", exact=True).select_option("")
    page.get_by_role("button", name="Check again").click()
    expect(alert).to_have_count(1)
    expect(alert).to_be_focused()
    expect(alert).to_contain_text("Choose a column for one dimension at least.")
    assert_accessible(page)
    page.get_by_label("Scale 1", exact=True).select_option("Scale 1")
    page.get_by_role("button", name="Check again").click()
    expect(alert).to_contain_text("New to the study: anna, ben")
    expect(alert).to_be_focused()
    assert_accessible(page)
    alert.get_by_role("link", name="Say which kind of raters they are").click()
    page.keyboard.press("Tab")
    page.get_by_label("Which kind are they?").select_option("Crowd")
    page.get_by_role("button", name="Save and check again").click()
    page.get_by_role("button", name="Import 2 ratings").last.click()
    expect(alert).to_contain_text("Nothing was imported. 1 row has problems")
    expect(alert).to_be_focused()
    expect(alert).to_be_in_viewport()
    expect(page.get_by_label("Store the good rows").first).to_be_in_viewport()
    assert not scrolls_sideways(page)
    page.get_by_label("Store the good rows").first.check()
    page.get_by_role("button", name="Import 2 ratings").first.click()
    expect(page.get_by_text("2 ratings are stored. 1 row with problems was left out.")).to_be_visible()


def test_another_encoding_is_one_click_away(open_page, rosa, grief, watch):
    page = open_page(rosa)
    hand_in(page, "item,scale_1,note\nletters-001,3,café\n".encode("cp1252"))
    expect(page.get_by_role("alert")).to_contain_text("Byte 0xe9 at offset")
    assert_accessible(page)
    expect(page.get_by_label("Encoding")).to_have_value("cp1252")
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_role("button", name="Import 1 rating").first).to_be_visible()


def test_by_the_keyboard_alone_and_without_javascript(open_page, rosa, grief):
    page = open_page(rosa, java_script_enabled=False)
    hand_in(page, b"item,scale_1\nletters-001,3\n")
    page.get_by_role("button", name="Import 1 rating").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 rating is stored.")).to_be_visible()
    assert RatingUpload.objects.get().file_name == "ratings.csv"
