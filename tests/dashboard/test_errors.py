"""Pages of what went wrong."""

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client, override_settings
from django.urls import path
from django.views.defaults import server_error

from config.urls import urlpatterns as site


def broken(request):
    raise RuntimeError("something internal")


def forbidden(request):
    raise PermissionDenied("something internal")


urlpatterns = [*site, path("broken/", broken), path("forbidden/", forbidden)]


@pytest.mark.parametrize("person", [None, "rosa"])
def test_an_unknown_address_is_a_page_of_the_site(person, sign_in, request, db):
    client = sign_in(request.getfixturevalue(person) if person else None)
    page = client.get("/no/such/page/")
    assert page.status_code == 404
    assert "There is no such page" in page.text
    assert 'href="/"' in page.text


@override_settings(ROOT_URLCONF=__name__)
def test_a_refusal_is_a_page_of_the_site_and_tells_nothing_internal(sign_in, rosa):
    page = sign_in(rosa).get("/forbidden/")
    assert page.status_code == 403
    assert "You may not open this page" in page.text
    assert "something internal" not in page.text


@override_settings(ROOT_URLCONF=__name__)
def test_a_fault_of_ours_is_owned_and_tells_nothing_internal(db):
    page = Client(raise_request_exception=False).get("/broken/")
    assert page.status_code == 500
    assert "Something went wrong" in page.text
    assert "something internal" not in page.text


def test_the_page_of_a_fault_needs_no_database(rf):
    """No `db` fixture: a query would fail the test."""
    assert "Something went wrong" in server_error(rf.get("/")).content.decode()


def test_a_form_without_its_token_is_explained(db):
    page = Client(enforce_csrf_checks=True).post("/accounts/sign-in/", {})
    assert page.status_code == 403
    assert "This form is no longer valid" in page.text
    assert "CSRF" not in page.text
