"""Which requests are sent again, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.providers.protocol import ErrorKind
from apps.llm.retries import (
    GIVE_UP_AFTER,
    LONGEST_RETRY_AFTER,
    MAX_ATTEMPTS,
    OUTAGE_AFTER,
    Fate,
    asked_for,
    delay_seconds,
    failures_in_a_row,
    fate_of,
    is_given_up,
    is_outage,
    outage_seconds,
)
from tests.llm.made import property_test


@pytest.mark.parametrize("kind", [ErrorKind.PASSING, ErrorKind.RATE])
def test_what_passes_is_tried_five_times(kind):
    fates = [fate_of(kind, attempts) for attempts in range(1, 7)]
    assert fates == [Fate.AGAIN] * (MAX_ATTEMPTS - 1) + [Fate.FAILED] * 2


@pytest.mark.parametrize("kind", [ErrorKind.KEY, ErrorKind.QUOTA, ErrorKind.NOT_FOUND, ErrorKind.SETUP])
def test_what_concerns_every_call_pauses_the_run(kind):
    assert {fate_of(kind, attempts) for attempts in range(1, 7)} == {Fate.PAUSE}


def test_a_refused_request_is_not_sent_again():
    assert fate_of(ErrorKind.REFUSED, 1) is Fate.FAILED


def test_every_kind_has_a_fate():
    assert all(fate_of(kind, 1) in Fate for kind in ErrorKind)


def test_the_limit_doubles_up_to_a_minute():
    limits = [delay_seconds(attempts, None, lambda: 1.0) for attempts in range(1, 10)]
    assert limits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@property_test
@given(
    attempts=st.integers(1, 50),
    retry_after=st.none() | st.floats(allow_nan=True, allow_infinity=True),
    lot=st.floats(0, 1, exclude_max=True),
)
def test_a_delay_is_as_long_as_asked_for_and_never_for_ever(attempts, retry_after, lot):
    delay = delay_seconds(attempts, retry_after, lambda: lot)
    assert asked_for(retry_after) <= delay <= LONGEST_RETRY_AFTER + 60


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(None, 0), (2, 2), (0.5, 0.5), (-3, 0), (float("nan"), 0), (100_000, 600), (float("inf"), 600)],
)
def test_what_the_provider_asks_for(said, seconds):
    assert asked_for(said) == seconds


# --- Outages --------------------------------------------------------------------------------------------------------


def test_a_dozen_failures_are_an_outage_however_many_were_on_their_way():
    assert [failures_in_a_row(before, 1) for before in (0, 10, OUTAGE_AFTER)] == [1, 11, OUTAGE_AFTER + 1]
    assert failures_in_a_row(3, 500) == OUTAGE_AFTER
    assert failures_in_a_row(OUTAGE_AFTER, 500) == OUTAGE_AFTER + 1
    assert [is_outage(n) for n in (0, OUTAGE_AFTER - 1, OUTAGE_AFTER)] == [False, False, True]


@pytest.mark.parametrize(
    ("in_a_row", "seconds", "given_up"),
    [(OUTAGE_AFTER, 900, False), (20, 299, False), (20, 300, True), (GIVE_UP_AFTER, 1, True)],
)
def test_when_an_endpoint_is_given_up(in_a_row, seconds, given_up):
    assert is_given_up(in_a_row, seconds) is given_up


def test_an_endpoint_is_left_alone_for_longer_and_longer():
    assert [outage_seconds(seconds, lambda: 1.0) for seconds in (0, 4, 50, 200)] == [1, 4, 50, 60]
    assert outage_seconds(50, lambda: 0.0) == 0
