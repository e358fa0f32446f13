from dataclasses import replace

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.accounts.models import ApiKey, User
from apps.frameworks.framework_file import parse_framework
from apps.frameworks.services.freezing import freeze_frameworks
from apps.frameworks.services.loading import load_framework
from tests.frameworks.specs import SMALL

pytestmark = pytest.mark.django_db

SPEC = parse_framework(SMALL)
ADDRESSES = [
    "/api/v1/frameworks/",
    "/api/v1/frameworks/calm-scales/",
    "/api/v1/frameworks/calm-scales/1/",
]


def with_key(user: User) -> dict[str, str]:
    key = ApiKey.new_key()
    ApiKey.objects.create(user=user, name="test", prefix=key[:8], digest=ApiKey.digest_of(key))
    return {"HTTP_AUTHORIZATION": f"Token {key}"}


def test_addresses_have_names():
    assert [
        reverse("api-frameworks"),
        reverse("api-framework", args=["calm-scales"]),
        reverse("api-framework-version", args=["calm-scales", 1]),
    ] == ADDRESSES


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_signed_in_person_and_a_program_with_a_key_may_read(address, calm, client, emil):
    assert client.get(address).status_code == 200
    assert Client().get(address, **with_key(emil)).status_code == 200


@pytest.mark.parametrize("address", ADDRESSES)
def test_nobody_else_may(address, calm):
    assert Client().get(address).status_code == 401
    assert Client().get(address, HTTP_AUTHORIZATION="Token wrong").status_code == 401


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nothing_can_be_changed_here(address, method, calm, ada):
    response = getattr(Client(), method)(address, **with_key(ada))
    assert response.status_code == 405


@pytest.mark.parametrize("address", ["no-such-scales/", "calm-scales/2/", f"calm-scales/{10**30}/"])
def test_a_framework_or_version_that_is_not_there_is_404(address, calm, client):
    assert client.get(f"/api/v1/frameworks/{address}").status_code == 404


def test_the_list_holds_the_newest_versions_in_pages(calm, client):
    freeze_frameworks(framework_ids=[calm.pk])
    load_framework(spec=replace(SPEC, name="Calmer scales"))
    load_framework(spec=replace(SPEC, slug="other-scales", name="Other scales"))
    page = client.get("/api/v1/frameworks/", {"page_size": 1}).json()
    assert page["count"] == 2
    assert page["next"].endswith("/api/v1/frameworks/?page=2&page_size=1")
    assert page["results"] == [
        {
            "slug": "calm-scales",
            "version": 2,
            "name": "Calmer scales",
            "description": "",
            "language": "en",
            "is_builtin": False,
            "frozen_at": None,
            "dimension_count": 2,
        }
    ]


def test_a_framework_is_told_with_its_dimensions_and_points_in_order(calm, client):
    framework = client.get("/api/v1/frameworks/calm-scales/").json()
    assert framework == client.get("/api/v1/frameworks/calm-scales/1/").json()
    assert framework["content_hash"] == SPEC.content_hash
    assert framework["stem"] == "Think of the whole conversation."
    calm_scale, kind = framework["dimensions"]
    assert calm_scale == {
        "slug": "calm",
        "label": "Calm",
        "question": "How calm is the supporter?",
        "guideline": "Count the tone. Leave out the content.",
        "level": "ordinal",
        "polarity": "+",
        "minimum": 1.0,
        "maximum": 3.0,
        "points": [
            {"value": 1.0, "label": "Not at all"},
            {"value": 2.0, "label": ""},
            {"value": 3.0, "label": "Very"},
        ],
        "example_low": "Hurry up!",
        "example_middle": "",
        "example_high": "We have time.",
        "source": "",
    }
    assert (kind["level"], kind["polarity"]) == ("nominal", "none")


def test_the_number_of_queries_does_not_grow(calm, client):
    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    few = [queries(address) for address in ADDRESSES]
    scales = tuple(replace(SPEC.dimensions[0], slug=f"scale-{index}") for index in range(9))
    load_framework(spec=replace(SPEC, dimensions=scales))
    for number in range(9):
        load_framework(spec=replace(SPEC, slug=f"scales-{number}"))
    assert [queries(address) for address in ADDRESSES] == few
