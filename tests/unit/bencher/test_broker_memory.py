"""A consumer in the same process hears of a message at once, and of nothing without waking up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Producer, Queue

import bencher.celery
from bencher import broker_memory
from bencher.broker_memory import BELL, Transport

assert bencher.celery.app  # importing it names the transport
QUEUE = Queue("broker-memory-test")


@pytest.fixture
def connection() -> Iterator[Connection]:
    with Connection("memory://localhost/") as connection:
        QUEUE(connection.default_channel).declare()
        QUEUE(connection.default_channel).purge()
        yield connection


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the queues were looked at."""
    found: list[float] = []
    look = broker_memory.Channel.drain_events

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        found.append(time.monotonic())
        return look(self, *args, **options)

    monkeypatch.setattr(broker_memory.Channel, "drain_events", counted)
    return found


def publish(number: int) -> None:
    with Connection("memory://localhost/") as connection:
        Producer(connection.default_channel).publish({"number": number}, routing_key=QUEUE.name)


def test_celery_uses_it() -> None:
    assert Connection("memory://localhost/").get_transport_cls() is Transport


def test_nothing_to_do_is_one_look(connection: Connection, looks: list[float]) -> None:
    with Consumer(connection.default_channel, QUEUE, callbacks=[lambda body, message: message.ack()]):
        before = len(looks)
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0.5)
    assert len(looks) - before <= 2


def test_a_message_of_another_thread_ends_the_wait(connection: Connection, looks: list[float]) -> None:
    got: list[int] = []

    def take(body: dict[str, int], message: Any) -> None:
        got.append(body["number"])
        message.ack()

    with Consumer(connection.default_channel, QUEUE, callbacks=[take]):
        threading.Timer(0.2, publish, [7]).start()
        connection.drain_events(timeout=30)
    assert got == [7]
    assert len(looks) <= 4


def test_an_acknowledgement_makes_room(connection: Connection) -> None:
    """With a prefetch limit of one the second message waits for the first one's acknowledgement, not for the time-out."""
    held: list[Any] = []
    channel = connection.default_channel
    channel.basic_qos(prefetch_count=1)
    with Consumer(channel, QUEUE, callbacks=[lambda body, message: held.append((body["number"], message))]):
        publish(1)
        publish(2)
        connection.drain_events(timeout=30)
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0.2)
        threading.Timer(0.2, held[0][1].ack).start()
        connection.drain_events(timeout=30)
        held[1][1].reject(requeue=True)
        connection.drain_events(timeout=30)
        held[2][1].ack()
    assert [number for number, _ in held] == [1, 2, 2]


def test_a_ring_while_one_looks_is_not_missed() -> None:
    heard = BELL.rings
    BELL.ring()
    BELL.wait(heard, None)
