"""Background work: one runs it, a dead worker's is taken up, and it ends once."""

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common.models import AuditEntry, Job, JobState
from apps.common.services import jobs, pulse
from apps.common.services.jobs import (
    MAX_ATTEMPTS,
    MAX_PROBLEMS,
    STALE_AFTER,
    JobCancelled,
    JobLost,
    JobRefused,
    Outcome,
    Reporter,
    create_job,
    request_cancel,
    run_job,
    sweep_jobs,
)

LONG_AGO = timedelta(minutes=10)


def make_job(owner: User, **given: Any) -> Job:
    job = create_job(kind="talks.import", task="tests.nothing", title="Import of talks.csv", owner=owner)
    Job.objects.filter(pk=job.pk).update(**given)
    job.refresh_from_db()
    return job


def works(job: Job, reporter: Reporter) -> Outcome:
    return Outcome("2 talks stored.", {"stored": 2}, ["row 3: empty"], "/datasets/talks/")


def abandoned(owner: User, **given: Any) -> Job:
    """A job whose worker was killed long ago."""
    given = {"state": JobState.RUNNING, "attempts": 1, "alive_at": timezone.now() - LONG_AGO} | given
    return make_job(owner, **given)


# --- One attempt --------------------------------------------------------------------------------------------------


def test_a_job_ends_with_the_outcome_of_its_work(rosa: User) -> None:
    job = make_job(rosa)
    run_job(pk=job.pk, work=works)
    job.refresh_from_db()
    assert (job.state, job.message, job.result) == (JobState.DONE, "2 talks stored.", {"stored": 2})
    assert (job.problems, job.result_url, job.attempts) == (["row 3: empty"], "/datasets/talks/", 1)
    assert job.started_at <= job.finished_at
    assert not job.is_open


def test_a_job_triggered_twice_runs_once(rosa: User) -> None:
    job = make_job(rosa)
    ran = []

    def work(job: Job, reporter: Reporter) -> Outcome:
        ran.append(job.attempts)
        run_job(pk=job.pk, work=work)  # the second message, while the first runs
        return Outcome("Done.")

    run_job(pk=job.pk, work=work)
    run_job(pk=job.pk, work=work)  # and a third when it is over
    assert ran == [1]


def test_nothing_runs_for_a_job_that_is_not_there(db: None) -> None:
    run_job(pk=12345, work=lambda job, reporter: pytest.fail("ran"))


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_that_claim_at_once_one_runs(rosa: User) -> None:
    job = make_job(rosa)
    ran: list[str] = []
    together = threading.Barrier(4)

    def work(job: Job, reporter: Reporter) -> Outcome:
        ran.append(threading.current_thread().name)
        return Outcome("Done.")

    def worker() -> None:
        try:
            together.wait()
            run_job(pk=job.pk, work=work)
        finally:
            connection.close()

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    job.refresh_from_db()
    assert (len(ran), job.state, job.attempts) == (1, JobState.DONE, 1)


def test_a_refusal_is_kept_with_its_lines(rosa: User) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        raise JobRefused("Nothing was imported: 1 problem.", ["row 2, value: 6 is outside the scale"])

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.FAILED, "Nothing was imported: 1 problem.")
    assert job.problems == ["row 2, value: 6 is outside the scale"]


def test_a_fault_is_logged_and_its_sentence_names_the_job_and_nothing_else(
    rosa: User, caplog: pytest.LogCaptureFixture
) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        raise ZeroDivisionError("secret text of a conversation")

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert f"job {job.pk}" in job.message
    assert "secret" not in job.message
    assert "secret" in caplog.text


def test_only_the_first_problems_are_kept(rosa: User) -> None:
    job = make_job(rosa)
    lines = [f"row {number}" for number in range(MAX_PROBLEMS + 100)]
    run_job(pk=job.pk, work=lambda job, reporter: Outcome("Done.", problems=lines))
    job.refresh_from_db()
    assert (len(job.problems), job.n_problems) == (MAX_PROBLEMS, MAX_PROBLEMS + 100)


@pytest.mark.parametrize("error", [OperationalError("database is locked"), InterfaceError("connection is closed")])
def test_a_locked_database_leaves_the_job_queued_for_another_attempt(rosa: User, error: DatabaseError) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        if job.attempts == 1:
            raise error
        return Outcome("Done.")

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.QUEUED, 1)
    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 2)


def test_a_database_that_stays_locked_ends_the_job_after_three_attempts(rosa: User) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        raise OperationalError("database is locked")

    for _ in range(MAX_ATTEMPTS + 1):
        run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.FAILED, MAX_ATTEMPTS)
    assert "busy" in job.message


