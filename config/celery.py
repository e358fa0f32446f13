"""The Celery application, and the heartbeat by which a page knows that a worker is alive."""

import logging
import os
from typing import Any

import kombu.transport
from celery import Celery, bootsteps, signals
from django.db import DatabaseError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
kombu.transport.TRANSPORT_ALIASES["accordfs"] = "config.broker:Transport"

HEARTBEAT_SECONDS = 10.0

logger = logging.getLogger(__name__)


class Heartbeat(bootsteps.StartStopStep):
    """Writes "seen now" for this worker every ten seconds; works on every broker, unlike `inspect ping`."""

    requires = ("celery.worker.components:Timer",)

    def start(self, worker: Any) -> None:
        self.timer = worker.timer.call_repeatedly(HEARTBEAT_SECONDS, self.beat, (worker,))
        self.beat(worker)

    def stop(self, worker: Any) -> None:
        self.timer.cancel()

    def beat(self, worker: Any) -> None:
        # Imported late: this module is loaded before Django's apps are.
        from apps.common.services.heartbeats import record_heartbeat

        try:
            record_heartbeat(worker=worker.hostname, process_id=os.getpid())
        except DatabaseError as error:
            # Locked by a long import, say. The next beat is soon, and a worker that cannot write it goes on working.
            logger.info("No heartbeat now: %s", error)


class WarmUp(bootsteps.StartStopStep):
    """Loads the clients of models that are set up: the first calls of a run would wait a second or more for them."""

    requires = ("celery.worker.components:Timer",)

    def start(self, worker: Any) -> None:
        # Imported late, as above.
        from django.db import connection

        from apps.llm.services.claiming import warm_up

        try:
            warm_up()
        except DatabaseError as error:
            logger.info("No clients of models are loaded now: %s", error)
        finally:
            connection.close()


@signals.worker_before_create_process.connect
def close_connections(**kwargs: Any) -> None:
    """Before a process is forked: a child that inherits a pool ends the connections that its parent still uses."""
    # Imported late, as above.
    from django.db import connections

    for connection in connections.all(initialized_only=True):
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()


app = Celery("accord")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(Heartbeat)
app.steps["worker"].add(WarmUp)
