"""A framework file goes through Chromium: its problems are shown at their lines, mended, looked at, loaded."""

import pytest
from playwright.sync_api import expect

from apps.frameworks.framework_file import parse_framework
from apps.frameworks.models import Framework
from tests.browser.conftest import PHONE, assert_accessible, scrolls_sideways
from tests.frameworks.specs import SMALL, changed

WRONG = changed("question: How calm is the supporter?", "qestion: How calm is the supporter?")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_file_with_a_fault_is_mended_in_the_page_and_loaded(open_page, rosa, watch, scripts):
    watch.expected.append("422 (Unprocessable Entity)")
    page = open_page(rosa, java_script_enabled=scripts)
    page.goto("/frameworks/")
    page.get_by_role("link", name="Upload a framework").click()
    file = {"name": "calm.yaml", "mimeType": "application/yaml", "buffer": WRONG.encode()}
    page.get_by_label("A file").set_input_files([file])
    page.get_by_role("button", name="Check and show the scales").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("2 things to mend")
    expect(alert).to_contain_text('Line 9, scale "Calm": dimensions[0].qestion is not a field')
    area = page.get_by_label("Or the text itself")
    expect(area).to_have_value(WRONG)
    if scripts:
        page.get_by_role("button", name="Show the line").nth(1).click()
        expect(area).to_be_focused()
        chosen = "(area) => area.value.slice(area.selectionStart, area.selectionEnd)"
        assert area.evaluate(chosen) == "    qestion: How calm is the supporter?"
        assert_accessible(page)
    area.fill(SMALL)
    page.get_by_role("button", name="Check and show the scales").click()
    expect(page.get_by_text("A new framework")).to_be_visible()
    expect(page.get_by_role("heading", name="Calm", exact=True)).to_be_visible()
    if scripts:
        assert_accessible(page)
    assert not Framework.objects.exists()
    page.get_by_role("button", name="Load this framework").click()
    page.wait_for_url("**/frameworks/calm-scales/1/")
    assert Framework.objects.with_scales().get().as_spec() == parse_framework(SMALL)


def test_a_version_is_a_beginning_for_the_next(open_page, rosa, framework):
    page = open_page(rosa, viewport=PHONE)
    page.goto(f"/frameworks/{framework.slug}/")
    page.get_by_role("link", name="Start from this").click()
    area = page.get_by_label("Or the text itself")
    area.fill(area.input_value().replace("label: Scale 2", "label: Tenderness"))
    page.get_by_role("button", name="Check and show the scales").click()
    expect(page.get_by_text("This will become version 2")).to_be_visible()
    assert not scrolls_sideways(page)
    page.get_by_role("button", name="Load this framework").click()
    page.wait_for_url(f"**/frameworks/{framework.slug}/2/")
    expect(page.get_by_role("heading", name="Tenderness")).to_be_visible()
