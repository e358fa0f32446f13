"""What becomes of a question whose request failed, and how long it waits before it is asked again. Pure."""

import math
from collections.abc import Callable
from enum import StrEnum

from apps.llm.providers.protocol import ErrorKind

MAX_ATTEMPTS = 5
BASE_SECONDS = 1.0
LONGEST_SECONDS = 60.0
# So many failures without an answer between are the endpoint's, and no single call's.
OUTAGE_AFTER = 12
# An endpoint that still fails after so many tries, or for so long, is given up until somebody resumes the run.
GIVE_UP_AFTER = 40
GIVE_UP_SECONDS = 300.0
# A provider that asks for more is asked again after this, and may say it once more.
LONGEST_RETRY_AFTER = 600.0


class Fate(StrEnum):
    """What comes after a request that failed."""

    AGAIN = "again"  # the call is asked again, later
    FAILED = "failed"  # the call has failed
    PAUSE = "pause"  # the run pauses, and the attempt does not count against the call


_PAUSES = frozenset({ErrorKind.KEY, ErrorKind.QUOTA, ErrorKind.NOT_FOUND, ErrorKind.SETUP})
_PASSING = frozenset({ErrorKind.PASSING, ErrorKind.RATE})


def fate_of(kind: ErrorKind, attempts: int) -> Fate:
    """What comes after a request that failed so. attempts: requests sent for the question so far, this one included."""
    if kind in _PAUSES:
        return Fate.PAUSE
    if kind in _PASSING and attempts < MAX_ATTEMPTS:
        return Fate.AGAIN
    return Fate.FAILED


def delay_seconds(attempts: int, retry_after: float | None, lot: Callable[[], float]) -> float:
    """How long a question waits after its `attempts`-th request failed.

    Any time up to a limit that doubles with each attempt (1, 2, 4 ... 60 s), so that calls that failed together do not
    come back together. What the provider asked for comes before that, up to ten minutes. lot: a number from 0 up to 1.
    """
    limit = min(LONGEST_SECONDS, BASE_SECONDS * 2.0 ** max(0, attempts - 1))
    return asked_for(retry_after) + lot() * limit


def failures_in_a_row(before: int, n_now: int) -> int:
    """How many there are with `n_now` that came back together.

    What was on its way when an outage began says the same many times over: it makes an outage, and counts no further.
    """
    return min(before + n_now, OUTAGE_AFTER) if before < OUTAGE_AFTER else before + 1


def is_outage(in_a_row: int) -> bool:
    """Whether the endpoint is out of order: it is asked one thing at a time, and calls keep their attempts."""
    return in_a_row >= OUTAGE_AFTER


def is_given_up(in_a_row: int, seconds: float) -> bool:
    """Whether an endpoint that has failed for so long is asked no more by itself."""
    return in_a_row >= GIVE_UP_AFTER or (in_a_row > OUTAGE_AFTER and seconds >= GIVE_UP_SECONDS)


def outage_seconds(seconds: float, lot: Callable[[], float]) -> float:
    """How long an endpoint is left alone that has failed for `seconds`: any time up to as long again, at most 60 s."""
    return lot() * min(LONGEST_SECONDS, max(BASE_SECONDS, seconds))


def asked_for(retry_after: float | None) -> float:
    """Seconds that the provider asked to wait: none for what is no time, ten minutes at most."""
    if retry_after is None or math.isnan(retry_after) or retry_after < 0:
        return 0.0
    return min(retry_after, LONGEST_RETRY_AFTER)
