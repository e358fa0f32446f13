"""An admin lets somebody in who has no study yet."""

import pytest
from django.test import Client

from apps.accounts.models import Role, User
from apps.common.models import AuditEntry
from tests.conftest import PASSWORD

NEW = "/accounts/users/new/"
FIELDS = {"email": "Nina@example.org", "name": "Nina", "role": "researcher"}
CHOSEN = "a long walk home"


def set_password(link: str) -> Client:
    client = Client()
    page = client.get(link, follow=True)
    client.post(page.request["PATH_INFO"], {"new_password1": CHOSEN, "new_password2": CHOSEN})
    return client


def test_the_person_sets_the_password_by_the_link_and_signs_in(sign_in, ada):
    page = sign_in(ada).post(NEW, FIELDS)
    assert page.status_code == 201
    assert "no-store" in page["Cache-Control"]
    nina = User.objects.get(email="nina@example.org")
    assert (nina.name, nina.role, nina.has_usable_password()) == ("Nina", Role.RESEARCHER, False)
    set_password(page.context["address"])
    client = Client()
    client.post("/accounts/sign-in/", {"username": nina.email, "password": CHOSEN})
    assert client.get("/accounts/profile/").status_code == 200
    assert "This link no longer works" in Client().get(page.context["address"], follow=True).text


def test_it_is_remembered_without_the_link(sign_in, ada):
    page = sign_in(ada).post(NEW, FIELDS)
    entries = AuditEntry.objects.filter(subject="nina@example.org")
    assert [entry.action for entry in entries] == ["user.password-link", "user.create"]
    assert page.context["address"].split("/")[-2] not in str([entry.details for entry in entries])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"email": "ADA@example.org"}, "already registered"),
        ({"email": "nonsense"}, "valid email address"),
        ({"role": "king"}, "not one of the available choices"),
        ({"name": "x" * 151}, "at most 150 characters"),
    ],
)
def test_what_cannot_be_is_said_and_nobody_is_stored(sign_in, ada, fields, words):
    page = sign_in(ada).post(NEW, FIELDS | fields)
    assert page.status_code == 422
    assert words in page.text
    assert User.objects.count() == 1


def test_somebody_who_lost_the_password_gets_a_link_too(sign_in, ada, rosa):
    page = sign_in(ada).post(f"/accounts/users/{rosa.pk}/password-link/")
    rosa.refresh_from_db()
    assert rosa.check_password(PASSWORD)  # until the link is used
    set_password(page.context["address"])
    rosa.refresh_from_db()
    assert rosa.check_password(CHOSEN)


def test_a_deactivated_person_gets_none(sign_in, ada, rosa):
    User.objects.filter(pk=rosa.pk).update(is_active=False)
    assert sign_in(ada).post(f"/accounts/users/{rosa.pk}/password-link/").status_code == 404


@pytest.mark.parametrize("person", [None, "rosa", "emil"])
def test_only_admins_let_people_in(sign_in, request, ada, person):
    client = sign_in(request.getfixturevalue(person) if person else None)
    status = 403 if person else 302
    assert client.get(NEW).status_code == status
    assert client.post(NEW, FIELDS).status_code == status
    page = client.post(f"/accounts/users/{ada.pk}/password-link/")
    assert page.status_code == status
    assert not User.objects.filter(email="nina@example.org").exists()
    assert not AuditEntry.objects.filter(action="user.password-link").exists()


def test_a_link_is_made_by_post_only_and_for_somebody(sign_in, ada):
    assert sign_in(ada).get(f"/accounts/users/{ada.pk}/password-link/").status_code == 405
    assert sign_in(ada).post("/accounts/users/99999/password-link/").status_code == 404
    assert "Add a person" in sign_in(ada).get(NEW).text
