"""What a load balancer and an operator are told."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from celery import current_app
from django.db import OperationalError, ProgrammingError, connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.common.models import WorkerHeartbeat
from apps.common.services import heartbeats
from apps.common.services.heartbeats import is_worker_alive, record_heartbeat
from config.celery import Heartbeat


def seen(seconds_ago: float, worker: str = "accord@here") -> None:
    WorkerHeartbeat.objects.update_or_create(
        worker=worker, defaults={"process_id": 1, "seen_at": timezone.now() - timedelta(seconds=seconds_ago)}
    )


class TestAlive:
    def test_it_answers_without_asking_the_database(
        self, client, db, django_assert_num_queries: DjangoAssertNumQueries
    ):
        with django_assert_num_queries(0):
            response = client.get("/healthz")
        assert (response.status_code, response.content) == (200, b"ok")

    def test_nothing_can_be_posted(self, client, db):
        assert client.post("/healthz").status_code == 405


class TestReady:
    def test_everything_answers(self, client, db):
        seen(5)
        response = client.get("/readyz")
        assert response.status_code == 200
        assert response.json() == {"database": True, "broker": True, "worker": True}

    @pytest.mark.parametrize("seconds_ago", [None, 31])
    def test_a_worker_that_is_silent_is_named(self, client, db, seconds_ago):
        """CASES 6."""
        if seconds_ago is not None:
            seen(seconds_ago)
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json() == {"database": True, "broker": True, "worker": False}

    def test_a_database_that_is_away_is_named(self, client, db, monkeypatch):
        def refuse(*args: object) -> None:
            raise OperationalError("away")

        with monkeypatch.context() as away:
            away.setattr(connection, "cursor", refuse)
            response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json() == {"database": False, "broker": True, "worker": False}

    def test_a_database_without_tables_has_seen_no_worker(self, client, db, monkeypatch):
        def no_such_table() -> bool:
            raise ProgrammingError("no such table")

        monkeypatch.setattr("apps.common.views.health.is_worker_alive", no_such_table)
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json() == {"database": True, "broker": True, "worker": False}

    def test_a_broker_that_is_away_is_named(self, client, db, monkeypatch):
        seen(5)
        # A port on which nothing listens.
        monkeypatch.setattr(current_app.conf, "broker_write_url", "redis://127.0.0.1:1/0")
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json() == {"database": True, "broker": False, "worker": True}

    def test_it_tells_nothing_else(self, client, db):
        assert set(client.get("/readyz").json()) == {"database", "broker", "worker"}


class TestHeartbeat:
    def test_a_worker_has_one_row_kept_fresh(self, db):
        seen(100)
        assert not is_worker_alive()
        record_heartbeat(worker="accord@here", process_id=42)
        row = WorkerHeartbeat.objects.get()
        assert row.process_id == 42
        assert is_worker_alive()

    def test_a_beat_that_cannot_be_written_is_no_fault_of_the_worker(self, monkeypatch):
        """A long import holds the lock of SQLite: the worker starts, and goes on, all the same."""

        def locked(**kwargs):
            raise OperationalError("database is locked")

        monkeypatch.setattr(heartbeats, "record_heartbeat", locked)
        Heartbeat.beat(None, SimpleNamespace(hostname="accord@here"))

    def test_one_living_worker_among_dead_ones_is_enough(self, db):
        seen(1000, "accord@gone")
        seen(29, "accord@here")
        assert is_worker_alive()
