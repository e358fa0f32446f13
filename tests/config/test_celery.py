"""What the worker does around its forks."""

from celery import signals
from django.db import connections


class PooledConnection:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def close(self) -> None:
        self.calls.append("close")

    def close_pool(self) -> None:
        self.calls.append("close pool")


def test_pools_are_closed_before_a_process_is_forked(monkeypatch):
    connection = PooledConnection()
    monkeypatch.setattr(connections, "all", lambda initialized_only: [connection])
    signals.worker_before_create_process.send(sender=None)
    assert connection.calls == ["close", "close pool"]
