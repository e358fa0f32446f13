"""Failed attempts to sign in: they hold e-mail and network addresses, so they are not kept for ever."""

from datetime import timedelta

from axes.models import AccessAttempt
from axes.utils import reset
from django.utils import timezone

KEPT_FOR = timedelta(days=7)


def forget_old_attempts() -> int:
    """Delete attempts that are older than a week, long after their lock has ended; the number deleted."""
    deleted, _by_model = AccessAttempt.objects.filter(attempt_time__lt=timezone.now() - KEPT_FOR).delete()
    return int(deleted)


def forget_attempts_of(*, email: str) -> None:
    """Lift the lock of somebody who has just proved by mail that the address is theirs."""
    reset(username=email.lower())
