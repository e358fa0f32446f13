"""What a person sees of background work: their own, in words, and never a wheel that spins for ever."""

import os
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.common.models import Job, JobState
from apps.common.services.heartbeats import record_heartbeat
from apps.common.services.jobs import JobRefused, Outcome, create_job, run_job

JOBS = "/jobs/"
HTMX = {"hx-request": "true"}
NO_WORKER = "Queued, no worker seen for 30 s"


def make_job(owner: User, **given: Any) -> Job:
    job = create_job(
        kind="talks.import", task="tests.nothing", title="Import of talks.csv", owner=owner, back_url="/up/"
    )
    Job.objects.filter(pk=job.pk).update(**given)
    job.refresh_from_db()
    return job


def ended(owner: User, outcome: Outcome | JobRefused) -> Job:
    job = make_job(owner)

    def work(job: Job, reporter: object) -> Outcome:
        if isinstance(outcome, JobRefused):
            raise outcome
        return outcome

    run_job(pk=job.pk, work=work)
    return job


def minutes_ago(minutes: float) -> Any:
    return timezone.now() - timedelta(minutes=minutes)


def page_of(job: Job) -> str:
    return f"{JOBS}{job.pk}/"


def cancel_of(job: Job) -> str:
    return f"{JOBS}{job.pk}/cancel/"


def test_counts_and_problems_of_a_private_job_are_for_its_owner_only(sign_in, ada, rosa):
    refused = JobRefused("Nothing was stored: 1 problem.", ["row 2: 7 is not allowed"])
    job = ended(rosa, refused)
    Job.objects.filter(pk=job.pk).update(is_private=True, result={"changed": 60817})
    own, admins = sign_in(rosa).get(page_of(job)).text, sign_in(ada).get(page_of(job)).text
    for told in ("7 is not allowed", "Changed", "60817", "/up/"):
        assert (told in own, told in admins) == (True, False)
    assert "Nothing was stored: 1 problem." in admins
    assert "only: they could tell ratings" in admins


class TestList:
    def test_a_person_sees_their_own_jobs_and_an_admin_everybodys(self, sign_in, ada, rosa, otto):
        job = make_job(rosa)
        assert page_of(job) in sign_in(rosa).get(JOBS).text
        assert page_of(job) in sign_in(ada).get(JOBS).text
        assert "Nothing yet" in sign_in(otto).get(JOBS).text

    def test_a_stranger_is_asked_to_sign_in(self, sign_in, db):
        assert sign_in(None).get(JOBS).url.startswith(reverse("accounts:sign-in"))

    def test_it_is_only_read(self, sign_in, rosa):
        assert sign_in(rosa).post(JOBS).status_code == 405

    def test_it_comes_in_pages_and_more_jobs_cost_no_more_queries(self, sign_in, ada, rosa, django_assert_num_queries):
        client = sign_in(ada)
        make_job(rosa)
        with django_assert_num_queries(4):  # session, person, count, jobs
            client.get(JOBS)
        for _ in range(30):
            make_job(rosa)
        with django_assert_num_queries(4):
            first = client.get(JOBS)
        assert "1 to 25 of 31" in first.text


