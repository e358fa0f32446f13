"""Runs made at the same moment: no question is asked twice of one rater, and no rater is there twice."""

from collections import Counter

import pytest

from apps.llm.models import Call, ModelRater, Prompt, Run
from apps.llm.services.making_runs import RunOrder, make_run
from apps.llm.services.model_raters import ensure_model_rater
from apps.llm.services.planning import PlanError
from apps.studies.models import RaterKind
from tests.llm.worlds import make_endpoint, make_version
from tests.simultaneous import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_two_runs_of_one_rater_one_is_made(grief, rosa):
    order = RunOrder(endpoint=make_endpoint(), version=make_version(grief))
    results = at_once(*[lambda: make_run(study=grief, order=order, by=rosa)] * 2)
    assert {type(result) for result in results} == {Run, PlanError}
    assert Run.objects.count() == 1
    assert set(Counter(Call.objects.values_list("item", "dimension", "sample")).values()) == {1}


def test_the_first_run_of_a_study_makes_its_prompt_once(grief, rosa):
    orders = [RunOrder(endpoint=make_endpoint("one")), RunOrder(endpoint=make_endpoint("two", model="other"))]
    results = at_once(*[lambda order=order: make_run(study=grief, order=order, by=rosa) for order in orders])
    assert {type(result) for result in results} == {Run}
    assert Prompt.objects.get().versions.count() == 1
    assert ModelRater.objects.count() == 2


def test_the_same_rater_asked_for_twice_is_there_once(grief, rosa):
    endpoint, version = make_endpoint(), make_version(grief)
    first, second = at_once(*[lambda: ensure_model_rater(version=version, endpoint=endpoint, by=rosa)] * 2)
    assert first == second
    assert grief.raters.filter(kind=RaterKind.LLM).count() == 1
