"""Everything the site holds on the person who asks, and nothing on anybody else."""

import csv
import io
import json

import pytest
from django.urls import reverse

from apps.accounts.services.keys import create_key
from apps.annotation.evidence import Quote
from apps.annotation.services.recording import Origin, record_rating
from apps.common.models import AuditEntry
from apps.common.services.jobs import create_job
from apps.studies.models import AssignmentState, Item, MemberRole, RaterKind
from apps.studies.services.exclusions import exclude
from apps.studies.services.people import add_member, join_as_rater, leave_as_rater
from tests.conftest import make_dataset, make_study

PAGES = ["my-data", "my-data-history", "my-data-csv", "my-data-json"]
OTHERS = "never to be seen by Emil"


def ask(client, name, **query):
    return client.get(reverse(f"dashboard:{name}"), query)


def text_of(response) -> str:
    return response.getvalue().decode() if response.streaming else response.text


@pytest.fixture
def rated(grief, framework, emil):
    """Emil gave a 4 and a "cannot tell", and expert2 a 2, with comments and quotes."""
    first, second, _third = Item.objects.filter(block__study=grief)
    scale, other = framework.dimensions.all()
    own, stranger = grief.raters.get(user=emil), grief.raters.get(name="expert2")
    record_rating(
        item=first,
        rater=own,
        dimension=scale,
        value=4,
        comment='=SUM(A1), "so"\nwarm 🙂',
        evidence=[Quote("That must be hard.")],
        origin=Origin.SCREEN,
    )
    record_rating(item=second, rater=own, dimension=other, value=None, cannot_tell=True, origin=Origin.SCREEN)
    record_rating(item=first, rater=stranger, dimension=scale, value=2, comment=OTHERS, origin=Origin.SCREEN)
    own.assignments.create(item=first, position=0, state=AssignmentState.SUBMITTED)
    return grief


def test_the_page_names_the_account_the_part_in_studies_and_the_counts(sign_in, emil, rated):
    create_key(user=emil, name="notebook")
    create_job(kind="t.t", task="t.t", title="Reading", owner=emil)
    page = ask(sign_in(emil), "my-data")
    for words in ("emil@example.org", "Annotator", "Grief", "expert1", "To have it erased"):
        assert words in page.text
    [part] = page.context["parts"]
    assert (part.rater.n_ratings, part.rater.n_done) == (2, 1)
    assert dict(page.context["belongings"])["API keys"] == 1
    assert dict(page.context["belongings"])["Background work you started"] == 1


def test_admins_to_write_to_are_named(sign_in, emil, ada, rosa):
    page = ask(sign_in(emil), "my-data")
    assert "mailto:ada@example.org" in page.text
    assert "rosa@example.org" not in page.text


def test_who_has_left_still_finds_the_own_part(sign_in, emil, rated):
    leave_as_rater(study=rated, user=emil)
    page = ask(sign_in(emil), "my-data")
    assert "no longer a member" in page.text
    assert "expert1" in page.text
    assert 'href="/studies/grief/"' not in page.text
    assert len(json.loads(text_of(ask(sign_in(emil), "my-data-json")))) == 2


def test_the_csv_holds_every_own_rating_and_harmless_text(sign_in, emil, rated):
    """CASES 26, 28."""
    response = ask(sign_in(emil), "my-data-csv")
    assert response["Content-Disposition"] == 'attachment; filename="my-ratings.csv"'
    assert "no-store" in response["Cache-Control"]
    rows = list(csv.DictReader(io.StringIO(text_of(response), newline="")))
    assert [(row["value"], row["cannot_tell"], row["state"], row["place"]) for row in rows] == [
        ("4", "false", "submitted", "1"),
        ("", "true", "", ""),
    ]
    assert rows[0]["comment"] == '\'=SUM(A1), "so"\nwarm 🙂'
    assert (rows[0]["study"], rows[0]["rater"], rows[0]["dimension"]) == ("Grief", "expert1", "scale_1")
    [passage] = json.loads(rows[0]["evidence"])
    assert (passage["quote"], passage["turn"], passage["start"]) == ("That must be hard.", 1, 0)


def test_the_json_holds_the_same_as_it_was_written(sign_in, emil, rated):
    rows = json.loads(text_of(ask(sign_in(emil), "my-data-json")))
    assert [(row["value"], row["cannot_tell"]) for row in rows] == [(4, False), (None, True)]
    assert rows[0]["comment"] == '=SUM(A1), "so"\nwarm 🙂'


