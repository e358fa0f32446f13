"""From a study's agreement to the scale that puzzles, the conversation in dispute, and a report that recomputes."""

import csv
import io
import re
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.common.models import Job, JobState
from apps.reliability.models import Snapshot
from apps.reliability.services.snapshots import take_snapshot as freeze
from apps.reliability.tasks import take_snapshot
from apps.reports.tasks import build_report
from apps.studies.models import Study
from tests.browser.conftest import DESKTOP, PHONE, OpenPage, assert_accessible, scrolls_sideways

AGREEMENT = "/studies/kumar-2026/agreement/"


@pytest.fixture
def published(ada: User, kumar_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public study as imported. Jobs wait until the test runs them."""
    for place in ("apps.dashboard.views.agreement", "apps.reports.views.reports"):
        monkeypatch.setattr(f"{place}.start_job", lambda job: None)
    call_command("import_kumar2026", str(kumar_folder), stdout=io.StringIO())


def waiting_job() -> int:
    return Job.objects.get(state=JobState.QUEUED).pk


def downloaded(page: Page, name: str, folder: Path) -> Path:
    with page.expect_download() as started:
        page.get_by_role("link", name=name).first.click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.public_data
def test_from_the_dashboard_to_a_report_that_recomputes(
    open_page: OpenPage, ada: User, published: None, tmp_path: Path
) -> None:
    page = open_page(ada, viewport=DESKTOP, reduced_motion="reduce", accept_downloads=True)
    page.set_default_timeout(60_000)
    page.goto("/studies/kumar-2026/")
    page.get_by_role("link", name="Agreement", exact=True).first.click()
    page.get_by_role("button", name="Compute").click()
    expect(page.get_by_text("waiting for a worker").first).to_be_visible()
    take_snapshot(waiting_job())
    # The first picture of a process takes its time: the engine that draws it starts.
    expect(page.get_by_text("250 items (200 conversations), 124 raters, 8812 ratings").first).to_be_visible(
        timeout=60_000
    )

    # One framework: the address says so, and only its scales are left.
    page.get_by_label("Framework", exact=True).select_option("EPITOME")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(re.compile(r"[?&]framework=epitome"))
    table = page.get_by_role("table").filter(has_text="Explorations").first
    expect(table).to_be_visible()
    expect(page.get_by_role("link", name="Practical support")).to_have_count(0)
    assert_accessible(page)
    rows = rows_of(downloaded(page, "Download these rows (CSV)", tmp_path))
    assert {row["framework"] for row in rows} == {"epitome"}
    assert len({row["dimension"] for row in rows}) == 3
    # Published (all_annotator_pairs_spearman_kappa.csv): 0.76 for the first two experts.
    [kappa] = [
        row
        for row in rows
        if (row["dimension"], row["statistic"], row["a"], row["b"])
        == ("explorations", "kappa_quadratic", "expert1", "expert2")
    ]
    assert f"{float(kappa['value']):.2f}" == "0.76"

    # A scale, and the conversation on it that divides the experts most.
    page.get_by_role("link", name="Explorations").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Explorations")
    assert not scrolls_sideways(page)
    disputed = (
        page.get_by_role("region", name=re.compile("Disputed")).get_by_role("row").nth(1).get_by_role("link").first
    )
    conversation = disputed.inner_text()
    disputed.click()
    page.wait_for_url(re.compile(r"/items/\d+/"))
    expect(page.locator("main")).to_contain_text(conversation)
    expect(page.locator(".turn--supporter").first).to_be_visible()

    # A report with everything, its table and its archive.
    page.goto(AGREEMENT + "?framework=epitome")
    page.get_by_role("link", name="Reports", exact=True).first.click()
    page.get_by_role("link", name="New report").click()
    page.get_by_role("button", name="Build the report").click()
    page.wait_for_url(re.compile(r"/reports/\d+/$"))
    build_report(waiting_job())
    archive = downloaded(page, re.compile(r"\.zip"), tmp_path)
    whole = rows_of(downloaded(page, re.compile(r"agreement\.csv"), tmp_path))
    by_key = {tuple(row.values())[:6]: row["value"] for row in whole}
    assert by_key[tuple(kappa.values())[:6]] == kappa["value"]
    told = io.StringIO()
    call_command("recompute", str(archive), stdout=told)
    assert "the same digits" in told.getvalue()
    assert Snapshot.objects.count() == 1


@pytest.mark.public_data
def test_the_charts_have_another_form_by_keyboard(open_page: OpenPage, ada: User, published: None) -> None:
    page = open_page(ada, viewport=PHONE, color_scheme="dark")
    page.goto(AGREEMENT)
    page.get_by_role("button", name="Compute").click()
    take_snapshot(waiting_job())
    page.goto(AGREEMENT)
    chart = page.get_by_role("img").first
    expect(chart).to_be_visible()
    assert not scrolls_sideways(page)
    as_table = page.get_by_text("The same as a table").first
    as_table.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("table").first).to_contain_text("Practical support")


@pytest.mark.public_data
def test_a_table_too_wide_says_where_it_goes_on(open_page: OpenPage, ada: User, published: None) -> None:
    study = Study.objects.get(slug="kumar-2026")
    freeze(study=study)
    page = open_page(ada, viewport=DESKTOP, reduced_motion="reduce")
    page.set_default_timeout(60_000)
    page.goto(AGREEMENT)
    frame = page.get_by_role("region", name="The experts’ column is the median")
    hint = page.get_by_text("The table goes on to the right").first
    expect(frame).to_be_visible()
    expect(hint).to_be_hidden()
    page.set_viewport_size({"width": 900, "height": 700})
    expect(hint).to_be_visible()
    scale = frame.get_by_role("rowheader", name="Emotional reactions")
    scale.scroll_into_view_if_needed()
    before = scale.bounding_box()
    frame.evaluate("frame => frame.scrollBy(150, 0)")
    assert scale.bounding_box() == before
    assert not scrolls_sideways(page)
