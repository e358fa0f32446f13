"""A stretch of work at one endpoint: calls are claimed, sent by threads, and what comes back is stored.

One thread does everything with the database; as many others as there are slots do nothing but send and wait. A few
calls are claimed ahead, so that a slot that falls free never waits for the database. So that they do not outlive a
pause, the first thread looks every second whether their runs may still send, and the others begin nothing while it has
not looked for a few seconds.
"""

import logging
import time
import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from queue import Empty
from threading import Thread

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.llm.models import Endpoint
from apps.llm.providers.protocol import ErrorKind, ProviderError
from apps.llm.services.claiming import Claimer, give_back, next_due
from apps.llm.services.patience import PASSING_ERRORS, let_go_of_connection, patiently, quietly
from apps.llm.services.permission import may_go_on
from apps.llm.services.reading import Outcome, failed_inside
from apps.llm.services.sending import Held, Senders
from apps.llm.services.slots import CAPACITY, borrow_slots, give_back_slots, keep_slots, lease_time, renew
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
# A call is given up so long after its endpoint's time limit: a provider that keeps to it says more of what happened.
GRACE_SECONDS = 5.0
# A request that was given up and goes on has its slot for so long at most.
OPEN_SECONDS = 600.0


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
        let_go_of_connection()
        return False
    if not slots:
        return False
    stretch = _Stretch(endpoint_pk, holder, slots, seconds)
    try:
        return stretch.run()
    finally:
        _let_go_of_slots(holder, stretch.still_open())


