"""The rating screen as it looks: for every eye and hand, on every screen, without a script, and light to load."""

import re
from urllib.parse import urlsplit

import brotli
import pytest
from playwright.sync_api import Page, expect

from apps.annotation.models import Evidence, Rating
from apps.studies.models import AssignmentState
from tests.browser.conftest import DESKTOP, PHONE, accessibility_faults, scrolls_sideways
from tests.browser.listening import (
    ANSWERS,
    address_of,
    expect_saved,
    make_listening,
    open_item,
    values_of,
    write_turns,
)

pytestmark = pytest.mark.once

TABLET = {"width": 768, "height": 1024}
SMALL_DESK = {"width": 1024, "height": 768}
ZOOMED = {"width": 720, "height": 450}  # 1440 x 900 at 200 %
VERY_ZOOMED = {"width": 320, "height": 256}  # 1280 x 1024 at 400 %
BUDGET = 120_000  # bytes over the wire on a first visit
HEADERS = 500  # bytes of an answer's headers, generously


@pytest.fixture
def listening(rosa, emil):
    study = make_listening(rosa, emil)
    study.support_contact = "Helpline: 0800 111 0 111"
    study.save()
    long = ["I keep thinking of the garden. " * 4, "That sounds heavy. " * 6] * 15
    write_turns(study.blocks.get().dataset, *long)
    return study


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_the_screen_is_accessible_whatever_is_open(open_page, emil, listening, size, scheme):
    page = open_page(emil, viewport=size, color_scheme=scheme, reduced_motion="reduce")
    open_item(page, listening, emil)
    assert accessibility_faults(page) == []
    page.keyboard.press("2")
    for key in ["i", "c", "Escape", "e"]:
        page.keyboard.press(key)
    page.get_by_label(re.compile("Or type words")).locator("visible=true").fill("the garden")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_text("it needs an answer first")).to_be_visible()
    assert accessibility_faults(page) == []
    page.keyboard.press("s")
    assert accessibility_faults(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert accessibility_faults(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Not submitted: these scales have no answer yet.")).to_be_visible()
    assert accessibility_faults(page) == []
    assert not scrolls_sideways(page)


@pytest.mark.parametrize(
    "size",
    [DESKTOP, SMALL_DESK, TABLET, PHONE, ZOOMED, VERY_ZOOMED],
    ids=["desk", "small desk", "tablet", "phone", "200 %", "400 %"],
)
def test_everything_can_be_reached_at_every_size(open_page, emil, listening, size):
    page = open_page(emil, viewport=size)
    assignment = open_item(page, listening, emil)
    assert not scrolls_sideways(page)
    for key in ANSWERS:
        page.keyboard.press(key)
    expect_saved(page)
    expect(page.locator("#save-state")).to_be_in_viewport()
    last = page.locator(".turn__text").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport()
    page.get_by_role("button", name="Submit").click()
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    assert len(values_of(assignment)) == 21


def test_a_new_item_begins_with_its_conversation_however_low_the_window(open_page, emil, listening):
    page = open_page(emil, viewport=ZOOMED)
    open_item(page, listening, emil)
    expect(page.locator(".scale-card--current")).to_have_count(1)
    assert page.evaluate("scrollY") == 0
    expect(page.locator(".turn__text").first).to_be_in_viewport()


def test_a_long_conversation_is_read_by_keys_from_any_scale(open_page, emil, listening):
    page = open_page(emil, reduced_motion="reduce")
    open_item(page, listening, emil)
    for key in ["j", "j", *"d" * 30]:
        page.keyboard.press(key)
    expect(page.locator(".turn__text").last).to_be_in_viewport()
    expect(page.locator(".turn__text").first).not_to_be_in_viewport()
    expect(page.get_by_role("group", name=re.compile(r"^3\."))).to_have_attribute("aria-current", "true")
    for _ in range(30):
        page.keyboard.press("u")
    expect(page.locator(".turn__text").first).to_be_in_viewport()


def test_conversation_and_scales_scroll_apart_on_a_desk(open_page, emil, listening):
    page = open_page(emil)
    open_item(page, listening, emil)
    for _ in range(15):
        page.keyboard.press("j")
    expect(page.get_by_role("group", name=re.compile("16. Validating emotions"))).to_be_in_viewport()
    assert page.evaluate("[document.getElementById('conversation').scrollTop, scrollY]") == [0, 0]
    expect(page.locator(".turn__text").first).to_be_in_viewport()
    measure = page.evaluate("""() => {
      const text = document.querySelector(".turn__text");
      const zero = document.createElement("span");
      zero.textContent = "0".repeat(10);
      text.append(zero);
      const width = zero.getBoundingClientRect().width / 10;
      zero.remove();
      return text.getBoundingClientRect().width / width;
    }""")
    assert 55 <= measure <= 75


def test_a_screen_reader_hears_questions_points_and_places(open_page, emil, listening):
    page = open_page(emil)
    open_item(page, listening, emil)
    names = [heading.inner_text() for heading in page.get_by_role("heading", level=2).all()]
    assert names == ["Conversation", "Scales"]
    frameworks = page.get_by_role("heading", level=3).all_inner_texts()
    assert frameworks == ["Empathetic Dialogues", "EPITOME", "Perceived Empathy", "Lend an Ear"]
    scale = page.get_by_role("group", name=re.compile("^16. Validating emotions To what extent does"))
    assert [radio.get_attribute("value") for radio in scale.get_by_role("radio").all()] == [*"12345", "cannot-tell"]
    expect(scale.get_by_role("radio", name="5 Very much")).to_have_count(1)
    assert page.locator("legend").first.get_attribute("lang") == "en"
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the conversation")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_attribute("type", "radio")


def test_on_a_phone_the_scales_are_a_sheet_with_one_scale_at_a_time(open_page, emil, listening):
    page = open_page(emil, viewport=PHONE, has_touch=True, is_mobile=True)
    assignment = open_item(page, listening, emil)
    shown = page.locator(".scale-card").locator("visible=true")
    expect(shown).to_have_count(1)
    expect(page.locator("#sheet-place")).to_have_text("1 of 21 · Empathetic Dialogues")
    for number, answer in enumerate(ANSWERS):
        shown.locator(f"input[type=radio][value='{answer}']").tap()
        # It moves on by itself, after a moment in which the answer is seen.
        expect(shown).to_contain_text(f"{min(number + 2, 21)}. ")
    expect(page.locator("#sheet-place")).to_have_text("21 of 21 · Lend an Ear")
    expect(page.locator("#sheet-dots .is-done")).to_have_count(21)
    conversation = page.locator("#conversation")
    height = conversation.bounding_box()["height"]
    assert height > 200
    page.get_by_role("button", name="Hide scales").tap()
    expect(shown).to_have_count(0)
    assert conversation.bounding_box()["height"] > height
    conversation.evaluate("(pane) => pane.scrollTo(0, 1e6)")
    expect(page.locator(".turn__text").last).to_be_in_viewport()
    page.get_by_role("button", name="Show scales").tap()
    page.get_by_role("button", name="Previous scale").tap()
    expect(shown).to_contain_text("20. Self-oriented")
    expect_saved(page)
    page.get_by_role("button", name="Submit").tap()
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    assert values_of(assignment) == [float(digit) for digit in ANSWERS]


def test_on_a_phone_a_tap_is_seen_before_the_sheet_moves_on_and_leads_back(open_page, emil, listening):
    page = open_page(emil, viewport=PHONE, has_touch=True, is_mobile=True)
    page.clock.install()
    assignment = open_item(page, listening, emil)
    page.clock.pause_at("2100-01-01")
    shown = page.locator(".scale-card").locator("visible=true")
    for answer in "31":
        shown.locator(f"input[type=radio][value='{answer}']").tap()
        expect(shown).to_contain_text("1. Empathy")
    page.clock.run_for(400)
    expect(shown).to_contain_text("2. Relevance")
    page.get_by_role("button", name="Previous scale").tap()
    expect(shown).to_contain_text("1. Empathy")
    shown.locator("input[type=radio][value='2']").tap()
    page.get_by_role("button", name="Next scale").tap()  # within the pause: it is one step, not two
    page.clock.run_for(400)
    expect(shown).to_contain_text("2. Relevance")
    page.clock.resume()
    expect_saved(page)
    assert values_of(assignment) == [2]


def test_who_wants_little_motion_waits_for_none(open_page, emil, listening):
    page = open_page(emil, viewport=PHONE, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.clock.install()
    open_item(page, listening, emil)
    page.clock.pause_at("2100-01-01")
    page.locator(".scale-card").locator("visible=true").locator("input[value='3']").tap()
    page.clock.run_for(1)
    expect(page.locator(".scale-card").locator("visible=true")).to_contain_text("2. Relevance")


def test_the_focus_is_drawn_around_all_points_and_suggests_none(open_page, emil, listening):
    page = open_page(emil)
    open_item(page, listening, emil)
    page.keyboard.press("3")
    expect(page.locator(":focus")).to_have_attribute("value", "1")
    row = page.locator(".scale-card").nth(1).locator(".points")
    drawn = "(part) => getComputedStyle(part).outlineStyle"
    assert row.evaluate(drawn) == "solid"
    assert [point.evaluate(drawn) for point in row.locator(".point").all()] == ["none"] * 5


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_opening_a_tool_brings_none_of_the_others_under_the_pointer(open_page, emil, listening, size):
    page = open_page(emil, viewport=size)
    open_item(page, listening, emil)
    tools = page.locator(".scale-card").first.locator(".tool summary")

    def places():
        """Where each stands beside the first one. The sheet of a phone may grow upwards as a whole."""
        boxes = [tool.bounding_box() for tool in tools.all()]
        return [(box["x"], box["y"] - boxes[0]["y"]) for box in boxes]

    before = places()
    for tool in tools.all():
        where = tool.bounding_box()
        tool.click()
        assert places() == before
        under = page.evaluate(
            "([x, y]) => document.elementFromPoint(x, y).closest('summary')?.textContent",
            [where["x"] + where["width"] / 2, where["y"] + where["height"] / 2],
        )
        assert under in (None, tool.inner_text())


def rate_plainly(page: Page) -> None:
    for fieldset, answer in zip(page.locator(".scale-card").all(), ANSWERS, strict=True):
        fieldset.locator(f"input[type=radio][value='{answer}']").check(force=True)


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
def test_the_words_of_a_point_stay_within_it_on_a_phone(open_page, emil, listening, has_script):
    page = open_page(emil, viewport=PHONE, java_script_enabled=has_script)
    open_item(page, listening, emil)
    if has_script:
        for _ in range(18):
            page.locator("#sheet-next").click()
    card = page.locator(".scale-card:visible").filter(has_text="Advice giving")
    for point in card.locator(".points .point").all():
        words, whole = point.locator("span").bounding_box(), point.bounding_box()
        assert whole["x"] <= words["x"]
        assert words["x"] + words["width"] <= whole["x"] + whole["width"]
    assert not scrolls_sideways(page)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_without_a_script_one_form_does_everything(open_page, watch, emil, listening, size):
    watch.expected += ["422 (Unprocessable"]
    page = open_page(emil, viewport=size, java_script_enabled=False)
    assignment = open_item(page, listening, emil)
    page.locator(".scale-card input[value='3']").first.check(force=True)
    page.locator(".scale-card").nth(1).get_by_text("Comment", exact=True).click()
    page.get_by_label("Comment on Relevance").fill("to the point")
    page.get_by_role("button", name="Submit").click()
    # The comment has no answer: it is shown again, the rest is saved.
    expect(page.get_by_label("Comment on Relevance")).to_have_value("to the point")
    expect(page.get_by_text("Choose a point first")).to_be_visible()
    assert values_of(assignment) == [3]
    page.locator(".scale-card").nth(1).locator("input[value='5']").check(force=True)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text(re.compile("Not submitted.*Fluency"))).to_be_visible()
    rate_plainly(page)
    page.locator(".scale-card").first.get_by_text("Evidence", exact=True).click()
    page.get_by_label("Evidence for Empathy, one passage on a line").fill("I keep thinking of the garden.")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.locator("#save-state")).to_contain_text("saved")
    page.get_by_role("button", name="Pause").click()
    page.goto(address_of(assignment))
    expect(page.locator("input[type=radio]:checked")).to_have_count(21)
    expect(page.get_by_label("Evidence for Empathy, one passage on a line")).to_have_value(
        "I keep thinking of the garden."
    )
    page.get_by_role("button", name="Flag").click()
    expect(page.get_by_role("button", name="Flag")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Submit").click()
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    page.locator("#skip summary").click()
    page.get_by_label("The text is broken or incomplete").check()
    page.get_by_role("button", name="Skip this conversation").click()
    page.get_by_role("button", name="Previous").click()
    expect(page).to_have_url(re.compile(address_of(assignment)))
    page.get_by_role("button", name="Next").click()
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    assert values_of(assignment) == [float(digit) for digit in ANSWERS]
    assert Rating.objects.exclude(comment="").get().comment == "to the point"
    assert Evidence.objects.get().turn.index == 0
    states = assignment.rater.assignments.values_list("state", flat=True)
    assert sorted(states)[-2:] == [AssignmentState.SKIPPED, AssignmentState.SUBMITTED]


def test_enter_without_a_script_saves_and_does_nothing_else(open_page, emil, listening):
    page = open_page(emil, java_script_enabled=False)
    assignment = open_item(page, listening, emil)
    page.locator(".scale-card input[value='3']").first.check(force=True)
    page.keyboard.press("Enter")
    expect(page.locator("#save-state")).to_contain_text("saved")
    expect(page).to_have_url(re.compile(address_of(assignment)))
    assignment.refresh_from_db()
    assert assignment.state == AssignmentState.IN_PROGRESS
    assert values_of(assignment) == [3]


def test_turns_are_set_in_their_own_direction_and_language(open_page, emil, grief, letters):
    letters.conversations.update(language="ar")
    write_turns(letters, "مات جدي الأسبوع الماضي.", "I am sorry. <b>He</b> was old & kind.")
    page = open_page(emil)
    open_item(page, grief, emil)
    directions = page.locator(".turn__text").evaluate_all("(all) => all.map((one) => getComputedStyle(one).direction)")
    assert directions == ["rtl", "ltr"]
    expect(page.locator(".turn__text").last).to_have_text("I am sorry. <b>He</b> was old & kind.")
    expect(page.locator(".transcript")).to_have_attribute("lang", "ar")


def test_a_preview_can_be_tried_and_saves_nothing(open_page, rosa, emil, listening):
    page = open_page(rosa)
    asked = []
    page.on("request", lambda request: request.method == "POST" and asked.append(request.url))
    page.goto(f"/studies/{listening.slug}/preview/")
    expect(page.locator("#save-state")).to_contain_text("Preview: nothing is saved")
    for key in [*ANSWERS, "Control+Enter"]:
        page.keyboard.press(key)
    expect(page.locator("input[type=radio]:checked")).to_have_count(21)
    expect(page.get_by_role("button", name="Submit")).to_have_count(0)
    assert accessibility_faults(page) == []
    page.get_by_role("link", name="Next").click()
    expect(page).to_have_url(re.compile(r"\?item=2$"))
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    assert asked == []
    assert not Rating.objects.exists()


def test_a_closed_study_is_shown_and_takes_nothing(open_page, emil, listening):
    page = open_page(emil)
    assignment = open_item(page, listening, emil)
    page.keyboard.press("3")
    expect_saved(page)
    listening.status = "closed"
    listening.save()
    page.goto(address_of(assignment))
    expect(page.get_by_text("can be read but no longer rated")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator("input[type=radio]:checked")).to_have_count(1)
    expect(page.get_by_role("button", name="Submit")).to_have_count(0)
    assert accessibility_faults(page) == []
    assert values_of(assignment) == [3]


def test_a_first_visit_weighs_less_than_120_kilobytes(open_page, emil, listening):
    """Files as WhiteNoise sends them (brotli); the page itself as it came over the wire."""
    page = open_page(emil)
    weights = {}

    def weigh(request):
        is_file = urlsplit(request.url).path.startswith("/static/")
        body = len(brotli.compress(request.response().body())) if is_file else request.sizes()["responseBodySize"]
        weights[request.url] = body + HEADERS

    page.on("requestfinished", weigh)
    open_item(page, listening, emil)
    page.wait_for_load_state("networkidle")
    assert len(weights) > 20
    assert not [address for address in weights if "htmx" in address]
    assert sum(weights.values()) < BUDGET, sorted(weights.items(), key=lambda item: -item[1])[:5]
