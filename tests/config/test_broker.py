"""The embedded broker: no message is half read, lost between live workers, or handed out twice.

Kombu remembers bindings for the whole process, so each test has a queue name of its own.
"""

import threading
from pathlib import Path
from queue import Empty

import kombu.transport
import pytest
from kombu import Connection, Exchange, Queue

from config.broker import folder_options

MESSAGES_EACH = 40
PRODUCERS = CONSUMERS = 4


@pytest.fixture
def connection(tmp_path: Path):
    kombu.transport.TRANSPORT_ALIASES["accordfs"] = "config.broker:Transport"

    def connect() -> Connection:
        return Connection("accordfs://", transport_options=folder_options(tmp_path / "broker"))

    return connect


def test_a_message_comes_out_as_it_went_in_and_in_order(connection):
    with connection() as broker:
        queue = broker.SimpleQueue("letters")
        for number in range(3):
            queue.put({"number": number, "text": "naïve — 😀"})
        assert [queue.get(timeout=1).payload for _ in range(3)] == [
            {"number": number, "text": "naïve — 😀"} for number in range(3)
        ]
        with pytest.raises(Empty):
            queue.get(block=False)


def test_a_half_written_message_is_invisible(connection, tmp_path: Path):
    with connection() as broker:
        queue = broker.SimpleQueue("drafts")
        (tmp_path / "broker" / "queue" / ".0001_draft.drafts.msg").write_text('{"half":')
        with pytest.raises(Empty):
            queue.get(block=False)


def test_concurrent_producers_and_consumers_neither_lose_nor_double(connection):
    with connection() as broker:
        Queue("crowd", Exchange("crowd"), routing_key="crowd").bind(broker.default_channel).declare()
    taken: list[tuple[int, int]] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def produce(producer: int) -> None:
        with connection() as broker:
            queue = broker.SimpleQueue("crowd")
            for number in range(MESSAGES_EACH):
                queue.put([producer, number])

    def consume() -> None:
        try:
            with connection() as broker:
                queue = broker.SimpleQueue("crowd")
                while not done.is_set():
                    try:
                        message = queue.get(timeout=0.2)
                    except Empty:
                        continue
                    taken.append(tuple(message.payload))
                    message.ack()
        except BaseException as error:
            failures.append(error)

    consumers = [threading.Thread(target=consume) for _ in range(CONSUMERS)]
    producers = [threading.Thread(target=produce, args=(number,)) for number in range(PRODUCERS)]
    for thread in consumers + producers:
        thread.start()
    for thread in producers:
        thread.join()
    waiting = threading.Event()
    for _ in range(100):
        if len(taken) >= PRODUCERS * MESSAGES_EACH:
            break
        waiting.wait(0.1)
    done.set()
    for thread in consumers:
        thread.join()
    assert failures == []
    assert sorted(taken) == [(producer, number) for producer in range(PRODUCERS) for number in range(MESSAGES_EACH)]


def test_purging_empties_the_queue(connection):
    with connection() as broker:
        queue = broker.SimpleQueue("parcels")
        for number in range(5):
            queue.put(number)
        assert queue.qsize() == 5
        assert queue.clear() == 5
        assert queue.qsize() == 0
