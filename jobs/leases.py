"""Who processes a job: a lease in its row, renewed while the work goes on, so that a worker that was killed is replaced within seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Q

from bencher.core.retry import TRANSIENT, transient
from jobs.lifecycle import Status
from jobs.models import Job

LENGTH = timedelta(seconds=15)
RENEWAL = timedelta(seconds=5)
PAUSE = timedelta(seconds=5)
"""Until the next attempt, after a fault of ours."""


class Lease:
    """Nobody else works on a completed job until then; whoever writes has ``until`` as the guard of its transition."""

    def __init__(self, job_id: UUID, now: datetime) -> None:
        self.job_id, self.until = job_id, now + LENGTH
        self._began, self._clock = now, time.monotonic()

    @transient()
    def take(self) -> bool:
        free = Q(processing_until__isnull=True) | Q(processing_until__lte=self._began)
        return Job.objects.filter(free, pk=self.job_id, status=Status.COMPLETED).update(processing_until=self.until) == 1

    def _move(self, until: datetime) -> None:
        if Job.objects.filter(pk=self.job_id, status=Status.COMPLETED, processing_until=self.until).update(processing_until=until):
            self.until = until

    def renew(self) -> None:
        """A lease that was lost stays lost."""
        passed = timedelta(seconds=time.monotonic() - self._clock)
        self._move(self._began + passed + LENGTH)

    def put_off(self) -> None:
        """Give it back, to be taken again after a while."""
        self._move(self._began + PAUSE)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renewed in the background as long as this lasts."""
        over = threading.Event()
        thread = threading.Thread(target=self._keep, args=(over,), name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _keep(self, over: threading.Event) -> None:
        while not over.wait(RENEWAL.total_seconds()):
            try:
                self.renew()
            except TRANSIENT:
                continue  # tried again before it runs out
            finally:
                connection.close()


def forget_all() -> int:
    """At the start of a server that is the only one: whoever held a lease is dead. How many there were."""
    return Job.objects.filter(status=Status.COMPLETED, processing_until__isnull=False).update(processing_until=None)
