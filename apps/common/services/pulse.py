"""The thread that writes a running job's progress and says that its worker is alive."""

import logging
import threading
import time
from types import TracebackType
from typing import Self

from django.db import DatabaseError, connection
from django.utils import timezone

from apps.common.models import Job, JobState
from apps.common.patience import waiting_at_most

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
ALIVE_EVERY_SECONDS = 10.0
# A beat that cannot be written is soon followed by another: it need not wait for the lock as a person's click does.
WAIT_MILLISECONDS = 500


class Pulse:
    """Writes what it is told at most once a second, and at least every ten seconds that the job is alive.

    On a connection of its own, outside the transaction of the work: what it writes is seen at once, and on PostgreSQL
    it locks nothing for longer than it takes. On SQLite nothing can be written while the work holds the write lock.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._news: dict[str, str | int | None] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"pulse of job {job.pk}", daemon=True)

    def tell(self, **news: str | int | None) -> None:
        """`step`, `done`, `total`: the latest of each is written with the next beat."""
        with self._lock:
            self._news |= news

    def tell_now(self, **news: str | int | None) -> None:
        """The same, written at once and by the caller, who is in no transaction; where it cannot be, with a beat."""
        self.tell(**news)
        self._write_news()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        written_at = time.monotonic()
        try:
            while not self._stop.wait(BEAT_SECONDS):
                is_due = time.monotonic() - written_at >= ALIVE_EVERY_SECONDS
                if (is_due or self._news) and self._write_news():
                    written_at = time.monotonic()
                connection.close()
        finally:
            connection.close()

    def _write_news(self) -> bool:
        # One at a time: what is older must not be written over what is newer.
        with self._writing:
            with self._lock:
                news, self._news = self._news, {}
            is_written = self._write(news)
            if not is_written:
                with self._lock:
                    self._news = news | self._news
            return is_written

    def _write(self, news: dict[str, str | int | None]) -> bool:
        now = timezone.now()
        try:
            with waiting_at_most(milliseconds=WAIT_MILLISECONDS):
                Job.objects.filter(pk=self._job.pk, state=JobState.RUNNING, attempts=self._job.attempts).update(
                    **news, alive_at=now, updated_at=now
                )
        except DatabaseError:
            logger.debug("Job %s: its progress could not be written now", self._job.pk, exc_info=True)
            return False
        return True
