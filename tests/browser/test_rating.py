"""Rating with the keyboard, and the ways on from an item."""

import re

import pytest
from playwright.sync_api import Page, expect

from apps.annotation.models import RatingEvent
from apps.studies.models import Assignment, AssignmentState
from tests.browser.listening import (
    ANSWERS,
    address_of,
    admit,
    expect_saved,
    make_listening,
    only_rating,
    open_item,
    values_of,
)
from tests.conftest import make_dataset, make_framework, make_study


@pytest.fixture
def listening(rosa, emil):
    return make_listening(rosa, emil)


def small_study(rosa, emil, *, low, high, dimensions=2):
    framework = make_framework("short-scales", dimensions=dimensions, low=low, high=high)
    study = make_study("short", owner=rosa, dataset=make_dataset("notes", owner=rosa), frameworks=[framework])
    return admit(study, emil)


def current(page: Page):
    return page.locator(".scale-card--current")


def test_the_keyboard_alone_rates_and_submits_21_scales_in_under_45_presses(open_page, emil, listening):
    page = open_page(emil)
    assignment = open_item(page, listening, emil)
    presses = [*ANSWERS, "Control+Enter"]
    for key in presses:
        page.keyboard.press(key)
    assert len(presses) == 22
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    assert values_of(assignment) == [float(digit) for digit in ANSWERS]
    assignment.refresh_from_db()
    assert assignment.state == AssignmentState.SUBMITTED
    expect(page.locator("#missing")).to_contain_text("(21)")


def test_an_item_is_found_as_it_was_left(open_page, emil, listening):
    page = open_page(emil)
    assignment = open_item(page, listening, emil)
    for key in ANSWERS[:4]:
        page.keyboard.press(key)
    expect_saved(page)
    page.close()
    again = open_page(emil)
    again.goto(f"/studies/{listening.slug}/rate/")
    again.get_by_role("button", name=re.compile("Continue|Go on|Resume")).click()
    expect(again).to_have_url(re.compile(address_of(assignment)))
    expect(again.locator("input[type=radio]:checked")).to_have_count(4)
    expect(current(again)).to_contain_text("5. Interpretations")
    again.keyboard.press("2")
    expect_saved(again)
    assert len(values_of(assignment)) == 5


def test_case_10_every_click_is_an_event_and_the_last_one_stands(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5, dimensions=1), emil)
    # As fast as a page can be clicked: in one go, before any answer can have come.
    page.evaluate("""() => ["5", "4", "5", "4", "5"].forEach((value) =>
        document.querySelector(`input[type=radio][value="${value}"]`).click())""")
    expect_saved(page)
    page.keyboard.press("Control+Enter")
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    assert only_rating(assignment).value == 5
    assert list(RatingEvent.objects.values_list("value", flat=True)) == [5, 4, 5, 4, 5]


@pytest.mark.parametrize("code", ["Digit0", "Numpad0"])
def test_case_16_zero_and_the_number_pad_rate(open_page, rosa, emil, code):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=0, high=2), emil)
    page.evaluate(f"""document.activeElement.dispatchEvent(new KeyboardEvent("keydown",
        {{key: "0", code: "{code}", bubbles: true}}))""")
    page.keyboard.press("2")
    expect_saved(page)
    assert values_of(assignment) == [0, 2]


def test_a_digit_that_is_no_point_rates_nothing(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=0, high=2), emil)
    page.keyboard.press("7")
    expect(page.locator("#announcer")).to_have_text("This scale has the points 0, 1, 2.")
    assert values_of(assignment) == []
    expect(current(page)).to_contain_text("1. Scale 1")


def test_which_points_there_are_is_said_at_the_scale_and_the_next_digit_is_still_its(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=0, high=2), emil)
    page.keyboard.press("7")
    expect(current(page).get_by_text("This scale has the points 0, 1, 2.")).to_be_visible()
    page.keyboard.press("1")
    expect(page.locator(".scale-card").get_by_text("This scale has the points")).to_have_count(0)
    page.keyboard.press("8")
    expect(page.locator(".scale-card").nth(1).get_by_text("This scale has the points 0, 1, 2.")).to_be_visible()
    page.keyboard.press("2")
    expect_saved(page)
    assert values_of(assignment) == [1, 2]


