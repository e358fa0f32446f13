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
