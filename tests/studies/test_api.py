"""Studies over REST."""

import pytest
from django.urls import reverse

from apps.annotation.services.recording import Origin, record_rating
from apps.studies.models import Item, Rater

PARTS = ["api-study", "api-study-blocks", "api-study-raters"]


def test_the_list_holds_what_one_works_with(sign_in, rosa, grief, strangers):
    answer = sign_in(rosa).get(reverse("api-studies")).json()
    assert [row["slug"] for row in answer["results"]] == ["grief"]
    [row] = answer["results"]
    assert (row["n_blocks"], row["n_items"], row["n_raters"], row["status"]) == (1, 3, 3, "active")


def test_a_study_its_blocks_and_its_raters(sign_in, rosa, grief, framework):
    record_rating(
        item=Item.objects.filter(block__study=grief).first(),
        rater=grief.raters.get(name="expert2"),
        dimension=framework.dimensions.first(),
        value=2,
        origin=Origin.IMPORT,
    )
    client = sign_in(rosa)
    study, blocks, raters = (client.get(reverse(name, args=["grief"])).json() for name in PARTS)
    assert study["title"] == "Grief"
    assert blocks["results"] == [
        {
            "slug": "main",
            "title": "Main",
            "position": 0,
            "dataset": "letters",
            "frameworks": [{"slug": "warmth-scales", "version": 1}],
            "sample_size": None,
            "metadata_filter": {},
            "groups": [{"kind": "expert", "overlap": None}],
            "n_items": 3,
        }
    ]
    assert [(row["name"], row["kind"], row["n_ratings"]) for row in raters["results"]] == [
        ("expert1", "expert", 0),
        ("expert2", "expert", 1),
        ("expert3", "expert", 0),
    ]


def test_raters_are_pseudonyms_only(sign_in, rosa, grief, emil):
    answer = sign_in(rosa).get(reverse("api-study-raters", args=["grief"]))
    assert emil.email not in answer.text
    assert set(answer.json()["results"][0]) == {"name", "kind", "is_aggregate", "is_simulated", "left_at", "n_ratings"}


@pytest.mark.parametrize("name", PARTS)
def test_what_is_not_ones_own_is_not_there(sign_in, rosa, emil, otto, grief, name):
    address = reverse(name, args=["grief"])
    assert [sign_in(user).get(address).status_code for user in (rosa, emil, otto)] == [200, 404, 404]


def test_a_rater_reads_no_study(sign_in, emil, grief):
    assert sign_in(emil).get(reverse("api-studies")).json()["results"] == []


@pytest.mark.parametrize("name", ["api-studies", *PARTS])
def test_nobody_is_refused(sign_in, grief, name):
    address = reverse(name, args=[] if name == "api-studies" else ["grief"])
    assert sign_in(None).get(address).status_code == 401


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_nothing_can_be_written(sign_in, rosa, grief, name, method):
    assert getattr(sign_in(rosa), method)(reverse(name, args=["grief"])).status_code == 405


def test_queries_do_not_grow_with_raters(sign_in, rosa, grief, django_assert_num_queries):
    client, address = sign_in(rosa), reverse("api-study-raters", args=["grief"])
    with django_assert_num_queries(5):
        client.get(address)
    Rater.objects.bulk_create(Rater(study=grief, name=f"crowd{n:03d}", kind="crowd") for n in range(1, 40))
    with django_assert_num_queries(5):
        client.get(address)
