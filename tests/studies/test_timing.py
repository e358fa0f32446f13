"""How long an item was before its rater."""

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.studies.models import Assignment, Item
from apps.studies.services import timing
from apps.studies.services.timing import count_gap, report_time

pytestmark = pytest.mark.django_db

MINUTES = st.floats(min_value=0, max_value=600)


@pytest.fixture
def assignment(grief):
    return Assignment.objects.create(
        rater=grief.raters.get(name="expert1"), item=Item.objects.first(), position=0, seen_at=timezone.now()
    )


@pytest.fixture
def ago(assignment):
    """`ago(minutes)`: the screen's last sign of life was that long ago."""

    def set_seen(minutes):
        Assignment.objects.update(seen_at=timezone.now() - timedelta(minutes=minutes))
        return assignment

    return set_seen


def minutes_of(assignment):
    assignment.refresh_from_db()
    return round(assignment.wall_seconds / 60, 2), round(assignment.active_seconds / 60, 2)


def test_reports_add_up(ago):
    report_time(assignment=ago(2), wall=60, active=30)
    report_time(assignment=ago(2), wall=120, active=90)
    assert minutes_of(ago(0)) == (3, 2)


def test_a_report_counts_up_to_the_time_that_has_passed(ago):
    report_time(assignment=ago(1), wall=3600, active=3600)
    assert minutes_of(ago(0)) == (1, 1)


def test_two_windows_do_not_count_the_same_minute_twice(ago):
    report_time(assignment=ago(1), wall=60, active=60)
    report_time(assignment=Assignment.objects.get(), wall=60, active=60)
    assert minutes_of(ago(0)) == (1, 1)


def test_one_is_never_active_longer_than_the_screen_was_open(ago):
    report_time(assignment=ago(5), wall=60, active=240)
    assert minutes_of(ago(0)) == (1, 1)


def test_a_screen_that_was_never_opened_counts_nothing(ago):
    assignment = ago(1)
    Assignment.objects.update(seen_at=None)
    report_time(assignment=assignment, wall=60, active=60)
    assert minutes_of(assignment) == (0, 0)
    assert assignment.seen_at is not None


@pytest.mark.parametrize(("gap", "wall", "active"), [(4, 4, 4), (10, 10, 10), (25, 25, 10), (600, 30, 10)])
def test_without_a_script_the_gap_counts_up_to_a_bound(ago, gap, wall, active):
    count_gap(assignment=ago(gap))
    assert minutes_of(ago(0)) == (wall, active)


@pytest.mark.parametrize(
    ("active", "state", "is_kept"), [(30, "assigned", True), (0, "assigned", False), (30, "lapsed", False)]
)
def test_whoever_reads_keeps_the_reservation_and_a_window_left_open_does_not(ago, active, state, is_kept):
    soon = timezone.now() + timedelta(minutes=1)
    Assignment.objects.update(reserved_until=soon, state=state)
    report_time(assignment=ago(1), wall=60, active=active)
    assert (Assignment.objects.get().reserved_until > soon) == is_kept


@pytest.mark.parametrize("seconds", [(-1, 0), (1, -1), (float("nan"), 0), (0, float("inf"))])
def test_what_is_no_duration_is_refused(ago, seconds):
    wall, active = seconds
    with pytest.raises(ValueError, match="seconds"):
        report_time(assignment=ago(1), wall=wall, active=active)


def test_a_report_that_comes_between_is_not_lost(ago, monkeypatch):
    """Another report is written between reading the last sign of life and writing."""
    assignment = ago(2)
    elapsed, between = timing._elapsed, []

    def racing(seen, now):
        if not between:
            between.append(True)
            report_time(assignment=Assignment.objects.get(), wall=60, active=60)
        return elapsed(seen, now)

    monkeypatch.setattr(timing, "_elapsed", racing)
    report_time(assignment=assignment, wall=60, active=60)
    # The first report ended at this moment: nothing is left of the time that has passed.
    assert minutes_of(assignment) == (1, 1)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(passed=MINUTES, wall=MINUTES, active=MINUTES)
def test_active_is_within_wall_and_wall_within_what_has_passed(ago, passed, wall, active):
    assignment = ago(passed)
    Assignment.objects.update(wall_seconds=0, active_seconds=0)
    report_time(assignment=assignment, wall=wall * 60, active=active * 60)
    assignment.refresh_from_db()
    assert 0 <= assignment.active_seconds <= assignment.wall_seconds <= min(wall, passed) * 60 + 1
