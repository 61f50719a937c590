"""The moment before a benchmark exists: its process is made, put into its groups and limits, and waits for a word to begin."""

import contextlib
import os
import resource
import selectors
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import IO

from runners.agent import proc
from runners.agent.cgroups import Group
from runners.agent.control import Control
from runners.agent.errors import InvalidJob, SandboxError
from runners.agent.sandbox.plan import Launch, Plan
from runners.agent.sandbox.rootfs import View

_SCRIPT = """\
if [ -n "$1" ]; then mount -t overlay overlay -o "$1" root || exit 120; fi
cd "$2" || exit 122
shift 2
echo ready >&0
read -r word || exit 121
exec "$@" </dev/null
"""
"""Says `ready`, waits for a word, becomes the benchmark. If the runner has died meanwhile the word is an end of file, and it leaves."""

_READY_SECONDS = 30


@dataclass(slots=True)
class Started:
    """A process that waits to become the benchmark. It is the child of the thread that made it and dies with it (PR_SET_PDEATHSIG)."""

    popen: subprocess.Popen[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]
    launch: Launch
    group: Group
    _word: socket.socket
    _status: IO[bytes]
    _told: bytes = b""
    _first: int | None = None

    @property
    def pid(self) -> int:
        return self.popen.pid

    def go(self) -> None:
        self._word.sendall(b"go\n")

    def first(self) -> int | None:
        """Descriptor (pidfd) of the sandbox's first process, as soon as the sandbox has told which one that is."""
        if self._first is None and (told := self._first_pid()) is not None:
            with contextlib.suppress(OSError):
                self._first = os.pidfd_open(told)
        return self._first

    def _first_pid(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            if self.launch.pid_file:
                return int(self.launch.pid_file.read_text())
            return _number(self._listen(), b'"child-pid":')
        return None

    def _listen(self) -> bytes:
        self._told += self._status.read(4096) or b""
        return self._told

    def got_through(self) -> bool:
        """Whether the sandbox came as far as starting the benchmark. To be asked after its end."""
        if not self.launch.tool:
            return True
        if self.launch.pid_file:
            return self.launch.pid_file.exists()
        return _number(self._listen(), b'"exit-code":') is not None

    def descendants(self) -> set[int]:
        return proc.descendants(self.pid)

    def kill(self, seconds: float) -> None:
        """Ends the whole tree: the first process takes its namespace along, groups and descendants are for what has no namespace."""
        if self.popen.returncode is not None:
            return  # the process id may already be somebody else's
        first = self.first()
        if first is not None:
            proc.kill_and_wait(first, seconds)
        self.group.kill(seconds)
        proc.kill_tree(self.pid, seconds)
        if first is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close(self, seconds: float = 5.0) -> None:
        """Leaves neither process nor descriptor behind."""
        self.kill(seconds)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(seconds)
        for stream in (self.stdout, self.stderr, self._status):
            stream.close()
        self._word.close()
        if self._first is not None:
            os.close(self._first)


@contextmanager
def start(plan: Plan, view: View, launch: Launch, group: Group, control: Control) -> Iterator[Started]:
    """A waiting process; gone with everything it started when the block ends. SandboxError if the sandbox cannot be made."""
    started = _spawn(view, launch, group)
    try:
        _await_ready(started, control)
        _restrict(started.pid, plan, group)
        yield started
    finally:
        started.close()


def _spawn(view: View, launch: Launch, group: Group) -> Started:
    info, told = os.pipe2(os.O_CLOEXEC)
    args = os.memfd_create("plan", os.MFD_CLOEXEC)
    ours, theirs = socket.socketpair()
    try:
        os.write(args, launch.args)
        os.lseek(args, 0, os.SEEK_SET)
        tool = [{"{args}": str(args), "{status}": str(told)}.get(word, word) for word in launch.tool]
        popen = subprocess.Popen(
            [*view.prelude, *_death_signal(), "/bin/sh", "-c", _SCRIPT, "launcher", view.overlay, launch.workdir, *tool, *launch.argv],
            stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=view.folder, env=launch.env,
            pass_fds=(args, told) if tool else (), start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        os.close(info)
        ours.close()
        raise InvalidJob(f"the benchmark cannot be started: {error.strerror}") from error
    finally:
        theirs.close()
        os.close(told)
        os.close(args)
    if popen.stdout is None or popen.stderr is None:
        raise SandboxError("no pipes")
    os.set_blocking(info, False)
    return Started(popen, popen.stdout, popen.stderr, launch, group, ours, os.fdopen(info, "rb", buffering=0))


def _await_ready(started: Started, control: Control) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(started._word, selectors.EVENT_READ)
        selector.register(control, selectors.EVENT_READ)
        events = selector.select(_READY_SECONDS)
    control.check()
    if not events:
        raise SandboxError(f"the sandbox was not ready within {_READY_SECONDS} s")
    if not started._word.recv(64):
        code = started.popen.wait()
        text = started.stderr.read(4096).decode(errors="replace").strip()
        raise SandboxError(f"the sandbox could not be set up: {text or f'launcher ended with {code}'}")


def _restrict(pid: int, plan: Plan, group: Group) -> None:
    """Limits that are inherited: set from outside, so that the benchmark never runs a moment without them."""
    group.add(pid)
    limits = {resource.RLIMIT_CORE: 0} | ({resource.RLIMIT_FSIZE: plan.disk} if plan.disk else {})
    for kind, value in limits.items():
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, kind, (value, value))
    if plan.cpus:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, plan.cpus)


def _number(text: bytes, key: bytes) -> int | None:
    _, found, rest = text.partition(key)
    digits = rest.split(b",")[0].split(b"}")[0].strip()
    return int(digits) if found and digits.isdigit() else None


@cache
def _death_signal() -> tuple[str, ...]:
    """SIGKILL for the benchmark when the runner dies, from before the moment it exists."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()
