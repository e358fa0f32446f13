import pytest
from django.urls import reverse

from apps.accounts.services.keys import create_key


def test_what_a_signed_in_person_sees_is_not_stored(sign_in, rosa):
    answer = sign_in(rosa).get(reverse("dashboard:home"))
    assert "no-store" in answer["Cache-Control"]
    assert "private" in answer["Cache-Control"]


def test_what_a_key_opens_is_not_stored(client, rosa):
    _key, secret = create_key(user=rosa, name="notebook")
    answer = client.get(reverse("api-studies"), headers={"authorization": f"Token {secret}"})
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


def test_what_everybody_sees_may_be(client, db):
    assert "no-store" not in client.get(reverse("dashboard:home")).get("Cache-Control", "")


def test_health_stays_without_a_query(sign_in, rosa, django_assert_num_queries):
    client = sign_in(rosa)
    with django_assert_num_queries(0):
        assert client.get("/healthz").status_code == 200


# --- Signed out while a page asks for its pieces ----------------------------------------------------------------------

PIECE = {"HX-Request": "true", "HX-Current-URL": "http://testserver/studies/grief/llm/?page=2"}


def redirected(client, headers, method="get"):
    return getattr(client, method)(reverse("llm:home", args=["grief"]), headers=headers)


def test_the_whole_page_goes_to_sign_in_and_back_to_itself(client, grief):
    answer = redirected(client, PIECE)
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer["HX-Redirect"] == "/accounts/sign-in/?next=/studies/grief/llm/%3Fpage%3D2"
    assert "no-store" in answer["Cache-Control"]


def test_behind_a_proxy_that_ends_tls_it_is_the_same_page(client, grief):
    answer = redirected(client, {**PIECE, "HX-Current-URL": "https://testserver/studies/"})
    assert answer["HX-Redirect"] == "/accounts/sign-in/?next=/studies/"


@pytest.mark.parametrize(
    "page", ["http://elsewhere.example/studies/grief/llm/", "http://[", "javascript:planted()", None]
)
def test_a_page_of_another_host_is_not_led_back_to(client, grief, page):
    headers = {name: value for name, value in {**PIECE, "HX-Current-URL": page}.items() if value is not None}
    assert redirected(client, headers)["HX-Redirect"] == "/accounts/sign-in/"


def test_a_form_that_is_looked_at_is_led_to_sign_in_too(client, grief):
    answer = client.post(reverse("llm:prompt-preview", args=["grief"]), headers=PIECE)
    assert answer["HX-Redirect"].startswith("/accounts/sign-in/?next=/studies/grief/llm/")


def test_a_page_asked_for_whole_is_redirected_as_ever(client, grief):
    answer = redirected(client, {})
    assert (answer.status_code, answer.url) == (302, "/accounts/sign-in/?next=/studies/grief/llm/")
    assert "HX-Redirect" not in answer


def test_who_is_signed_in_gets_the_piece(sign_in, rosa, grief):
    answer = redirected(sign_in(rosa), PIECE)
    assert answer.status_code == 200
    assert "HX-Redirect" not in answer
    assert b'id="runs"' in answer.content
