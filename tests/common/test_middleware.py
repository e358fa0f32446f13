"""Bodies beyond the limit are refused before they reach the disk."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.common import middleware


@pytest.fixture(autouse=True)
def small(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.UPLOAD_MAX_BYTES = 1000
    monkeypatch.setattr(middleware, "ROOM_FOR_FIELDS", 500)


def send(size: int, **told: str) -> Any:
    client = Client(enforce_csrf_checks=False)
    return client.post("/jobs/1/cancel/", {"file": SimpleUploadedFile("talks.csv", b"x" * size)}, **told)


@pytest.mark.parametrize("size", [2000, 3000, 100_000])
def test_a_body_beyond_the_limit_is_told_so_in_words(db: None, size: int) -> None:
    answer = send(size)
    assert answer.status_code == 413
    assert "At most 1000\xa0bytes can be uploaded here." in answer.text


def test_a_file_of_the_limit_itself_passes_with_the_fields_beside_it(db: None) -> None:
    assert send(1000).status_code == 302  # to the sign-in page


@pytest.mark.parametrize("told", ["", "many"])
def test_a_size_that_is_no_number_is_left_to_others(db: None, told: str) -> None:
    assert Client().get("/healthz", CONTENT_LENGTH=told).status_code == 200
