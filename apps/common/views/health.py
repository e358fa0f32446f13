"""Health: what a load balancer and an operator ask."""

from celery import current_app
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from apps.common.services.heartbeats import is_worker_alive

BROKER_TIMEOUT_SECONDS = 2


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Alive: the process answers. Asks nothing else of anybody."""
    return HttpResponse("ok", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Ready: the database answers, the broker answers, and a worker was seen within 30 seconds."""
    database = _database_answers()
    checks = {
        "database": database,
        "broker": _broker_answers(),
        "worker": database and _worker_was_seen(),
    }
    return JsonResponse(checks, status=200 if all(checks.values()) else 503)


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _worker_was_seen() -> bool:
    try:
        return is_worker_alive()
    except DatabaseError:  # the tables are not made yet
        return False


def _broker_answers() -> bool:
    try:
        with current_app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=BROKER_TIMEOUT_SECONDS)
    except (OperationalError, OSError):
        return False
    return True
