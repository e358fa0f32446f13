"""What comes between a page and what it asks for: nobody is signed in any more, or the database is busy."""

import re

import pytest
from django.db import OperationalError
from django.urls import reverse
from playwright.sync_api import expect

from apps.llm.models import RunState
from tests.browser.conftest import DESKTOP, PHONE, assert_accessible, scrolls_sideways
from tests.llm.worlds import make_run


def test_a_page_that_is_followed_goes_to_sign_in_as_a_whole(open_page, rosa, grief):
    run = make_run(grief, state=RunState.RUNNING)
    there = reverse("llm:run", args=[grief.slug, run.pk])
    page = open_page(rosa)
    page.goto(there)
    expect(page.locator("#run")).to_be_visible()
    page.context.clear_cookies()
    expect(page).to_have_url(re.compile(rf"/accounts/sign-in/\?next={there}$"))
    expect(page.get_by_role("banner")).to_have_count(1)
    expect(page.get_by_label("Password")).to_be_visible()


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_a_busy_database_is_said_on_a_page_like_any_other(open_page, rosa, grief, watch, monkeypatch, viewport, scheme):
    def busy(**_given: object) -> None:
        raise OperationalError("database is locked")

    watch.expected.append("503 (Service Unavailable)")
    run = make_run(grief)
    monkeypatch.setattr("apps.llm.views.run_acts.start_run", busy)
    page = open_page(rosa, viewport=viewport, color_scheme=scheme)
    page.goto(reverse("llm:run", args=[grief.slug, run.pk]))
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("The database was busy; nothing was changed. Try again.")).to_be_visible()
    assert_accessible(page)
    assert not scrolls_sideways(page)
    page.go_back()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
