"""This machine as a place to run jobs: its state folder, sandboxes, groups and cores, cleaned of what a killed predecessor left."""

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runners.agent import cpus, proc
from runners.agent.cgroups import Cgroups
from runners.agent.errors import RunnerError, SandboxError
from runners.agent.execution import Executor
from runners.agent.images.store import ImageStore, Limits
from runners.agent.iteration import Bench, Settings
from runners.agent.progress import Progress
from runners.agent.rooted import remove_tree
from runners.agent.sandbox.bubblewrap import Bubblewrap
from runners.agent.sandbox.host import Host
from runners.agent.sandbox.namespaces import Namespaces
from runners.agent.sandbox.plan import Sandbox
from runners.agent.sandbox.rootfs import Roots
from runners.agent.sandbox.runc import Runc

BUBBLEWRAP, RUNC, HOST = "bubblewrap", "runc", "host"
FIRECRACKER = "firecracker"


class StateInUse(RunnerError):
    """Another process works in the same state folder."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which sandbox runs what. `firecracker_as`: the operator vouches that this sandbox isolates as well as a virtual machine would."""

    default: str = BUBBLEWRAP
    firecracker_as: str | None = None


@contextmanager
def state_folder(folder: Path) -> Iterator[Path]:
    """The folder, private and locked. StateInUse when another runner has it; RunnerError when it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise RunnerError(f"cannot use the state folder {folder}: {error.strerror} (choose one with --state-dir)") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateInUse(f"another runner uses the state folder {folder}") from None
        folder.chmod(0o700)  # set-user-id files of an image may lie below: nobody else may get there
        yield folder.resolve()
    finally:
        os.close(descriptor)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A state folder for one run, when the usual one is in use."""
    with tempfile.TemporaryDirectory(prefix="bencher-runner-", ignore_cleanup_errors=True) as folder, state_folder(Path(folder)) as state:
        yield state


@contextmanager
def machine(state: Path, layout: cpus.Layout, choice: Choice, limits: Limits, settings: Settings, progress: Progress) -> Iterator[Executor]:
    """An executor over a locked state folder."""
    runs = state / "runs"
    cgroups = Cgroups.detect(hashlib.sha256(os.fsencode(state)).hexdigest()[:12])
    _sweep(runs, cgroups, state / RUNC, progress)
    runs.mkdir(exist_ok=True, mode=0o700)
    proc.become_subreaper()
    if layout.isolated:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, layout.housekeeping)
    roots = Roots(runs)
    store = ImageStore(state / "cache", limits, roots.namespaces.owner)
    store.clean()
    if not roots.namespaces.overlays:
        progress.warn("overlay mounts do not work here: every iteration gets a full copy of the image")

    sandboxes = _Sandboxes(choice, state / RUNC, roots.namespaces)

    def bench(wanted: str | None) -> Bench:
        return Bench(sandboxes.get(wanted), roots, cgroups, settings, progress.warn)

    try:
        yield Executor(store, bench, progress)
    finally:
        cgroups.close()


def _sweep(runs: Path, cgroups: Cgroups, containers: Path, progress: Progress) -> None:
    """Ends and removes what a killed predecessor left in this state folder."""
    folders = list(runs.iterdir()) if runs.exists() else []
    killed = proc.kill_marked({folder.name for folder in folders})
    Runc.sweep_state(containers)
    left = cgroups.sweep()
    for folder in folders:
        remove_tree(folder)
    if left or killed or folders:
        progress.info(f"removed what a killed runner left: {len(killed)} processes, {len(left)} control groups, {len(folders)} folders")


class _Sandboxes:
    """The sandboxes of this machine, each tried before it is first used."""

    def __init__(self, choice: Choice, containers: Path, namespaces: Namespaces) -> None:
        self._choice = choice
        self._containers = containers
        self._namespaces = namespaces
        self._known: dict[str, Sandbox] = {}
        self._makers: dict[str, Callable[[], Sandbox]] = {BUBBLEWRAP: self._bubblewrap, RUNC: self._runc, HOST: Host}

    def get(self, wanted: str | None) -> Sandbox:
        """The sandbox for a spec's `sandbox`. SandboxError with the operator's way out."""
        if wanted is None:
            name = self._choice.default
        elif wanted != FIRECRACKER:
            name = wanted
        elif self._choice.firecracker_as is None:
            raise SandboxError(
                "the spec asks for a firecracker sandbox, and this runner has nothing that isolates as well as a virtual machine"
            )
        else:
            name = self._choice.firecracker_as
        if name not in self._known:
            self._known[name] = self._makers[name]()
        return self._known[name]

    def _bubblewrap(self) -> Sandbox:
        found = Bubblewrap.find()
        if found is None:
            raise SandboxError(
                "bubblewrap (bwrap) is not installed and the runner was not started with --danger-allow-no-sandbox: no way to run this job"
            )
        if problem := found.problem((*self._namespaces.prelude, *self._namespaces.drop)):
            raise SandboxError(f"bubblewrap does not work on this machine: {problem}")
        return found

    def _runc(self) -> Sandbox:
        found = Runc.find(self._containers)
        if found is None:
            raise SandboxError("runc is not installed")
        return found
