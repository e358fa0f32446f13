"""What pages say of exclusions of a prompt's examples, and of those that were taken back."""

import pytest
from django.urls import reverse

from apps.llm.models import PromptExample
from apps.llm.services.example_exclusions import example_exclusions
from apps.llm.services.model_raters import ensure_model_rater
from apps.llm.services.planning import RunSelection, create_run
from apps.studies.models import Exclusion, Item
from apps.studies.services.exclusions import exclude, revert
from tests.llm.worlds import make_endpoint, make_version


@pytest.fixture
def shown(grief):
    """A version that shows two conversations."""
    version = make_version(grief, name="warm", number=3)
    dimension = version.frameworks.get().dimensions.first()
    for item, slot in zip(Item.objects.filter(block__study=grief).order_by("pk")[:2], ("low", "high"), strict=True):
        PromptExample.objects.create(version=version, dimension=dimension, item=item, slot=slot, score=1)
    return version


@pytest.fixture
def rater(shown, rosa):
    return ensure_model_rater(version=shown, endpoint=make_endpoint(), by=rosa)


def pages(client, rater, run) -> tuple[str, str]:
    study = rater.rater.study.slug
    version = client.get(reverse("llm:prompt-version", args=[study, rater.version_id])).text
    return version, client.get(reverse("llm:run", args=[study, run.pk])).text


def test_pages_count_those_that_stand(rater, grief, sign_in, rosa):
    run = create_run(study=grief, model_rater=rater, selection=RunSelection(), by=rosa)
    client = sign_in(rosa)
    version, of_run = pages(client, rater, run)
    assert "2 conversations are shown, and left out of every figure of its raters" in version
    assert "conversations that its prompt shows as examples count in no statistic of this rater." in of_run
    first, second = Exclusion.objects.order_by("pk")
    revert(exclusion=first, by=rosa)
    version, of_run = pages(client, rater, run)
    assert "left out of every figure of its raters" not in version
    assert "2 conversations are shown; 1 exclusion of its raters from them stands" in version
    assert "1 was taken back" in version
    assert "1 conversation that its prompt shows as an example counts in no statistic of this rater" in of_run
    assert "1 exclusion was taken back." in of_run
    revert(exclusion=second, by=rosa)
    version, of_run = pages(client, rater, run)
    assert "0 exclusions of its raters from them stand" in version
    assert "2 were taken back" in version
    assert "2 exclusions were taken back." in of_run


def test_what_another_exclusion_keeps_out_still_stands(rater, rosa):
    first = Exclusion.objects.order_by("pk")[0]
    revert(exclusion=first, by=rosa)
    assert example_exclusions(rater) == example_exclusions(rater.version) == (1, 1)
    by_hand = exclude(rater=rater.rater, item=first.item, by=rosa)
    assert example_exclusions(rater) == (2, 0)
    revert(exclusion=by_hand, by=rosa)
    exclude(rater=rater.rater, by=rosa)
    assert example_exclusions(rater) == (2, 0)


def test_it_is_one_query(rater, django_assert_num_queries):
    with django_assert_num_queries(1):
        example_exclusions(rater)
