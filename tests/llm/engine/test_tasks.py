"""Tasks are only triggers: losing one or sending one twice changes nothing."""

from types import SimpleNamespace

import pytest
from kombu.exceptions import OperationalError

from apps.llm import tasks
from apps.llm.models import Exchange, RunState
from apps.llm.services.controls import start_run
from apps.llm.services.slots import MOST_WORKERS
from apps.llm.tasks import sweep_calls, trigger_endpoint, work_at_endpoint
from tests.llm.engine.stubs import answer
from tests.llm.worlds import make_endpoint, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch):
    """The messages sent, instead of the work."""
    messages: list[int] = []
    monkeypatch.setattr(work_at_endpoint, "apply_async", lambda args, retry: messages.append(args[0]))
    return messages


def test_a_run_that_is_started_is_worked_through(grief, rosa, provider, django_capture_on_commit_callbacks):
    run = make_run(grief, make_endpoint())
    with django_capture_on_commit_callbacks(execute=True):
        start_run(run=run, by=rosa)
        trigger_endpoint(run.endpoint_id)
        assert provider.sent == []
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert len(provider.sent) == 6


@pytest.mark.parametrize(("slots", "messages"), [(1, 1), (32, 1), (33, 2), (100, 4), (1000, MOST_WORKERS)])
def test_a_message_for_each_worker_that_is_of_use(sent, slots, messages, django_capture_on_commit_callbacks):
    endpoint = make_endpoint(max_concurrent=slots)
    with django_capture_on_commit_callbacks(execute=True):
        trigger_endpoint(endpoint.pk)
    assert sent == [endpoint.pk] * messages


def test_a_broker_that_is_down_is_logged(monkeypatch, caplog, django_capture_on_commit_callbacks):
    def down(**options):
        raise OperationalError("nobody is there")

    monkeypatch.setattr(work_at_endpoint, "apply_async", down)
    endpoint = make_endpoint(max_concurrent=100)
    with django_capture_on_commit_callbacks(execute=True):
        trigger_endpoint(endpoint.pk)
    assert caplog.text.count("The broker does not answer") == 1


def test_work_sends_for_more_work_only_where_there_is_some(sent, monkeypatch):
    by_messages = SimpleNamespace(conf=SimpleNamespace(task_always_eager=False))
    monkeypatch.setattr(tasks, "current_app", by_messages)
    monkeypatch.setattr(tasks, "work", lambda endpoint_pk: True)
    work_at_endpoint(7)
    assert sent == [7]
    monkeypatch.setattr(tasks, "work", lambda endpoint_pk: False)
    work_at_endpoint(8)
    assert sent == [7]


def test_a_lost_message_is_made_good_by_the_sweeper(grief, provider):
    provider.replies = [answer("2")]
    run = make_run(grief, make_endpoint(), state=RunState.RUNNING)
    sweep_calls()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert Exchange.objects.count() == 6
    sweep_calls()
    work_at_endpoint(run.endpoint_id)
    assert len(provider.sent) == 6