def test_what_is_said_of_the_points_goes_by_itself(open_page, rosa, emil):
    page = open_page(emil)
    page.clock.install()
    open_item(page, small_study(rosa, emil, low=0, high=2), emil)
    page.keyboard.press("7")
    expect(current(page).get_by_text("This scale has the points")).to_be_visible()
    page.clock.run_for(10_000)
    expect(current(page).get_by_text("This scale has the points")).to_have_count(0)


def point(page: Page, scale: int, value: int):
    return page.locator(".scale-card").nth(scale).locator(f"input[value='{value}']")


def test_after_a_click_the_digits_are_the_next_scales_and_nothing_moves(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5, dimensions=3), emil)
    before = point(page, 0, 3).bounding_box()
    point(page, 0, 3).click()
    expect(current(page)).to_contain_text("2. Scale 2")
    assert point(page, 0, 3).bounding_box() == before
    expect(page.locator(":focus")).to_have_value("3")
    page.keyboard.press("5")
    page.keyboard.press("4")
    expect_saved(page)
    assert values_of(assignment) == [3, 5, 4]


def test_clicks_and_arrow_keys_on_a_clicked_scale_still_change_it(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5), emil)
    for value in [5, 4, 5, 4, 5]:
        point(page, 0, value).click()
    page.keyboard.press("ArrowLeft")
    expect(current(page)).to_contain_text("1. Scale 1")
    expect_saved(page)
    assert values_of(assignment) == [4]
    assert list(RatingEvent.objects.values_list("value", flat=True)) == [5, 4, 5, 4, 5, 4]
    page.keyboard.press("2")
    page.keyboard.press("3")
    expect_saved(page)
    assert values_of(assignment) == [2, 3]


def test_a_click_on_the_answer_that_stands_hands_the_digits_on_too(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5), emil)
    point(page, 0, 3).click()
    point(page, 0, 3).click()
    page.keyboard.press("5")
    expect_saved(page)
    assert values_of(assignment) == [3, 5]
    point(page, 0, 3).click()  # every scale has an answer: it is this one's turn
    expect(current(page)).to_contain_text("1. Scale 1")


def test_ten_is_typed_in_one_go_and_one_waits_a_moment(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=0, high=10, dimensions=4), emil)
    for key in ["1", "0", "1", "3"]:
        page.keyboard.press(key)
    page.keyboard.press("1")
    expect(page.locator("#missing")).to_be_hidden()
    expect_saved(page)
    assert values_of(assignment) == [10, 1, 3, 1]


def test_points_below_zero_are_typed_as_they_are_written(open_page, rosa, emil):
    study = small_study(rosa, emil, low=-2, high=2, dimensions=3)
    page = open_page(emil)
    assignment = open_item(page, study, emil)
    for key in ["-", "2", "0", "-", "1"]:
        page.keyboard.press(key)
    expect_saved(page)
    assert values_of(assignment) == [-2, 0, -1]


def test_case_16_keys_in_a_comment_do_not_rate(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5), emil)
    page.keyboard.press("4")
    page.keyboard.press("k")
    page.keyboard.press("c")
    page.keyboard.type("3 of 5 jokes, next? x s f")
    page.keyboard.press("Escape")
    expect_saved(page)
    rating = only_rating(assignment)
    assert (rating.value, rating.comment) == (4, "3 of 5 jokes, next? x s f")
    expect(current(page)).to_contain_text("1. Scale 1")
    expect(page.locator(":focus")).to_have_value("4")
    assignment.refresh_from_db()
    assert (assignment.is_flagged, assignment.state) == (False, AssignmentState.IN_PROGRESS)


