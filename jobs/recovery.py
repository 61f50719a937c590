"""What is done before the port opens, and on demand (recovery.md)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from jobs.services.reap import Sweep, sweep

logger = logging.getLogger(__name__)


def recover(*, now: datetime, dry_run: bool = False, process: Callable[[UUID], object] | None = None) -> Sweep:
    """Decide what became undecidable while nobody looked: jobs over their limit, jobs whose runner is gone, results that nobody parsed.

    Jobs that are live, on whatever node, are left alone. Results are handed to the workers, which begin when they are there, or to ``process``.
    """
    done = sweep(now=now, dry_run=dry_run, delay=timedelta(0), process=process)
    if done.total or done.broken:
        logger.info(
            "recovery%s: %d canceled, %d failed, %d handed out for processing, %d broken",
            " (dry run)" if dry_run else "", len(done.canceled), len(done.failed), len(done.reprocessed), len(done.broken),
        )  # fmt: skip
    return done
