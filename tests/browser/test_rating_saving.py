"""Nothing given on the rating screen is lost: without a connection, with errors, in two windows, after a crash.

A request is held up (`page.route`) from before its page is opened: an open page learns of it a moment after the call
returns, and on a busy machine its next request slips past.
"""

import json
import re
from urllib.parse import parse_qs

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from apps.annotation.models import Rating, RatingEvent
from apps.studies.models import StudyStatus
from tests.browser.listening import (
    ANSWERS,
    address_of,
    expect_saved,
    make_listening,
    only_rating,
    open_item,
    rater_of,
    values_of,
)


@pytest.fixture
def listening(rosa, emil):
    return make_listening(rosa, emil)


@pytest.fixture
def page(open_page, emil, grief):
    """Emil's first item of `grief`, with two scales from 1 to 5."""
    return open_page(emil)


def state(page: Page):
    return page.locator("#save-state")


def leaving_warns(page: Page) -> bool:
    """Whether the browser would ask before the page is left."""
    return bool(page.evaluate("!window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"))


def kept(page: Page) -> list[str]:
    return page.evaluate("Object.keys(sessionStorage)")


def test_case_14_offline_in_the_middle_nothing_is_lost(open_page, watch, emil, listening):
    watch.expected.append("ERR_INTERNET_DISCONNECTED")
    page = open_page(emil)
    assignment = open_item(page, listening, emil)
    for key in ANSWERS[:5]:
        page.keyboard.press(key)
    expect_saved(page)
    assert not leaving_warns(page)
    page.context.set_offline(True)
    page.keyboard.press(ANSWERS[5])
    expect(page.locator("#announcer")).to_contain_text("not saved: no connection")
    for key in ANSWERS[6:]:
        page.keyboard.press(key)
    page.keyboard.press("c")
    page.keyboard.type("written on a train")
    page.keyboard.press("Escape")
    expect(state(page)).to_contain_text("not saved: no connection")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    assert leaving_warns(page)
    assert len(values_of(assignment)) == 5
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("This page goes on as soon as it is.")
    page.context.set_offline(False)
    expect(page).not_to_have_url(re.compile(address_of(assignment)))
    assert values_of(assignment) == [float(digit) for digit in ANSWERS]
    # The comment went along with its answer, or came after it if that was being tried again just then.
    assert RatingEvent.objects.count() in (21, 22)
    assert Rating.objects.exclude(comment="").get().comment == "written on a train"
    assert kept(page) == []


def test_case_15_with_server_errors_every_rating_lands_once(open_page, watch, emil, listening):
    watch.expected += ["500 (Internal Server Error)", "ERR_FAILED"]
    page = open_page(emil)
    asked = []

    def sometimes_fail(route):
        asked.append(route.request.post_data)
        if len(asked) % 5 == 1:
            route.fulfill(status=500, body="oops")
        elif len(asked) % 5 == 3:
            route.fetch()  # it arrives, its answer does not
            route.abort()
        else:
            route.continue_()

    page.route("**/save/", sometimes_fail)
    assignment = open_item(page, listening, emil)
    for key in ANSWERS:
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    expect(page).not_to_have_url(re.compile(address_of(assignment)), timeout=30_000)
    assert values_of(assignment) == [float(digit) for digit in ANSWERS]
    assert RatingEvent.objects.count() == 21
    assert len(asked) > 21


def test_what_was_not_saved_comes_back_after_a_reload_and_is_sent(page, watch, emil, grief):
    watch.expected.append("ERR_FAILED")
    page.route("**/save/", lambda route: route.abort())
    assignment = open_item(page, grief, emil)
    page.keyboard.press("4")
    page.keyboard.press("c")
    page.keyboard.type("a thought without an answer")
    expect(state(page)).to_contain_text("not saved")
    assert values_of(assignment) == []
    page.on("dialog", lambda dialog: dialog.accept())  # yes, leave
    page.unroute("**/save/")
    page.evaluate("window.onbeforeunload = null")
    page.reload()
    expect(page.get_by_text("has been put back")).to_be_visible()
    expect(page.get_by_label("Comment on Scale 2")).to_have_value("a thought without an answer")
    expect_saved(page)
    assert values_of(assignment) == [4]
    page.keyboard.press("3")
    expect_saved(page)
    second = Rating.objects.get(dimension__slug="scale_2")
    assert (second.value, second.comment) == (3, "a thought without an answer")
    assert kept(page) == []


