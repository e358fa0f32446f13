"""Requests signed with `Authorization: Token KEY`."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from apps.accounts.models import ApiKey, User
from apps.accounts.services.keys import create_key, revoke_key
from apps.accounts.services.users import deactivate_user


class WhoAmI(APIView):
    """Guarded as every endpoint is, by the settings' defaults."""

    def get(self, request: Request) -> Response:
        return Response({"email": request.user.email})


def ask(header: str | bytes | None) -> Response:
    request = APIRequestFactory().get("/", **({} if header is None else {"HTTP_AUTHORIZATION": header}))
    return WhoAmI.as_view()(request)


@pytest.fixture
def key(rosa: User) -> tuple[ApiKey, str]:
    return create_key(user=rosa, name="notebook")


@pytest.mark.parametrize("keyword", ["Token", "token", "TOKEN"])
def test_a_key_signs_for_its_person(key, rosa, keyword):
    answer = ask(f"{keyword} {key[1]}")
    assert (answer.status_code, answer.data) == (200, {"email": rosa.email})


def test_a_revoked_key_is_refused(key, rosa):
    revoke_key(key=key[0], actor=rosa)
    assert ask(f"Token {key[1]}").status_code == 401


def test_a_deactivated_persons_key_is_refused(key, rosa, ada):
    deactivate_user(user=rosa, actor=ada)
    assert ask(f"Token {key[1]}").status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Token",
        "Token ",
        "Token a b",
        "Token nonsense",
        "Bearer {key}",
        "Basic cm9zYTpwYXNzd29yZA==",
        "{key}",
        "Token {key} {key}",
        "Token {prefix}",
        "Token {digest}",
        b"Token \xff\xfe\x00",
        "Token " + "x" * 10_000,
    ],
)
def test_any_other_header_is_refused_and_told_how_to_sign(key, header):
    if isinstance(header, str):
        header = header.format(key=key[1], prefix=key[0].prefix, digest=key[0].digest)
    answer = ask(header)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Token"


def test_use_is_noted_to_the_minute_not_at_every_request(key, django_assert_num_queries: DjangoAssertNumQueries):
    row, secret = key
    with django_assert_num_queries(2):  # the key with its person; the note
        ask(f"Token {secret}")
    row.refresh_from_db()
    first = row.last_used_at
    assert first is not None
    with django_assert_num_queries(1):
        ask(f"Token {secret}")
    ApiKey.objects.filter(pk=row.pk).update(last_used_at=timezone.now() - timedelta(minutes=2))
    with django_assert_num_queries(2):
        ask(f"Token {secret}")
    row.refresh_from_db()
    assert row.last_used_at is not None
    assert row.last_used_at >= first
