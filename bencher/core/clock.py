"""The one clock that doors read (recovery.md section 6).

With a database server its clock is the only one that is compared: a node whose own clock is wrong must neither reap nor be reaped. This process
measures how far the database's clock is from its own monotonic one, at start and every minute, and adds. With SQLite there is only this machine.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection, connections

logger = logging.getLogger(__name__)
EVERY = 60.0
"""Seconds between two measurements."""
PATIENCE = 2.0
"""Seconds that the first reading waits for the first measurement."""

Measure = Callable[[], datetime]


class DatabaseClock:
    """Another clock's time, kept by the monotonic one. Until the first measurement succeeds it is this machine's time."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._offset: datetime | None = None
        self._due = 0.0
        self._lock = threading.Lock()
        self._measured = threading.Event()

    def now(self) -> datetime:
        moment = time.monotonic()
        if moment >= self._due:
            self._start_measuring(moment)
        if self._offset is None and not _on_event_loop():
            self._measured.wait(PATIENCE)
        return datetime.now(UTC) if self._offset is None else self._offset + timedelta(seconds=time.monotonic())

    def _start_measuring(self, moment: float) -> None:
        """In a thread of its own: the caller may be in a transaction, whose time stands still, or on the event loop."""
        with self._lock:
            if moment < self._due:
                return
            self._due = moment + EVERY
        threading.Thread(target=self.measure, name="clock", daemon=True).start()

    def measure(self) -> None:
        """Read the other clock once; half of the way there and back is its age. A failure leaves all as it was."""
        try:
            before = time.monotonic()
            theirs = self._measure()
            middle = (before + time.monotonic()) / 2
            self._offset = theirs - timedelta(seconds=middle)
        except Exception as error:
            logger.warning("the database's clock cannot be read: %s", type(error).__name__)
            self._due = time.monotonic() + EVERY / 10
        finally:
            self._measured.set()


def _database_time() -> datetime:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            moment: datetime = cursor.fetchone()[0]
        return moment.astimezone(UTC)
    finally:
        connections.close_all()


def _on_event_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_database_clock = DatabaseClock(_database_time)


def now() -> datetime:
    """The present moment, UTC."""
    return (
        datetime.now(UTC) if settings.ON_SQLITE else _database_clock.now()
    )  # asking the connection would make one for every task of an event loop
