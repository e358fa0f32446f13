"""What a worker does where the database is locked or away: it waits, or leaves what lapses by itself."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

logger = logging.getLogger(__name__)

# What was answered is paid for: a database that is locked or restarts is waited for, long beyond a lease.
PATIENCE_SECONDS = 600.0
PASSING_ERRORS = (OperationalError, InterfaceError)

T = TypeVar("T")


def patiently(act: Callable[[], T]) -> T:
    """Do it again while the database is locked or away, for ten minutes at most. Then raises what it raised."""
    until = time.monotonic() + PATIENCE_SECONDS
    pause = 0.1
    while True:
        try:
            return act()
        except PASSING_ERRORS as error:
            if connection.in_atomic_block or time.monotonic() > until:
                raise
            logger.warning("The database is waited for: %s", error)
            let_go_of_connection()
            time.sleep(pause)
            pause = min(2.0, pause * 2)


def quietly(act: Callable[[], object]) -> None:
    """For what lapses by itself where it cannot be done."""
    try:
        act()
    except PASSING_ERRORS as error:
        logger.warning("Left to lapse: %s", error)
        let_go_of_connection()


def let_go_of_connection() -> None:
    if not connection.in_atomic_block:
        connection.close()
