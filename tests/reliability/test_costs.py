import math

import pytest

from apps.reliability.costs import MOST_RATERS, MOST_RATINGS, QUICK_SECONDS, TableSize, is_quick, seconds_to_compute
from apps.reliability.matrix import Kind, RaterKey
from apps.reliability.services.estimating import computes_quickly
from apps.studies.models import RaterKind
from apps.studies.services.raters import add_rater

EXPERTS = tuple(RaterKey(f"expert{number}", Kind.EXPERT) for number in range(1, 4))


def size(n_items: int = 100, n_points: int = 5, raters: tuple[RaterKey, ...] = EXPERTS) -> TableSize:
    return TableSize(n_items, n_points, raters)


def seconds(*tables: TableSize, n_ratings: int = 300, resamples: int = 1000) -> float:
    return seconds_to_compute(tables, n_ratings=n_ratings, resamples=resamples)


def test_every_comparison_costs():
    """Three experts: three pairs, each with the two others, the group, and three who may have repeated items."""
    one, two = seconds(size()), seconds(size(), size())
    assert two - one == pytest.approx(10 * (3e-3 + 1000 * (5e-6 + 25e-7)))


def test_more_of_anything_takes_longer():
    usual = seconds(size())
    assert seconds(size(raters=(*EXPERTS, RaterKey("gpt", Kind.LLM)))) > usual
    assert seconds(size(n_points=7)) > usual
    assert seconds(size(), n_ratings=3000) > usual
    assert seconds(size(), resamples=2000) > usual
    assert seconds(size(n_items=10)) < usual
    assert seconds(size(), resamples=0) < usual


def test_patterns_are_bounded_by_the_points_of_the_scale_unless_values_lie_between():
    assert seconds(size(n_items=1000)) == seconds(size(n_items=100))
    between = (RaterKey("crowd", Kind.CROWD, is_aggregate=True), *EXPERTS[:2])
    assert seconds(size(n_items=1000, raters=between)) > seconds(size(n_items=100, raters=between))


def test_a_small_study_is_quick_and_a_large_one_is_not():
    assert is_quick([size()] * 2, n_ratings=600, resamples=1000)
    assert not is_quick([size()] * 21, n_ratings=6300, resamples=1000)
    assert is_quick([size()] * 5, n_ratings=6300, resamples=0)


def test_crowds_and_piles_are_never_quick():
    crowd = tuple(RaterKey(f"crowd{number}", Kind.CROWD) for number in range(MOST_RATERS + 1))
    assert seconds(size(raters=crowd), resamples=0) == math.inf
    assert seconds(size(), n_ratings=MOST_RATINGS + 1) == math.inf
    assert seconds(n_ratings=0) < QUICK_SECONDS


@pytest.mark.django_db
def test_a_study_is_judged_by_who_rated_in_it(grief, rate, monkeypatch, django_assert_num_queries):
    with django_assert_num_queries(7):
        assert computes_quickly(grief)
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 2, 3]})
    for number in range(4, 30):
        add_rater(study=grief, kind=RaterKind.EXPERT, name=f"expert{number}")
    with django_assert_num_queries(7):
        assert computes_quickly(grief)
    rate(grief, {f"expert{number}": [1, 2, 3] for number in range(4, 30)})
    with django_assert_num_queries(7):
        assert not computes_quickly(grief)
    monkeypatch.setattr("apps.reliability.services.estimating.MOST_RATINGS", 5)
    with django_assert_num_queries(1):
        assert not computes_quickly(grief)