def test_case_16_keys_with_ctrl_alt_or_meta_do_not_rate(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5), emil)
    for modifier in ["Control", "Alt", "Meta"]:
        page.evaluate(f"""document.dispatchEvent(new KeyboardEvent("keydown",
            {{key: "3", code: "Digit3", {modifier[:4].lower().replace("cont", "ctrl")}Key: true, bubbles: true}}))""")
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    assert values_of(assignment) == []


@pytest.mark.parametrize("sign", ["isComposing: true", "keyCode: 229"])
def test_case_16_composing_with_an_input_method_does_not_rate(open_page, rosa, emil, sign):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5), emil)
    page.evaluate(f"""document.body.dispatchEvent(new KeyboardEvent("keydown",
        {{key: "3", code: "Digit3", bubbles: true, {sign}}}))""")
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    page.evaluate("""document.body.dispatchEvent(new KeyboardEvent("keydown",
        {key: "3", code: "Digit3", bubbles: true}))""")
    expect_saved(page)
    assert values_of(assignment) == [3]


def test_a_key_held_down_rates_one_scale(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5), emil)
    page.keyboard.down("3")
    page.keyboard.down("3")
    page.keyboard.down("3")
    page.keyboard.up("3")
    expect_saved(page)
    assert values_of(assignment) == [3]


def test_case_16_enter_neither_skips_nor_submits(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5, dimensions=1), emil)
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Skip this conversation")).to_be_visible()
    page.get_by_label("In your own words").focus()
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Skip this conversation")).to_be_hidden()
    page.keyboard.press("4")
    expect_saved(page)
    assert only_rating(assignment).value == 4
    expect(page).to_have_url(re.compile(address_of(assignment)))
    assignment.refresh_from_db()
    assert assignment.state == AssignmentState.IN_PROGRESS


def test_case_16_the_question_mark_lists_the_keys_and_they_can_be_switched_off(open_page, rosa, emil):
    page = open_page(emil)
    assignment = open_item(page, small_study(rosa, emil, low=1, high=5), emil)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("choose the point with this number")
    page.keyboard.press("3")
    keys.get_by_label("Use single keys on this device").uncheck()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.keyboard.press("3")
    page.reload()
    page.keyboard.press("3")
    assert values_of(assignment) == []
    page.keyboard.press("?")
    keys.get_by_label("Use single keys on this device").check()
    keys.get_by_role("button", name="Close").click()
    page.keyboard.press("3")
    expect_saved(page)
    assert values_of(assignment) == [3]


def test_letters_move_and_open_what_belongs_to_a_scale(open_page, emil, listening):
    page = open_page(emil)
    open_item(page, listening, emil)
    page.keyboard.press("j")
    page.keyboard.press("n")
    expect(current(page)).to_contain_text("3. Fluency")
    page.keyboard.press("k")
    page.keyboard.press("p")
    expect(current(page)).to_contain_text("1. Empathy")
    page.keyboard.press("i")
    expect(current(page)).to_contain_text("Look for replies that name")
    expect(current(page)).to_contain_text("Which city did she choose?")
    page.keyboard.press("Escape")
    expect(current(page).get_by_text("Look for replies that name")).to_be_hidden()
    page.keyboard.press("x")
    expect(page.get_by_role("radio", name="Cannot tell").first).to_be_checked()
    expect(current(page)).to_contain_text("2. Relevance")
    page.keyboard.press("ArrowRight")
    expect(current(page).locator("input:checked")).to_have_count(1)
    expect(current(page)).to_contain_text("2. Relevance")
    expect_saved(page)


def test_what_is_missing_is_told_before_anything_is_submitted(open_page, emil, listening):
    page = open_page(emil)
    assignment = open_item(page, listening, emil)
    for key in ANSWERS[:18]:
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Not submitted: these scales have no answer yet.")
    expect(page.get_by_role("alert")).to_contain_text("19. Advice giving 20. Self-oriented 21. Dismissing emotions")
    expect(current(page)).to_contain_text("19. Advice giving")
    page.keyboard.press("k")
    page.keyboard.press("r")
    expect(page.locator("#announcer")).to_have_text("Advice giving has no answer yet; 3 missing.")
    expect(page.locator("#missing summary")).to_contain_text("Review what is missing")
    page.locator("#missing summary").click()
    page.locator("#missing").get_by_role("link", name="21. Dismissing emotions").click()
    expect(current(page)).to_contain_text("21. Dismissing emotions")
    expect_saved(page)
    assignment.refresh_from_db()
    assert assignment.state == AssignmentState.IN_PROGRESS


