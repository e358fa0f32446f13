"""Exclusions taken back on the study's page, by those who manage it."""

import pytest
from django.urls import reverse

from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.common.models import AuditEntry
from apps.reliability.services.loading import load_tables
from apps.studies.models import Exclusion, ExclusionReason, Item, MemberRole, Membership, Rater
from apps.studies.services.exclusions import exclude

AGAIN = "The ratings count again, and figures are out of date until they are computed anew."
SHOWN = "The prompt shows this model the experts’ scores"


@pytest.fixture
def exclusion(grief, rosa) -> Exclusion:
    return exclude(rater=grief.raters.get(name="expert2"), explanation="was asleep", by=rosa)


@pytest.fixture
def as_example(grief, rosa) -> Exclusion:
    model = Rater.objects.create(study=grief, name="model1", kind="llm")
    item = Item.objects.filter(block__study=grief).first()
    return exclude(rater=model, item=item, reason=ExclusionReason.LEAKAGE, explanation="shown in Plain v1", by=None)


def page_of(study) -> str:
    return reverse("studies:exclusions", args=[study.slug])


def act_of(exclusion, study=None) -> str:
    return reverse("studies:exclusion-revert", args=[(study or exclusion.rater.study).slug, exclusion.pk])


def is_in_force(exclusion) -> bool:
    return Exclusion.objects.in_force().filter(pk=exclusion.pk).exists()


def test_its_address(exclusion):
    assert act_of(exclusion) == f"/studies/grief/exclusions/{exclusion.pk}/revert/"


@pytest.mark.parametrize("who", ["rosa", "ada"])
def test_who_manages_the_study_takes_one_back_and_the_ratings_count_again(exclusion, grief, sign_in, request, who):
    person = request.getfixturevalue(who)
    dimension = grief.blocks.get().frameworks.get().dimensions.first()
    items = Item.objects.filter(block__study=grief)
    entries = [RatingEntry(item.pk, exclusion.rater_id, dimension.pk, 4) for item in items]
    record_ratings(entries=entries, origin=Origin.IMPORT)

    def counted() -> bool:
        return any("expert2" in [rater.name for rater in table.raters] for table in load_tables(study=grief))

    client = sign_in(person)
    shown = client.get(page_of(grief)).text
    assert AGAIN in shown
    assert SHOWN not in shown
    assert f'action="{act_of(exclusion)}"' in shown
    assert not counted()
    response = client.post(act_of(exclusion), follow=True)
    assert response.redirect_chain == [(page_of(grief), 302)]
    assert "The exclusion of expert2 is taken back: the ratings count again." in response.text
    assert "No exclusions are in force" in response.text
    assert counted()
    exclusion.refresh_from_db()
    assert (exclusion.reverted_by, exclusion.reverted_at is not None) == (person, True)
    assert AuditEntry.objects.get(action="exclusion.revert").actor == person


NOTHING_COUNTS = "is taken back. No rating counts again by that, so no figure changes."


def test_ratings_count_again_only_where_there_are_any(as_example, exclusion, grief, sign_in, rosa):
    client = sign_in(rosa)
    told = client.post(act_of(as_example), follow=True).text
    assert f"The exclusion of model1 {NOTHING_COUNTS}" in told
    assert "the ratings count again" not in told
    dimension = grief.blocks.get().frameworks.get().dimensions.first()
    first, second = Item.objects.filter(block__study=grief)[:2]
    record_ratings(entries=[RatingEntry(first.pk, exclusion.rater_id, dimension.pk, 4)], origin=Origin.IMPORT)
    of_first = exclude(rater=exclusion.rater, item=first, by=rosa)
    of_second = exclude(rater=exclusion.rater, item=second, by=rosa)
    # What was rated is left out by itself as well.
    assert NOTHING_COUNTS in client.post(act_of(exclusion), follow=True).text
    assert NOTHING_COUNTS in client.post(act_of(of_second), follow=True).text
    assert "the ratings count again" in client.post(act_of(of_first), follow=True).text


