"""What the accounts need done by night."""

from datetime import timedelta

from axes.models import AccessAttempt
from celery import current_app
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from apps.accounts.services.attempts import forget_old_attempts
from apps.accounts.tasks import clear_expired_sessions
from apps.accounts.tasks import forget_old_attempts as forget_task


def test_sessions_whose_time_is_over_go_and_others_stay(sign_in, rosa, emil):
    kept, over = sign_in(rosa), sign_in(emil)
    Session.objects.filter(pk=over.session.session_key).update(expire_date=timezone.now() - timedelta(seconds=1))
    for _ in range(2):  # a task may run twice
        clear_expired_sessions.delay()
    assert list(Session.objects.values_list("pk", flat=True)) == [kept.session.session_key]


def test_attempts_older_than_a_week_go_and_others_stay(db):
    for age in (timedelta(minutes=5), timedelta(days=6), timedelta(days=8)):
        row = AccessAttempt.objects.create(
            username=f"{age.days}@example.org", ip_address="127.0.0.1", failures_since_start=1
        )
        AccessAttempt.objects.filter(pk=row.pk).update(attempt_time=timezone.now() - age)
    forget_task.delay()
    assert set(AccessAttempt.objects.values_list("username", flat=True)) == {"0@example.org", "6@example.org"}
    assert forget_old_attempts() == 0


def test_the_schedule_names_tasks_that_exist():
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert {clear_expired_sessions.name, forget_task.name} <= scheduled
    current_app.loader.import_default_modules()
    assert scheduled <= set(current_app.tasks)
