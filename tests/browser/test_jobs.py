"""The page of a job, watched: it moves, it ends, it is heard, and every state is accessible."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.common.models import Job, JobState
from apps.common.services.jobs import create_job
from tests.browser.conftest import DESKTOP, PHONE, assert_accessible, scrolls_sideways


def make_job(owner, **given) -> Job:
    job = create_job(kind="talks.import", task="tests.nothing", title="Import of talks.csv", owner=owner)
    return change(job, **given)


def change(job: Job, **given) -> Job:
    Job.objects.filter(pk=job.pk).update(**given)
    return job


ENDED = {
    JobState.DONE: {"message": "2 talks stored.", "result": {"talks": 2}, "result_url": "/jobs/"},
    JobState.FAILED: {"message": "Nothing was imported.", "problems": ["row 2: empty"] * 30, "problem_count": 400},
    JobState.CANCELLED: {"message": "Cancelled before it began."},
}


def test_the_page_follows_a_job_to_its_end_and_says_it_aloud(open_page, rosa):
    job = make_job(rosa)
    page = open_page(rosa)
    page.goto(f"/jobs/{job.pk}/")
    expect(page.get_by_text("Waiting for its turn.")).to_be_visible()
    change(job, state=JobState.RUNNING, alive_at=timezone.now(), step="Reading talks.csv", done=3, total=10)
    expect(page.get_by_text("Reading talks.csv: 3 of 10")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "3")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    change(job, state=JobState.DONE, **ENDED[JobState.DONE])
    expect(page.get_by_role("link", name="Look at the result")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("Done. 2 talks stored.")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(1500)
    assert asked == []


def test_cancelling_by_the_keyboard(open_page, rosa):
    job = make_job(rosa)
    page = open_page(rosa)
    page.goto(f"/jobs/{job.pk}/")
    page.get_by_role("button", name="Cancel").focus()
    page.wait_for_timeout(1500)  # the page has asked meanwhile, and the button keeps the focus
    page.keyboard.press("Enter")
    expect(page.get_by_text("Cancelled before it began.")).to_be_visible()


def test_without_javascript_the_page_reloads_itself_to_the_end(open_page, rosa):
    job = make_job(rosa)
    page = open_page(rosa, java_script_enabled=False)
    page.goto(f"/jobs/{job.pk}/")
    change(job, state=JobState.DONE, **ENDED[JobState.DONE])
    expect(page.get_by_text("2 talks stored.")).to_be_visible(timeout=10_000)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_every_state_is_accessible_and_fits(open_page, rosa, viewport):
    states = {JobState.RUNNING: {"alive_at": timezone.now(), "step": "Reading talks.csv"}} | ENDED
    page = open_page(rosa, viewport=viewport, reduced_motion="reduce")
    for state, about in states.items():
        page.goto(f"/jobs/{make_job(rosa, state=state, **about).pk}/")
        assert_accessible(page)
        assert not scrolls_sideways(page)