class _Stretch:
    def __init__(self, endpoint_pk: int, holder: str, slots: int, seconds: float) -> None:
        self._endpoint_pk = endpoint_pk
        self._holder = holder
        self._slots = slots
        self._claimer = Claimer(endpoint_pk)
        self._held: dict[int, Held] = {}
        self._given_up: list[Held] = []
        self._next_at: datetime | None = None
        self._ends_at = time.monotonic() + seconds
        self._renew_at = time.monotonic() + _renew_every()
        self._check_at = self._checked_at = time.monotonic()
        self._look_at = 0.0
        self._is_over = False
        self._is_sound = True

    def run(self) -> bool:
        self._overdue_after = _overdue_after(self._endpoint_pk)
        self._senders = Senders(self._slots, lambda: time.monotonic() - self._checked_at <= STALE_SECONDS)
        try:
            while not self._is_over or self._held:
                self._step()
        finally:
            # Nobody is left in flight here but after a fault, or a request that never ends.
            unsent = [held.claimed for held in self._unsent()]
            self._senders.end()
            quietly(lambda: give_back(unsent))
        return self._is_sound and patiently(self._has_more)

    def still_open(self) -> list[Held]:
        """What is on its way, and nobody waits for any more once this is over."""
        return [held for held in (*self._given_up, *self._held.values()) if held.is_open]

    def _has_more(self) -> bool:
        """Whether calls can be taken up about now. For later ones, held back by a limit, say, the sweeper comes."""
        due = next_due(self._endpoint_pk)
        if due is None:
            return False
        return (max(due, self._next_at or due) - timezone.now()).total_seconds() <= LOOK_SECONDS

    def _step(self) -> None:
        self._keep()
        now = time.monotonic()
        if not self._is_over and now >= self._ends_at:
            self._stop()
        if not self._is_over and now >= self._look_at and self._has_room():
            self._claim()
        if self._is_over and not self._held:
            return
        outcomes = self._collect(self._wait_seconds())
        if outcomes:
            self._store(outcomes)

    # --- Claiming ---------------------------------------------------------------------------------------------------

    def _usable(self) -> int:
        """Slots without those of requests that were given up and go on."""
        return self._slots - sum(held.is_open for held in self._given_up)

    def _room(self) -> int:
        """How many more calls to take up: one in flight and one that waits for each slot."""
        return 2 * self._usable() - len(self._held)

    def _has_room(self) -> bool:
        """Room for enough of them to be worth a transaction, while as many still wait."""
        return self._room() >= max(1, self._usable() // 2)

    def _claim(self) -> None:
        wanted = self._room()
        try:
            claims = patiently(lambda: self._claimer.claim(wanted))
        except PASSING_ERRORS:
            raise
        except Exception:
            # A fault of ours. What is in flight is paid for, so it is waited for and stored before this ends.
            logger.exception("No calls could be taken up at endpoint %s", self._endpoint_pk)
            self._is_sound = False
            self._stop()
            return
        for claimed in claims.claimed:
            held = self._held[claimed.exchange_id] = Held(claimed)
            self._senders.send(held)
        self._next_at = claims.next_at
        if len(claims.claimed) >= wanted:
            self._look_at = 0.0
            return
        wait = None if claims.next_at is None else (claims.next_at - timezone.now()).total_seconds()
        self._look_at = time.monotonic() + max(SHORTEST_WAIT, min(LOOK_SECONDS, LOOK_SECONDS if wait is None else wait))
        if not self._held and (wait is None or wait > self._ends_at - time.monotonic()):
            self._is_over = True

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
                outcomes.append(self._senders.back.get(timeout=max(0.001, until - time.monotonic())))
                if len(outcomes) == 1:
                    until = time.monotonic() + GATHER_SECONDS
        except Empty:
            pass
        return outcomes + self._overdue({outcome.claimed.exchange_id for outcome in outcomes})

    def _overdue(self, returned: set[int]) -> list[Outcome]:
        """Requests that go on beyond their time: given up, whatever may still come of them."""
        now = time.monotonic()
        late = [
            held
            for number, held in self._held.items()
            if number not in returned and held.began is not None and now - held.began > self._overdue_after
        ]
        self._given_up += late
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
        self._next_at = None  # what came back may have changed it
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
            return patiently(lambda: store(outcomes, self._keep))
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
            return patiently(lambda: store([failed_inside(outcome)]))
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
            standing = run_ids - patiently(lambda: may_go_on(self._endpoint_pk, run_ids))
            self._give_back(self._unsent(standing))
        self._checked_at = began
        self._check_at = began + CHECK_SECONDS

    def _renew(self) -> None:
        run_ids = {held.claimed.question.run_id for held in self._held.values()}
        is_ours = patiently(lambda: renew(self._holder, list(self._held), run_ids))
        self._renew_at = time.monotonic() + _renew_every()
        if not is_ours and not self._is_over:
            # Somebody else may have the slots by now: what is on its way is stored, and nothing more is sent.
            logger.warning("The slots of %s were given away", self._holder)
            self._stop()

    def _unsent(self, of_runs: Collection[int] | None = None) -> list[Held]:
        """Held calls that no thread has begun, and that none will begin any more."""
        return [
            held
            for held in self._held.values()
            if (of_runs is None or held.claimed.question.run_id in of_runs) and held.take_back()
        ]

    def _give_back(self, unsent: Iterable[Held]) -> None:
        claims = [held.claimed for held in unsent]
        if claims:
            patiently(lambda: give_back(claims))
        for claim in claims:
            self._held.pop(claim.exchange_id, None)


def _let_go_of_slots(holder: str, still_open: Sequence[Held]) -> None:
    """All of them, but for those of requests that were given up and go on: these are kept until they are over."""
    if not still_open:
        quietly(lambda: give_back_slots(holder))
        return
    logger.warning("%s requests of %s were given up and are not over", len(still_open), holder)
    quietly(lambda: keep_slots(holder, len(still_open)))
    Thread(target=_keep_slots, args=(holder, still_open), name="llm_keep", daemon=True).start()


def _keep_slots(holder: str, requests: Sequence[Held]) -> None:
    """In a thread of its own, so that a stretch ends in time."""
    until = time.monotonic() + OPEN_SECONDS
    try:
        while (still_open := [held for held in requests if held.is_open]) and time.monotonic() < until:
            quietly(partial(keep_slots, holder, len(still_open)))
            still_open[0].wait(_renew_every())
        quietly(lambda: give_back_slots(holder))
        let_go_of_connection()
    except Exception:  # nobody else would tell
        logger.exception("The slots of %s are left to lapse", holder)


def _overdue_after(endpoint_pk: int) -> float:
    """The whole time of a request. Providers count theirs anew with each piece of an answer, empty ones too."""
    return Endpoint.objects.values_list("timeout_seconds", flat=True).get(pk=endpoint_pk) + GRACE_SECONDS


def _renew_every() -> float:
    """Seconds; well within a lease."""
    return min(RENEW_SECONDS, lease_time().total_seconds() / 5)
