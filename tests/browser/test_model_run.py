"""A run of a model in the browser: started, paused, resumed and followed to its end, while somebody rates next door."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.common.services.heartbeats import record_heartbeat
from apps.llm.fake_model import FakeScript
from apps.llm.fake_server import FakeServer
from apps.llm.models import Call, CallAnswer, CallState, Exchange, ExchangeState, Pause, Run, RunState
from apps.llm.services.working import work
from tests.browser.conftest import DESKTOP, PHONE, assert_accessible, scrolls_sideways
from tests.browser.listening import address_of, expect_saved, open_item, values_of
from tests.conftest import make_dataset, make_framework, make_study
from tests.llm.worlds import answer_all, make_endpoint, make_run


@dataclass
class Worker:
    """Works at an endpoint in a thread, as a Celery worker would, until it is stopped."""

    endpoint_pk: int
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        try:
            while not self.over.is_set():
                record_heartbeat(worker="test", process_id=1)
                work(self.endpoint_pk, seconds=1, capacity=2)
                self.over.wait(0.05)
        finally:
            connection.close()

    def stop(self) -> None:
        self.over.set()
        self.thread.join(timeout=30)
        assert not self.thread.is_alive()


@pytest.fixture
def talks(rosa, emil, grief) -> Run:
    """A run of sixty calls, each nearly half a second long and two at a time: long enough to be paused on its way."""
    framework = make_framework("asked-scales")
    study = make_study("asked", owner=rosa, dataset=make_dataset("calls", conversations=30), frameworks=[framework])
    with FakeServer(FakeScript(latency_ms=400, seed=7)) as server:
        endpoint = make_endpoint("fake", url=server.url, max_concurrent=2, takes_temperature=False)
        yield make_run(study, endpoint)


@pytest.fixture
def worker(talks, monkeypatch) -> Iterator[Worker]:
    # The worker of the test is there all the time, so nothing has to be sent for.
    monkeypatch.setattr("apps.llm.views.run_acts.trigger_endpoint", lambda _endpoint_pk: None)
    found = Worker(talks.endpoint_id)
    found.thread.start()
    yield found
    found.stop()


def address(run: Run) -> str:
    return reverse("llm:run", args=[run.study.slug, run.pk])


def n_ended(page: Page) -> int:
    return int(page.get_by_role("progressbar", name="Calls that have ended").get_attribute("value") or 0)


def press(page: Page, name: str) -> None:
    """The button by the keyboard alone."""
    button = page.get_by_role("button", name=name, exact=True)
    button.focus()
    page.keyboard.press("Enter")


def test_a_run_is_started_paused_resumed_and_followed_while_somebody_rates(open_page, rosa, emil, grief, talks, worker):
    page, rating = open_page(rosa), open_page(emil)
    assignment = open_item(rating, grief, emil)
    page.goto(address(talks))
    expect(page.get_by_text("Nothing was sent yet.")).to_be_visible()
    press(page, "Start")
    expect(page.get_by_text("The run has started.")).to_be_visible()
    ended = page.get_by_role("progressbar", name="Calls that have ended")
    # The worker may have to wait for its turn on a busy machine.
    expect(ended).not_to_have_attribute("value", "0", timeout=60_000)

    for key in ("4", "2"):
        rating.keyboard.press(key)
    expect_saved(rating)
    assert values_of(assignment) == [4, 2]

    press(page, "Pause")
    expect(page.get_by_text("Rosa paused it on")).to_be_visible()
    expect(page.locator("#run")).not_to_have_attribute("hx-trigger", "every 2s", timeout=60_000)
    n_before = n_ended(page)
    assert 0 < n_before < 60
    asked = talks.calls.exclude(exchanges=None).count()
    page.wait_for_timeout(2500)
    page.reload()
    assert n_ended(page) == n_before
    assert talks.calls.exclude(exchanges=None).count() == asked

    press(page, "Resume")
    rating.goto(address_of(assignment))
    rating.keyboard.press("5")
    expect_saved(rating)
    # The page learns of the end by itself, says it aloud, and asks no more.
    expect(page.locator("#run-news")).to_contain_text("Done.", timeout=120_000)
    expect(page.get_by_text("Every call was answered.")).to_be_visible()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_have_count(0)
    expect(page.get_by_text("The run goes on.")).to_have_count(0)
    asks = []
    page.on("request", lambda request: asks.append(request.url))
    page.wait_for_timeout(2500)
    assert asks == []
    assert sorted(values_of(assignment)) == [2, 5]
    talks.refresh_from_db()
    assert talks.state == RunState.DONE
    assert talks.model_rater.rater.ratings.count() == talks.calls.filter(state=CallState.DONE).count() == 60
    assert Exchange.objects.filter(state=ExchangeState.ANSWERED).count() == 60


def test_cancelling_says_what_is_lost_and_works_by_the_keyboard(open_page, rosa, grief):
    run = make_run(grief)
    page = open_page(rosa)
    page.goto(address(run))
    page.get_by_text("Cancel this run").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("A cancelled run cannot be resumed.")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type(f"run {run.pk}")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The run is cancelled.")).to_be_visible()
    expect(page.get_by_text("Cancel this run")).to_have_count(0)


def test_without_javascript_the_page_reloads_itself_to_the_end(open_page, rosa, grief):
    run = make_run(grief, state=RunState.RUNNING)
    page = open_page(rosa, java_script_enabled=False)
    page.goto(address(run))
    expect(page.get_by_text("No worker was seen for 30 s")).to_be_visible()
    answer_all(run)
    expect(page.get_by_text("Every call was answered.")).to_be_visible(timeout=15_000)


def in_every_state(study) -> Iterator[Run]:
    """Ready; running, with failures; paused for each reason; done; cancelled."""
    now = timezone.now()
    run = make_run(study, left_out=[["main", "letters-003", "example"]], left_out_counts={"example": 1})
    yield run
    for state, call in zip((CallState.FAILED, CallState.INVALID, CallState.RUNNING), run.calls.all(), strict=False):
        Call.objects.filter(pk=call.pk).update(state=state)
        Exchange.objects.create(
            call=call, endpoint=run.endpoint, state=ExchangeState.FAILED, http_status=503, sent_at=now, problem="busy"
        )
    states = [(RunState.RUNNING, ""), *((RunState.PAUSED, pause) for pause in Pause.values)]
    for state, pause in states:
        Run.objects.filter(pk=run.pk).update(state=state, pause=pause, pause_detail="401: " + "no such key " * 20)
        yield run
    answer_all(run)
    yield run
    Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
    yield run


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_every_state_is_accessible_and_fits(open_page, rosa, grief, viewport, scheme):
    page = open_page(rosa, viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
    for run in in_every_state(grief):
        page.goto(address(run))
        assert_accessible(page)
        assert not scrolls_sideways(page)


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_a_call_with_long_texts_is_accessible_and_fits(open_page, rosa, grief, viewport, scheme):
    run = make_run(grief)
    answer_all(run, rationale="Warm. " * 400)
    quotes = [{"text": "must be hard", "turn": 1, "start": 5, "end": 17, "match": "exact"}, {"text": "x" * 300}]
    CallAnswer.objects.update(evidence=quotes, notes=["Noted."])
    Exchange.objects.update(reply="y" * 3000, raw='{"a": "' + "z " * 3000 + '"}', request='{"messages": []}')
    page = open_page(rosa, viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
    page.goto(reverse("llm:call", args=[grief.slug, run.pk, run.calls.first().pk]))
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert_accessible(page)
    assert not scrolls_sideways(page)
    page.goto(reverse("llm:calls", args=[grief.slug, run.pk]))
    assert_accessible(page)
    assert not scrolls_sideways(page)
