"""Passwords changed by hand and set again by mail."""

import re

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.conftest import PASSWORD

NEW = "a different battery staple"
RESET = "/accounts/password/reset/"


def ask(client: Client, email: str):
    return client.post(RESET, {"email": email})


def link_of(message: mail.EmailMessage) -> str:
    found = re.search(r"https?://\S+", str(message.body))
    assert found is not None
    return found.group()


def open_link(client: Client, url: str):
    path = url.removeprefix(settings.BASE_URL)
    return client.get(path, follow=True)


class TestChange:
    CHANGE = "/accounts/password/"

    def change(self, client: Client, old: str = PASSWORD, new: str = NEW):
        fields = {"old_password": old, "new_password1": new, "new_password2": new}
        return client.post(self.CHANGE, fields)

    def test_the_new_one_holds_and_the_person_stays_signed_in(self, sign_in, rosa):
        client = sign_in(rosa)
        assert self.change(client)["Location"] == "/accounts/profile/"
        assert client.get("/accounts/profile/").status_code == 200
        rosa.refresh_from_db()
        assert rosa.check_password(NEW)

    def test_other_devices_are_signed_out(self, sign_in, rosa):
        here, elsewhere = sign_in(rosa), sign_in(rosa)
        self.change(here)
        assert elsewhere.get("/accounts/profile/").status_code == 302

    def test_the_old_one_is_asked_for(self, sign_in, rosa):
        assert self.change(sign_in(rosa), old="wrong").status_code == 200
        rosa.refresh_from_db()
        assert rosa.check_password(PASSWORD)

    @pytest.mark.parametrize("weak", ["short", "password1234", "rosa@example.org"])
    def test_weak_ones_are_refused(self, sign_in, rosa, weak):
        assert self.change(sign_in(rosa), new=weak).status_code == 200
        rosa.refresh_from_db()
        assert rosa.check_password(PASSWORD)

    def test_nobody_signed_in_is_sent_to_sign_in(self, client, db):
        assert client.get(self.CHANGE)["Location"].startswith("/accounts/sign-in/")


class TestReset:
    def test_known_and_unknown_addresses_get_the_same_answer(self, client, rosa):
        known, unknown = ask(client, "Rosa@example.org"), ask(client, "nobody@example.org")
        assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])
        assert [message.to for message in mail.outbox] == [["rosa@example.org"]]

    def test_a_deactivated_person_gets_no_mail(self, client, rosa):
        User.objects.filter(pk=rosa.pk).update(is_active=False)
        ask(client, rosa.email)
        assert mail.outbox == []

    def test_the_link_is_of_this_site_whatever_the_host_header_says(self, client, rosa):
        client.post(RESET, {"email": rosa.email}, headers={"host": "evil.example"})
        assert link_of(mail.outbox[0]).startswith(settings.BASE_URL + "/accounts/")
        assert "evil.example" not in str(mail.outbox[0].body)

    def test_the_name_is_not_escaped_in_plain_text(self, client, rosa):
        User.objects.filter(pk=rosa.pk).update(name="Rosa O'Neil")
        ask(client, rosa.email)
        assert "Hello Rosa O'Neil," in str(mail.outbox[0].body)

    def test_the_link_sets_a_new_password_once(self, client, rosa):
        ask(client, rosa.email)
        url = link_of(mail.outbox[0])
        page = open_link(client, url)
        assert "Set a new password" in page.text
        done = client.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW}, follow=True)
        assert "Your password is set" in done.text
        rosa.refresh_from_db()
        assert rosa.check_password(NEW)
        assert "This link no longer works" in open_link(Client(), url).text

    def test_a_weak_password_is_refused(self, client, rosa):
        ask(client, rosa.email)
        page = open_link(client, link_of(mail.outbox[0]))
        refused = client.post(page.request["PATH_INFO"], {"new_password1": "short", "new_password2": "short"})
        assert "too short" in refused.text
        rosa.refresh_from_db()
        assert rosa.check_password(PASSWORD)

    @pytest.mark.parametrize("path", ["MQ/abc-123/", "not-base64/abc-123/", "MQ/set-password/"])
    def test_a_made_up_link_is_refused(self, client, rosa, path):
        assert "This link no longer works" in client.get(RESET + path, follow=True).text

    def test_a_link_ends_when_the_password_changes_meanwhile(self, client, rosa):
        ask(client, rosa.email)
        rosa.set_password(NEW)
        rosa.save()
        assert "This link no longer works" in open_link(client, link_of(mail.outbox[0])).text

    def test_it_opens_a_locked_sign_in(self, client, rosa):
        sign_in = "/accounts/sign-in/"
        for _ in range(5):
            locked = client.post(sign_in, {"username": rosa.email, "password": "wrong"})
        assert locked.status_code == 429
        ask(client, rosa.email)
        page = open_link(client, link_of(mail.outbox[0]))
        client.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
        assert client.post(sign_in, {"username": rosa.email, "password": NEW}).status_code == 302


def test_the_address_has_one_name_on_every_form(client, db):
    for name in ("accounts:sign-in", "accounts:password-reset"):
        assert ">E-mail address<" in client.get(reverse(name)).text