def test_what_arrived_although_its_answer_did_not_is_no_second_event(page, watch, emil, grief):
    watch.expected.append("ERR_FAILED")

    def lose_answer(route):
        route.fetch()
        route.abort()

    page.route("**/save/", lose_answer)
    assignment = open_item(page, grief, emil)
    page.keyboard.press("4")
    expect(state(page)).to_contain_text("not saved")
    page.on("dialog", lambda dialog: dialog.accept())
    page.unroute("**/save/")
    page.reload()
    expect_saved(page)
    assert kept(page) == []
    assert only_rating(assignment).events.count() == 1


def test_a_change_in_another_window_is_told_and_may_be_replaced(page, watch, open_page, emil, grief):
    watch.expected.append("409 (Conflict)")
    assignment = open_item(page, grief, emil)
    other = page.context.new_page()
    watch.follow(other)
    other.goto(address_of(assignment))
    other.keyboard.press("2")
    expect_saved(other)
    page.keyboard.press("5")
    expect(state(page)).to_contain_text("not saved: see the scale")
    note = page.get_by_role("alert").filter(has_text="it now stands at 2")
    expect(note).to_be_visible()
    assert leaving_warns(page)
    note.get_by_role("button", name="Keep mine: 5").click()
    expect_saved(page)
    expect(note).to_be_hidden()
    assert only_rating(assignment).value == 5
    # The other window is told in its turn, and takes what stands.
    other.keyboard.press("k")
    other.keyboard.press("1")
    other.get_by_role("button", name="Take the other: 5").click()
    expect_saved(other)
    expect(other.get_by_role("radio", name="5", exact=True).first).to_be_checked()
    assert [event.value for event in only_rating(assignment).events.all()] == [2, 5]


def test_who_is_signed_out_is_told_and_loses_nothing(page, watch, emil, grief, sign_in):
    watch.expected.append("401 (Unauthorized)")
    assignment = open_item(page, grief, emil)
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.context.add_cookies([cookie for cookie in cookies if cookie["name"] == "csrftoken"])
    page.keyboard.press("4")
    expect(page.get_by_role("alert")).to_contain_text("Sign in again in another tab")
    expect(page.get_by_role("link", name="Sign in in another tab")).to_have_attribute("target", "_blank")
    expect(state(page)).to_contain_text("signed out")
    assert values_of(assignment) == []
    page.context.add_cookies(cookies)
    page.get_by_role("button", name="Retry").click()
    expect_saved(page)
    expect(page.get_by_text("Sign in again in another tab")).to_be_hidden()
    assert values_of(assignment) == [4]


def test_a_study_closed_meanwhile_is_told(page, watch, emil, grief):
    watch.expected.append("403 (Forbidden)")
    assignment = open_item(page, grief, emil)
    grief.status = StudyStatus.CLOSED
    grief.save()
    page.keyboard.press("4")
    expect(page.get_by_role("alert")).to_contain_text("This study is closed")
    expect(state(page)).to_contain_text("not saved: closed")
    assert values_of(assignment) == []
    assert leaving_warns(page)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Pause").click()
    expect(page).to_have_url(re.compile(f"/studies/{grief.slug}/rate/$"))


def test_a_rater_who_was_let_go_is_told(page, watch, emil, grief):
    watch.expected.append("404 (Not Found)")
    assignment = open_item(page, grief, emil)
    rater = rater_of(grief, emil)
    rater.left_at = timezone.now()
    rater.save()
    page.keyboard.press("4")
    expect(page.get_by_role("alert")).to_contain_text("no longer yours")
    assert values_of(assignment) == []


def test_a_comment_is_saved_when_the_writer_pauses(page, emil, grief):
    assignment = open_item(page, grief, emil)
    page.get_by_role("radio", name="3", exact=True).first.check()
    page.keyboard.press("k")  # the keys went on to the next scale
    page.keyboard.press("c")
    page.keyboard.type("gentle")
    expect(state(page)).to_have_attribute("data-state", "saving")
    expect_saved(page)
    expect(page.locator(":focus")).to_have_value("gentle")
    rating = only_rating(assignment)
    assert (rating.comment, rating.events.count()) == ("gentle", 2)


