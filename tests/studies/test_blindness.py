import pytest
from django.utils import timezone

from apps.studies.models import Rater, RaterKind
from apps.studies.services.blindness import may_see_ratings
from apps.studies.services.raters import add_rater

pytestmark = pytest.mark.django_db


def test_owners_researchers_and_admins_see_ratings(grief, rosa, ada):
    assert may_see_ratings(user=rosa, study=grief)
    assert may_see_ratings(user=ada, study=grief)


def test_raters_and_strangers_do_not_even_when_discussion_is_open(grief, emil, otto):
    """Discussion shows raters each other's ratings on its own page, not the tables of the whole study."""
    grief.discussion_open = True
    grief.save()
    assert not may_see_ratings(user=emil, study=grief)
    assert not may_see_ratings(user=otto, study=grief)


@pytest.mark.parametrize("person", ["rosa", "ada"])
def test_who_rates_is_blind_until_discussion_is_open(grief, person, request):
    user = request.getfixturevalue(person)
    add_rater(study=grief, kind=RaterKind.EXPERT, user=user)
    assert not may_see_ratings(user=user, study=grief)
    grief.discussion_open = True
    assert may_see_ratings(user=user, study=grief)


def test_who_gave_up_rating_sees_again(grief, rosa):
    add_rater(study=grief, kind=RaterKind.EXPERT, user=rosa)
    Rater.objects.filter(user=rosa).update(left_at=timezone.now())
    assert may_see_ratings(user=rosa, study=grief)


def test_rating_in_another_study_makes_nobody_blind(grief, strangers, rosa):
    add_rater(study=strangers, kind=RaterKind.EXPERT, user=rosa)
    assert may_see_ratings(user=rosa, study=grief)
