"""Telling others, after the commit. All of it is hints: whoever misses one finds out from the database within seconds.

Nothing here blocks or raises: messages to other processes and to Celery leave through threads of their own, so that a broker that is down costs nobody anything.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction

from jobs.lifecycle import Status
from jobs.models import Job

logger = logging.getLogger(__name__)

GROUP = "nodes"
"""Group of the channel layer with one member for each web process."""

PROCESS = os.urandom(8).hex()
"""Who published a message: nobody hears his own twice."""

ETA_LIMIT = timedelta(minutes=15)
"""Tasks further ahead are left to the sweeper: brokers keep them in memory, and hand them out twice after an hour."""

Message = dict[str, Any]
_listeners: list[Callable[[Message], None]] = []


class _Outbox:
    """A daemon thread that does one thing after the other; what it cannot do it logs and forgets."""

    SIZE = 10_000

    def __init__(self, name: str) -> None:
        self.name = name
        self._queue: queue.Queue[Callable[[], object]] = queue.Queue(self.SIZE)
        self._pid = 0
        self._lock = threading.Lock()

    def put(self, work: Callable[[], object]) -> None:
        if self._pid != os.getpid():  # first use in this process, also after a fork
            with self._lock:
                if self._pid != os.getpid():
                    threading.Thread(target=self._run, name=self.name, daemon=True).start()
                    self._pid = os.getpid()
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            logger.warning("%s: too many messages wait, one is dropped", self.name)

    def _run(self) -> None:
        while True:
            work = self._queue.get()
            try:
                work()
            except Exception as fault:
                logger.warning("%s: a message was not sent: %s: %s", self.name, type(fault).__name__, fault)
            finally:
                self._queue.task_done()

    def flush(self) -> None:
        """Wait until all is out: for tests and short-lived commands."""
        self._queue.join()


_layer_outbox, _broker_outbox = _Outbox("layer-outbox"), _Outbox("broker-outbox")
_layer_loop = threading.local()


# -- web processes -------------------------------------------------------------------------------------------------
def subscribe(listener: Callable[[Message], None]) -> Callable[[], None]:
    """``listener`` gets every message of this process, in whatever thread; the result ends it. Messages of others come by the layer."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def publish(message: Message) -> None:
    """To every web process: those of this process at once, the others through the channel layer."""
    for listener in _listeners:
        listener(message)
    if settings.REDIS_URL:
        _layer_outbox.put(partial(_send, {**message, "from": PROCESS}))


def _send(message: Message) -> None:
    loop = getattr(_layer_loop, "loop", None)
    if loop is None:
        loop = _layer_loop.loop = asyncio.new_event_loop()
    layer = get_channel_layer()
    loop.run_until_complete(asyncio.wait_for(layer.group_send(GROUP, {"type": "node.message", "message": message}), 5))


# -- what happens to jobs --------------------------------------------------------------------------------------------
def pending(spec_id: UUID) -> None:
    """A job may be claimed that could not be before."""
    transaction.on_commit(lambda: publish({"kind": "pending", "spec": str(spec_id)}))


def started(job: Job) -> None:
    """Somebody looks after it when its hard limit is over."""
    limit = timedelta(seconds=job.timeout + settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD + 1)
    transaction.on_commit(partial(watch, job.pk, limit))


def ended(job_id: UUID, status: str) -> None:
    """It is in flight no more: its channel hears of a cancellation, its results are parsed, its place is free."""
    if status == Status.CANCELED:
        transaction.on_commit(lambda: publish({"kind": "canceled", "job": str(job_id)}))
    if status == Status.COMPLETED:
        transaction.on_commit(partial(process, job_id))
    if settings.BENCHER_TIER_LIMITS or settings.BENCHER_PROJECT_CONCURRENCY:
        transaction.on_commit(lambda: publish({"kind": "poll"}))


# -- tasks ---------------------------------------------------------------------------------------------------------
def process(job_id: UUID) -> None:
    """Have the results parsed."""
    from jobs import tasks

    _broker_outbox.put(lambda: tasks.process_job.apply_async((str(job_id),), retry=False))


def watch(job_id: UUID, after: timedelta) -> None:
    """Have the job looked at when its time is up."""
    from jobs import tasks

    if after <= ETA_LIMIT:
        _broker_outbox.put(lambda: tasks.check_job.apply_async((str(job_id),), countdown=after.total_seconds(), retry=False))


def flush() -> None:
    """Wait until every message is out."""
    _layer_outbox.flush()
    _broker_outbox.flush()
