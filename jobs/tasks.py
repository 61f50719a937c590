"""What Celery does for jobs. Every task may run twice, late, or not at all: the sweeper makes good for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from celery import shared_task
from django.db import connection

from bencher.core import clock
from jobs import recovery

logger = logging.getLogger(__name__)

SWEEP_LOCK = 0x73776570
"""Key of PostgreSQL's advisory lock: one sweep at a time, however many beats there are."""

_sweeping = threading.Lock()


@shared_task(name="jobs.process", acks_late=True, reject_on_worker_lost=True)
def process_job(job_id: str) -> None:
    """Parse the delivered results, unless somebody else does."""
    from jobs import processing

    processing.process_job(UUID(job_id), now=clock.now())


@shared_task(name="jobs.check")
def check_job(job_id: str) -> None:
    """A job's time may be up."""
    recovery.examine(job_id=UUID(job_id), now=clock.now())


@shared_task(name="jobs.sweep")
def sweep() -> None:
    """Look after every job whose time is up, or whose results nobody parses."""
    with _alone() as alone:
        if not alone:
            return
        done = recovery.patrol(now=clock.now())
    if done.total or done.broken:
        logger.info(
            "swept: %d canceled, %d failed, %d handed out for processing, %d broken",
            len(done.canceled), len(done.failed), len(done.reprocessed), len(done.broken),
        )  # fmt: skip


@contextmanager
def _alone() -> Iterator[bool]:
    """Is nobody else sweeping? SQLite has one process, PostgreSQL a lock for all of them that ends with its connection."""
    if connection.vendor != "postgresql":
        got = _sweeping.acquire(blocking=False)
        try:
            yield got
        finally:
            if got:
                _sweeping.release()
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [SWEEP_LOCK])
        got = bool(cursor.fetchone()[0])
    try:
        yield got
    finally:
        if got:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [SWEEP_LOCK])
