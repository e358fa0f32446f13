"""Whether a Celery worker is alive, told by a row that it keeps fresh."""

from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from apps.common.models import WorkerHeartbeat

WORKER_SILENT_AFTER = timedelta(seconds=30)


def record_heartbeat(*, worker: str, process_id: int) -> None:
    """Note that `worker` is alive now. Called from a thread of the worker, so the connection is given back."""
    seen = {"process_id": process_id, "seen_at": timezone.now()}
    WorkerHeartbeat.objects.update_or_create(worker=worker, defaults=seen)
    if not transaction.get_connection().in_atomic_block:
        connection.close()


def is_worker_alive() -> bool:
    """Whether any worker was seen within the last 30 seconds."""
    return WorkerHeartbeat.objects.filter(seen_at__gte=timezone.now() - WORKER_SILENT_AFTER).exists()
