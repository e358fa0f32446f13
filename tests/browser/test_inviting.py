"""From a link to the first item: the owner in one browser, the new person in another."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.studies.models import Invitation, MemberRole, RaterKind
from apps.studies.services.invitations import create_invitations
from tests.browser.conftest import DESKTOP, PHONE, accessibility_faults, scrolls_sideways
from tests.conftest import PASSWORD


@pytest.fixture
def link(grief, rosa) -> str:
    grief.content_warning = "These conversations are about loss."
    grief.save()
    [new] = create_invitations(study=grief, role=MemberRole.RATER, kind=RaterKind.EXPERT, days=14, by=rosa)
    return f"/invite/{new.token}/"


def test_a_new_person_comes_from_the_owners_link_to_the_first_item(open_page, rosa, grief):
    owner = open_page(rosa, permissions=["clipboard-read", "clipboard-write"])
    owner.goto("/studies/grief/people/")
    owner.get_by_role("link", name="Invite people").click()
    owner.get_by_role("button", name="Make links").click()
    owner.get_by_role("button", name="Copy").click()
    expect(owner.get_by_role("button", name="Copied")).to_be_visible()
    link = owner.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"http://[^/]+/invite/[\w-]{43}/", link)

    page = open_page()
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Grief")
    expect(page.get_by_text("Rosa invites you to rate conversations")).to_be_visible()
    page.get_by_label("Name").fill("Nina")
    page.get_by_label("E-mail address").fill("nina@example.org")
    page.get_by_label("Password").fill("a long walk home")
    page.get_by_role("button", name="Make account and join").click()
    expect(page).to_have_url(re.compile("/studies/grief/rate/$"))
    expect(page.get_by_text("Welcome. You take part in “Grief” now.")).to_be_visible()
    assert grief.raters.get(user=User.objects.get(email="nina@example.org")).name == "expert4"
    expect(page.get_by_role("button", name="Start").first).to_be_in_viewport()

    # The same from the front page.
    page.goto("/")
    expect(page.get_by_text("0 of 3 conversations submitted")).to_be_visible()
    page.get_by_role("link", name="Read the instructions and start").click()
    page.get_by_role("button", name="Start").first.click()
    expect(page.get_by_text("I lost letter")).to_be_visible()

    # The owner sees who used it; the link is dead for everybody else.
    owner.goto("/studies/grief/invitations/")
    expect(owner.get_by_text("by Nina")).to_be_visible()


def test_somebody_with_an_account_signs_in_on_the_way_and_accepts(open_page, otto, grief, link):
    page = open_page()
    page.goto(link)
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    expect(page).to_have_url(re.compile(r"/accounts/sign-in/\?next=/invite/$"))
    page.get_by_label("E-mail address").fill(otto.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Accept the invitation").click()
    expect(page.get_by_text("Welcome. You take part in “Grief” now.")).to_be_visible()
    assert grief.raters.filter(user=otto).exists()


def test_it_works_without_script(open_page, otto, grief, link):
    page = open_page(otto, java_script_enabled=False)
    page.goto(link)
    page.get_by_role("button", name="Accept the invitation").click()
    expect(page.get_by_text("Welcome. You take part in “Grief” now.")).to_be_visible()


def test_no_request_after_the_link_carries_its_token(open_page, otto, grief, link):
    """As referrer or otherwise; and the form comes through the check against foreign forms all the same."""
    page = open_page(otto)
    token = link.split("/")[2]
    carried = []
    page.on("request", lambda request: carried.append((request.url, request.all_headers().get("referer", ""))))
    page.goto(link)
    page.get_by_role("link", name="Frameworks").click()
    expect(page).to_have_url(re.compile("/frameworks/$"))
    page.go_back()
    page.get_by_role("button", name="Accept the invitation").click()
    expect(page.get_by_text("Welcome. You take part in “Grief” now.")).to_be_visible()
    assert len(carried) > 5
    assert [referrer for _url, referrer in carried if token in referrer] == []
    assert {url for url, _referrer in carried if token in url} == {page.evaluate("location.origin") + link}


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_the_invited_see_is_accessible_and_fits(open_page, watch, rosa, emil, otto, grief, link, viewport, scheme):
    watch.expected += ["410 (Gone)", "404 (Not Found)", "403 (Forbidden)", "422 (Unprocessable"]
    look = {"viewport": viewport, "color_scheme": scheme, "reduced_motion": "reduce"}
    [foreign] = create_invitations(study=grief, role="researcher", emails=["nina@example.org"], days=14, by=rosa)
    stranger, person, member = open_page(**look), open_page(otto, **look), open_page(emil, **look)

    def check(page, address):
        page.goto(address)
        assert accessibility_faults(page) == []
        assert not scrolls_sideways(page)

    check(stranger, link)
    check(stranger, reverse("invitations:opened"))
    stranger.get_by_label("Name").fill("Nina")
    stranger.get_by_label("E-mail address").fill("nina@example.org")
    stranger.get_by_label("Password").fill("short")
    stranger.get_by_role("button", name="Make account and join").click()
    expect(stranger.get_by_text("too short").first).to_be_visible()
    assert accessibility_faults(stranger) == []
    check(person, link)
    check(member, link)
    check(person, f"/invite/{foreign.token}/")
    check(person, "/invite/made-up/")
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=1))
    check(stranger, link)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_the_links_that_were_made_are_accessible_and_fit(open_page, rosa, ada, grief, viewport):
    page = open_page(rosa, viewport=viewport)
    page.goto("/studies/grief/people/invite/")
    page.get_by_label("For these e-mail addresses").fill("one@example.org\ntwo@example.org")
    page.get_by_role("button", name="Make links").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("2 links, one for each person")
    assert accessibility_faults(page) == []
    assert not scrolls_sideways(page)
    admin = open_page(ada, viewport=viewport)
    admin.goto("/accounts/users/new/")
    admin.get_by_label("E-mail address").fill("nina@example.org")
    admin.get_by_role("button", name="Add, and make a link").click()
    expect(admin.get_by_role("heading", level=1)).to_have_text("A link for the password")
    assert accessibility_faults(admin) == []
    assert not scrolls_sideways(admin)