class TestJob:
    def test_the_owner_sees_it_whole_and_htmx_gets_the_moving_part(self, sign_in, rosa):
        job = make_job(rosa, state=JobState.RUNNING, step="Reading talks.csv", done=400, total=1000)
        whole = sign_in(rosa).get(page_of(job))
        part = sign_in(rosa).get(page_of(job), headers=HTMX)
        assert "<html" in whole.text
        assert "<html" not in part.text
        assert part.text.strip().startswith('<div id="job"')
        assert "HX-Request" in part["Vary"]
        for page in (whole, part):
            assert 'max="1000" value="400"' in page.text
            assert "Reading talks.csv: 400 of 1000" in page.text

    def test_without_javascript_the_page_reloads_while_the_job_is_open(self, sign_in, rosa):
        job = make_job(rosa)
        assert '<meta http-equiv="refresh"' in sign_in(rosa).get(page_of(job)).text
        assert '<meta http-equiv="refresh"' not in sign_in(rosa).get(page_of(ended(rosa, Outcome("Done.")))).text

    def test_an_admin_sees_it_too(self, sign_in, ada, rosa):
        assert sign_in(ada).get(page_of(make_job(rosa))).status_code == 200

    @pytest.mark.parametrize("address", [page_of, cancel_of])
    def test_to_everybody_else_it_is_not_there(self, sign_in, rosa, otto, address):
        job = make_job(rosa)
        client = sign_in(otto)
        ask = client.get if address is page_of else client.post
        assert ask(address(job)).status_code == 404
        assert ask(address(Job(pk=job.pk + 1000))).status_code == 404
        job.refresh_from_db()
        assert job.state == JobState.QUEUED

    def test_a_stranger_is_asked_to_sign_in(self, sign_in, rosa):
        assert sign_in(None).get(page_of(make_job(rosa))).url.startswith(reverse("accounts:sign-in"))

    def test_it_is_only_read(self, sign_in, rosa):
        assert sign_in(rosa).post(page_of(make_job(rosa))).status_code == 405

    def test_it_asks_itself_while_open_and_stops_when_over(self, sign_in, rosa):
        client = sign_in(rosa)
        job = make_job(rosa)
        assert 'hx-trigger="every 1s"' in client.get(page_of(job)).text
        Job.objects.filter(pk=job.pk).update(created_at=minutes_ago(5))
        assert 'hx-trigger="every 3s"' in client.get(page_of(job), headers=HTMX).text
        Job.objects.filter(pk=job.pk).update(created_at=minutes_ago(50))
        assert 'hx-trigger="every 10s"' in client.get(page_of(job), headers=HTMX).text
        Job.objects.filter(pk=job.pk).update(state=JobState.DONE)
        assert "hx-trigger" not in client.get(page_of(job), headers=HTMX).text

    def test_the_end_is_announced_and_takes_the_cancel_button_away(self, sign_in, rosa):
        job = ended(rosa, Outcome("2 talks stored."))
        part = sign_in(rosa).get(page_of(job), headers=HTMX).text
        assert '<div hx-swap-oob="innerHTML:#job-news">Done. 2 talks stored.</div>' in part
        assert '<div hx-swap-oob="innerHTML:#job-cancel"></div>' in part

    def test_success_shows_counts_and_the_way_to_the_result(self, sign_in, rosa):
        job = ended(rosa, Outcome("2 talks stored.", {"ratings added": 2}, url="/datasets/talks/"))
        page = sign_in(rosa).get(page_of(job)).text
        assert "2 talks stored." in page
        assert "<dt>Ratings added</dt><dd>2</dd>" in page
        assert 'href="/datasets/talks/"' in page
        assert 'href="/up/"' not in page

    def test_a_refusal_lists_the_problems_how_many_more_and_the_way_back(self, sign_in, rosa):
        lines = [f"row {number}: <b>empty</b>" for number in range(200)]
        job = ended(rosa, JobRefused("Nothing was imported: 450 problems.", lines, n_problems=450))
        page = sign_in(rosa).get(page_of(job)).text
        assert "Nothing was imported: 450 problems." in page
        assert "450 problems</h2>" in page
        assert "row 199: &lt;b&gt;empty" in page
        assert "and 250 more" in page
        assert 'href="/up/"' in page

    def test_case_6_with_no_worker_it_says_so_and_what_to_do(self, sign_in, ada, rosa):
        """CASES 6: it does not spin for ever."""
        job = make_job(rosa, created_at=minutes_ago(1))
        page = sign_in(rosa).get(page_of(job)).text
        assert NO_WORKER in page
        assert "tell whoever runs this site" in page
        assert "<progress" not in page
        assert "Start a worker on the server" in sign_in(ada).get(page_of(job)).text

    def test_case_6_while_other_work_may_keep_the_database_busy_it_says_that_too(self, sign_in, rosa, otto):
        make_job(otto, state=JobState.RUNNING, attempts=1, alive_at=minutes_ago(1))
        page = sign_in(rosa).get(page_of(make_job(rosa, created_at=minutes_ago(1)))).text
        assert NO_WORKER in page
        assert "Perhaps other work keeps the database busy" in page

    def test_case_6_with_a_worker_or_before_30_seconds_it_waits_for_its_turn(self, sign_in, rosa):
        client = sign_in(rosa)
        fresh = client.get(page_of(make_job(rosa))).text
        assert NO_WORKER not in fresh
        assert "Waiting for its turn." in fresh
        record_heartbeat(worker="accord@test", process_id=os.getpid())
        waiting = client.get(page_of(make_job(rosa, created_at=minutes_ago(1)))).text
        assert NO_WORKER not in waiting
        assert "the worker is busy" in waiting

    def test_a_running_job_that_is_silent_says_what_will_happen(self, sign_in, rosa):
        job = make_job(rosa, state=JobState.RUNNING, attempts=1, alive_at=minutes_ago(1))
        assert "Nothing was heard of it for 30 seconds" in sign_in(rosa).get(page_of(job)).text
        Job.objects.filter(pk=job.pk).update(alive_at=timezone.now())
        assert "Nothing was heard" not in sign_in(rosa).get(page_of(job)).text

    def test_a_job_queued_again_says_so(self, sign_in, rosa):
        assert "begins again by itself" in sign_in(rosa).get(page_of(make_job(rosa, attempts=1))).text

    def test_the_page_costs_the_same_queries_whatever_the_job_lists(self, sign_in, rosa, django_assert_num_queries):
        client = sign_in(rosa)
        small, large = (ended(rosa, Outcome("Done.", problems=["row"] * number)) for number in (1, 200))
        for job in (small, large):
            with django_assert_num_queries(3):  # session, person, job
                client.get(page_of(job))


