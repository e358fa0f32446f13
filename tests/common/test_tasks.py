"""How jobs are triggered, and what beat asks for."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from celery import current_app, shared_task
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from apps.accounts.models import User
from apps.common import tasks
from apps.common.models import Job, JobState
from apps.common.services.jobs import Outcome, create_job, run_job
from apps.common.tasks import start_job, sweep

TASK = "tests.common.do_nothing"


@shared_task(name=TASK)
def do_nothing(job_pk: int) -> None:
    run_job(pk=job_pk, work=lambda job, reporter: Outcome("Nothing was to be done."))


@pytest.fixture
def job(rosa: User) -> Job:
    return create_job(kind="talks.import", task=TASK, title="Import of talks.csv", owner=rosa)


class NoBroker:
    """Every message is refused, as by a broker that is down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Any] = []
        monkeypatch.setattr(type(current_app.tasks[TASK]), "apply_async", self.refuse)

    def refuse(self, *args: Any, **options: Any) -> None:
        self.asked.append(options["args"])
        raise OperationalError("Error 111 connecting to localhost:6379. Connection refused.")


def test_the_first_two_jobs_of_a_process_find_their_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Celery looks for tasks once; whoever came while it looked found some of them, and their page ended in 500."""
    found: dict[str, object] = {}
    begun, second_came = Event(), Event()

    class Loader:
        def import_default_modules(self) -> None:
            if begun.is_set():
                second_came.set()
                return
            begun.set()
            second_came.wait(timeout=0.3)
            found["late"] = "the task"

    class App:
        tasks = found
        loader = Loader()

    monkeypatch.setattr(tasks, "current_app", App())
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(tasks._task_named, "late")
        assert begun.wait(timeout=5)
        second = pool.submit(tasks._task_named, "late")
        assert (first.result(timeout=5), second.result(timeout=5)) == ("the task", "the task")


def test_a_job_is_triggered_when_the_transaction_is_committed(
    job: Job, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as callbacks, transaction.atomic():
        start_job(job)
        job.refresh_from_db()
        assert job.state == JobState.QUEUED
    assert len(callbacks) == 1
    callbacks[0]()
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_a_job_of_a_transaction_that_rolls_back_is_never_triggered(
    job: Job, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as callbacks, transaction.atomic():
        start_job(job)
        transaction.set_rollback(True)
    assert callbacks == []


def test_a_broker_that_is_down_does_not_break_the_page_and_the_sweeper_comes(
    job: Job, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        broker = NoBroker(patch)
        with django_capture_on_commit_callbacks(execute=True):
            start_job(job)
    assert broker.asked == [(job.pk,)]
    assert "waits for the sweeper" in caplog.text
    job.refresh_from_db()
    assert job.state == JobState.QUEUED
    Job.objects.filter(pk=job.pk).update(updated_at=timezone.now() - timedelta(minutes=1))
    sweep()
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_a_job_of_an_unknown_task_does_not_keep_the_others_waiting(job: Job, rosa: User) -> None:
    unknown = create_job(kind="talks.import", task="tests.of_another_version", title="Import", owner=rosa)
    Job.objects.update(updated_at=timezone.now() - timedelta(minutes=1))
    sweep()
    assert Job.objects.get(pk=job.pk).state == JobState.DONE
    assert Job.objects.get(pk=unknown.pk).state == JobState.QUEUED


def test_beat_asks_for_tasks_that_there_are() -> None:
    current_app.loader.import_default_modules()
    asked = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert asked <= current_app.tasks.keys()
    assert {"common.sweep_jobs", "common.delete_old_files"} <= asked
