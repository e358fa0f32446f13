"""Reading frameworks: each page works, asks who it is, refuses other methods, knows no foreign address."""

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.frameworks.framework_file import parse_framework, read_framework
from apps.frameworks.services.freezing import freeze_frameworks
from apps.frameworks.services.loading import load_framework
from tests.frameworks.specs import SMALL, changed

pytestmark = pytest.mark.django_db

SPEC = parse_framework(SMALL)
PAGES = [
    reverse("frameworks:list"),
    reverse("frameworks:detail", args=["calm-scales"]),
    reverse("frameworks:version", args=["calm-scales", 1]),
    reverse("frameworks:yaml", args=["calm-scales", 1]),
]


@pytest.mark.parametrize("page", PAGES)
def test_every_signed_in_person_may_read(page, calm, client):
    assert client.get(page).status_code == 200


@pytest.mark.parametrize("page", PAGES)
def test_who_is_not_signed_in_is_sent_to_sign_in(page, calm, sign_in):
    response = sign_in(None).get(page)
    assert response.status_code == 302
    assert response["Location"] == f"{reverse('accounts:sign-in')}?next={page}"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nothing_can_be_changed_here(page, method, calm, client):
    assert getattr(client, method)(page).status_code == 405


@pytest.mark.parametrize(
    "page",
    [
        reverse("frameworks:detail", args=["no-such-scales"]),
        reverse("frameworks:version", args=["no-such-scales", 1]),
        reverse("frameworks:version", args=["calm-scales", 2]),
        reverse("frameworks:version", args=["calm-scales", 10**30]),
        reverse("frameworks:yaml", args=["calm-scales", 2]),
    ],
)
def test_a_framework_or_version_that_is_not_there_is_404(page, calm, client):
    assert client.get(page).status_code == 404


def test_the_empty_list_teaches_the_command(client):
    assert "python manage.py load_frameworks" in client.get(reverse("frameworks:list")).content.decode()


def test_the_list_shows_the_newest_version_of_each_framework_once(calm, client):
    freeze_frameworks(framework_ids=[calm.pk])
    load_framework(spec=replace(SPEC, name="Calmer scales"))
    page = client.get(reverse("frameworks:list"))
    assert [(framework.name, framework.version) for framework in page.context["page_obj"]] == [("Calmer scales", 2)]
    assert "Calm scales" not in page.content.decode()


def test_a_long_list_comes_in_pages_in_the_order_of_names(client):
    for number in range(30):
        load_framework(spec=replace(SPEC, slug=f"scales-{number}", name=f"Scales {number:02d}"))
    first = client.get(reverse("frameworks:list"))
    second = client.get(reverse("frameworks:list"), {"page": 2})
    names = [framework.name for page in (first, second) for framework in page.context["page_obj"]]
    assert names == [f"Scales {number:02d}" for number in range(30)]
    assert 'href="?page=2"' in first.content.decode()
    assert client.get(reverse("frameworks:list"), {"page": "x"}).status_code == 200


def test_a_framework_shows_all_that_it_says(calm, client):
    html = client.get(reverse("frameworks:detail", args=["calm-scales"])).content.decode()
    for said in [
        '<h1 lang="en">Calm scales</h1>',
        "Made up for the tests",
        'href="https://example.org/calm"',
        "Think of the whole conversation.",
        "How calm is the supporter?",
        "Count the tone. Leave out the content.",
        '<li><span class="scale__value">1</span> <span>Not at all</span></li>',
        '<li><span class="scale__value">2</span></li>',
        '<li><span class="scale__value">3</span> <span>Very</span></li>',
        "Hurry up!",
        "We have time.",
        "more is better",
        "nominal",
        "not rated with yet",
        reverse("frameworks:yaml", args=["calm-scales", 1]),
    ]:
        assert said in html
    assert "Other versions" not in html


def test_a_frozen_older_version_says_so_and_leads_to_the_newest(calm, client):
    freeze_frameworks(framework_ids=[calm.pk])
    load_framework(spec=replace(SPEC, name="Calmer scales"))
    old = client.get(reverse("frameworks:version", args=["calm-scales", 1])).content.decode()
    newest = client.get(reverse("frameworks:detail", args=["calm-scales"])).content.decode()
    assert "Calm scales" in old
    assert "frozen on" in old
    assert f'href="{reverse("frameworks:version", args=["calm-scales", 2])}"' in old
    assert "Calmer scales" in newest
    assert f'href="{reverse("frameworks:version", args=["calm-scales", 1])}"' in newest


def test_points_between_whole_numbers_are_shown_in_full(client):
    load_framework(spec=parse_framework(changed("{value: 2}", "{value: 1.25}")))
    html = client.get(reverse("frameworks:detail", args=["calm-scales"])).content.decode()
    assert '<span class="scale__value">1.25</span>' in html


def test_markup_in_any_text_of_a_framework_is_shown_as_text(client):
    """CASES 35."""
    attack = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    (dimension, kind) = SPEC.dimensions
    point = replace(kind.points[0], label=attack)
    load_framework(
        spec=replace(
            SPEC,
            name=attack,
            citation=attack,
            description=attack,
            stem=attack,
            url='https://example.org/"><script>alert(1)</script>',
            dimensions=(
                replace(
                    dimension,
                    label=attack,
                    question=attack,
                    guideline=attack,
                    example_low=attack,
                    example_middle=attack,
                    example_high=attack,
                    source=attack,
                ),
                replace(kind, points=(point, kind.points[1])),
            ),
        )
    )
    for address in PAGES[:3]:
        html = client.get(address).content.decode()
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "&lt;script&gt;alert(1)" in html


def test_the_file_can_be_loaded_again_and_says_the_same(calm, client):
    response = client.get(reverse("frameworks:yaml", args=["calm-scales", 1]))
    assert response["Content-Type"] == "application/yaml; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="calm-scales-v1.yaml"'
    assert read_framework(response.content) == SPEC


def test_the_number_of_queries_does_not_grow_with_frameworks_versions_or_scales(client):
    def load(number: int, dimensions: int) -> None:
        scales = tuple(replace(SPEC.dimensions[0], slug=f"scale-{index}") for index in range(dimensions))
        loaded = load_framework(spec=replace(SPEC, name=f"Scales {number}", dimensions=scales))
        load_framework(spec=replace(SPEC, slug=f"scales-{number}"))
        freeze_frameworks(framework_ids=[loaded.framework.pk])

    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    load(1, dimensions=1)
    few = [queries(address) for address in PAGES]
    for number in range(2, 8):
        load(number, dimensions=number)
    assert [queries(address) for address in PAGES] == few
