"""Turns the knobs for the time the runner runs and puts everything back, also what a crashed predecessor left turned."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runners.agent import cpus
from runners.agent.tuning.journal import Change, Journal
from runners.agent.tuning.knobs import Knob, Tuning, knobs
from runners.agent.tuning.partition import partition
from runners.agent.tuning.steering import steer

Say = Callable[[str], None]
LOCK = Path("run/bencher_runner_tuning.lock")
JOURNAL = Path("run/bencher_runner_tuning.json")


@dataclass(slots=True)
class Host:
    """The machine as files below `root`, written only through the journal."""

    root: Path
    say: Say
    journal: Journal = field(init=False)
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.journal = Journal(self.root / JOURNAL)

    def write(self, name: str, path: Path, new: str, *, old: str, quiet: bool = False) -> bool:
        """Writes `new` where `old` stands, to be undone later. False when the machine does not let us."""
        change = Change(str(path), old, new)
        try:
            self.journal.record(change)
            path.write_text(new)
        except OSError as error:
            if not quiet:
                self.say(f"{name}: cannot write {path}: {error.strerror}")
            return False
        self.changes.append(change)
        return True

    def turn(self, knob: Knob) -> None:
        try:
            old = knob.current(knob.path.read_text())
        except OSError as error:
            self.say(f"{knob.name}: skipped, {knob.path}: {error.strerror}")
            return
        if old == knob.value or old in knob.skip:
            return
        if self.write(knob.name, knob.path, knob.value, old=old):
            self.say(f"{knob.name}: {old} -> {knob.value}")

    def restore(self) -> None:
        """Undoes in reverse order."""
        undo(self.changes, self.say)
        self.changes.clear()
        with contextlib.suppress(OSError):
            self.journal.clear()


def undo(changes: list[Change], say: Say) -> None:
    """Writes the old values back, the last change first. An empty old value is written as a newline."""
    for change in reversed(changes):
        try:
            Path(change.path).write_text(change.old or "\n")
        except OSError as error:
            say(f"cannot restore {change.path} to {change.old!r}: {error.strerror}")


@contextmanager
def tuned(tuning: Tuning, say: Say, root: Path = Path("/")) -> Iterator[cpus.Layout]:
    """The machine tuned while the block runs. Yields which cores are whose.

    One tuner at a time: whoever does not get the lock runs untuned, and says so.
    """
    if os.geteuid() != 0 and tuning.anything:
        say("not root: the machine is not tuned")
        tuning = Tuning.off()
    with _lock(root / LOCK) as locked:
        if not locked:
            say("another runner is tuning this machine: nothing is tuned by this one")
            yield cpus.detect(root)
            return
        _recover(root, say)
        host = Host(root, say)
        with contextlib.ExitStack() as held:
            held.callback(host.restore)
            for knob in knobs(tuning, root):
                host.turn(knob)
            if tuning.cstates:
                held.enter_context(_awake(root / "dev/cpu_dma_latency", say))
            layout = cpus.detect(root)
            if layout.isolated and tuning.cpuset_partition:
                partition(host, layout)
            if layout.isolated and tuning.irq_steering:
                steer(host, layout)
            yield layout


def _recover(root: Path, say: Say) -> None:
    journal = Journal(root / JOURNAL)
    if changes := journal.load():
        say(f"a killed runner left {len(changes)} settings changed: restoring them")
        undo(changes, say)
        with contextlib.suppress(OSError):
            journal.clear()


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Whether this process is the one that may tune. A lock that cannot be opened is no lock: an ordinary user can change nothing anyway."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError:
        yield True
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


@contextmanager
def _awake(path: Path, say: Say) -> Iterator[None]:
    """Keeps the cores out of deep C-states for as long as the file is open."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError as error:
        say(f"C-states: skipped, {path}: {error.strerror}")
        yield
        return
    try:
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\0\0\0\0")
        yield
    finally:
        os.close(descriptor)
