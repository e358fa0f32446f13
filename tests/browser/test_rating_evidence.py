"""Evidence chosen by selecting words: offsets in code points, a quote for each turn, by mouse, key, finger, typing."""

import pytest
from playwright.sync_api import Page, expect

from apps.annotation.models import Evidence
from tests.browser.conftest import PHONE
from tests.browser.listening import expect_saved, only_rating, open_item, write_turns

SEEKER = "My dog died 🐕‍🦺 on Monday."
SUPPORTER = "Oh 👩‍👩‍👧, I\u2019m so sorry 🤍. Cafe\u0301 talks he\u0301lp."
OTHER = "  مات جدي — he was 91.\nHe sang."


@pytest.fixture
def page(open_page, emil, grief, letters):
    write_turns(letters, SEEKER, SUPPORTER, OTHER)
    return open_page(emil)


def select(page: Page, first: tuple[int, int], last: tuple[int, int]) -> None:
    """Selects from one place to another, each a shown turn and an offset in UTF-16 units, as a browser counts."""
    page.evaluate(
        """([[from, start], [to, end]]) => {
          const texts = document.querySelectorAll(".turn__text");
          getSelection().setBaseAndExtent(texts[from].firstChild, start, texts[to].firstChild, end);
        }""",
        [first, last],
    )


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def place(text: str, part: str) -> tuple[int, int]:
    """Where a part stands, in UTF-16 units."""
    before = text.index(part)
    return units(text[:before]), units(text[: before + len(part)])


def stored() -> list[tuple[int, int, int, str]]:
    return list(Evidence.objects.order_by("pk").values_list("turn__index", "start", "end", "quote"))


def test_offsets_are_code_points_past_emoji_and_combining_marks(page, emil, grief):
    assignment = open_item(page, grief, emil)
    page.keyboard.press("4")
    page.keyboard.press("k")
    start, end = place(SUPPORTER, "so sorry 🤍")
    select(page, (1, start), (1, end))
    page.keyboard.press("e")
    start, end = place(SUPPORTER, "he\u0301lp")
    select(page, (1, start), (1, end))
    page.keyboard.press("e")
    expect_saved(page)
    found = stored()
    assert [quote for *_, quote in found] == ["so sorry 🤍", "he\u0301lp"]
    assert all(SUPPORTER[start:end] == quote for _, start, end, quote in found)
    assert only_rating(assignment).value == 4
    expect(page.locator("[data-tool=evidence] summary").first).to_have_text("Evidence (2)")


def test_half_an_emoji_or_a_bare_accent_is_taken_whole(page, emil, grief):
    open_item(page, grief, emil)
    page.keyboard.press("4")
    page.keyboard.press("k")
    start, end = place(SUPPORTER, "👩‍👩‍👧")
    select(page, (1, start + 1), (1, end - 1))
    page.keyboard.press("e")
    start, end = place(SUPPORTER, "\u0301 talks ")
    select(page, (1, start), (1, end))
    page.keyboard.press("e")
    expect_saved(page)
    found = stored()
    assert [quote for *_, quote in found] == ["👩‍👩‍👧", "e\u0301 talks"]
    assert all(SUPPORTER[start:end] == quote for _, start, end, quote in found)


def test_a_selection_over_turns_and_speakers_gives_one_quote_for_each_turn(page, emil, grief):
    open_item(page, grief, emil)
    page.keyboard.press("2")
    page.keyboard.press("k")
    select(page, (0, place(SEEKER, "on Monday")[0]), (2, place(OTHER, "sang.")[1]))
    page.keyboard.press("e")
    expect_saved(page)
    assert stored() == [
        (0, SEEKER.index("on Monday"), len(SEEKER), "on Monday."),
        (1, 0, len(SUPPORTER), SUPPORTER),
        (2, 2, len(OTHER), OTHER.strip()),
    ]


def test_a_selection_that_begins_at_the_speaker_holds_no_speaker(page, emil, grief):
    open_item(page, grief, emil)
    page.keyboard.press("2")
    page.keyboard.press("k")
    page.evaluate("""() => {
      const label = document.querySelectorAll(".turn__speaker")[1].firstChild;
      const text = document.querySelectorAll(".turn__text")[1].firstChild;
      getSelection().setBaseAndExtent(label, 2, text, 2);
    }""")
    page.keyboard.press("e")
    expect_saved(page)
    assert stored() == [(1, 0, 2, "Oh")]