def test_a_job_that_cannot_be_claimed_now_stays_queued(rosa: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(rosa)

    def locked(pk: int) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(jobs, "_claim", locked)
    run_job(pk=job.pk, work=works)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


# --- Finishing within the work's own transaction ------------------------------------------------------------------


def test_a_job_finished_inside_a_transaction_is_done_with_its_rows(rosa: User) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        outcome = Outcome("Stored.", {"stored": 1})
        with transaction.atomic():
            AuditEntry.objects.create(action="tests.row", subject="kept")
            reporter.finish(outcome)
        assert Job.objects.get(pk=job.pk).state == JobState.DONE
        return outcome

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.DONE, "Stored.")
    assert AuditEntry.objects.filter(action="tests.row").exists()


def test_rows_that_roll_back_take_the_end_of_the_job_with_them(rosa: User) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        with transaction.atomic():
            AuditEntry.objects.create(action="tests.row", subject="gone")
            reporter.finish(Outcome("Stored."))
            raise JobRefused("After all not.")
        raise AssertionError

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.FAILED, "After all not.")
    assert not AuditEntry.objects.filter(action="tests.row").exists()


def test_an_attempt_that_was_taken_over_stores_nothing(rosa: User) -> None:
    """The fence: a worker thought dead comes back and finds that attempt 2 has the job."""
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        Job.objects.filter(pk=job.pk).update(attempts=2)
        with transaction.atomic():
            AuditEntry.objects.create(action="tests.row", subject="twice")
            reporter.finish(Outcome("Stored."))
        raise AssertionError

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.attempts, job.message) == (JobState.RUNNING, 2, "")
    assert not AuditEntry.objects.filter(action="tests.row").exists()


def test_an_attempt_that_was_taken_over_neither_ends_nor_reports(rosa: User) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        Job.objects.filter(pk=job.pk).update(attempts=2)
        with pytest.raises(JobLost):
            reporter.step("Going on")
        return Outcome("Stored.")

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.RUNNING, "")


# --- Cancelling ---------------------------------------------------------------------------------------------------


def test_a_queued_job_is_cancelled_at_once_and_never_runs(rosa: User, ada: User) -> None:
    job = make_job(rosa)
    request_cancel(job=job, by=ada)
    run_job(pk=job.pk, work=lambda job, reporter: pytest.fail("ran"))
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.CANCELLED, "Cancelled before it began.")
    assert AuditEntry.objects.get(action="job.cancel").actor == ada


def test_a_running_job_is_cancelled_when_its_work_looks_up_and_what_it_wrote_is_gone(rosa: User) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        with transaction.atomic():
            AuditEntry.objects.create(action="tests.row", subject="gone")
            request_cancel(job=job, by=rosa)
            reporter.step("Next")
        raise AssertionError

    # The request of another connection would outlive the transaction of the work; here they share one.
    Job.objects.filter(pk=job.pk).update(cancel_asked_at=None)
    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.CANCELLED, "Cancelled on request. Nothing of it was stored.")
    assert not AuditEntry.objects.filter(action="tests.row").exists()


def test_a_job_cancelled_just_before_its_end_stores_nothing(rosa: User) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        request_cancel(job=job, by=rosa)
        with transaction.atomic():
            AuditEntry.objects.create(action="tests.row", subject="gone")
            with pytest.raises(JobCancelled):
                reporter.finish(Outcome("Stored."))
            transaction.set_rollback(True)
        raise JobCancelled

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not AuditEntry.objects.filter(action="tests.row").exists()


def test_a_job_that_is_over_stays_as_it_ended(rosa: User) -> None:
    job = make_job(rosa)
    run_job(pk=job.pk, work=works)
    request_cancel(job=job, by=rosa)
    job.refresh_from_db()
    assert (job.state, job.cancel_asked_at) == (JobState.DONE, None)
    assert not AuditEntry.objects.filter(action="job.cancel").exists()


def test_asking_twice_is_asking_once(rosa: User) -> None:
    job = make_job(rosa, state=JobState.RUNNING, attempts=1, alive_at=timezone.now())
    request_cancel(job=job, by=rosa)
    request_cancel(job=job, by=rosa)
    assert AuditEntry.objects.filter(action="job.cancel").count() == 1


# --- Progress -----------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_progress_is_seen_by_others_while_the_work_goes_on(rosa: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "BEAT_SECONDS", 0.02)
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        reporter.step("Reading talks.csv", total=10)
        reporter.advance(4)
        assert eventually(lambda: seen(job) == ("Reading talks.csv", 4, 10))
        reporter.step("Storing")
        assert eventually(lambda: seen(job) == ("Storing", 0, None))
        return Outcome("Done.")

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.DONE, "Done.")


@pytest.mark.django_db(transaction=True)
def test_a_step_told_before_a_transaction_is_seen_at_once(rosa: User) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        reporter.step("Storing 2 talks", total=2)
        with transaction.atomic():
            assert seen(job) == ("Storing 2 talks", 0, 2)
        return Outcome("Done.")

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert job.message == "Done."


