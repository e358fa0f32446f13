"""Ratings as files in the browser: the page tells what they hold, and they are what the command writes. CASES 26-28."""

import csv
import io
import json

import pyarrow.parquet
import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.annotation.rating_export import COLUMNS, FORMATS
from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.reliability.services.snapshots import take_snapshot
from apps.reports.services import exports
from apps.reports.services.exports import COLUMN_WORDS, CONTENT_TYPES, export_pieces
from apps.studies.models import Rater
from apps.studies.services.exclusions import exclude

PAGE = "/studies/grief/reports/ratings/"
SUFFIXES = list(CONTENT_TYPES)


@pytest.fixture
def rated(grief, rate):
    rate(grief, {"expert1": [1, 3, 5], "expert2": [2, 3, "?"]})
    expert, item = grief.raters.get(name="expert1"), grief.blocks.get().items.first()
    scale = grief.blocks.get().frameworks.get().dimensions.get(slug="scale_2")
    record_ratings(
        entries=[RatingEntry(item.pk, expert.pk, scale.pk, 4, comment='=HYPERLINK("x")\r\n"é" 😀')],
        origin=Origin.IMPORT,
    )
    return grief


def body(answer) -> bytes:
    assert answer.streaming
    return b"".join(answer.streaming_content)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_file_is_what_the_command_writes(rated, sign_in, rosa, tmp_path, suffix):
    answer = sign_in(rosa).get(f"{PAGE}ratings.{suffix}")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="grief-ratings.{suffix}"'
    assert answer.headers["Content-Type"] == CONTENT_TYPES[suffix]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    call_command("export_ratings", "--study", "grief", "--out", str(tmp_path / f"r.{suffix}"), verbosity=0)
    assert body(answer) == (tmp_path / f"r.{suffix}").read_bytes()


def test_free_text_is_no_formula_in_csv_and_itself_elsewhere(rated, sign_in, rosa):
    client = sign_in(rosa)
    rows = list(csv.DictReader(io.StringIO(body(client.get(f"{PAGE}ratings.csv")).decode(), newline="")))
    comments = [row["comment"] for row in rows if row["comment"]]
    assert comments == ['\'=HYPERLINK("x")\r\n"é" 😀']
    lines = body(client.get(f"{PAGE}ratings.jsonl")).decode().splitlines()
    assert [one["comment"] for one in map(json.loads, lines) if one["comment"]] == ['=HYPERLINK("x")\r\n"é" 😀']
    table = pyarrow.parquet.read_table(io.BytesIO(body(client.get(f"{PAGE}ratings.parquet"))))
    assert table.num_rows == len(rows) == len(lines) == 7


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_it_begins_before_the_ratings_are_read(rated, suffix):
    """So that nobody waits for the first byte of a million."""
    with CaptureQueriesContext(connection) as asked:
        next(export_pieces(rated, suffix))
    assert len(asked) == 0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_many_ratings_come_in_many_pieces(rated, monkeypatch, suffix):
    row = next(exports.exported_ratings(study=rated))
    given = (row._replace(item=f"item-{number:06d}") for number in range(50_000))
    seen = []

    def ratings(study):
        for one in given:
            seen.append(one.item)
            yield one

    monkeypatch.setattr(exports, "exported_ratings", ratings)
    sizes = []
    for piece in export_pieces(rated, suffix):
        sizes.append(len(piece))
        if len(sizes) == 3:
            assert 0 < len(seen) < 50_000
    assert len(seen) == 50_000
    assert len(sizes) > 3
    assert max(sizes) < 2_000_000


def test_who_only_asks_whether_it_is_there_gets_no_file(rated, sign_in, rosa):
    answer = sign_in(rosa).head(f"{PAGE}ratings.csv")
    assert answer.status_code == 200
    assert body(answer) == b""


@pytest.mark.parametrize("name", ["ratings.xlsx", "ratings.", "ratings.csv/", "other.csv"])
def test_another_format_is_not_there(rated, sign_in, rosa, name):
    assert sign_in(rosa).get(PAGE + name).status_code == 404


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_who_gets_the_file(rated, sign_in, emil, otto, suffix):
    where = f"{PAGE}ratings.{suffix}"
    assert sign_in(None).get(where).status_code == 302
    assert sign_in(emil).get(where).status_code == 404
    assert sign_in(otto).get(where).status_code == 404
    assert sign_in(otto).post(where).status_code == 405


def test_the_page_counts_what_the_file_holds(rated, sign_in, rosa):
    exclude(rater=rated.raters.get(name="expert2"), by=rosa)
    page = sign_in(rosa).get(PAGE)
    assert page.context["contents"].total == 7
    assert "7 finished ratings" in page.text
    assert "1 exclusion is in force" in page.text
    assert all(f"{PAGE}ratings.{suffix}" in page.text for suffix in SUFFIXES)


def test_every_column_and_every_format_is_told():
    assert tuple(COLUMN_WORDS) == COLUMNS
    assert [f".{suffix}" for suffix in CONTENT_TYPES] == list(FORMATS)


def test_without_ratings_the_page_says_what_is_missing(grief, sign_in, rosa):
    page = sign_in(rosa).get(PAGE).text
    assert "No finished ratings yet" in page
    assert "ratings.csv" not in page


def test_without_a_snapshot_there_are_no_programs(rated, sign_in, rosa):
    page = sign_in(rosa).get(PAGE).text
    assert "Once the agreement of the study is computed" in page
    assert "import pandas" not in page


def test_without_a_defined_kappa_there_are_no_programs(grief, rate, sign_in, rosa):
    rate(grief, {"expert1": [3, 3, 3], "expert2": [3, 3, 3]})
    take_snapshot(study=grief)
    page = sign_in(rosa).get(PAGE).text
    assert "No two raters of this study have a defined kappa yet" in page


def test_the_programs_stand_with_their_figure_and_say_when_it_is_old(grief, rate, sign_in, rosa):
    rate(grief, {"expert1": [1, 3, 5], "expert2": [2, 3, 4]})
    take_snapshot(study=grief)
    page = sign_in(rosa).get(PAGE).text
    assert "0.800000" in page
    assert "grief-ratings.csv" in page
    assert "on 3 items" in page
    assert "Ratings have changed" not in page
    rate(grief, {"expert1": [2, None, None]})
    assert "Ratings have changed since this was computed" in sign_in(rosa).get(PAGE).text


def test_raters_who_left_are_in_under_their_pseudonym(rated, sign_in, rosa):
    Rater.objects.filter(study=rated, name="expert2").update(left_at="2026-01-01T00:00Z")
    assert b"expert2" in body(sign_in(rosa).get(f"{PAGE}ratings.csv"))
