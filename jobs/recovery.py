"""What is done before the port opens, every few seconds, and on demand (recovery.md section 1)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from jobs import leases, notify, scheduling
from jobs.lifecycle import IN_FLIGHT, Status
from jobs.services import watch
from jobs.services.reap import Sweep, check, overrun, sweep
from outputs.registry.services.uploads import forget_writers

logger = logging.getLogger(__name__)


def recover(*, now: datetime, dry_run: bool = False, process: Callable[[UUID], object] | None = None, settled: bool = True) -> Sweep:
    """Decide what became undecidable while nobody looked: jobs over their limit, jobs whose runner is gone, results that nobody parsed.

    Jobs that are live, on whatever node, are left alone. Results are handed to the workers, which begin when they are there, or to ``process``.
    ``settled``: may silence be judged (jobs/services/watch.py)?
    """
    done = sweep(now=now, dry_run=dry_run, delay=timedelta(0), process=process, settled=settled)
    if done.total or done.broken:
        logger.info(
            "recovery%s: %d canceled, %d failed, %d handed out for processing, %d broken",
            " (dry run)" if dry_run else "", len(done.canceled), len(done.failed), len(done.reprocessed), len(done.broken),
        )  # fmt: skip
    return done


def recover_alone(*, now: datetime) -> None:
    """At the start of a server that is the only one: whoever held a lease is dead, and no runner is connected yet."""
    leases.forget_all()
    forget_writers()
    watch.begin(now=now)
    recover(now=now)


def recover_embedded(*, now: datetime) -> None:
    """At the start of the embedded server, which has its data folder to itself: nobody else uses a SQLite database, but a PostgreSQL one may have others."""
    (recover_alone if settings.ON_SQLITE else recover_beside)(now=now)


def recover_beside(*, now: datetime) -> None:
    """At the start of one of several: what others hold or hear is theirs."""
    recover(now=now, settled=watch.look(now=now))


def patrol(*, now: datetime) -> Sweep:
    """Every few seconds, for all jobs."""
    return sweep(now=now, settled=watch.look(now=now))


def examine(*, job_id: UUID, now: datetime) -> Status | None:
    """One job, whose time may be up: a task with a due time. It comes again when silence cannot be judged yet, since perhaps nobody sweeps."""
    if watch.look(now=now):
        return check(job_id=job_id, now=now)
    status = overrun(job_id=job_id, now=now)
    if status in IN_FLIGHT:
        notify.watch(job_id, scheduling.SETTLING + scheduling.WRITE_MARGIN)
    return status
