"""A model that always takes the first point of the list is found out: asked, asked again reversed, and checked."""

import pytest

from apps.annotation.models import Rating
from apps.common.services.jobs import run_job
from apps.llm.models import Run, RunState
from apps.llm.services.asking_again import ask_again
from apps.llm.services.bias import CheckResults, check_bias, request_checks
from apps.llm.services.working import work
from tests.llm.engine.stubs import StubProvider, answer
from tests.llm.worlds import make_endpoint, make_run


def first_listed(sent) -> str:
    """The first allowed score, as the schema lists them."""
    _messages, schema, _parameters = sent
    return answer(schema["properties"]["score"]["enum"][0])


@pytest.fixture
def run(grief, monkeypatch) -> Run:
    stub = StubProvider(by=first_listed)
    monkeypatch.setattr("apps.llm.services.claiming.provider_for", lambda target: stub)
    run = make_run(grief, make_endpoint(), state=RunState.RUNNING)
    while work(run.endpoint_id):
        pass
    run.refresh_from_db()
    assert run.state == RunState.DONE
    return run


def test_a_model_that_takes_the_first_point_is_found_out(run: Run, rosa) -> None:
    before = list(Rating.objects.order_by("pk").values_list("pk", "value"))
    assert {value for _pk, value in before} == {1.0}
    again = ask_again(run=run, n_items=2, by=rosa)
    while work(run.endpoint_id):
        pass
    again.refresh_from_db()
    assert again.state == RunState.DONE
    # For comparison only.
    assert list(Rating.objects.order_by("pk").values_list("pk", "value")) == before
    check = request_checks(run=run, by=rosa)
    assert check.job is not None
    run_job(pk=check.job.pk, work=check_bias)
    check.refresh_from_db()
    figures = {(one.dimension, one.statistic): one for one in CheckResults.read(check.results).figures}
    shift, moved = figures["", "shift_mean"], figures["", "share_towards_first"]
    assert (shift.value, shift.ci_low, shift.ci_high) == (4.0, 4.0, 4.0)
    assert (shift.n_items, shift.n_ratings, shift.n_scales) == (2, 8, 2)
    assert (moved.value, figures["", "share_equal"].value) == (1.0, 0.0)
