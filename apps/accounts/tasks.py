"""What the accounts need done by night; the schedule is in the settings."""

from celery import shared_task

from apps.accounts.services import attempts, sessions


@shared_task(name="accounts.clear_expired_sessions")
def clear_expired_sessions() -> None:
    sessions.clear_expired_sessions()


@shared_task(name="accounts.forget_old_attempts")
def forget_old_attempts() -> None:
    attempts.forget_old_attempts()
