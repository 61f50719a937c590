"""Celery's transport within one process, whose consumer is woken by what is published.

Kombu's looks for messages at intervals: often, and an idle server pays for it; seldom, and results wait for it.
"""

from __future__ import annotations

import threading
import time
from queue import Empty
from typing import Any, Final

from kombu.transport import memory


class Bell:
    """Rung from any thread. Who has counted the rings before looking misses none while looking."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.rings = 0

    def ring(self) -> None:
        with self._changed:
            self.rings += 1
            self._changed.notify_all()

    def wait(self, heard: int, timeout: float | None) -> None:
        """Until it has been rung since ``heard`` rings, for at most ``timeout`` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.rings != heard, timeout)


BELL: Final = Bell()
"""The queues are the process's, and so is this."""


class Channel(memory.Channel):
    """Rings when there is something to take: a message, or room for one."""

    def _put(self, queue: str, message: Any, **options: Any) -> None:
        super()._put(queue, message, **options)  # type: ignore[no-untyped-call]
        BELL.ring()

    def _put_fanout(self, exchange: str, message: Any, routing_key: str | None = None, **options: Any) -> None:
        super()._put_fanout(exchange, message, routing_key, **options)  # type: ignore[no-untyped-call]
        BELL.ring()

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        super().basic_ack(delivery_tag, multiple)  # type: ignore[no-untyped-call]
        BELL.ring()

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        super().basic_reject(delivery_tag, requeue)  # type: ignore[no-untyped-call]
        BELL.ring()

    def basic_qos(self, prefetch_size: int = 0, prefetch_count: int = 0, apply_global: bool = False) -> None:
        super().basic_qos(prefetch_size, prefetch_count, apply_global)  # type: ignore[no-untyped-call]
        BELL.ring()


class Transport(memory.Transport):
    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None) -> None:  # type: ignore[override]
        """Deliver one message. Raises TimeoutError when none came within ``timeout`` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            heard = BELL.rings
            try:
                self.cycle.get(self._deliver, timeout=timeout)  # type: ignore[union-attr]
            except Empty:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError from None
                BELL.wait(heard, left)
            else:
                return
