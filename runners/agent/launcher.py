"""The moment before a benchmark exists: its process is made, put into its groups and limits, and waits for a word to begin."""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from runners.agent import proc
from runners.agent.cgroups import Group
from runners.agent.control import Control
from runners.agent.errors import InvalidJob, SandboxError
from runners.agent.sandbox.plan import Launch, Plan
from runners.agent.sandbox.rootfs import View

_MOUNT = """\
if [ -n "$1" ]; then mount -t overlay -o "$1" "$2" "$3"; else mount --bind "$2" "$3"; fi || exit 120
shift 3
exec "$@"
"""
_GATE = """\
ulimit -c 0
[ -z "$1" ] || ulimit -f "$1"
cd "$2" || exit 122
shift 2
echo ready >&0
read -r word || exit 121
exec "$@" </dev/null
"""
"""Says `ready`, waits for a word, becomes the benchmark. If the runner has died meanwhile the word is an end of file, and it leaves."""

_READY_SECONDS = 30
_BLOCK_BYTES = 512  # the unit of `ulimit -f` in a POSIX shell


@dataclass(slots=True)
class Started:
    """A process that waits to become the benchmark. It is the child of the thread that made it and dies with it (PR_SET_PDEATHSIG)."""

    popen: subprocess.Popen[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]
    launch: Launch
    group: Group
    contained: bool
    _word: socket.socket
    _status: IO[bytes]
    leader: int = 0
    """The process that becomes the benchmark or its sandbox; with `contained` the first one of its process namespace."""
    _handle: int | None = None

    def found(self) -> None:
        """The launcher has said that it is there."""
        self.leader = self.popen.pid
        if self.contained:
            (self.leader,) = proc.children(self.popen.pid)
            self._handle = os.pidfd_open(self.leader)

    def go(self) -> None:
        self._word.sendall(b"go\n")

    def got_through(self) -> bool:
        """Whether the sandbox came as far as starting the benchmark. To be asked after its end."""
        if not self.launch.tool:
            return True
        if self.launch.pid_file:
            return self.launch.pid_file.exists()
        return b'"exit-code":' in (self._status.read(4096) or b"")

    def family(self) -> set[int]:
        """The benchmark's processes; without the sandbox's outermost one, whose end would be everybody's."""
        return proc.descendants(self.leader) | (set() if self.launch.tool else {self.leader})

    def kill(self, seconds: float) -> None:
        """Ends the whole tree: the first process takes its namespace along; without one, groups and kinship tell who belongs to it."""
        if self.popen.returncode is not None:
            return  # the process id may already be somebody else's
        if self._handle is None:
            self.group.kill(seconds)
            proc.kill_tree(self.popen.pid, seconds)
            os.kill(self.popen.pid, signal.SIGKILL)
            return
        # the parent first: `unshare` has a word to say on stderr about a child that was killed
        os.kill(self.popen.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOWAIT)
        proc.kill_and_wait(self._handle, seconds)
        self.group.kill(seconds)

    def close(self, seconds: float = 5.0) -> None:
        """Leaves neither process nor descriptor behind."""
        self.kill(seconds)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(seconds)
        for stream in (self.stdout, self.stderr, self._status):
            stream.close()
        self._word.close()
        if self._handle is not None:
            os.close(self._handle)


@contextmanager
def start(plan: Plan, view: View, launch: Launch, group: Group, control: Control) -> Iterator[Started]:
    """A waiting process; gone with everything it started when the block ends. SandboxError if the sandbox cannot be made."""
    started = _spawn(plan, view, launch, group)
    try:
        _await_ready(started, control)
        started.found()
        _restrict(started.leader, plan, group)
        yield started
    finally:
        started.close()


def _spawn(plan: Plan, view: View, launch: Launch, group: Group) -> Started:
    blocks = str(max(1, plan.disk // _BLOCK_BYTES)) if plan.disk else ""
    info, told = os.pipe2(os.O_CLOEXEC)
    args = os.memfd_create("plan", os.MFD_CLOEXEC)
    ours, theirs = socket.socketpair()
    try:
        os.write(args, launch.args)
        os.lseek(args, 0, os.SEEK_SET)
        tool = [{"{args}": str(args), "{status}": str(told)}.get(word, word) for word in launch.tool]
        popen = subprocess.Popen(
            [*_before(view, launch), "/bin/sh", "-c", _GATE, "launcher", blocks, launch.workdir, *tool, *launch.argv],
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
    status = os.fdopen(info, "rb", buffering=0)
    return Started(popen, popen.stdout, popen.stderr, launch, group, view.namespaces.contained, ours, status)


def _before(view: View, launch: Launch) -> tuple[str, ...]:
    """The commands in front of the gate: namespaces, the mount, and then no more root than needed."""
    mount = ("/bin/sh", "-c", _MOUNT, "mounter", *view.mount) if view.mount else ()
    return (*view.namespaces.prelude, *mount, *(view.namespaces.drop if launch.unprivileged else ()))


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
    """What is inherited: set before the word to begin, so that the benchmark never runs a moment without it."""
    group.add(pid)
    if plan.cpus:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, plan.cpus)
