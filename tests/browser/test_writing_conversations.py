"""A conversation is written, moved about, mended and saved in Chromium, with and without scripts."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from apps.corpus.models import Conversation, Dataset, Turn
from apps.corpus.parsing.records import ConversationRecord, TurnRecord
from apps.corpus.services.importing import import_conversations
from apps.corpus.services.writing import stored_record
from tests.browser.conftest import PHONE, assert_accessible, scrolls_sideways

NEW = "/datasets/letters/conversations/new/"


def texts(page: Page) -> list[str]:
    return [area.input_value() for area in page.locator(".turn-row textarea").all()]


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()


def edit_url(conversation: Conversation) -> str:
    return reverse("corpus:conversation-edit", args=[conversation.dataset.slug, conversation.pk])


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_conversation_is_written_and_saved(open_page, rosa, letters, scripts):
    page = open_page(rosa, java_script_enabled=scripts)
    page.goto(NEW)
    page.get_by_label("Text").nth(0).fill("first\nline two")
    page.get_by_label("Text").nth(1).fill("third")
    page.get_by_role("button", name="Add a turn").click()
    page.get_by_label("Text").nth(2).fill("second ")
    page.get_by_role("button", name="Up turn 3").click()
    assert texts(page) == ["first\nline two", "second ", "third"]
    page.get_by_role("button", name="Insert below turn 1").click()
    page.get_by_label("Who speaks").nth(1).select_option("system")
    page.get_by_label("Text").nth(1).fill("passing thought")
    page.get_by_role("button", name="Remove turn 2").click()
    page.get_by_role("button", name="Down turn 1").click()
    assert texts(page) == ["second ", "first\nline two", "third"]
    page.get_by_text("Reference, belief, pair").click()
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("Name").fill("model")
    page.get_by_label("Level").fill("A")
    save(page)
    expect(page.get_by_text("is added")).to_be_visible()
    stored = letters.conversations.get(external_id="letters-004")
    assert [(turn.role, turn.text) for turn in stored.turns.all()] == [
        ("seeker", "second "),
        ("seeker", "first\nline two"),
        ("supporter", "third"),
    ]
    assert stored.factors == {"model": "A"}


def test_the_keyboard_alone_moves_turns_and_takes_a_removal_back(open_page, rosa, letters):
    page = open_page(rosa)
    page.goto(NEW)
    page.get_by_label("Text").nth(0).fill("a")
    page.get_by_label("Text").nth(1).fill("b")
    page.get_by_role("button", name="Down turn 1").focus()
    page.keyboard.press("Enter")
    assert texts(page) == ["b", "a"]
    expect(page.get_by_role("button", name="Up turn 2")).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="Moved. It is now turn 2.")).to_have_count(1)
    page.get_by_role("button", name="Remove turn 1").focus()
    page.keyboard.press("Enter")
    assert texts(page) == ["a"]
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    assert texts(page) == ["b", "a"]
    expect(page.get_by_label("Text").nth(0)).to_be_focused()
    assert Conversation.objects.count() == 3


def test_what_is_wrong_is_listed_with_the_way_to_it_and_nothing_is_lost(open_page, rosa, letters, watch):
    watch.expected.append("422 (Unprocessable Entity)")
    page = open_page(rosa, viewport=PHONE)
    page.goto(NEW)
    page.get_by_label("Id", exact=True).fill("letters-001")
    page.get_by_label("Text").nth(1).fill("Only the reply.")
    save(page)
    expect(page.get_by_role("alert")).to_contain_text("1 thing is to be mended")
    page.get_by_role("link", name="Turn 1").click()
    expect(page.get_by_label("Text").nth(0)).to_be_in_viewport()
    assert_accessible(page)
    assert not scrolls_sideways(page)
    page.get_by_label("Text").nth(0).fill("The post.")
    save(page)
    expect(page.get_by_role("alert")).to_contain_text("letters-001 is in the dataset already")
    page.get_by_label("Id", exact=True).fill("letters-xyz")
    save(page)
    expect(page.get_by_text("letters-xyz is added")).to_be_visible()
    assert [turn.text for turn in Turn.objects.filter(conversation__external_id="letters-xyz")] == [
        "The post.",
        "Only the reply.",
    ]


def test_a_page_with_something_unsaved_asks_before_it_is_left(open_page, rosa, letters):
    page = open_page(rosa)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.goto(NEW)
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url("**/datasets/letters/")
    assert asked == []
    page.goto(NEW)
    page.get_by_label("Text").nth(0).fill("Unsaved")
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url("**/datasets/letters/")
    assert asked == ["beforeunload"]


STRANGE = [
    "\n\n leading lines, \r\nWindows\rand old Macs, trailing space \n",
    "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645 \u200f, left \u202bright\u202c",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 e\u0301 a\u200bb \u2028 \x85 \ufeff <b>&amp;</b> \t",
]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_chromium_changes_nothing_of_a_conversation_that_is_saved_as_it_was(open_page, rosa, scripts):
    record = ConversationRecord(
        row=2,
        external_id=" odd\nid ",
        turns=[
            TurnRecord("seeker", "A\nB ", text, text + "!" if index == 0 else None)
            for index, text in enumerate(STRANGE)
        ],
        title=" two\r\nlines ",
        reference="a\r\nb\n",
        belief="\nc\rd ",
        pair="p\r\n",
        metadata={" na\nme ": "v\r\nw", "numbers": [1, 2.50, None], "": "unnamed"},
        factors={"mo\ndel": " A\r\n"},
    )
    import_conversations(dataset=Dataset(slug="odd", name="Odd", owner=rosa), found=[record], actor=rosa)
    conversation = Conversation.objects.get(dataset__slug="odd")
    page = open_page(rosa, java_script_enabled=scripts)
    page.goto(edit_url(conversation))
    page.get_by_role("button", name="Down turn 1").click()
    page.get_by_role("button", name="Up turn 2").click()
    save(page)
    expect(page.get_by_text("Nothing has changed.")).to_be_visible()
    page.goto(edit_url(conversation))
    page.get_by_label("Language").fill("ar")
    save(page)
    expect(page.get_by_text("is saved.")).to_be_visible()
    conversation.refresh_from_db()
    record.language = "ar"
    again = ConversationRecord(
        **{name: value for name, value in vars(record).items() if not name.startswith("content")}
    )
    assert stored_record(conversation).content == again.content
    assert conversation.content_hash == again.content_hash


def test_the_second_of_two_who_edit_at_once_sees_both_and_decides(open_page, ada, rosa, letters, watch):
    watch.expected.append("409 (Conflict)")
    letter = letters.conversations.first()
    mine, theirs = open_page(rosa), open_page(ada)
    for page in (mine, theirs):
        page.goto(edit_url(letter))
    theirs.get_by_label("Text").nth(0).fill("Their words.")
    save(theirs)
    expect(theirs.get_by_text("is saved.")).to_be_visible()
    mine.get_by_label("Text").nth(0).fill("My words.")
    save(mine)
    expect(mine.get_by_role("alert")).to_contain_text("Somebody has changed this conversation since you opened it.")
    mine.get_by_text("What is stored now").click()
    expect(mine.get_by_role("alert")).to_contain_text("Their words.")
    assert_accessible(mine)
    assert texts(mine)[0] == "My words."
    mine.get_by_role("button", name="Save mine in its place").click()
    expect(mine.get_by_text("is saved.")).to_be_visible()
    assert letter.turns.first().text == "My words."


def test_a_dataset_is_made_copied_and_deleted(open_page, rosa):
    page = open_page(rosa)
    page.goto("/datasets/")
    page.get_by_role("link", name="New dataset").first.click()
    page.get_by_label("Name", exact=True).fill("Letters of a Year")
    expect(page.get_by_label("Short name")).to_have_attribute("placeholder", "letters-of-a-year")
    page.get_by_role("button", name="Make the dataset").click()
    page.wait_for_url("**/datasets/letters-of-a-year/")
    page.get_by_role("link", name="Copy", exact=True).click()
    page.get_by_role("button", name="Copy the dataset").click()
    page.wait_for_url("**/datasets/letters-of-a-year-copy/")
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_role("link", name="Delete …").click()
    page.get_by_label("Type it to confirm").fill("Letters of a Year, copy")
    page.get_by_role("button", name="Delete the dataset").click()
    expect(page.get_by_text("is deleted.")).to_be_visible()
    assert [dataset.slug for dataset in Dataset.objects.all()] == ["letters-of-a-year"]
