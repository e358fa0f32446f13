import pytest
from django.utils import timezone

from apps.studies.models import Assignment, AssignmentState, Item, MemberRole, Rater, RaterKind, Study
from apps.studies.services.blindness import may_discuss, may_see_ratings, sees_ratings, sight_of
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


# --- Item by item -----------------------------------------------------------------------------------------------------


@pytest.fixture
def model(grief):
    return Rater.objects.create(study=grief, name="model-a", kind=RaterKind.LLM)


@pytest.mark.parametrize("person", ["rosa", "ada"])
def test_who_works_with_the_study_has_all_of_it_in_sight(grief, model, person, request):
    sight = sight_of(user=request.getfixturevalue(person), study=grief)
    assert sight.is_whole
    assert list(sight.items()) == list(Item.objects.order_by("position"))
    assert set(sight.raters()) == set(grief.raters.all())


def test_an_owner_who_rates_has_nothing_in_sight_until_discussion_is_open(grief, rosa, model):
    add_rater(study=grief, kind=RaterKind.EXPERT, user=rosa)
    assert sight_of(user=rosa, study=grief) is None
    grief.discussion_open, grief.model_scores_sealed = True, False
    assert sight_of(user=rosa, study=grief).is_whole
    assert model in sight_of(user=rosa, study=grief).raters()


@pytest.mark.parametrize("person", ["rosa", "ada"])
def test_while_models_are_sealed_who_rates_sees_as_raters_do_whatever_else_they_are(grief, model, person, request):
    user = request.getfixturevalue(person)
    add_rater(study=grief, kind=RaterKind.EXPERT, user=user)
    Study.objects.update(discussion_open=True)
    grief.refresh_from_db()
    assert not may_see_ratings(user=user, study=grief)
    assert not Study.objects.annotate(sees=sees_ratings(user)).get(pk=grief.pk).sees
    sight = sight_of(user=user, study=grief)
    assert not sight.is_whole
    assert model not in sight.raters()
    Study.objects.update(model_scores_sealed=False)
    grief.refresh_from_db()
    assert may_see_ratings(user=user, study=grief)
    assert Study.objects.annotate(sees=sees_ratings(user)).get(pk=grief.pk).sees


def test_a_seal_over_nothing_hides_nothing(grief, rosa):
    add_rater(study=grief, kind=RaterKind.EXPERT, user=rosa)
    grief.discussion_open = True
    assert grief.model_scores_sealed
    assert sight_of(user=rosa, study=grief).is_whole


def test_a_rater_has_in_sight_what_they_handed_in_once_discussion_is_open(grief, emil):
    me, other = grief.raters.get(name="expert1"), grief.raters.get(name="expert2")
    items = list(Item.objects.order_by("position"))
    states = [AssignmentState.SURPLUS, AssignmentState.IN_PROGRESS, AssignmentState.SUBMITTED]
    for position, (item, state) in enumerate(zip(reversed(items), states, strict=True)):
        Assignment.objects.create(rater=me, item=item, state=state, position=position)
        Assignment.objects.create(rater=other, item=item, state=AssignmentState.SUBMITTED, position=9 - position)
    assert not may_discuss(user=emil, study=grief)
    assert sight_of(user=emil, study=grief) is None
    grief.discussion_open = True
    assert may_discuss(user=emil, study=grief)
    sight = sight_of(user=emil, study=grief)
    assert not sight.is_whole
    assert list(sight.items()) == [items[2], items[0]]


def test_sealed_models_are_out_of_a_rater_s_sight(grief, emil, model):
    grief.discussion_open = True
    assert set(sight_of(user=emil, study=grief).raters()) == set(grief.raters.exclude(pk=model.pk))
    grief.model_scores_sealed = False
    assert model in sight_of(user=emil, study=grief).raters()


def test_only_raters_of_the_study_who_are_still_in_it_discuss(grief, strangers, emil, otto):
    grief.discussion_open = True
    add_rater(study=strangers, kind=RaterKind.EXPERT, user=otto)
    assert not may_discuss(user=otto, study=grief)
    grief.memberships.filter(user=emil).delete()
    assert not may_discuss(user=emil, study=grief)
    grief.memberships.create(user=emil, role=MemberRole.RATER)
    assert may_discuss(user=emil, study=grief)
    Rater.objects.filter(user=emil).update(left_at=timezone.now())
    assert not may_discuss(user=emil, study=grief)
    assert sight_of(user=emil, study=grief) is None
