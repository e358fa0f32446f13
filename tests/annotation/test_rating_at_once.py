"""Screens that save and submit at the same moment, through the site, on connections of their own."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock

import pytest
from django.db import connection
from django.urls import reverse

from apps.accounts.models import Role
from apps.annotation.models import Rating, RatingEvent
from apps.annotation.services import saving
from apps.studies.models import Assignment, AssignmentState, BlockGroup, Membership, Rater, RaterKind
from apps.studies.services.reservations import take_next
from tests.conftest import make_user

pytestmark = pytest.mark.django_db(transaction=True)

RATERS = 15
# More than the pool of connections holds would only wait for each other.
THREADS = 8


def at_once(*acts: Callable[[], object]) -> list[object]:
    n_threads = min(len(acts), THREADS)
    gate = Barrier(n_threads)

    def begun(number: int, act: Callable[[], object]) -> object:
        if number < n_threads:
            gate.wait(timeout=20)
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(begun, range(len(acts)), acts))


def test_two_identical_clicks_at_once_are_one_row_and_one_event_case_11(desk):
    answers = at_once(*[lambda: desk.save("4")] * 2)
    assert [answer.status_code for answer in answers] == [200, 200]
    assert desk.values() == [4.0]
    assert RatingEvent.objects.count() == 1


def test_of_two_different_clicks_at_once_one_stands_and_the_other_is_told_case_11(desk):
    answers = at_once(lambda: desk.save("2"), lambda: desk.save("4"))
    by_status = {answer.status_code: answer.json() for answer in answers}
    assert by_status.keys() == {200, 409}
    assert by_status[200]["value"] == by_status[409]["value"] == f"{desk.values()[0]:g}"
    assert RatingEvent.objects.count() == 1


def test_every_scale_at_once_is_saved(desk):
    answers = at_once(*[lambda scale=scale: desk.save("3", scale=scale) for scale in (0, 1)])
    assert [answer.status_code for answer in answers] == [200, 200]
    assert desk.values() == [3.0, 3.0]


def test_a_form_sent_twice_at_once_is_one_rating_and_one_place(desk):
    answers = at_once(*[lambda: desk.form("submit", 4, 2)] * 2)
    assert {answer.status_code for answer in answers} <= {302, 422}
    assert desk.values() == [4.0, 2.0]
    assert RatingEvent.objects.count() == 2
    assert desk.state == AssignmentState.SUBMITTED


@pytest.fixture
def crowd(grief, sign_in):
    """Fifteen raters, each in front of one item; (client, assignment) of each."""
    seats = []
    for number in range(RATERS):
        user = make_user(f"rater{number}@example.org", Role.ANNOTATOR)
        Membership.objects.create(study=grief, user=user, role="rater")
        rater = Rater.objects.create(study=grief, name=f"crowd{number:03d}", kind=RaterKind.CROWD, user=user)
        seats.append((user, rater))
    BlockGroup.objects.create(block=grief.blocks.get(), kind=RaterKind.CROWD, overlap=5)
    made = []
    for user, rater in seats:
        client = sign_in(user)
        client.raise_request_exception = False
        made.append((client, take_next(rater=rater)))
    return made


@pytest.fixture
def faulty(monkeypatch):
    """The server breaks now and then: before anything is written, or after it was, when the answer is lost."""
    chance, lock = random.Random(15), Lock()
    faults = Counter()
    record, hold = saving.record_rating, saving.hold

    def breaks(where: str) -> None:
        with lock:
            # The first one of each kind is certain, the others come in one request of a hundred.
            if chance.random() < 0.01 or not faults[where]:
                faults[where] += 1
                raise RuntimeError(where)

    def faulty_hold(**arguments):
        breaks("before")
        return hold(**arguments)

    def faulty_record(**arguments):
        recorded = record(**arguments)
        breaks("within")
        return recorded

    standing = saving._standing

    def faulty_standing(*arguments, **more):
        breaks("after")
        return standing(*arguments, **more)

    monkeypatch.setattr(saving, "hold", faulty_hold)
    monkeypatch.setattr(saving, "record_rating", faulty_record)
    monkeypatch.setattr(saving, "_standing", faulty_standing)
    return faults


def test_fifteen_raters_submit_at_once_while_the_server_breaks_now_and_then_case_15(crowd, framework, faulty):
    """Each client tries again until it is answered; every rating lands once, every item is handed in once."""
    dimensions = list(framework.dimensions.order_by("position"))

    def persist(send: Callable[[], object]) -> None:
        for _ in range(20):
            if send().status_code < 400:
                return
        raise AssertionError("never answered")

    def work(client, assignment) -> None:
        def url(name: str) -> str:
            return reverse(f"rating:{name}", args=["grief", assignment.pk])

        for number, dimension in enumerate(dimensions):
            pk = dimension.pk
            value = (assignment.pk + number) % 5 + 1
            persist(lambda: client.post(url("save"), {"dimension": pk, f"value-{pk}": value, f"based-on-{pk}": 0}))  # noqa: B023
        persist(lambda: client.post(url("submit")))

    at_once(*[lambda seat=seat: work(*seat) for seat in crowd])
    assert min(faulty["before"], faulty["within"], faulty["after"]) >= 1
    assert Rating.objects.count() == RatingEvent.objects.count() == RATERS * len(dimensions)
    for _, assignment in crowd:
        values = Rating.objects.filter(item=assignment.item_id, rater=assignment.rater_id).order_by(
            "dimension__position"
        )
        assert [rating.value for rating in values] == [(assignment.pk + number) % 5 + 1 for number in (0, 1)]
    handed_in = Assignment.objects.filter(state=AssignmentState.SUBMITTED)
    assert Counter(handed_in.values_list("item_id", flat=True)) == dict.fromkeys(
        handed_in.values_list("item_id", flat=True), 5
    )
    assert handed_in.count() == RATERS
