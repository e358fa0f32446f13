"""Runs over REST: how they go, for whoever works with the study, and only to be read."""

from decimal import Decimal

import pytest

from apps.studies.models import MemberRole, Rater, RaterKind
from tests.conftest import make_user
from tests.llm.worlds import answer_all, make_endpoint, make_run

LIST = "/api/v1/studies/grief/runs/"


@pytest.fixture
def run(grief):
    endpoint = make_endpoint(price_input=Decimal(10), price_output=Decimal(0))
    found = make_run(grief, endpoint, budget=Decimal("7.50"))
    answer_all(found, 4.0, rationale="Warm throughout.")
    return found


def test_runs_are_listed_and_told(run, sign_in, rosa):
    client = sign_in(rosa)
    [row] = client.get(LIST).json()["results"]
    assert (row["id"], row["rater"], row["state"], row["calls"]) == (run.pk, "model1", "done", {"done": 6})
    assert (Decimal(row["cost"]), row["is_cost_known"], row["budget"]) == (Decimal("0.006"), True, "7.50")
    told = client.get(f"{LIST}{run.pk}/").json()
    assert {name: told[name] for name in row} == row
    progress = told["progress"]
    assert (progress["n_calls"], progress["n_final"], progress["n_ratings"], progress["n_lost"]) == (6, 6, 6, 0)
    assert (progress["rate"], progress["seconds_left"], progress["has_worker"], progress["failures"]) == (
        None,
        None,
        False,
        [],
    )


def test_researchers_read_them_and_so_does_an_owner_who_rates(run, sign_in, rosa, grief):
    ruth = make_user("ruth@example.org", "researcher")
    grief.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    Rater.objects.create(study=grief, user=rosa, name="expert9", kind=RaterKind.EXPERT)
    for person in (ruth, rosa):
        for address in (LIST, f"{LIST}{run.pk}/"):
            answer = sign_in(person).get(address)
            assert answer.status_code == 200
            assert "Warm throughout" not in answer.text


def test_to_raters_and_strangers_they_are_not_there(run, sign_in, emil, otto, client):
    for address in (LIST, f"{LIST}{run.pk}/"):
        for person in (emil, otto):
            assert sign_in(person).get(address).status_code == 404
        assert client.get(address).status_code in (401, 403)


def test_another_study_s_run_is_not_there(run, strangers, sign_in, rosa):
    foreign = make_run(strangers, run.endpoint, name="foreign")
    assert sign_in(rosa).get(f"{LIST}{foreign.pk}/").status_code == 404


def test_they_are_only_read(run, sign_in, rosa):
    for method in ("post", "put", "patch", "delete"):
        for address in (LIST, f"{LIST}{run.pk}/"):
            assert getattr(sign_in(rosa), method)(address).status_code == 405


def test_more_runs_cost_no_more_queries(run, grief, sign_in, rosa, django_assert_max_num_queries):
    client = sign_in(rosa)

    def count() -> int:
        with django_assert_max_num_queries(40) as captured:
            client.get(LIST)
        return len(captured)

    count()  # the first of all asks more
    one = count()
    for number in range(3):
        make_run(grief, run.endpoint, name=f"more{number}")
    assert count() == one
