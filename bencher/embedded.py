"""The embedded server's other half: Celery's worker and beat as threads of the web server's process, and what has to happen around them.

The order of the end is measured, see docs/operations.md: first no new task, then the worker and the beat in parallel, then the parsing children, whose
death ends tasks that still run.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
import warnings
from pathlib import Path
from typing import Any

from bencher import datafolder
from bencher.serving.watchdog import watch_stop
from outputs.parsing import parsers

CONCURRENCY = 4
"""Worker threads: more than parsing children, so that short tasks still run beside them."""


class AlreadyRunning(Exception):
    """Another server uses this data folder."""


class DataLock:
    """Two embedded servers on one folder would each keep half of the truth in memory. The kernel frees the lock when the process ends."""

    def __init__(self, folder: Path) -> None:
        datafolder.make(folder)
        self._descriptor = os.open(folder / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 32).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise AlreadyRunning(f"{folder}: a server (process {holder or 'unknown'}) is using this data folder") from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._descriptor)


class Background:
    """Worker, beat and parsing children."""

    def __init__(self) -> None:
        self._worker: Any = None
        self._beat: Any = None
        self._stops: list[threading.Thread] = []
        self._stopping_since = 0.0

    def start(self) -> None:
        from celery.beat import EmbeddedService
        from celery.exceptions import SecurityWarning

        from bencher import celery
        from bencher.rhythm import Beat

        celery.embedded, app = True, celery.app
        warnings.filterwarnings("ignore", category=SecurityWarning)  # about root: this is no worker of its own, and takes no pickles
        parsers.start()
        self._worker = app.Worker(
            pool="threads",
            concurrency=CONCURRENCY,
            without_mingle=True,
            without_gossip=True,
            without_heartbeat=True,
            quiet=True,
            loglevel="WARNING",
        )
        threading.Thread(target=self._worker.start, name="worker", daemon=True).start()
        self._beat = EmbeddedService(app, thread=True, scheduler_cls=Beat)
        self._beat.start()

    def stop_soon(self) -> None:
        """Begin the end without waiting: called on the event loop while the channels are closed."""
        import celery.worker.state

        self._stopping_since = time.monotonic()
        watch_stop()
        celery.worker.state.should_stop = 0  # before anything else: no new task starts
        for name, stop in (("beat stop", self._beat.stop), ("worker stop", self._worker.stop)):
            thread = threading.Thread(target=stop, name=name, daemon=True)
            thread.start()
            self._stops.append(thread)

    def join(self) -> None:
        """Wait for running tasks for up to five seconds since the stop began, then end them."""
        if not self._stops:
            self.stop_soon()
        beat, worker = self._stops
        worker.join(max(0.0, self._stopping_since + 5 - time.monotonic()))
        parsers.stop()
        worker.join(1)
        beat.join(1)