def test_a_second_time_is_said_and_changes_nothing(exclusion, grief, sign_in, rosa, ada):
    sign_in(rosa).post(act_of(exclusion))
    exclusion.refresh_from_db()
    at = exclusion.reverted_at
    assert "This exclusion was taken back already." in sign_in(ada).post(act_of(exclusion), follow=True).text
    exclusion.refresh_from_db()
    assert (exclusion.reverted_by, exclusion.reverted_at) == (rosa, at)


def test_of_a_prompts_example_it_is_said_what_that_means(as_example, grief, sign_in, rosa):
    client = sign_in(rosa)
    text = client.get(page_of(grief)).text
    assert SHOWN in text
    assert "No later run leaves it out again." in text
    client.post(act_of(as_example))
    assert not is_in_force(as_example)


def test_who_rates_takes_back_only_what_their_list_shows(exclusion, as_example, grief, sign_in, rosa):
    """Which conversations are examples tells what experts say of them: no answer may tell it, either."""
    grief.raters.filter(name="expert3").update(user=rosa)
    client = sign_in(rosa)
    text = client.get(page_of(grief)).text
    assert act_of(exclusion) in text
    assert act_of(as_example) not in text
    assert SHOWN not in text
    absent = client.post(reverse("studies:exclusion-revert", args=["grief", 987_654_321]))
    hidden = client.post(act_of(as_example))
    assert (absent.status_code, hidden.status_code) == (404, 404)
    assert is_in_force(as_example)
    told = client.post(act_of(exclusion), follow=True).text
    assert "asleep" not in told
    assert not is_in_force(exclusion)


def test_researchers_read_the_list_and_take_nothing_back(exclusion, grief, sign_in, otto):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    client = sign_in(otto)
    text = client.get(page_of(grief)).text
    assert "expert2" in text
    assert "Take back" not in text
    assert client.post(act_of(exclusion)).status_code == 403
    assert is_in_force(exclusion)


def test_raters_strangers_and_nobody_find_nothing(exclusion, sign_in, emil, otto):
    assert sign_in(emil).post(act_of(exclusion)).status_code == 404
    assert sign_in(otto).post(act_of(exclusion)).status_code == 404
    response = sign_in(None).post(act_of(exclusion))
    assert response.status_code == 302
    assert response.url.startswith(reverse("accounts:sign-in"))
    assert is_in_force(exclusion)


def test_the_exclusion_of_another_study_is_not_there(exclusion, strangers, sign_in, rosa, otto):
    theirs = exclude(rater=strangers.raters.first(), by=otto)
    assert sign_in(rosa).post(act_of(theirs, exclusion.rater.study)).status_code == 404
    assert sign_in(otto).post(act_of(exclusion, strangers)).status_code == 404
    assert is_in_force(theirs)
    assert is_in_force(exclusion)


@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete"])
def test_only_a_form_does_it(exclusion, sign_in, rosa, method):
    assert getattr(sign_in(rosa), method)(act_of(exclusion)).status_code == 405
    assert is_in_force(exclusion)


def test_a_forged_form_does_not(exclusion, rosa, client):
    client.handler.enforce_csrf_checks = True
    client.force_login(rosa, backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(act_of(exclusion)).status_code == 403
    assert is_in_force(exclusion)


def test_a_script_that_asks_is_led_to_the_list(exclusion, grief, sign_in, rosa):
    response = sign_in(rosa).post(act_of(exclusion), headers={"HX-Request": "true"})
    assert (response.status_code, response.url) == (302, page_of(grief))


def test_it_takes_as_many_queries_whatever_else_is_left_out(
    exclusion, grief, sign_in, rosa, ada, django_assert_num_queries, django_assert_max_num_queries
):
    client = sign_in(rosa)
    with django_assert_max_num_queries(20) as few:
        client.post(act_of(exclusion))
    for item in Item.objects.filter(block__study=grief):
        for rater in grief.raters.all():
            last = exclude(rater=rater, item=item, by=rosa)
    with django_assert_num_queries(len(few)):
        client.post(act_of(last))
