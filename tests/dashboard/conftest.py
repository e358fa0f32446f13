"""The study `warm`: five items on two scales, three experts and a model, and a crowd of few."""

import pytest

from apps.studies.models import RaterKind, Study
from tests.conftest import make_dataset, make_study
from tests.dashboard.agreement_world import RATINGS, add, compute, rate


@pytest.fixture
def warm(rosa, framework) -> Study:
    dataset = make_dataset("warm-talks", conversations=5, owner=rosa)
    study = make_study("warm", owner=rosa, dataset=dataset, frameworks=[framework])
    add(study, "gpt")
    for scale, values in RATINGS.items():
        rate(study, values, dimension=scale)
    for number in (1, 2, 3):
        add(study, f"w{number}", RaterKind.CROWD)
    rate(study, {"w1": [1, 2, 3, None, 5], "w2": [1, 2, 4, 4, None], "w3": [2, 2, 3, 4, 5]})
    return study


@pytest.fixture
def warm_computed(warm) -> Study:
    compute(warm)
    return warm
