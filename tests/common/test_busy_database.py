"""A database that somebody else holds too long: 503 in words, everywhere, and nothing of other errors is hidden."""

import logging

import psycopg
import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from apps.common.patience import is_busy
from tests.llm.worlds import make_run


def raising(message):
    def act(*_args, **_given):
        raise OperationalError(message)

    return act


@pytest.fixture
def run(grief):
    return make_run(grief)


ACTS = {
    "llm:run-reversed": ("apps.llm.views.asking_again.ask_again", {"n_items": "2"}),
    "llm:run-checks": ("apps.llm.views.checks.request_checks", {}),
    "llm:run-start": ("apps.llm.views.run_acts.start_run", {}),
    "llm:baselines": ("apps.llm.views.baselines.request_baseline", {"rule": "constant"}),
    "llm:seal": ("apps.llm.views.seal.set_seal", {"to": "sealed"}),
    "endpoints:test": ("apps.llm.views.endpoints.request_test", {}),
}


def address(name, run):
    args = {
        "llm:baselines": ["grief"],
        "llm:seal": ["grief"],
        "endpoints:test": [run.endpoint.name],
    }
    return reverse(name, args=args.get(name, ["grief", run.pk]))


@pytest.mark.parametrize("name", ACTS)
def test_an_act_is_answered_in_words_and_may_be_tried_again(name, run, rosa, ada, sign_in, monkeypatch):
    service, data = ACTS[name]
    monkeypatch.setattr(service, raising("database is locked"))
    answer = sign_in(ada if name.startswith("endpoints") else rosa).post(address(name, run), data)
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert "The database was busy; nothing was changed. Try again." in answer.text


def test_a_page_offers_itself_again(grief, rosa, sign_in, monkeypatch):
    monkeypatch.setattr("apps.llm.views.home.listed_runs", raising("database table is locked: llm_run"))
    answer = sign_in(rosa).get(f"{reverse('llm:home', args=['grief'])}?page=2&x=%22%3E")
    assert answer.status_code == 503
    assert 'href="/studies/grief/llm/?page=2&amp;x=%22%3E"' in answer.text
    assert "nothing was changed" not in answer.text


def test_the_rest_interface_says_it_in_json(grief, rosa, sign_in, monkeypatch):
    monkeypatch.setattr("apps.studies.api.readable_studies", raising("database is locked"))
    answer = sign_in(rosa).get("/api/v1/studies/")
    assert answer.status_code == 503
    assert answer.json() == {"detail": "The database was busy; nothing was changed. Try again."}


def test_another_error_is_500_with_its_traceback_in_the_log(run, rosa, monkeypatch, caplog):
    monkeypatch.setattr("apps.llm.views.run_acts.start_run", raising("no such column: llm_run.mood"))
    client = Client(raise_request_exception=False)
    client.force_login(rosa)
    with caplog.at_level(logging.ERROR, logger="django.request"):
        answer = client.post(address("llm:run-start", run))
    assert answer.status_code == 500
    [record] = [record for record in caplog.records if record.exc_info]
    assert "no such column: llm_run.mood" in str(record.exc_info[1])


def test_that_it_was_busy_is_in_the_log_with_its_traceback(run, rosa, sign_in, monkeypatch, caplog):
    monkeypatch.setattr("apps.llm.views.run_acts.start_run", raising("database is locked"))
    sign_in(rosa).post(address("llm:run-start", run))
    [record] = [record for record in caplog.records if record.name == "apps.common.middleware"]
    assert record.levelname == "WARNING"
    assert "database is locked" in str(record.exc_info[1])


@pytest.mark.parametrize(
    ("cause", "busy"),
    [
        (psycopg.errors.LockNotAvailable("canceling statement due to lock timeout"), True),
        (psycopg.errors.DeadlockDetected("deadlock detected"), True),
        (psycopg.errors.AdminShutdown("terminating connection"), False),
        (psycopg.OperationalError("connection refused"), False),
    ],
)
def test_what_is_busy_in_postgresql(cause, busy):
    error = OperationalError(str(cause))
    error.__cause__ = cause
    assert is_busy(error) is busy