class TestCancel:
    @pytest.mark.parametrize("who", ["rosa", "ada"])
    def test_the_owner_and_an_admin_cancel(self, sign_in, rosa, ada, who):
        job = make_job(rosa)
        response = sign_in({"rosa": rosa, "ada": ada}[who]).post(cancel_of(job), follow=True)
        assert response.redirect_chain == [(page_of(job), 302)]
        assert "Cancelled before it began." in response.text

    def test_a_running_job_says_that_it_is_being_cancelled(self, sign_in, rosa):
        job = make_job(rosa, state=JobState.RUNNING, attempts=1, alive_at=timezone.now())
        page = sign_in(rosa).post(cancel_of(job), follow=True).text
        assert "It stops at its next step." in page
        assert cancel_of(job) not in page

    def test_a_link_cancels_nothing(self, sign_in, rosa):
        assert sign_in(rosa).get(cancel_of(make_job(rosa))).status_code == 405

    def test_a_stranger_is_asked_to_sign_in(self, sign_in, rosa):
        job = make_job(rosa)
        assert sign_in(None).post(cancel_of(job)).url.startswith(reverse("accounts:sign-in"))
        job.refresh_from_db()
        assert job.state == JobState.QUEUED

    def test_while_the_database_is_locked_the_page_asks_for_patience(self, sign_in, rosa, monkeypatch):
        def locked(**given: object) -> None:
            raise OperationalError("database is locked")

        monkeypatch.setattr("apps.common.views.jobs.request_cancel", locked)
        assert "Please ask again in a moment" in sign_in(rosa).post(cancel_of(make_job(rosa)), follow=True).text


class TestRunning:
    def test_each_open_job_is_a_line_with_its_step(self, rosa):
        job = make_job(rosa, state=JobState.RUNNING, step="Reading talks.csv", done=4, total=10)
        ended(rosa, Outcome("Done."))
        lines = render_to_string("common/_running.html", {"jobs": Job.objects.visible_to(rosa).open()})
        assert lines.count("<li>") == 1
        assert page_of(job) in lines
        assert "Reading talks.csv (4 of 10)" in lines

    def test_where_nothing_runs_nothing_is_drawn(self, rosa):
        assert render_to_string("common/_running.html", {"jobs": Job.objects.visible_to(rosa).open()}).strip() == ""

    def test_somebody_deactivated_sees_no_jobs(self, rosa):
        make_job(rosa)
        rosa.is_active = False
        assert not Job.objects.visible_to(rosa).exists()
