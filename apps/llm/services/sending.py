"""Sending: what threads do for a stretch of work, without the database. They send, wait, and hand back what came."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from threading import Event, Lock, Thread

from django.utils import timezone

from apps.llm.providers.protocol import ErrorKind, ProviderError
from apps.llm.services.claiming import Claimed
from apps.llm.services.reading import Outcome, failed_inside

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.02


@dataclass(slots=True)
class Held:
    """A call that is this worker's: waiting for a thread, in flight since `began` (of the monotonic clock), or over."""

    claimed: Claimed
    began: float | None = None
    sent_at: datetime | None = None
    is_taken_back: bool = False
    _end: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)

    @property
    def is_open(self) -> bool:
        """Whether its request is on its way, given up or not."""
        return self.began is not None and not self._end.is_set()

    def begin(self) -> bool:
        """It is about to be sent; False where it was taken back before."""
        with self._lock:
            if not self.is_taken_back:
                self.sent_at, self.began = timezone.now(), time.monotonic()
            return not self.is_taken_back

    def end(self) -> None:
        self._end.set()

    def wait(self, seconds: float) -> None:
        """Until its request is over, so long at most."""
        self._end.wait(seconds)

    def take_back(self) -> bool:
        """No thread will send it any more; False where one has begun to."""
        with self._lock:
            self.is_taken_back = self.began is None
            return self.is_taken_back


class Senders:
    """As many threads as requests may be open at a time. One whose request never ends is used for no other.

    They are daemons: such a request does not keep the process from ending, which closes it.
    """

    def __init__(self, threads: int, may_send: Callable[[], bool]) -> None:
        """may_send: whether it is known that what waits may be sent; asked by every thread."""
        self.back: SimpleQueue[Outcome] = SimpleQueue()
        self._waiting: SimpleQueue[Held | None] = SimpleQueue()
        self._may_send = may_send
        self._threads = threads
        for number in range(threads):
            Thread(target=self._serve, name=f"llm_{number}", daemon=True).start()

    def send(self, held: Held) -> None:
        self._waiting.put(held)

    def end(self) -> None:
        """The threads end once they have sent what waits and is not taken back."""
        for _number in range(self._threads):
            self._waiting.put(None)

    def _serve(self) -> None:
        while (held := self._waiting.get()) is not None:
            while not self._may_send() and not held.is_taken_back:
                time.sleep(LOOK_SECONDS)
            if not held.begin():
                continue
            try:
                outcome = _outcome_of(held)
            finally:
                held.end()
            self.back.put(outcome)


def _outcome_of(held: Held) -> Outcome:
    claimed, sent_at = held.claimed, held.sent_at or timezone.now()
    try:
        completion = claimed.provider.complete(claimed.asked.messages, claimed.asked.schema, claimed.asked.parameters)
        return Outcome(claimed, completion, sent_at)
    except ProviderError as error:
        return Outcome(claimed, error, sent_at)
    except Exception as error:
        # Without the traceback: the frames of a client hold the key.
        logger.error("Request %s broke: %s", claimed.exchange_id, type(error).__name__)
        return failed_inside(Outcome(claimed, ProviderError(ErrorKind.REFUSED, ""), sent_at))
