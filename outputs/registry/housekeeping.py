"""Expired uploads are swept in the background when another begins, once per time-out and process (registry.md 1.6)."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError

from outputs.registry.services.garbage import expire_uploads
from outputs.registry.storage import StorageError
from outputs.registry.threads import with_storage

logger = logging.getLogger("bencher.registry")


class Sweeper:
    def __init__(self) -> None:
        self._next: datetime | None = None
        self._running: asyncio.Task[None] | None = None

    def poke(self, now: datetime) -> None:
        """Begin a sweep unless there was one recently."""
        if self._next is not None and now < self._next:
            return
        self._next = now + timedelta(seconds=settings.BENCHER_REGISTRY_UPLOAD_TIMEOUT)
        self._running = asyncio.get_running_loop().create_task(self._sweep(now))

    async def _sweep(self, now: datetime) -> None:
        try:
            await with_storage(expire_uploads, now=now)
        except (StorageError, DatabaseError) as problem:
            logger.warning("expired uploads are left to the garbage collection: %s", type(problem).__name__)


sweeper = Sweeper()
