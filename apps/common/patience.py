"""How long a connection waits for a database that somebody else has locked, and what it says when that was too long."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import OperationalError, connection

# PostgreSQL: serialization_failure, deadlock_detected, lock_not_available.
PASSING_STATES = ("40001", "40P01", "55P03")


def is_busy(error: OperationalError) -> bool:
    """Whether somebody else held what was wanted: the same is likely to succeed a moment later."""
    state = getattr(error.__cause__, "sqlstate", None)
    return state in PASSING_STATES or " is locked" in str(error)


@contextmanager
def waiting_at_most(*, milliseconds: int) -> Iterator[None]:
    """On SQLite, wait so long for the write lock within the block, and as the settings say after it.

    For what comes again soon, and must not hold a worker's thread as long as a person's click may wait. PostgreSQL
    locks rows, not the database: there this does nothing.
    """
    if connection.vendor != "sqlite":
        yield
        return
    usual = int(settings.DATABASES["default"]["OPTIONS"]["timeout"] * 1000)
    _wait(milliseconds)
    try:
        yield
    finally:
        _wait(usual)


def _wait(milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {milliseconds}")
