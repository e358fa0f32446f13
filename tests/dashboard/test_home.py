"""The front page, by role."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.annotation.services.recording import Origin, record_rating
from apps.common.models import WorkerHeartbeat
from apps.common.services.jobs import create_job
from apps.frameworks.models import Dimension
from apps.studies.models import AssignmentState, BlockGroup, Item, MemberRole, Membership, RaterKind, Study
from apps.studies.services.invitations import create_invitations
from apps.studies.services.people import join_as_rater, leave_as_rater
from apps.studies.services.raters import add_rater
from tests.conftest import PASSWORD, make_dataset, make_study

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
    page = sign_in(rosa).get("/")
    assert 'href="/datasets/upload/"' in page.text
    assert 'href="/datasets/new/"' in page.text
    assert 'href="/studies/new/"' not in page.text
    page = sign_in(emil).get("/")
    assert "invitation" in page.text
    assert "/datasets/upload/" not in page.text


def test_with_conversations_the_next_step_is_a_study(sign_in, rosa, letters):
    page = sign_in(rosa).get("/")
    assert "Bring conversations in: done." in page.text
    assert 'href="/studies/new/"' in page.text


@pytest.mark.parametrize(("age", "shown"), [(None, True), (31, True), (5, False)])
def test_an_admin_is_told_when_no_worker_is_alive(sign_in, ada, age, shown):
    """CASES 6."""
    if age is not None:
        seen_at = timezone.now() - timedelta(seconds=age)
        WorkerHeartbeat.objects.create(worker="accord@here", process_id=1, seen_at=seen_at)
    assert (SILENT in sign_in(ada).get("/").text) is shown


def test_others_are_not_told(sign_in, rosa):
    assert SILENT not in sign_in(rosa).get("/").text


def test_more_of_everything_costs_no_more_queries(
    sign_in, rosa, framework, grief, django_assert_num_queries: DjangoAssertNumQueries
):
    add_rater(study=grief, kind=RaterKind.EXPERT, user=rosa)
    create_job(kind="t.t", task="t.t", title="Reading", owner=rosa)
    client = sign_in(rosa)
    with django_assert_num_queries(7):  # session, person, to rate, run, jobs, datasets, worker
        client.get("/")
    for number in range(8):
        dataset = make_dataset(f"set-{number}", owner=rosa, conversations=1)
        study = make_study(f"study-{number}", owner=rosa, dataset=dataset, frameworks=[framework])
        add_rater(study=study, kind=RaterKind.EXPERT, user=rosa)
        create_job(kind="t.t", task="t.t", title="Reading", owner=rosa)
        create_invitations(study=study, role=MemberRole.RESEARCHER, days=3, by=rosa)
    with django_assert_num_queries(7):
        page = client.get("/")
    assert page.text.count('<article class="card">') == 12
    assert page.text.count("All studies") == 2


# --- Raters -----------------------------------------------------------------------------------------------------------


def hand_in(rater, number, state=AssignmentState.SUBMITTED):
    for position, item in enumerate(list(Item.objects.filter(block__study=rater.study))[:number]):
        rater.assignments.create(item=item, position=position, state=state)


def test_a_rater_who_has_not_begun_is_led_to_the_instructions(sign_in, emil, grief):
    page = sign_in(emil).get("/")
    assert '<span class="number">0</span> of <span class="number">3</span> conversations submitted' in page.text
    assert f'href="{reverse("rating:start", args=["grief"])}"' in page.text
    assert "Continue" not in page.text


def test_a_rater_continues_with_one_click(sign_in, emil, grief):
    hand_in(grief.raters.get(user=emil), 1)
    page = sign_in(emil).get("/")
    assert '<span class="number">1</span> of <span class="number">3</span> conversations submitted' in page.text
    assert f'<form method="post" action="{reverse("rating:next", args=["grief"])}">' in page.text


def test_a_rater_who_is_done_is_thanked(sign_in, emil, grief):
    hand_in(grief.raters.get(user=emil), 3)
    page = sign_in(emil).get("/")
    assert "All done. Thank you." in page.text
    assert "Continue" not in page.text


def test_where_raters_share_the_items_no_total_is_claimed(sign_in, emil, grief):
    BlockGroup.objects.update(overlap=2)
    hand_in(grief.raters.get(user=emil), 1)
    page = sign_in(emil).get("/")
    assert '<span class="number">1</span> conversation submitted' in page.text
    assert "Continue" in page.text


@pytest.mark.parametrize(("status", "words"), [("draft", "has not opened yet"), ("closed", "The study is closed.")])
def test_a_study_that_is_not_open_offers_nothing_to_rate(sign_in, emil, grief, status, words):
    Study.objects.update(status=status)
    page = sign_in(emil).get("/")
    assert words in page.text
    assert "/rate/" not in page.text


def test_the_work_of_others_is_not_counted(sign_in, emil, grief):
    hand_in(grief.raters.get(name="expert2"), 2)
    assert '<span class="number">0</span> of' in sign_in(emil).get("/").text


def test_who_gave_up_rating_is_offered_no_more(sign_in, rosa, grief):
    join_as_rater(study=grief, user=rosa, kind=RaterKind.EXPERT)
    assert "To rate" in sign_in(rosa).get("/").text
    leave_as_rater(study=grief, user=rosa)
    assert "To rate" not in sign_in(rosa).get("/").text


# --- Owners -----------------------------------------------------------------------------------------------------------


def test_an_owner_sees_progress_and_what_needs_attention(sign_in, rosa, emil, grief):
    hand_in(grief.raters.get(user=emil), 2)
    item, scale = Item.objects.filter(block__study=grief).first(), Dimension.objects.first()
    record_rating(item=item, rater=grief.raters.get(name="expert2"), dimension=scale, value=4, origin=Origin.IMPORT)
    create_invitations(study=grief, role=MemberRole.RESEARCHER, number=3, days=3, by=rosa)
    page = sign_in(rosa).get("/")
    assert "2 items handed in" in page.text
    assert "by 1 person who rates on this site" in page.text
    assert "Finished ratings of 1 rater were brought in" in page.text
    assert "3 open invitations" in page.text


def test_an_owner_is_told_that_a_study_is_a_draft_or_has_no_raters(sign_in, otto, strangers):
    assert f'href="{reverse("studies:invite", args=["strangers"])}"' in sign_in(otto).get("/").text
    Study.objects.update(status="draft")
    assert "finish setting it up" in sign_in(otto).get("/").text


def test_a_researcher_of_a_study_is_asked_for_nothing(sign_in, otto, emil, grief):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    Study.objects.update(status="draft")
    page = sign_in(otto).get("/")
    assert "/studies/grief/" in page.text
    assert "finish setting it up" not in page.text
    assert "invitations" not in page.text


def test_what_runs_is_shown_with_a_warning_where_nobody_does_it(sign_in, rosa, emil, grief):
    job = create_job(kind="t.t", task="t.t", title="Reading talks.csv", owner=rosa)
    page = sign_in(rosa).get("/")
    assert f'href="/jobs/{job.pk}/"' in page.text
    assert SILENT in page.text
    assert "Reading talks.csv" not in sign_in(emil).get("/").text


def test_an_admin_is_led_to_the_people(sign_in, ada, rosa):
    assert "2 people can sign in" in sign_in(ada).get("/").text
    assert "can sign in" not in sign_in(rosa).get("/").text


def test_an_opened_invitation_is_not_forgotten_over_signing_in(client, emil, otto, strangers):
    [new] = create_invitations(study=strangers, role=MemberRole.RATER, kind=RaterKind.EXPERT, days=3, by=otto)
    client.get(f"/invite/{new.token}/")
    page = client.post("/accounts/sign-in/", {"username": emil.email, "password": PASSWORD}, follow=True)
    assert "You opened an invitation" in page.text
    client.post("/invite/")
    assert "You opened an invitation" not in client.get("/").text


# --- Navigation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("person", "names"),
    [
        ("emil", ["Studies", "Frameworks"]),
        ("rosa", ["Studies", "Datasets", "Frameworks", "Endpoints", "API"]),
        ("ada", ["Studies", "Datasets", "Frameworks", "Endpoints", "People", "API"]),
    ],
)
def test_the_way_between_the_parts_is_by_role(sign_in, request, person, names):
    page = sign_in(request.getfixturevalue(person)).get("/")
    navigation = page.text.split('<nav class="site-nav"')[1].split("</nav>")[0]
    assert re.findall(r">([A-Za-z]+)</a>", navigation) == names


def test_a_script_in_a_title_is_shown_as_text(sign_in, rosa, grief):
    """CASES 35."""
    grief.title = grief.description = "<script>alert(1)</script>"
    grief.save()
    assert "<script>alert(1)" not in sign_in(rosa).get("/").text


def test_nothing_can_be_posted(sign_in, rosa):
    assert sign_in(rosa).post("/").status_code == 405
