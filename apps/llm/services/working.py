"""A stretch of work at one endpoint: calls are claimed, sent by threads, and what comes back is stored.

One thread does everything with the database; as many others as there are slots do nothing but send and wait. A few
calls are claimed ahead, so that a slot that falls free never waits for the database. So that they do not outlive a
pause, the first thread looks every second whether their runs may still send, and the others begin nothing while it has
not looked for a few seconds.
"""

import logging
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.llm.models import Endpoint
from apps.llm.providers.protocol import ErrorKind, ProviderError
from apps.llm.services.claiming import Claimed, Claimer, give_back, next_due
from apps.llm.services.permission import may_go_on
from apps.llm.services.reading import Outcome, failed_inside
from apps.llm.services.slots import CAPACITY, borrow_slots, give_back_slots, lease_time, renew
from apps.llm.services.storing import Stored, store

logger = logging.getLogger(__name__)

STRETCH_SECONDS = 20.0
RENEW_SECONDS = 5.0
# A worker that finds nothing to take up looks again after so long, while others of its calls are on their way.
LOOK_SECONDS = 1.0
SHORTEST_WAIT = 0.02
# Whether runs may still send is asked this often, and nothing is sent while that was not known for so long.
CHECK_SECONDS = 1.0
STALE_SECONDS = 5.0
# Storing three answers together takes little longer than storing one.
GATHER_SECONDS = 0.06
# What was answered is paid for: a database that is locked or restarts is waited for, long beyond a lease.
PATIENCE_SECONDS = 600.0
PASSING_ERRORS = (OperationalError, InterfaceError)

T = TypeVar("T")


def work(endpoint_pk: int, seconds: float = STRETCH_SECONDS, capacity: int = CAPACITY) -> bool:
    """Work on the endpoint's running runs for about so long; True where there is more to do now.

    `capacity`: the most requests in flight from here. Several at once share the endpoint's slots. What is in flight at
    the end is waited for and stored; what was not sent is given back.
    """
    holder = str(uuid.uuid4())
    try:
        slots = borrow_slots(endpoint_pk, holder, capacity)
    except PASSING_ERRORS:
        logger.warning("No work at endpoint %s now: the database", endpoint_pk, exc_info=True)
        _let_go_of_connection()
        return False
    if not slots:
        return False
    try:
        return _Stretch(endpoint_pk, holder, slots, seconds).run()
    finally:
        _quietly(lambda: give_back_slots(holder))


@dataclass(slots=True)
class _Held:
    """A call that is this worker's: waiting for a thread, or in flight since `began` (of the monotonic clock)."""

    claimed: Claimed
    began: float | None = None
    sent_at: datetime | None = None
    is_taken_back: bool = False
    _lock: Lock = field(default_factory=Lock)

    def begin(self) -> bool:
        """It is about to be sent; False where it was taken back before."""
        with self._lock:
            if not self.is_taken_back:
                self.sent_at, self.began = timezone.now(), time.monotonic()
            return not self.is_taken_back

    def take_back(self) -> bool:
        """No thread will send it any more; False where one has begun to."""
        with self._lock:
            self.is_taken_back = self.began is None
            return self.is_taken_back


