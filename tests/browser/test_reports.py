"""A report in the browser: followed while it is built, without a reload, and its texts copied."""

from playwright.sync_api import expect

from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.common.models import Job, JobState
from tests.browser.conftest import assert_accessible
from tests.reports.stored import SUMMARY, keep_report


def rate(study) -> None:
    scale = study.blocks.get().frameworks.get().dimensions.first()
    record_ratings(
        entries=[
            RatingEntry(item.pk, rater.pk, scale.pk, (place + number) % 3 + 1)
            for place, item in enumerate(study.blocks.get().items.all())
            for number, rater in enumerate(study.raters.all())
        ],
        origin=Origin.IMPORT,
    )


def test_a_report_is_followed_to_its_files_and_its_methods_are_copied(open_page, rosa, grief):
    rate(grief)
    report = keep_report(grief, rosa)
    job = Job.objects.filter(pk=report.job_id)
    job.update(state=JobState.RUNNING, step="Writing report.html", done=1, total=7)
    page = open_page(rosa, permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/studies/grief/reports/{report.pk}/")
    expect(page.get_by_text("Writing report.html: 1 of 7")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.evaluate("window.stays = true")
    job.update(state=JobState.DONE, message="The report is built.")
    expect(page.get_by_role("heading", name="Files")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    assert page.evaluate("window.stays"), "the page was not loaded again"
    assert_accessible(page)
    button = page.locator("[data-copy=report-methods]")
    button.click()
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert [line for line in copied.splitlines() if line.strip()] == [*SUMMARY["methods"], *SUMMARY["references"]]
    page.locator("[data-copy=report-methods-short]").click()
    expect(page.locator("[data-copy=report-methods-short]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").strip() == SUMMARY["methods_short"]
    with page.expect_download() as download:
        page.get_by_role("link", name="report.zip").click()
    assert download.value.suggested_filename == f"grief-report-{report.pk}-report.zip"


def test_without_script_a_report_is_read_all_the_same(open_page, rosa, grief):
    rate(grief)
    report = keep_report(grief, rosa)
    page = open_page(rosa, java_script_enabled=False)
    page.goto(f"/studies/grief/reports/{report.pk}/")
    expect(page.get_by_text("Kappa was computed [1].")).to_be_visible()
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