def test_a_comment_without_an_answer_is_not_left_behind_unasked(page, emil, grief):
    assignment = open_item(page, grief, emil)
    page.keyboard.press("3")
    page.keyboard.press("c")
    page.keyboard.type("cannot say yet")
    page.keyboard.press("Escape")
    expect(page.get_by_text("it needs an answer first")).to_be_visible()
    assert leaving_warns(page)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("alert")).to_contain_text("2. Scale 2")
    expect(page).to_have_url(re.compile(address_of(assignment)))
    page.get_by_role("button", name="Go on without saving them").click()
    expect(page).to_have_url(re.compile(f"/studies/{grief.slug}/rate/$"))
    page.goto(address_of(assignment))
    expect(page.get_by_label("Comment on Scale 2")).to_have_value("cannot say yet")


class Reports:
    """What the page reports of its time. Its clock is ours, so the server is not asked."""

    def __init__(self, page: Page) -> None:
        self.sent: list[dict[str, list[str]]] = []
        page.route("**/time/", self.take)
        page.clock.install()

    def take(self, route: Route) -> None:
        self.sent.append(parse_qs(route.request.post_data or ""))
        route.fulfill(status=204)

    def seconds(self, name: str) -> float:
        return sum(float(report[name][0]) for report in self.sent)


def pass_time(page: Page, seconds: int) -> None:
    """Lets time pass in steps, so that each report is answered before the next."""
    for _ in range(seconds // 20):
        page.clock.run_for(20_000)
        page.wait_for_timeout(100)


def test_case_17_four_minutes_of_reading_without_a_movement_count_in_full(page, emil, grief):
    reports = Reports(page)
    open_item(page, grief, emil)
    page.mouse.move(200, 200)
    pass_time(page, 240)
    page.mouse.move(220, 220)
    pass_time(page, 20)
    pass_time(page, 20)
    # The last report may still be on its way.
    assert 255 <= reports.seconds("wall") <= 285
    assert reports.seconds("wall") - reports.seconds("active") < 1
    assert len(reports.sent) in (13, 14)


def test_case_17_a_page_left_alone_is_open_but_not_active(page, emil, grief):
    reports = Reports(page)
    open_item(page, grief, emil)
    page.mouse.move(200, 200)
    pass_time(page, 1200)
    assert 1175 <= reports.seconds("wall") <= 1205
    assert 295 <= reports.seconds("active") <= 305


def test_time_that_could_not_be_reported_is_reported_later_and_once(page, watch, emil, grief):
    watch.expected.append("500 (Internal Server Error)")
    reports = Reports(page)
    open_item(page, grief, emil)
    page.route("**/time/", lambda route: route.fulfill(status=500))
    pass_time(page, 60)
    page.unroute_all()
    page.route("**/time/", reports.take)
    pass_time(page, 80)
    # The last report may still be on its way.
    assert 115 <= reports.seconds("wall") <= 145
    assert len(reports.sent) in (3, 4)


def test_the_last_seconds_are_reported_when_the_page_is_left(page, emil, grief):
    assignment = open_item(page, grief, emil)
    page.wait_for_timeout(1500)
    page.get_by_role("button", name="Pause").click()
    expect(page).to_have_url(re.compile("/rate/$"))
    page.wait_for_load_state("networkidle")
    assignment.refresh_from_db()
    assert 1.2 <= assignment.wall_seconds < 8
    assert assignment.active_seconds <= assignment.wall_seconds


def test_what_is_kept_in_the_window_names_the_person_and_the_item(page, watch, emil, grief):
    watch.expected.append("ERR_FAILED")
    page.route("**/save/", lambda route: route.abort())
    assignment = open_item(page, grief, emil)
    page.keyboard.press("4")
    expect(state(page)).to_contain_text("not saved")
    assert kept(page) == [f"accord-rating-{assignment.pk}-{emil.pk}"]
    stored = page.evaluate("Object.values(sessionStorage)[0]")
    [record] = json.loads(stored).values()
    assert [answer["value"] for answer in record["queue"]] == ["4"]
