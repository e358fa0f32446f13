"""Datasets and conversations over REST."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.corpus.models import Conversation
from tests.conftest import make_dataset

pytestmark = pytest.mark.django_db

ROOT = "/api/v1/datasets/"


@pytest.fixture
def letter(letters) -> Conversation:
    return letters.conversations.first()


def every_address(letter: Conversation) -> list[str]:
    return [
        ROOT,
        f"{ROOT}letters/",
        f"{ROOT}letters/conversations/",
        f"{ROOT}letters/conversations/{letter.pk}/",
    ]


def test_a_researcher_reads_datasets_conversations_and_turns(sign_in, rosa, letter):
    client = sign_in(rosa)
    listing, dataset, conversations, conversation = (client.get(url).json() for url in every_address(letter))
    assert [found["slug"] for found in listing["results"]] == ["letters"]
    assert (dataset["slug"], dataset["name"], dataset["n_conversations"]) == ("letters", "Letters", 3)
    assert conversations["count"] == 3
    assert conversations["results"][0]["external_id"] == "letters-001"
    assert conversations["results"][0]["n_turns"] == 2
    assert "turns" not in conversations["results"][0]
    assert conversation["id"] == letter.pk
    assert [(turn["index"], turn["role"], turn["text"]) for turn in conversation["turns"]] == [
        (0, "seeker", "I lost letter 1."),
        (1, "supporter", "That must be hard. What was in it?"),
    ]


def test_nobody_signed_in_is_refused(sign_in, letter):
    assert {sign_in(None).get(url).status_code for url in every_address(letter)} == {401}


def test_an_annotator_finds_nothing(sign_in, emil, letter):
    client = sign_in(emil)
    assert client.get(ROOT).json()["results"] == []
    assert [client.get(url).status_code for url in every_address(letter)] == [200, 404, 404, 404]


def test_another_owners_dataset_is_not_found(sign_in, otto, letter):
    client = sign_in(otto)
    assert client.get(ROOT).json()["results"] == []
    assert [client.get(url).status_code for url in every_address(letter)] == [200, 404, 404, 404]


def test_a_conversation_is_found_only_in_its_own_dataset(sign_in, rosa, letter):
    make_dataset("diaries", owner=rosa)
    assert sign_in(rosa).get(f"{ROOT}diaries/conversations/{letter.pk}/").status_code == 404


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_nothing_can_be_changed(sign_in, rosa, letter, method):
    client = sign_in(rosa)
    assert {getattr(client, method)(url).status_code for url in every_address(letter)} == {405}


def test_conversations_are_searched(sign_in, rosa, letter):
    client = sign_in(rosa)
    found = client.get(f"{ROOT}letters/conversations/", {"q": "002"}).json()
    assert [conversation["external_id"] for conversation in found["results"]] == ["letters-002"]
    refused = client.get(f"{ROOT}letters/conversations/", {"q": "\0"})
    assert refused.status_code == 400
    assert "q" in refused.json()


def test_lists_come_in_pages(sign_in, rosa, letter):
    page = sign_in(rosa).get(f"{ROOT}letters/conversations/", {"page_size": 2, "page": 2}).json()
    assert [conversation["external_id"] for conversation in page["results"]] == ["letters-003"]


def test_the_number_of_queries_does_not_grow(sign_in, rosa, letter):
    client = sign_in(rosa)

    def queries(*urls: str) -> list[int]:
        counts = []
        for url in urls:
            with CaptureQueriesContext(connection) as captured:
                assert client.get(url).status_code == 200
            counts.append(len(captured))
        return counts

    before = queries(ROOT, f"{ROOT}letters/conversations/")
    make_dataset("long", conversations=20, owner=rosa)
    assert queries(ROOT, f"{ROOT}long/conversations/") == before
