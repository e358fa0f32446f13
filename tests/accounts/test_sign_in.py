"""Signing in and out: who gets in, who is told what, and after how many attempts the door is shut."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import hashers
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.conftest import PASSWORD

SIGN_IN = "/accounts/sign-in/"
REFUSAL = "This e-mail address and password do not belong together."


def attempt(client: Client, email: str = "rosa@example.org", password: str = PASSWORD, **fields: str):
    return client.post(SIGN_IN, {"username": email, "password": password, **fields})


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_the_right_password_opens_the_front_page(client, rosa):
    response = attempt(client)
    assert response.status_code == 302
    assert response["Location"] == "/"
    assert is_signed_in(client)


@pytest.mark.parametrize("spelling", ["Rosa@Example.ORG", "  rosa@example.org "])
def test_the_address_counts_in_any_case(client, rosa, spelling):
    attempt(client, spelling)
    assert is_signed_in(client)


@pytest.mark.parametrize("email", ["rosa@example.org", "nobody@example.org", "no address at all"])
def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(client, rosa, email):
    response = attempt(client, email, "wrong")
    assert response.status_code == 200
    assert REFUSAL in response.text
    assert not is_signed_in(client)


def test_a_deactivated_person_gets_the_answer_of_a_wrong_password(client, rosa):
    User.objects.filter(pk=rosa.pk).update(is_active=False)
    response = attempt(client)
    assert REFUSAL in response.text
    assert not is_signed_in(client)


@pytest.mark.parametrize("email", ["rosa@example.org", "nobody@example.org"])
def test_an_unknown_address_costs_a_hash_as_a_known_one_does(client, rosa, email, monkeypatch):
    """Else the time of the answer would tell which addresses exist."""
    hashed = []
    hasher = type(hashers.get_hasher())
    encode = hasher.encode
    monkeypatch.setattr(hasher, "encode", lambda self, *args, **kw: hashed.append(args) or encode(self, *args, **kw))
    attempt(client, email, "wrong")
    assert len(hashed) == 1


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_next_never_leads_to_another_site(client, rosa, target):
    response = attempt(client, next=target)
    assert response["Location"] == "/"


def test_next_leads_to_the_page_that_was_asked_for(client, rosa):
    asked = client.get(reverse("accounts:keys"))
    assert asked["Location"] == f"{SIGN_IN}?next=/accounts/keys/"
    assert attempt(client, next="/accounts/keys/")["Location"] == "/accounts/keys/"


def test_who_is_signed_in_already_goes_on(sign_in, rosa):
    assert sign_in(rosa).get(SIGN_IN)["Location"] == "/"


def test_a_script_in_the_address_is_shown_as_text(client, db):
    """CASES 35."""
    response = attempt(client, '"><script>alert(1)</script>', "wrong")
    assert "<script>alert(1)" not in response.text
    assert "&lt;script&gt;alert(1)" in response.text


def test_the_form_needs_its_token(rosa):
    client = Client(enforce_csrf_checks=True)
    response = attempt(client)
    assert response.status_code == 403
    assert "This form is no longer valid" in response.text


class TestLock:
    def fail(self, client: Client, times: int, email: str = "rosa@example.org"):
        for _ in range(times):
            response = attempt(client, email, "wrong")
        return response

    def test_five_failures_lock_even_the_right_password(self, client, rosa):
        assert self.fail(client, 4).status_code == 200
        locked = self.fail(client, 1)
        assert locked.status_code == 429
        assert "Too many attempts" in locked.text
        assert "15 minutes" in locked.text
        assert attempt(client).status_code == 429
        assert not is_signed_in(client)

    def test_the_minutes_named_are_those_of_the_settings(self):
        assert timedelta(minutes=15) == settings.AXES_COOLOFF_TIME

    def test_other_spellings_of_the_address_are_not_counted_apart(self, client, rosa):
        for email in ["rosa@example.org", "Rosa@example.org", "ROSA@example.org", "rosa@EXAMPLE.org"]:
            attempt(client, email, "wrong")
        assert attempt(client, "rOsA@example.org", "wrong").status_code == 429

    def test_a_stranger_elsewhere_cannot_lock_somebody_out(self, client, rosa):
        stranger = Client(REMOTE_ADDR="198.51.100.7")
        assert self.fail(stranger, 5).status_code == 429
        attempt(client)
        assert is_signed_in(client)

    def test_success_forgets_the_failures_before_it(self, client, rosa):
        self.fail(client, 4)
        attempt(client)
        client.post("/accounts/sign-out/")
        assert self.fail(client, 4).status_code == 200

    def test_the_lock_ends_by_itself(self, client, rosa):
        self.fail(client, 5)
        for row in AccessAttempt.objects.all():
            row.attempt_time -= timedelta(minutes=16)
            row.save()
        attempt(client)
        assert is_signed_in(client)


@pytest.mark.parametrize("asked", ["/accounts/sign-in/", "/accounts/sign-in/?next=/accounts/sign-in/"])
def test_a_next_that_is_this_page_leads_home(client, sign_in, rosa, asked):
    assert sign_in(rosa).get(SIGN_IN, {"next": asked})["Location"] == "/"
    assert client.post(SIGN_IN, {"username": rosa.email, "password": PASSWORD, "next": asked})["Location"] == "/"


class TestSignOut:
    def test_it_ends_the_session(self, sign_in, rosa):
        client = sign_in(rosa)
        assert client.post("/accounts/sign-out/")["Location"] == SIGN_IN
        assert not is_signed_in(client)

    def test_a_link_cannot_do_it(self, sign_in, rosa):
        client = sign_in(rosa)
        assert client.get("/accounts/sign-out/").status_code == 405
        assert is_signed_in(client)

    def test_next_never_leads_to_another_site(self, sign_in, rosa):
        response = sign_in(rosa).post("/accounts/sign-out/", {"next": "https://evil.example/"})
        assert "evil.example" not in response["Location"]