@pytest.mark.django_db(transaction=True)
def test_a_sweep_gives_way_at_once_to_whoever_holds_sqlites_lock(rosa: User) -> None:
    """PostgreSQL locks rows, not the database: there the sweep goes its way."""
    job = abandoned(rosa)
    swept: list[tuple[list[Job], float]] = []

    def sweep() -> None:
        try:
            start = time.monotonic()
            found = sweep_jobs()
            swept.append((found, time.monotonic() - start))
        finally:
            connection.close()

    with transaction.atomic():
        thread = threading.Thread(target=sweep)
        thread.start()
        thread.join()
    [(found, seconds)] = swept
    assert seconds < 10  # not the 20 that a click waits
    if connection.vendor == "sqlite":
        assert found == []
        assert sweep_jobs() == [job]
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout")
            assert cursor.fetchone() == (20_000,)
    else:
        assert found == [job]


@pytest.mark.django_db(transaction=True)
def test_a_job_in_one_long_transaction_keeps_alive_where_the_database_allows_it(
    rosa: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL within the transaction; on SQLite it says nothing meanwhile, and ends well all the same."""
    monkeypatch.setattr(pulse, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(pulse, "ALIVE_EVERY_SECONDS", 0.02)
    monkeypatch.setattr(pulse, "WAIT_MILLISECONDS", 20)
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        outcome = Outcome("Done.")
        with transaction.atomic():
            AuditEntry.objects.create(action="tests.row", subject="kept")
            before = Job.objects.get(pk=job.pk).alive_at
            reporter.step("Storing")
            if connection.vendor == "postgresql":
                assert eventually(lambda: Job.objects.get(pk=job.pk).alive_at > before)
            else:
                time.sleep(0.2)
            reporter.finish(outcome)
        return outcome

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.DONE, "Done.")
    assert AuditEntry.objects.filter(action="tests.row").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_cancel_asked_for_from_another_connection_is_heard(rosa: User) -> None:
    job = make_job(rosa)

    def ask() -> None:
        try:
            request_cancel(job=job, by=rosa)
        finally:
            connection.close()

    def work(job: Job, reporter: Reporter) -> Outcome:
        asking = threading.Thread(target=ask)
        asking.start()
        asking.join()
        reporter.step("Next")
        raise AssertionError

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED


def test_progress_costs_the_work_the_same_few_queries_however_often_it_is_told(
    rosa: User, django_assert_num_queries: Any
) -> None:
    job = make_job(rosa)

    def work(job: Job, reporter: Reporter) -> Outcome:
        with django_assert_num_queries(1):
            reporter.step("Reading", total=5000)
            for done in range(5000):
                reporter.advance(done)
        return Outcome("Done.")

    run_job(pk=job.pk, work=work)
    job.refresh_from_db()
    assert job.state == JobState.DONE


# --- The sweeper --------------------------------------------------------------------------------------------------


def test_a_killed_workers_job_is_queued_again_and_triggered(rosa: User) -> None:
    job = abandoned(rosa)
    assert sweep_jobs() == [job]
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.QUEUED, 1)
    run_job(pk=job.pk, work=works)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 2)


def test_a_job_whose_worker_is_killed_every_time_is_given_up_in_words(rosa: User) -> None:
    job = abandoned(rosa, attempts=MAX_ATTEMPTS)
    assert sweep_jobs() == []
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert "after 3 attempts" in job.message
    assert job.finished_at is not None


def test_a_killed_workers_job_that_was_to_be_cancelled_is_cancelled(rosa: User) -> None:
    job = abandoned(rosa, cancel_asked_at=timezone.now())
    assert sweep_jobs() == []
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED


def test_a_job_that_was_alive_within_two_minutes_is_left_alone(rosa: User) -> None:
    job = abandoned(rosa, alive_at=timezone.now() - STALE_AFTER + timedelta(seconds=10))
    assert sweep_jobs() == []
    job.refresh_from_db()
    assert job.state == JobState.RUNNING


def test_a_queued_job_whose_message_was_lost_is_triggered_again_but_not_with_every_sweep(rosa: User) -> None:
    lost = make_job(rosa, updated_at=timezone.now() - LONG_AGO)
    make_job(rosa)  # its message is on the way
    assert sweep_jobs() == [lost]
    assert sweep_jobs() == []


def test_a_sweep_in_a_locked_database_is_no_failure(rosa: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked() -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(jobs, "_take_up_stale", locked)
    assert sweep_jobs() == []


def test_a_sweep_that_had_to_wait_for_the_lock_judges_nobody(rosa: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """On SQLite the lock may be held by the very job that could not say it is alive."""
    job = abandoned(rosa)
    monkeypatch.setattr(jobs, "HAD_TO_WAIT_SECONDS", -1.0)
    assert sweep_jobs() == []
    job.refresh_from_db()
    assert job.state == JobState.RUNNING


def eventually(holds: Any) -> bool:
    """Whether it holds within five seconds."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.01)
    return False


def seen(job: Job) -> tuple[str, int, int | None]:
    """Step, done and total as another connection sees them."""
    row = Job.objects.get(pk=job.pk)
    return row.step, row.done, row.total