def test_without_ratings_the_files_are_empty_and_well_formed(sign_in, rosa):
    assert json.loads(text_of(ask(sign_in(rosa), "my-data-json"))) == []
    assert list(csv.DictReader(io.StringIO(text_of(ask(sign_in(rosa), "my-data-csv"))))) == []


@pytest.mark.parametrize("name", PAGES)
def test_no_other_raters_value_or_name_is_there(sign_in, emil, rated, name):
    text = text_of(ask(sign_in(emil), name))
    assert OTHERS not in text
    assert "expert2" not in text


@pytest.mark.parametrize("name", ["my-data-csv", "my-data-json"])
def test_an_owner_gets_the_own_ratings_and_not_those_of_the_study(sign_in, rosa, rated, name):
    text = text_of(ask(sign_in(rosa), name))
    assert OTHERS not in text
    assert "expert1" not in text


@pytest.mark.parametrize("name", ["my-data-csv", "my-data-json"])
def test_the_name_of_a_conversation_is_not_told(sign_in, emil, rated, name):
    """It may say which model or condition is behind it."""
    assert "letters-00" not in text_of(ask(sign_in(emil), name))


def test_history_holds_what_one_did_and_what_was_done_to_one(sign_in, rosa, emil, otto, grief, strangers):
    add_member(study=strangers, email=emil.email, role=MemberRole.RATER, kind=RaterKind.EXPERT, by=otto)
    leave_as_rater(study=grief, user=emil)
    exclude(rater=grief.raters.get(name="expert2"), by=rosa)
    text = ask(sign_in(emil), "my-data-history").text
    for words in ("member.add", "strangers", "Otto", "rater.leave", ">you<"):
        assert words in text
    assert "rater.exclude" not in text


def test_history_comes_in_pages_with_a_constant_number_of_queries(
    sign_in, rosa, otto, strangers, django_assert_num_queries
):
    client = sign_in(rosa)
    create_key(user=rosa, name="one")
    with django_assert_num_queries(4):
        ask(client, "my-data-history")
    for number in range(60):
        create_key(user=rosa, name=str(number))
    with django_assert_num_queries(4):
        assert "Page 1 of 2" in ask(client, "my-data-history").text


def test_studies_come_in_pages_with_a_constant_number_of_queries(
    sign_in, rosa, grief, framework, django_assert_num_queries
):
    client = sign_in(rosa)
    with django_assert_num_queries(17):
        ask(client, "my-data")
    dataset = make_dataset("more", owner=rosa, conversations=1)
    for number in range(30):
        study = make_study(f"s{number}", owner=rosa, dataset=dataset, frameworks=[framework], experts=0)
        join_as_rater(study=study, user=rosa, kind=RaterKind.EXPERT)
    with django_assert_num_queries(17):
        assert "Page 1 of 2" in ask(client, "my-data").text


def test_a_download_takes_a_constant_number_of_queries(sign_in, emil, rated, framework, django_assert_num_queries):
    client = sign_in(emil)
    with django_assert_num_queries(6):
        text_of(ask(client, "my-data-csv"))
    third = Item.objects.filter(block__study=rated).last()
    for scale in framework.dimensions.all():
        record_rating(
            item=third,
            rater=rated.raters.get(user=emil),
            dimension=scale,
            value=3,
            evidence=[Quote("What was in it?")],
            origin=Origin.SCREEN,
        )
    with django_assert_num_queries(6):
        text_of(ask(client, "my-data-csv"))


def test_a_script_is_shown_as_text_case_35(sign_in, emil, rated):
    rated.title = "<script>alert(1)</script>"
    rated.save()
    create_key(user=emil, name="<script>alert(2)</script>")
    for name in ("my-data", "my-data-history"):
        assert "<script>alert(" not in ask(sign_in(emil), name).text


@pytest.mark.parametrize("name", PAGES)
def test_nobody_signed_in_is_sent_to_sign_in(client, db, name):
    assert ask(client, name)["Location"].startswith("/accounts/sign-in/")


@pytest.mark.parametrize("name", PAGES)
def test_pages_only_show(sign_in, emil, name):
    assert sign_in(emil).post(reverse(f"dashboard:{name}")).status_code == 405


def test_the_history_shows_details_whatever_they_are_called(sign_in, rosa):
    details = {"items": 6, "count": 2, "keys": "k", "values": "v"}
    AuditEntry.objects.create(actor=rosa, action="block.add", subject="talks/main", details=details)
    page = ask(sign_in(rosa), "my-data-history")
    assert page.status_code == 200
    for words in ("items: 6", "count: 2", "keys: k", "values: v"):
        assert words in page.text