def test_carriage_returns_count_as_they_are_stored(open_page, emil, grief, letters):
    write_turns(letters, "One.\r\nTwo.\r\nThree words here.", "Yes.")
    page = open_page(emil)
    open_item(page, grief, emil)
    page.keyboard.press("2")
    page.keyboard.press("k")
    page.get_by_text("Three words here.").dblclick(position={"x": 12, "y": 80})
    text = "One.\r\nTwo.\r\nThree words here."
    select(page, (0, text.index("words")), (0, text.index(" here")))
    page.keyboard.press("e")
    expect_saved(page)
    assert stored() == [(0, text.index("words"), text.index(" here"), "words")]


def test_evidence_is_listed_marked_and_removed(page, emil, grief):
    open_item(page, grief, emil)
    page.keyboard.press("2")
    page.keyboard.press("k")
    select(page, (0, 3), (0, 6))
    page.get_by_role("button", name="Use “dog” as evidence for Scale 1").click()
    expect(page.locator(".quotes > li")).to_contain_text(["dog Seeker"])
    marked = "[...CSS.highlights.get('rating-evidence')].map((range) => range.toString())"
    assert page.evaluate(marked) == ["dog"]
    select(page, (0, 3), (0, 6))
    page.keyboard.press("e")
    expect(page.locator("#announcer")).to_contain_text("evidence for Scale 1 already")
    expect_saved(page)
    page.reload()
    expect(page.locator(".quotes > li")).to_contain_text(["dog Seeker"])
    assert page.evaluate(marked) == ["dog"]
    page.get_by_role("button", name="Remove the evidence “dog”").click()
    expect_saved(page)
    assert stored() == []
    assert page.evaluate(marked) == []


def test_words_may_be_typed_instead_of_selected(page, emil, grief):
    open_item(page, grief, emil)
    page.keyboard.press("2")
    page.keyboard.press("k")
    page.keyboard.press("e")
    page.keyboard.type("so happy")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="do not stand in the conversation")).to_be_visible()
    page.get_by_label("Or type words of the conversation: Scale 1").fill("he was 91")
    page.keyboard.press("Enter")
    expect_saved(page)
    assert stored() == [(2, OTHER.index("he was"), OTHER.index("he was") + 9, "he was 91")]


def test_evidence_given_first_waits_for_its_answer(page, emil, grief):
    open_item(page, grief, emil)
    select(page, (0, 3), (0, 6))
    page.keyboard.press("e")
    expect(page.get_by_text("it needs an answer first")).to_be_visible()
    assert stored() == []
    page.keyboard.press("5")
    expect_saved(page)
    assert stored() == [(0, 3, 6, "dog")]


def test_a_finger_selects_and_taps(open_page, emil, grief, letters):
    write_turns(letters, SEEKER, SUPPORTER)
    page = open_page(emil, viewport=PHONE, has_touch=True, is_mobile=True)
    open_item(page, grief, emil)
    page.locator(".scale-card--current input[type=radio][value='3']").tap()
    select(page, (0, 3), (0, 6))
    page.get_by_role("button", name="Use “dog” as evidence for Scale 1").tap()
    expect_saved(page)
    assert stored() == [(0, 3, 6, "dog")]


def test_a_study_without_evidence_or_comments_asks_for_none(open_page, emil, grief):
    grief.allow_evidence = grief.allow_comments = grief.allow_cannot_tell = False
    grief.save()
    page = open_page(emil)
    open_item(page, grief, emil)
    expect(page.get_by_text("Guideline").first).to_be_visible()
    expect(page.get_by_text("Evidence", exact=True)).to_have_count(0)
    expect(page.get_by_text("Comment", exact=True)).to_have_count(0)
    expect(page.get_by_role("radio", name="Cannot tell")).to_have_count(0)
    for key in ["e", "c", "x", "3", "3"]:
        page.keyboard.press(key)
    expect(page.locator("#missing")).to_be_hidden()
    expect_saved(page)