class _Stretch:
    def __init__(self, endpoint_pk: int, holder: str, slots: int, seconds: float) -> None:
        self._endpoint_pk = endpoint_pk
        self._holder = holder
        self._slots = slots
        self._claimer = Claimer(endpoint_pk)
        self._held: dict[int, _Held] = {}
        self._back: SimpleQueue[Outcome] = SimpleQueue()
        self._ends_at = time.monotonic() + seconds
        self._renew_every = min(RENEW_SECONDS, lease_time().total_seconds() / 5)
        self._renew_at = time.monotonic() + self._renew_every
        self._check_at = self._checked_at = time.monotonic()
        self._look_at = 0.0
        self._overdue_after = _overdue_after(endpoint_pk)
        self._is_over = False
        self._is_sound = True

    def run(self) -> bool:
        threads = ThreadPoolExecutor(self._slots, thread_name_prefix="llm")
        try:
            while not self._is_over or self._held:
                self._step(threads)
        finally:
            # Nobody is left in flight here but after a fault, or a request that never ends.
            unsent = [held.claimed for held in self._unsent()]
            threads.shutdown(wait=False)
            _quietly(lambda: give_back(unsent))
        return self._is_sound and self._patiently(self._has_more)

    def _has_more(self) -> bool:
        """Whether calls can be taken up about now. For later ones the sweeper comes."""
        due = next_due(self._endpoint_pk)
        return due is not None and (due - timezone.now()).total_seconds() <= LOOK_SECONDS

    def _step(self, threads: ThreadPoolExecutor) -> None:
        self._keep()
        now = time.monotonic()
        if not self._is_over and now >= self._ends_at:
            self._stop()
        if not self._is_over and now >= self._look_at and self._has_room():
            self._claim(threads)
        if self._is_over and not self._held:
            return
        outcomes = self._collect(self._wait_seconds())
        if outcomes:
            self._store(outcomes)

    # --- Claiming ---------------------------------------------------------------------------------------------------

    def _room(self) -> int:
        """How many more calls to take up: one in flight and one that waits for each slot."""
        return 2 * self._slots - len(self._held)

    def _has_room(self) -> bool:
        """Room for enough of them to be worth a transaction, while as many still wait."""
        return self._room() >= max(1, self._slots // 2)

    def _claim(self, threads: ThreadPoolExecutor) -> None:
        wanted = self._room()
        try:
            claims = self._patiently(lambda: self._claimer.claim(wanted))
        except PASSING_ERRORS:
            raise
        except Exception:
            # A fault of ours. What is in flight is paid for, so it is waited for and stored before this ends.
            logger.exception("No calls could be taken up at endpoint %s", self._endpoint_pk)
            self._is_sound = False
            self._stop()
            return
        for claimed in claims.claimed:
            held = self._held[claimed.exchange_id] = _Held(claimed)
            threads.submit(self._send, held)
        if len(claims.claimed) >= wanted:
            self._look_at = 0.0
            return
        wait = None if claims.next_at is None else (claims.next_at - timezone.now()).total_seconds()
        self._look_at = time.monotonic() + max(SHORTEST_WAIT, min(LOOK_SECONDS, LOOK_SECONDS if wait is None else wait))
        if not self._held and (wait is None or wait > self._ends_at - time.monotonic()):
            self._is_over = True

    # --- Sending: the only part in other threads, without the database ------------------------------------------------

    def _send(self, held: _Held) -> None:
        while time.monotonic() - self._checked_at > STALE_SECONDS and not held.is_taken_back:
            time.sleep(SHORTEST_WAIT)
        if not held.begin():
            return
        claimed, sent_at = held.claimed, held.sent_at or timezone.now()
        try:
            completion = claimed.provider.complete(
                claimed.asked.messages, claimed.asked.schema, claimed.asked.parameters
            )
            outcome = Outcome(claimed, completion, sent_at)
        except ProviderError as error:
            outcome = Outcome(claimed, error, sent_at)
        except Exception as error:
            # Without the traceback: the frames of a client hold the key.
            logger.error("Request %s broke: %s", claimed.exchange_id, type(error).__name__)
            outcome = failed_inside(Outcome(claimed, ProviderError(ErrorKind.REFUSED, ""), sent_at))
        self._back.put(outcome)

    # --- Storing ----------------------------------------------------------------------------------------------------

    def _wait_seconds(self) -> float:
        """Until something is to be done, whatever comes back."""
        now = time.monotonic()
        times = [self._renew_at, self._check_at, now + LOOK_SECONDS]
        if not self._is_over:
            times.append(self._ends_at)
            if self._has_room():
                times.append(self._look_at)
        return max(0.0, min(times) - now)

    def _collect(self, seconds: float) -> list[Outcome]:
        """What has come back; waits so long for the first, and a moment for those behind it."""
        if not self._held:
            time.sleep(seconds)
            return []
        outcomes: list[Outcome] = []
        until = time.monotonic() + seconds
        try:
            while len(outcomes) < len(self._held):
                outcomes.append(self._back.get(timeout=max(0.001, until - time.monotonic())))
                if len(outcomes) == 1:
                    until = time.monotonic() + GATHER_SECONDS
        except Empty:
            pass
        return outcomes + self._overdue({outcome.claimed.exchange_id for outcome in outcomes})

    def _overdue(self, returned: set[int]) -> list[Outcome]:
        """Requests whose provider keeps no time limit: given up, whatever may still come of them."""
        now = time.monotonic()
        late = [
            held
            for number, held in self._held.items()
            if number not in returned and held.began is not None and now - held.began > self._overdue_after
        ]
        return [
            Outcome(
                held.claimed,
                ProviderError(
                    ErrorKind.PASSING,
                    _("There was no answer within %(n)d seconds.") % {"n": self._overdue_after},
                    latency_ms=int(self._overdue_after * 1000),
                ),
                held.sent_at or timezone.now(),
            )
            for held in late
        ]

    def _store(self, outcomes: Sequence[Outcome]) -> None:
        stored = self._stored(outcomes)
        for outcome in outcomes:
            self._held.pop(outcome.claimed.exchange_id, None)
        if stored.is_held:
            self._give_back(self._unsent())
        elif stored.standing:
            self._give_back(self._unsent(stored.standing))
        if stored.is_waiting or not self._held:
            self._look_at = 0.0

    def _stored(self, outcomes: Sequence[Outcome]) -> Stored:
        try:
            return self._patiently(lambda: store(outcomes, self._keep))
        except PASSING_ERRORS:
            raise
        except Exception:
            if len(outcomes) == 1:
                return self._stored_as_failed(outcomes[0])
            logger.exception("%s answers could not be stored together", len(outcomes))
        together = Stored()
        for outcome in outcomes:
            one = self._stored([outcome])
            together.standing |= one.standing
            together.is_held |= one.is_held
            together.is_waiting |= one.is_waiting
        return together

    def _stored_as_failed(self, outcome: Outcome) -> Stored:
        """A fault of ours: the call fails. Where not even that can be stored, its lease lapses, five times at most."""
        number = outcome.claimed.exchange_id
        logger.exception("The answer to request %s could not be stored", number)
        try:
            return self._patiently(lambda: store([failed_inside(outcome)]))
        except PASSING_ERRORS:
            raise
        except Exception:
            logger.exception("Request %s could not even be stored as failed", number)
            return Stored()

    def _stop(self) -> None:
        """Nothing more is taken up or sent; what is in flight is waited for."""
        self._is_over = True
        self._give_back(self._unsent())

    # --- Leases, and whether runs may go on ---------------------------------------------------------------------------

    def _keep(self) -> None:
        """What is to be done in time, however long storing takes. Not within a transaction."""
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew()
        if now >= self._check_at:
            self._check()

    def _check(self) -> None:
        """Take back what is not on its way yet of runs that were stopped, or whose text may not be sent any more."""
        began = time.monotonic()
        run_ids = {held.claimed.question.run_id for held in self._held.values() if held.began is None}
        if run_ids:
            standing = run_ids - self._patiently(lambda: may_go_on(self._endpoint_pk, run_ids))
            self._give_back(self._unsent(standing))
        self._checked_at = began
        self._check_at = began + CHECK_SECONDS

    def _renew(self) -> None:
        run_ids = {held.claimed.question.run_id for held in self._held.values()}
        is_ours = self._patiently(lambda: renew(self._holder, list(self._held), run_ids))
        self._renew_at = time.monotonic() + self._renew_every
        if not is_ours and not self._is_over:
            # Somebody else may have the slots by now: what is on its way is stored, and nothing more is sent.
            logger.warning("The slots of %s were given away", self._holder)
            self._stop()

    def _unsent(self, of_runs: Collection[int] | None = None) -> list[_Held]:
        """Held calls that no thread has begun, and that none will begin any more."""
        return [
            held
            for held in self._held.values()
            if (of_runs is None or held.claimed.question.run_id in of_runs) and held.take_back()
        ]

    def _give_back(self, unsent: Iterable[_Held]) -> None:
        claims = [held.claimed for held in unsent]
        if claims:
            self._patiently(lambda: give_back(claims))
        for claim in claims:
            self._held.pop(claim.exchange_id, None)

    def _patiently(self, act: Callable[[], T]) -> T:
        return _patiently(act)


def _patiently(act: Callable[[], T]) -> T:
    """Do it again while the database is locked or away, for ten minutes at most. Then raises what it raised."""
    until = time.monotonic() + PATIENCE_SECONDS
    pause = 0.1
    while True:
        try:
            return act()
        except PASSING_ERRORS as error:
            if connection.in_atomic_block or time.monotonic() > until:
                raise
            logger.warning("The database is waited for: %s", error)
            _let_go_of_connection()
            time.sleep(pause)
            pause = min(2.0, pause * 2)


def _quietly(act: Callable[[], object]) -> None:
    """For what lapses by itself where it cannot be done."""
    try:
        act()
    except PASSING_ERRORS as error:
        logger.warning("Left to lapse: %s", error)
        _let_go_of_connection()


def _let_go_of_connection() -> None:
    if not connection.in_atomic_block:
        connection.close()


def _overdue_after(endpoint_pk: int) -> float:
    """Providers end a request by the endpoint's time limit. This is for what slips through."""
    seconds = Endpoint.objects.values_list("timeout_seconds", flat=True).get(pk=endpoint_pk)
    return seconds * 1.5 + 30.0
