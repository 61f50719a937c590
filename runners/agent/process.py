"""A benchmark while it runs: watched without polling, ended with its whole tree, and only then its pipes are drained."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from runners.agent.capture import Capture
from runners.agent.control import Control
from runners.agent.errors import RunnerError, SandboxError
from runners.agent.launcher import Started

DRAIN_SECONDS = 2.0
DEATH_SECONDS = 10.0
_CHECK_SECONDS = 1.0

Watch = Callable[[], RunnerError | None]
"""Asked once a second: does something else than time forbid the benchmark to go on?"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds the benchmark may take, what it is to be called if it takes longer, seconds between SIGTERM and SIGKILL, bytes kept of a stream."""

    seconds: float
    overrun: RunnerError
    grace: float
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Finished:
    """How it ended. `interrupted` is why the runner ended it, None if it came to its own end; the output is there either way."""

    exit_code: int
    stdout: Capture
    stderr: Capture
    seconds: float
    interrupted: RunnerError | None


def run(started: Started, bounds: Bounds, control: Control, watch: Watch) -> Finished:
    """Lets the waiting process become the benchmark; returns when nothing of its tree lives any more."""
    began = time.monotonic()
    started.go()
    supervisor = _Supervisor(started, bounds, control, watch, began + bounds.seconds)
    try:
        interrupted = supervisor.wait()
        seconds = time.monotonic() - began
        started.kill(DEATH_SECONDS)
        supervisor.drain()
    finally:
        supervisor.close()
    try:
        code = started.popen.wait(DEATH_SECONDS)
    except subprocess.TimeoutExpired:
        raise SandboxError("the benchmark cannot be killed: it hangs in the kernel") from None
    if interrupted is None and not started.got_through():
        raise SandboxError(supervisor.stderr.text().strip() or f"the sandbox ended with {code}")
    return Finished(code if code >= 0 else 128 - code, supervisor.stdout, supervisor.stderr, seconds, interrupted)


class _Supervisor:
    """Waits for the first of: its end, a stop request, the deadline, an objection of the watch; reads output all the while."""

    def __init__(self, started: Started, bounds: Bounds, control: Control, watch: Watch, deadline: float) -> None:
        self._started = started
        self._bounds = bounds
        self._control = control
        self._watch = watch
        self._deadline = deadline
        self.stdout, self.stderr = Capture(bounds.output_bytes), Capture(bounds.output_bytes)
        self._pidfd = os.pidfd_open(started.popen.pid)
        self._selector = selectors.DefaultSelector()
        for stream, capture in ((started.stdout, self.stdout), (started.stderr, self.stderr)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, capture)
        self._selector.register(self._pidfd, selectors.EVENT_READ)
        self._selector.register(control, selectors.EVENT_READ)

    def wait(self) -> RunnerError | None:
        interrupted: RunnerError | None = None
        while not self._ended():
            if interrupted is None and (interrupted := self._reason()) is not None:
                self._selector.unregister(self._control)
                self._terminate()
                self._deadline = time.monotonic() + self._bounds.grace
            elif interrupted is not None and time.monotonic() >= self._deadline:
                break
        return interrupted

    def _ended(self) -> bool:
        """Waits for something to happen, at most a second. Whether that was the end of the benchmark."""
        left = self._deadline - time.monotonic()
        for key, _ in self._selector.select(max(0.0, min(left, _CHECK_SECONDS))):
            if key.fd == self._pidfd:
                return True
            if isinstance(key.data, Capture):
                self._read(key.fd, key.data)
        return False

    def _reason(self) -> RunnerError | None:
        if self._control.reason is not None:
            return self._control.reason
        return self._bounds.overrun if time.monotonic() >= self._deadline else self._watch()

    def _terminate(self) -> None:
        """Asks every process of the benchmark to end."""
        for pid in self._started.family():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)

    def _read(self, descriptor: int, capture: Capture) -> None:
        try:
            data = os.read(descriptor, 1 << 18)
        except BlockingIOError:
            return
        if data:
            capture.feed(data)
        else:
            self._selector.unregister(descriptor)

    def drain(self) -> None:
        """Takes what is still in the pipes. Whoever may hold them open all the same is not waited for longer than two seconds."""
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._control)
        self._selector.unregister(self._pidfd)
        until = time.monotonic() + DRAIN_SECONDS
        while self._selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                self._read(key.fd, key.data)

    def close(self) -> None:
        self._selector.close()
        os.close(self._pidfd)
