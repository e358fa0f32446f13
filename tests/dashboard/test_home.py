"""The front page, by role."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.common.models import WorkerHeartbeat
from tests.conftest import make_dataset, make_study

SILENT = "No worker seen for 30 s"


def test_strangers_are_told_what_this_is_and_where_to_sign_in(client, grief):
    page = client.get("/")
    assert "who agrees with whom" in page.text
    assert "/accounts/sign-in/" in page.text
    assert "Grief" not in page.text


def test_a_researcher_sees_own_studies_and_datasets_only(sign_in, rosa, grief, strangers):
    page = sign_in(rosa).get("/")
    assert "/studies/grief/" in page.text
    assert "/datasets/letters/" in page.text
    assert "Strangers" not in page.text
    assert "Diaries" not in page.text


def test_a_rater_sees_own_studies_and_no_datasets(sign_in, emil, grief, strangers):
    page = sign_in(emil).get("/")
    assert "/studies/grief/" in page.text
    assert "Strangers" not in page.text
    assert "/datasets/" not in page.text


def test_what_a_study_is_about_is_told_to_those_who_work_with_it_and_not_to_its_raters(sign_in, rosa, emil, ada, grief):
    grief.description = "We expect the model to win."
    grief.save()
    assert grief.description in sign_in(rosa).get("/").text
    assert grief.description in sign_in(ada).get("/").text
    assert grief.description not in sign_in(emil).get("/").text


def test_an_admin_sees_every_study(sign_in, ada, grief, strangers):
    page = sign_in(ada).get("/")
    assert "/studies/grief/" in page.text
    assert "/studies/strangers/" in page.text


def test_empty_states_teach_the_next_step(sign_in, rosa, emil):
    assert "import_conversations" in sign_in(rosa).get("/").text
    page = sign_in(emil).get("/")
    assert "invitation" in page.text
    assert "import_conversations" not in page.text


@pytest.mark.parametrize(("age", "shown"), [(None, True), (31, True), (5, False)])
def test_an_admin_is_told_when_no_worker_is_alive(sign_in, ada, age, shown):
    """CASES 6."""
    if age is not None:
        seen_at = timezone.now() - timedelta(seconds=age)
        WorkerHeartbeat.objects.create(worker="accord@here", process_id=1, seen_at=seen_at)
    assert (SILENT in sign_in(ada).get("/").text) is shown


def test_others_are_not_told(sign_in, rosa):
    assert SILENT not in sign_in(rosa).get("/").text


def test_more_studies_and_datasets_cost_no_more_queries(
    sign_in, rosa, framework, grief, django_assert_num_queries: DjangoAssertNumQueries
):
    client = sign_in(rosa)
    with django_assert_num_queries(4):  # session, person, studies, datasets
        client.get("/")
    for number in range(8):
        dataset = make_dataset(f"set-{number}", owner=rosa, conversations=1)
        make_study(f"study-{number}", owner=rosa, dataset=dataset, frameworks=[framework])
    with django_assert_num_queries(4):
        page = client.get("/")
    assert page.text.count('<article class="card">') == 6


def test_a_script_in_a_title_is_shown_as_text(sign_in, rosa, grief):
    """CASES 35."""
    grief.title = grief.description = "<script>alert(1)</script>"
    grief.save()
    assert "<script>alert(1)" not in sign_in(rosa).get("/").text


def test_nothing_can_be_posted(sign_in, rosa):
    assert sign_in(rosa).post("/").status_code == 405
