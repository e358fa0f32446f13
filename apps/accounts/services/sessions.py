"""Sessions that end before their time, or after it."""

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.models import User


def end_sessions(*, user: User) -> int:
    """Sign the person out everywhere; the number of sessions ended.

    A session's owner is inside its encoded data, so every open session is read: a rare act of an admin.
    """
    keys = [
        session.session_key
        for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator(chunk_size=500)
        if session.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]
    return Session.objects.filter(session_key__in=keys).delete()[0]


def clear_expired_sessions() -> None:
    """Delete sessions whose time is over. May run twice."""
    call_command("clearsessions")
