"""A run is made in the browser: chosen, estimated without leaving the page, confirmed, and made."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from apps.llm.models import Run, TextConsent
from tests.browser.conftest import PHONE, accessibility_faults, scrolls_sideways
from tests.llm.worlds import make_endpoint, make_version

pytestmark = pytest.mark.browser


@pytest.fixture
def new_run(open_page, rosa, grief):
    make_endpoint("near", price_input=1, price_output=4)
    make_endpoint("remote", url="https://models.example.org/v1")
    make_version(grief)
    page = open_page(rosa)
    page.goto(reverse("llm:run-new", args=[grief.slug]))
    return page


def test_the_estimate_comes_without_leaving_the_page_and_takes_the_focus(new_run):
    page = new_run
    page.get_by_label("Samples").fill("2")
    page.get_by_role("button", name="Estimate").click()
    heading = page.get_by_role("heading", name="What it takes")
    expect(heading).to_be_focused()
    expect(page.get_by_text("3 of 3")).to_be_visible()
    expect(page.get_by_label("Samples")).to_have_value("2")
    assert accessibility_faults(page) == []
    page.set_viewport_size(PHONE)
    assert not scrolls_sideways(page)


def test_what_is_refused_is_shown_at_once(new_run, watch):
    page = new_run
    watch.expected.append("422 (Unprocessable")
    page.get_by_text("Temperature, seed, name").click()
    page.get_by_label("Seed of the model").fill("5")
    page.get_by_role("button", name="Estimate").click()
    expect(page.get_by_role("alert")).to_contain_text("near takes no seed")
    expect(page.get_by_role("alert")).to_be_in_viewport()
    assert accessibility_faults(page) == []


def test_text_that_leaves_is_confirmed_and_the_run_made(new_run, grief, watch):
    page = new_run
    page.get_by_label("Endpoint", exact=True).select_option(label="remote: fake (https://models.example.org/v1)")
    page.get_by_role("button", name="Estimate").click()
    expect(page.get_by_text("would be sent to remote")).to_be_visible()
    watch.expected.append("422 (Unprocessable")
    page.get_by_role("button", name="Create the run").click()
    expect(page.get_by_role("alert")).to_contain_text("Confirm that the text may be sent there")
    page.get_by_label("The text of this study may be sent there").check()
    page.get_by_role("button", name="Create the run").click()
    expect(page).to_have_url(re.compile(r"/studies/grief/llm/runs/\d+/$"))
    assert Run.objects.get().endpoint.name == "remote"
    assert TextConsent.objects.count() == 1
