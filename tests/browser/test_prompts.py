"""A prompt is written in Chromium: examples drawn and looked through, previewed unsaved, saved, changed, compared."""

import pytest
from playwright.sync_api import expect

from apps.llm.models import Endpoint, PromptVersion
from tests.browser.conftest import PHONE, assert_accessible, scrolls_sideways
from tests.llm.test_prompting import rate


@pytest.fixture
def rated(grief, framework):
    for dimension in framework.dimensions.all():
        rate(grief, dimension, [1, 3, 5])
    return grief


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_from_the_default_prompt_to_two_versions_and_what_changed(open_page, rosa, rated, scripts):
    Endpoint.objects.create(name="narrow", model="small", context_tokens=600, reply_tokens=500)
    page = open_page(rosa, java_script_enabled=scripts)
    page.goto(f"/studies/{rated.slug}/llm/")
    page.get_by_role("link", name="New prompt").click()
    page.get_by_role("link", name="One scale").click()
    page.get_by_label("Name").fill("Careful")
    page.get_by_role("button", name="Draw by lot and look through them").click()
    expect(page.get_by_text("3 conversations are left out")).to_be_visible()
    expect(page.get_by_label("Low", exact=True).first).to_contain_text("1 · letters-001 (main)")
    page.get_by_label("High", exact=True).last.select_option(label="no example")
    page.get_by_label("Endpoint").select_option(label="narrow")
    page.get_by_role("button", name="Preview").click()
    result = page.locator("#preview")
    expect(result.get_by_role("heading", name="User message")).to_be_visible()
    expect(result).to_contain_text("does not fit")
    expect(result).to_contain_text("I lost letter 1.")
    expect(page.get_by_label("Name")).to_have_value("Careful")
    if scripts:
        assert_accessible(page)
    assert not PromptVersion.objects.exists()

    page.get_by_role("button", name="Save the first version").click()
    expect(page.get_by_text("Careful v1 is saved.")).to_be_visible()
    assert PromptVersion.objects.get().examples.count() == 5
    page.get_by_role("link", name="New version from this one").click()
    page.get_by_label("What changed").fill("One sentence more")
    area = page.get_by_label("System message")
    area.fill(area.input_value() + "Take your time.")
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.get_by_text("Careful v2 is saved.")).to_be_visible()
    page.get_by_role("link", name="What changed since version 1").click()
    expect(page.locator(".diff__line--added")).to_contain_text("Take your time.")
    if scripts:
        assert_accessible(page)


def test_faults_are_shown_beside_the_texts_on_a_phone(open_page, rosa, rated, watch):
    watch.expected.append("422 (Unprocessable Entity)")
    page = open_page(rosa, viewport=PHONE, color_scheme="dark")
    page.goto(f"/studies/{rated.slug}/llm/prompts/new/?use=framework")
    page.get_by_label("User message").fill("{{conversation}} {{colour}}")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("User message: {{scales}} is missing.")
    page.get_by_role("button", name="Draw by lot and look through them").click()
    page.get_by_role("button", name="Save the first version").click()
    expect(page.get_by_role("alert")).to_contain_text("Unknown placeholders: {{colour}}.")
    assert_accessible(page)
    assert not scrolls_sideways(page)
    assert not PromptVersion.objects.exists()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_conversation_that_is_not_offered_is_found_and_enter_saves_nothing(
    open_page, rosa, rated, scripts, monkeypatch
):
    monkeypatch.setattr("apps.llm.forms.prompt_preview.MOST_ITEMS", 2)
    page = open_page(rosa, java_script_enabled=scripts)
    page.goto(f"/studies/{rated.slug}/llm/prompts/new/?use=scale")
    conversation = page.get_by_label("Conversation", exact=True)
    expect(conversation.get_by_role("option")).to_have_count(2)
    page.get_by_label("Find").fill("RS-003")
    page.get_by_label("Find").press("Enter")
    if not scripts:
        page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("I lost letter 3.")
    expect(conversation).to_contain_text("letters-003")
    expect(conversation.get_by_role("option")).to_have_count(1)
    if scripts:
        expect(page.get_by_label("Find")).to_have_value("RS-003")
        assert_accessible(page)
    assert not PromptVersion.objects.exists()
