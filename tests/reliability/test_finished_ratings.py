"""Drafts reach no figure, answer, count or export: a rating counts once its rater has handed the item in.

CASES 13: unfinished work never counts.
"""

import csv

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from apps.annotation.models import Rating
from apps.reliability.services.loading import load_tables
from apps.studies.models import Assignment, AssignmentState, Item, RaterKind

pytestmark = pytest.mark.django_db

FINISHED = [AssignmentState.SUBMITTED, AssignmentState.SURPLUS]
UNFINISHED = [state for state in AssignmentState if state not in FINISHED]


@pytest.fixture
def with_states(grief, rate):
    """`with_states(state, ...)`: expert1 rated 1, 2, 3 on three items, whose assignments are in these states."""

    def made(*states: str | None):
        rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 2, 4]})
        items = Item.objects.filter(block__study=grief).order_by("position")
        Assignment.objects.bulk_create(
            Assignment(rater=grief.raters.get(name="expert1"), item=item, state=state, position=place)
            for place, (item, state) in enumerate(zip(items, states, strict=True))
            if state is not None
        )
        return grief

    return made


def loaded(study, **narrowed) -> dict[str, list[float]]:
    return {
        rater.name: list(table.values[:, place])
        for table in load_tables(study=study, **narrowed)
        for place, rater in enumerate(table.raters)
    }


def exported(study, path) -> list[tuple[str, str]]:
    call_command("export_ratings", "--study", study.slug, "--out", str(path), verbosity=0)
    with path.open(newline="", encoding="utf-8") as file:
        return [(row["rater"], row["value"]) for row in csv.DictReader(file)]


def test_every_state_is_either_finished_or_not():
    assert len(UNFINISHED) + len(FINISHED) == len(AssignmentState)
    assert set(UNFINISHED) == {"assigned", "in_progress", "skipped", "lapsed"}


@pytest.mark.parametrize("state", UNFINISHED)
def test_a_draft_is_in_no_table_and_no_export(with_states, state, tmp_path):
    study = with_states(AssignmentState.SUBMITTED, state, state)
    np.testing.assert_array_equal(loaded(study)["expert1"], [1, np.nan, np.nan])
    assert loaded(study)["expert2"] == [1, 2, 4]
    assert exported(study, tmp_path / "r.csv") == [
        ("expert1", "1"),
        ("expert2", "1"),
        ("expert2", "2"),
        ("expert2", "4"),
    ]
    assert Rating.objects.finished().count() == 4


@pytest.mark.parametrize("state", [*FINISHED, None])
def test_what_was_handed_in_surplus_and_imports_count(with_states, state, tmp_path):
    study = with_states(state, state, state)
    assert loaded(study)["expert1"] == [1, 2, 3]
    assert len(exported(study, tmp_path / "r.csv")) == 6


def test_who_has_only_drafts_has_no_column_however_the_table_is_asked_for(with_states):
    study = with_states(AssignmentState.IN_PROGRESS, AssignmentState.LAPSED, AssignmentState.SKIPPED)
    for narrowed in ({}, {"block": "main"}, {"dimension": "scale_1"}, {"framework": "warmth-scales"}):
        assert set(loaded(study, **narrowed)) == {"expert2"}


def test_a_draft_of_one_rater_takes_nothing_from_another_on_the_same_item(with_states):
    study = with_states(AssignmentState.SUBMITTED, AssignmentState.IN_PROGRESS, AssignmentState.SUBMITTED)
    other = study.raters.get(name="expert2")
    item = Item.objects.get(block__study=study, position=0)
    Assignment.objects.create(rater=other, item=item, state=AssignmentState.SUBMITTED, position=0)
    assert loaded(study)["expert2"] == [1, 2, 4]


def test_the_api_computes_with_finished_ratings_only(with_states, sign_in, rosa):
    study = with_states(AssignmentState.SUBMITTED, AssignmentState.SUBMITTED, AssignmentState.IN_PROGRESS)
    address = reverse("api-study-agreement", args=[study.slug])

    def pair(statistic: str) -> dict:
        rows = sign_in(rosa).get(address, {"bootstrap": 0}).json()["rows"]
        [row] = [row for row in rows if (row["statistic"], row["a"], row["b"]) == (statistic, "expert1", "expert2")]
        return row

    assert (pair("mae")["value"], pair("mae")["n_items"]) == (0, 2)
    Assignment.objects.update(state=AssignmentState.SUBMITTED)
    assert (pair("mae")["value"], pair("mae")["n_items"]) == (pytest.approx(1 / 3), 3)


def test_counts_of_ratings_leave_drafts_out(with_states, sign_in, rosa):
    study = with_states(AssignmentState.SUBMITTED, AssignmentState.SKIPPED, AssignmentState.IN_PROGRESS)
    assert [(rater.name, rater.n_ratings) for rater in study.raters.with_rating_counts()] == [
        ("expert1", 1),
        ("expert2", 3),
        ("expert3", 0),
    ]
    assert study.raters.summed_by_kind() == [(RaterKind.EXPERT, 3, 4)]
    answer = sign_in(rosa).get(reverse("api-study-raters", args=[study.slug])).json()
    assert [row["n_ratings"] for row in answer["results"]] == [1, 3, 0]