def test_skipping_asks_for_a_reason_and_goes_on(open_page, emil, listening):
    page = open_page(emil)
    assignment = open_item(page, listening, emil)
    page.keyboard.press("2")
    page.keyboard.press("s")
    page.get_by_role("button", name="Skip this conversation").click()
    expect(page.get_by_role("alert").filter(has_text="Choose a reason first")).to_be_visible()
    page.get_by_label("I would rather not read this").check()
    page.get_by_role("button", name="Skip this conversation").click()
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    assignment.refresh_from_db()
    assert assignment.state == AssignmentState.SKIPPED
    assert assignment.skip_reason
    assert values_of(assignment) == [2]


def test_skipping_can_be_called_off_where_it_was_begun(open_page, emil, listening):
    page = open_page(emil)
    open_item(page, listening, emil)
    page.locator("#skip summary").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Skip this conversation")).to_be_hidden()
    expect(page.locator("#skip summary")).to_be_focused()


def test_one_scale_that_is_missing_is_one(open_page, emil, listening):
    page = open_page(emil)
    open_item(page, listening, emil)
    for key in [*ANSWERS[:20], "Control+Enter"]:
        page.keyboard.press(key)
    expect(page.get_by_role("alert")).to_contain_text("Not submitted: one scale has no answer yet.")


def test_a_flag_is_set_and_taken_away(open_page, emil, listening):
    page = open_page(emil)
    assignment = open_item(page, listening, emil)
    page.keyboard.press("f")
    expect(page.get_by_role("button", name="Flag")).to_have_attribute("aria-pressed", "true")
    assert Assignment.objects.get(pk=assignment.pk).is_flagged
    page.get_by_role("button", name="Flag").click()
    expect(page.get_by_role("button", name="Flag")).to_have_attribute("aria-pressed", "false")
    assert not Assignment.objects.get(pk=assignment.pk).is_flagged


def test_submitting_twice_in_one_breath_submits_once(open_page, rosa, emil):
    page = open_page(emil)
    study = small_study(rosa, emil, low=1, high=5, dimensions=1)
    assignment = open_item(page, study, emil)
    page.keyboard.press("3")
    page.get_by_role("button", name="Submit").dblclick()
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    assert Assignment.objects.filter(rater=assignment.rater, state=AssignmentState.SUBMITTED).count() == 1


def test_the_way_back_and_forth_between_items(open_page, rosa, emil):
    page = open_page(emil)
    study = small_study(rosa, emil, low=1, high=5, dimensions=1)
    first = open_item(page, study, emil)
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.keyboard.press("3")
    page.keyboard.press("Control+Enter")
    expect(page).not_to_have_url(re.compile(address_of(first)))
    expect(page.get_by_text("Conversation 1 of 3 is submitted. Here is the next one.")).to_be_visible()
    page.keyboard.press("2")
    expect(page.get_by_text("is submitted. Here is")).to_have_count(0)
    page.get_by_role("button", name="Previous").click()
    expect(page).to_have_url(re.compile(address_of(first)))
    expect(page.get_by_text("You have submitted this conversation.")).to_be_visible()
    expect(page.get_by_role("button", name="Submit")).to_have_count(0)
    page.keyboard.press("5")
    expect_saved(page)
    page.get_by_role("button", name="Next").click()
    expect(page).not_to_have_url(re.compile(address_of(first)))
    assert only_rating(first).value == 5
    page.get_by_role("button", name="Pause").click()
    expect(page).to_have_url(re.compile(f"/studies/{study.slug}/rate/$"))
