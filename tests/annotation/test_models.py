"""The rows of ratings."""

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from apps.annotation.models import Draw, Evidence, Rating, RatingEvent
from apps.annotation.services.recording import Origin, record_rating
from apps.studies.models import Item

MODELS = [*apps.get_app_config("annotation").get_models(), *apps.get_app_config("studies").get_models()]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_usual_order_of_rows_joins_no_other_table(model):
    """On PostgreSQL an order by relations of relations took minutes for a thousand rows."""
    assert "JOIN" not in str(model.objects.all().query)


@pytest.fixture
def rating(grief, framework):
    return record_rating(
        item=Item.objects.filter(block__study=grief).first(),
        rater=grief.raters.first(),
        dimension=framework.dimensions.first(),
        value=4,
        origin=Origin.IMPORT,
    ).rating


@pytest.mark.parametrize("whose", ["item", "rater", "dimension"])
def test_a_rating_outlives_nothing_it_belongs_to(rating, whose):
    with pytest.raises(ProtectedError):
        getattr(rating, whose).delete()
    assert Rating.objects.filter(pk=rating.pk).exists()


def test_the_database_itself_refuses_what_is_no_rating(rating):
    again = {"item_id": rating.item_id, "rater_id": rating.rater_id, "dimension_id": rating.dimension_id}
    wrong = [
        lambda: Rating.objects.create(**again, value=4),
        lambda: Rating.objects.filter(pk=rating.pk).update(value=None),
        lambda: Rating.objects.filter(pk=rating.pk).update(cannot_tell=True),
        lambda: Evidence.objects.create(rating=rating, quote="x", start=0, end=1),
    ]
    for act in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            act()


def test_rows_say_what_they_are(rating):
    assert str(rating) == f"{rating.rater_id} on {rating.item_id}/{rating.dimension_id}: 4"
    assert str(Rating(item_id=1, rater_id=2, dimension_id=3, cannot_tell=True)) == "2 on 1/3: cannot tell"
    assert str(rating.events.get()).endswith(f"rating {rating.pk}")
    assert str(Draw(rating=rating, index=2)) == f"draw 2 of rating {rating.pk}"
    assert str(Evidence(quote="a" * 80)) == "a" * 60
    assert RatingEvent.objects.count() == 1
