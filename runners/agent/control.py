"""The one way to stop a job from outside: a flag that a blocking selector can wait for."""

import os
import threading

from runners.agent.errors import RunnerError


class Control:
    """Thread-safe stop request. The first request wins; `fileno()` becomes readable with it, so that nobody polls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: RunnerError | None = None
        self._event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def stop(self, reason: RunnerError) -> None:
        with self._lock:
            if self._reason is None:
                self._reason = reason
                os.eventfd_write(self._event, 1)

    @property
    def reason(self) -> RunnerError | None:
        return self._reason

    def check(self) -> None:
        """Raises the reason once a stop was requested: called between the steps of pulling and unpacking."""
        if self._reason is not None:
            raise self._reason

    def fileno(self) -> int:
        return self._event

    def close(self) -> None:
        os.close(self._event)
