"""A researcher makes a study, lays out a block, and opens it to raters, all in the browser."""

import re

from playwright.sync_api import expect

from apps.studies.models import Study
from tests.browser.conftest import assert_accessible
from tests.common.test_slugs import NAMES
from tests.conftest import make_dataset, make_framework


def test_from_nothing_to_an_active_study(open_page, rosa):
    first, second = make_framework("warmth"), make_framework("clarity")
    notes = make_dataset("notes", conversations=8, owner=rosa)
    for number, conversation in enumerate(notes.conversations.all()):
        conversation.metadata = {"topic": "grief" if number < 5 else "work"}
        conversation.save()
    page = open_page(rosa)

    page.goto("/studies/")
    page.get_by_role("link", name="New study").click()
    for name, slug in NAMES.items():
        page.get_by_label("Title").fill(name)
        expect(page.get_by_label("Short name")).to_have_attribute("placeholder", slug)
    page.get_by_label("Title").fill("Night & Day 2026")
    expect(page.get_by_label("Short name")).to_have_attribute("placeholder", "night-day-2026")
    page.get_by_role("button", name="Make the study").click()
    expect(page.get_by_role("heading", name="Before raters can begin")).to_be_visible()

    page.get_by_role("link", name="Add a block").first.click()
    page.get_by_role("link", name="Notes").click()
    page.get_by_label("Title").fill("Night notes")
    page.get_by_label(str(first)).check()
    page.get_by_label(str(second)).check()
    page.get_by_label("Place of Warmth").fill("2")
    page.get_by_label("Place of Clarity").fill("1")
    # A number is asked for only where it applies.
    expect(page.get_by_label("Raters for each item: Crowd")).to_be_hidden()
    page.get_by_label("Crowd", exact=True).select_option("share the items")
    expect(page.get_by_label("Raters for each item: Crowd")).to_be_focused()
    page.get_by_label("Raters for each item: Crowd").fill("3")
    expect(page.locator("#taken")).to_contain_text("8 conversations are taken")
    page.locator("summary", has_text="topic").click()
    page.get_by_label("grief (5)").check()
    # Counted again by itself, without saving anything.
    expect(page.locator("#taken")).to_contain_text("5 conversations are taken: 5 of 8 fit.")
    expect(page.get_by_label("Size of the sample")).to_be_hidden()
    page.get_by_label("A sample of them").check()
    page.get_by_label("Size of the sample").fill("2")
    page.get_by_label("Size of the sample").blur()
    expect(page.locator("#taken")).to_contain_text("2 conversations are taken: 5 of 8 fit.")
    assert_accessible(page)
    page.get_by_role("button", name="Add the block").click()
    expect(page.get_by_text("Block added: 2 conversations.")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Night notes"))).to_contain_text("Crowd: 3, Expert: every rater")

    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Instructions").fill("# Look\nRead **all** of it.")
    page.get_by_role("button", name="Look at the instructions").click()
    expect(page.locator("#preview strong")).to_have_text("all")
    page.get_by_role("button", name="Save texts").click()
    expect(page.get_by_text("Saved.")).to_be_in_viewport()

    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="Activate").first.click()
    expect(page.get_by_text("Its datasets are frozen")).to_be_visible()
    page.get_by_role("button", name="Activate").click()
    expect(page.get_by_text("its raters can begin")).to_be_visible()

    study = Study.objects.get(slug="night-day-2026")
    block = study.blocks.get()
    assert study.status == "active"
    assert study.instructions.replace("\r\n", "\n") == "# Look\nRead **all** of it."
    assert (block.slug, block.items.count(), block.metadata_filter) == ("night-notes", 2, {"meta.topic": ["grief"]})
    assert [row.framework for row in block.block_frameworks.all()] == [second, first]


def test_without_scripts_a_block_is_laid_out_too(open_page, rosa, grief, framework):
    grief.status = "draft"
    grief.save()
    make_dataset("notes", conversations=4, owner=rosa)
    page = open_page(rosa, java_script_enabled=False)
    page.goto("/studies/grief/blocks/new/")
    page.get_by_role("link", name="Notes").click()
    page.get_by_label(str(framework)).check()
    page.get_by_label("A sample of them").check()
    page.get_by_label("Size of the sample").fill("3")
    page.get_by_role("button", name="Count again").click()
    expect(page.locator("#taken")).to_contain_text("3 conversations are taken: 4 of 4 fit.")
    page.get_by_role("button", name="Add the block").click()
    expect(page.get_by_role("row", name=re.compile("Notes")).first).to_be_visible()
    assert grief.blocks.get(slug="notes").items.count() == 3
