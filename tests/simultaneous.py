"""Acts that begin at the same moment, each on a connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from django.db import connection


def at_once(*acts: Callable[[], object]) -> list[object]:
    """What each act returned or raised, all begun at the same moment in threads of their own."""
    gate = Barrier(len(acts))

    def begun(act: Callable[[], object]) -> object:
        gate.wait(timeout=10)
        try:
            return act()
        except Exception as problem:
            return problem
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(begun, acts))
