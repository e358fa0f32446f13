"""How long a rater had an item before them: wall time (its screen was open) and active time (it was looked at).

A screen with a script reports both, and is believed up to the real time since its last sign of life: so neither two
windows nor a wrong clock make more of it than has passed. Without a script the time from a page to the form sent from
it counts, up to a bound: nobody knows then whether the reader was there.
"""

import math
from datetime import datetime

from django.db.models import Case, F, Value, When
from django.utils import timezone

from apps.studies.models import Assignment
from apps.studies.services.reservations import reserved_until
from apps.studies.services.slots import OPEN_STATES

# Reading without a touch of the keyboard is work; half an hour of it on one page no longer is.
WALL_SECONDS_OF_A_GAP = 30 * 60
ACTIVE_SECONDS_OF_A_GAP = 10 * 60
TRIES = 5


def report_time(*, assignment: Assignment, wall: float, active: float) -> None:
    """Adds the seconds that a screen has counted since its last report.

    Raises ValueError for what is no duration, Assignment.DoesNotExist where the item is no longer the rater's.
    """
    if not (math.isfinite(wall) and math.isfinite(active)) or wall < 0 or active < 0:
        raise ValueError("wall and active are seconds, 0 or more")
    _add(assignment, wall=wall, active=active)


def count_gap(*, assignment: Assignment) -> None:
    """Adds the time since the page was sent, for a form that came without a script's count."""
    _add(assignment, wall=WALL_SECONDS_OF_A_GAP, active=ACTIVE_SECONDS_OF_A_GAP)


def _add(assignment: Assignment, *, wall: float, active: float) -> None:
    for _ in range(TRIES):
        now = timezone.now()
        seen = Assignment.objects.values_list("seen_at", flat=True).get(pk=assignment.pk)
        credit = min(wall, _elapsed(seen, now))
        changes = {
            "seen_at": now,
            "wall_seconds": F("wall_seconds") + credit,
            "active_seconds": F("active_seconds") + min(active, credit),
        }
        if active > 0:
            # Whoever reads keeps the reservation; a window that was left open does not.
            is_open = When(state__in=OPEN_STATES, then=Value(reserved_until(assignment.rater.study, now)))
            changes["reserved_until"] = Case(is_open, default=F("reserved_until"))
        # Two reports at once may not both count the same seconds: the later one starts from what the first left.
        written = Assignment.objects.filter(pk=assignment.pk, seen_at=seen).update(**changes)
        if written:
            assignment.seen_at = now
            return


def _elapsed(seen: datetime | None, now: datetime) -> float:
    return 0.0 if seen is None else max(0.0, (now - seen).total_seconds())
