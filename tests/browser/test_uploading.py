"""A file of conversations on its way in: chosen, guessed wrongly, corrected, imported, read."""

import re

import pytest
from playwright.sync_api import Page, expect

from apps.common.models import Job
from apps.corpus.models import Conversation, SavedMapping
from apps.corpus.tasks import import_upload
from tests.browser.conftest import DESKTOP, PHONE, assert_accessible, scrolls_sideways

# The question of a survey is taken for a post, its answer for the reply.
TALKS = """nr,question,answer,talk,mood
t1,Q1,A,"Ann: I did not get the job.
Ben: I am sorry._comma_ Tell me more.",sad
t2,Q1,B,"Ann: My sister moved away.
Ben: Do you miss her?",calm
"""


@pytest.fixture(autouse=True)
def _hasty(watch) -> None:
    """A change that comes before the answer to the one before it aborts that; htmx notes it on the console."""
    watch.expected += ["htmx:sendAbort", "htmx:afterRequest"]


def hand_in(page: Page, content: bytes = TALKS.encode(), name: str = "my_talks.csv") -> None:
    page.goto("/datasets/")
    page.get_by_role("link", name="Upload conversations").click()
    page.get_by_label("File").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    page.get_by_role("button", name="Upload and check").click()
    page.wait_for_url(re.compile(r"/datasets/uploads/\d+/$"))


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_a_wrong_guess_is_corrected_and_the_import_followed_to_its_end(open_page, rosa, monkeypatch, viewport):
    monkeypatch.setattr("apps.corpus.views.uploads.start_job", lambda job: None)
    page = open_page(rosa, viewport=viewport, reduced_motion="reduce")
    hand_in(page)
    expect(page.get_by_label("What question means")).to_have_value("post")
    # No column is called an id, but the values of one may be ids.
    expect(page.get_by_text("“Conversation id” only from the values")).to_be_visible()
    expect(page.get_by_label("What nr means")).to_have_value("id")
    page.get_by_label("What nr means").select_option("None of these")
    expect(page.get_by_text("As they were chosen last.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("No column means “Conversation id” yet")
    expect(page.get_by_role("button", name="Import the conversations")).to_be_disabled()
    page.get_by_label("What nr means").select_option("Conversation id")
    transcripts = page.locator(".transcript").first
    expect(transcripts).to_contain_text("Q1")
    # The preview follows each correction.
    page.get_by_label("What question means").select_option("Leave out")
    page.get_by_label("What answer means").select_option("None of these")
    page.get_by_label("What talk means").select_option("Whole transcript")
    expect(transcripts).to_contain_text("I did not get the job.")
    expect(transcripts).to_contain_text("Other · Ann")
    page.get_by_label("Role of Ann").select_option("Seeker")
    expect(transcripts).not_to_contain_text("Other · Ann")
    page.get_by_label("Role of Ben").select_option("Supporter")
    expect(page.locator(".turn--supporter").first).to_contain_text("I am sorry._comma_ Tell me more.")
    page.get_by_label("Turn _comma_ into a comma").check()
    expect(page.locator(".turn--supporter").first).to_contain_text("I am sorry., Tell me more.")
    page.get_by_label("What mood means").select_option("Experimental condition")
    mood = page.get_by_role("row", name="mood")
    mood.get_by_label("under the name").fill("feeling")
    mood.get_by_label("under the name").press("Tab")
    expect(page.locator(".excerpts")).to_contain_text("factor feeling")
    assert_accessible(page)
    assert not scrolls_sideways(page)

    page.get_by_role("button", name="Import the conversations").click()
    page.wait_for_url(re.compile(r"/jobs/\d+/$"))
    expect(page.get_by_text("Waiting for its turn.")).to_be_visible()
    import_upload(Job.objects.get().pk)
    expect(page.get_by_text("2 conversations added, 0 were there already, 0 conflicts.").first).to_be_visible()
    page.get_by_role("link", name="Open the dataset").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("my talks")
    page.get_by_role("link", name="t1").click()
    expect(page.locator(".turn--seeker")).to_contain_text("I did not get the job.")
    assert Conversation.objects.get(external_id="t1").factors == {"feeling": "sad"}


def test_the_same_without_javascript(open_page, rosa):
    page = open_page(rosa, java_script_enabled=False)
    hand_in(page)
    page.get_by_label("What nr means").select_option("Conversation id")
    page.get_by_label("What question means").select_option("Leave out")
    page.get_by_label("What answer means").select_option("Leave out")
    page.get_by_label("What talk means").select_option("Whole transcript")
    page.get_by_role("button", name="Update the preview").click()
    page.get_by_label("Role of Ann").select_option("Seeker")
    page.get_by_label("Role of Ben").select_option("Supporter")
    page.get_by_label("Turn _comma_ into a comma").check()
    page.get_by_role("button", name="Update the preview").click()
    expect(page.locator(".turn--supporter").first).to_contain_text("I am sorry., Tell me more.")
    page.get_by_role("button", name="Import the conversations").click()
    expect(page.get_by_text("2 conversations added, 0 were there already, 0 conflicts.")).to_be_visible()
    page.get_by_role("link", name="Open the dataset").click()
    page.get_by_role("link", name="t2").click()
    expect(page.locator(".turn--supporter")).to_contain_text("Do you miss her?")


def test_a_mapping_is_kept_and_used_on_the_next_file(open_page, rosa):
    page = open_page(rosa)
    hand_in(page)
    page.get_by_label("What mood means").select_option("Experimental condition")
    page.get_by_text("Keep this mapping for other files").click()
    page.get_by_label("Keep this mapping as").fill("Survey")
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.get_by_text("The mapping is kept as “Survey”.")).to_be_visible()
    hand_in(page, name="next.csv")
    expect(page.get_by_label("What mood means")).to_have_value("")
    page.get_by_role("button", name="Use Survey").click()
    expect(page.get_by_label("What mood means")).to_have_value("factor")
    expect(page.get_by_role("button", name="Import the conversations")).to_be_enabled()
    page.get_by_text("1 mapping that you keep").click()
    assert_accessible(page)
    page.get_by_role("button", name="Delete Survey").click()
    expect(page.get_by_text("The mapping “Survey” is forgotten.")).to_be_visible()
    assert not SavedMapping.objects.exists()


def test_another_encoding_is_one_click_away(open_page, rosa):
    page = open_page(rosa)
    hand_in(page, "id,post,reply\n1,café,oui\n".encode("cp1252"))
    expect(page.get_by_role("alert")).to_contain_text("Byte 0xe9 at offset 19 (line 2) is not valid UTF-8.")
    assert_accessible(page)
    page.get_by_role("button", name="Read it as cp1252").click()
    expect(page.locator(".turn--seeker").first).to_contain_text("café")


def test_what_something_else_styled_is_not_styled_again_by_a_swap(open_page, rosa):
    """An extension, or a dragged corner, leaves a style on a field; writing it anew is refused by the page's policy."""
    page = open_page(rosa)
    hand_in(page)
    page.evaluate("document.querySelectorAll('#result input').forEach((field) => { field.style.color = 'red'; })")
    with page.expect_response(re.compile(r"/datasets/uploads/\d+/$")):
        page.get_by_label("What mood means").select_option("Leave out")
    expect(page.locator("#result input").first).not_to_have_attribute("style", re.compile("red"))


def test_a_mapping_in_two_minds_is_told_at_once_and_nothing_moves(open_page, rosa, watch):
    watch.expected.append("422 (Unprocessable")
    page = open_page(rosa)
    hand_in(page, b"id,post,reply\n1,a,b\n")
    page.get_by_label("What reply means").select_option("Post")
    expect(page.get_by_role("alert")).to_contain_text("“post” and “reply” both mean: Post. Choose one of them.")
    expect(page.get_by_role("button", name="Import the conversations")).to_be_disabled()
    assert_accessible(page)
    page.get_by_label("What reply means").select_option("Reply")
    expect(page.get_by_role("button", name="Import the conversations")).to_be_enabled()


def test_the_fields_of_a_new_dataset_follow_what_is_chosen(open_page, rosa, letters):
    page = open_page(rosa)
    page.goto("/datasets/upload/")
    page.get_by_label("File").set_input_files({"name": "my_talks.csv", "mimeType": "text/csv", "buffer": b"id\n1\n"})
    expect(page.get_by_label("Name of the new dataset")).to_have_value("my talks")
    expect(page.get_by_label("Short name")).to_have_attribute("placeholder", "my-talks")
    page.get_by_label("Into").select_option("Letters")
    expect(page.get_by_label("Short name")).to_be_hidden()
    page.get_by_label("Into").select_option("a new dataset")
    expect(page.get_by_label("Short name")).to_be_visible()
