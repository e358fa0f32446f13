"""Raters who want a place at the same moment, on connections of their own."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from apps.studies.models import Assignment, AssignmentState, BlockGroup, Item, Rater, RaterKind
from apps.studies.services.reservations import hold, lapse_expired, submit, take_next
from apps.studies.services.slots import work_left
from tests.conftest import make_dataset, make_study

pytestmark = pytest.mark.django_db(transaction=True)

# More than the pool of connections holds; fewer than would only wait for each other.
AT_ONCE = 8


def at_once(*acts: Callable[[], object]) -> list[object]:
    """What each act returned or raised, begun together as far as there are threads."""
    n_threads = min(len(acts), AT_ONCE)
    gate = Barrier(n_threads)

    def begun(number: int, act: Callable[[], object]) -> object:
        if number < n_threads:
            gate.wait(timeout=10)
        try:
            return act()
        except Exception as problem:
            return problem
        finally:
            connection.close()

    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(begun, range(len(acts)), acts))


def again(assignment: Assignment) -> Assignment:
    return Assignment.objects.select_related("rater__study", "item__block").get(pk=assignment.pk)


@pytest.fixture
def study_of(rosa, framework):
    def made(*, items: int, raters: int, overlap: int | None):
        dataset = make_dataset("crowded", conversations=items)
        study = make_study("crowded", owner=rosa, dataset=dataset, frameworks=[framework], experts=raters)
        BlockGroup.objects.update(overlap=overlap)
        return study

    return made


def test_of_two_raters_who_ask_at_once_for_one_place_one_gets_it_case_12(study_of):
    study = study_of(items=1, raters=2, overlap=1)
    raters = list(study.raters.all())
    results = at_once(*[lambda rater=rater: take_next(rater=rater) for rater in raters])
    assert sorted(result is None for result in results) == [False, True]
    loser = raters[results.index(None)]
    assert work_left(rater=loser).is_all_taken
    assert Assignment.objects.count() == 1


def test_fifty_raters_ten_items_three_each_make_thirty_places_case_12(study_of):
    study = study_of(items=10, raters=50, overlap=3)

    def work(rater: Rater) -> int:
        """Takes and hands in until nothing is left, but leaves the last item of every third rater open."""
        taken = 0
        while (assignment := take_next(rater=rater)) is not None:
            taken += 1
            if rater.pk % 3 == 0:
                break
            submit(assignment=again(assignment))
        return taken

    results = at_once(*[lambda rater=rater: work(rater) for rater in study.raters.all()])
    assert [result for result in results if not isinstance(result, int)] == []
    places = Counter(Assignment.objects.exclude(state=AssignmentState.SURPLUS).values_list("item_id", flat=True))
    assert set(places.values()) == {3}
    assert Assignment.objects.count() == places.total() == 30


def test_one_rater_who_asks_twice_at_once_gets_one_item(study_of):
    study = study_of(items=5, raters=1, overlap=None)
    rater = study.raters.get()
    results = at_once(*[lambda: take_next(rater=rater)] * 4)
    assert len(set(results)) == 1
    assert Assignment.objects.count() == 1


def test_a_lapsed_place_goes_to_one_of_those_who_want_it_case_13(study_of):
    """The first comes back to it while two others ask for work and the clock marks what is over."""
    study = study_of(items=1, raters=3, overlap=1)
    first, *others = study.raters.all()
    for _ in range(5):
        Assignment.objects.all().delete()
        mine = again(take_next(rater=first))
        Assignment.objects.update(reserved_until=timezone.now() - timedelta(seconds=1))
        results = at_once(
            lambda mine=mine: hold(assignment=mine),
            lambda: take_next(rater=others[0]),
            lapse_expired,
            lambda: take_next(rater=others[1]),
        )
        assert [result for result in results if isinstance(result, Exception)] == []
        states = Counter(Assignment.objects.values_list("state", flat=True))
        assert states["assigned"] + states["in_progress"] == 1


def test_of_lapsed_work_handed_in_at_once_as_many_count_as_there_are_places(study_of):
    study = study_of(items=1, raters=6, overlap=2)
    item = Item.objects.get()
    lapsed = [
        Assignment.objects.create(rater=rater, item=item, position=0, state=AssignmentState.LAPSED)
        for rater in study.raters.all()
    ]
    results = at_once(*[lambda one=one: submit(assignment=again(one)) for one in lapsed])
    assert [result for result in results if isinstance(result, Exception)] == []
    assert Counter(Assignment.objects.values_list("state", flat=True)) == {"submitted": 2, "surplus": 4}


def test_two_kinds_do_not_stand_in_each_others_way(study_of):
    study = study_of(items=1, raters=1, overlap=1)
    BlockGroup.objects.create(block=study.blocks.get(), kind=RaterKind.CROWD, overlap=1)
    Rater.objects.create(study=study, name="crowd001", kind=RaterKind.CROWD)
    results = at_once(*[lambda rater=rater: take_next(rater=rater) for rater in study.raters.all()])
    assert all(isinstance(result, Assignment) for result in results)
