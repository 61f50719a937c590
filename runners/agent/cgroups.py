"""Control groups for one benchmark run: cores, memory and number of processes limited, usage measured, the whole tree killed at once.

Version 2 where its controllers are, version 1 beside it, whatever of either this machine lets us write: every limit that could not be
set is named, none is silently absent. Below each hierarchy the groups are `bencher/<id>`.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from runners.agent.cpus import format_list

FOLDER = "bencher"
_WANTED = ("cpuset", "memory", "pids")


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """`cpus` are the allowed cores, `memory` bytes, `pids` tasks. None: no limit of that kind."""

    cpus: tuple[int, ...] | None = None
    memory: int | None = None
    pids: int | None = None


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted hierarchy: its folder for our groups and the controllers that can be used there."""

    version: int
    base: Path
    controllers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run consumed; None where the machine does not tell."""

    cpu_user_us: int | None = None
    cpu_sys_us: int | None = None
    mem_peak: int | None = None


@dataclass(slots=True)
class Group:
    """The groups of one run, one folder for each hierarchy."""

    folders: list[Path]
    missing: list[str] = field(default_factory=list)

    def add(self, pid: int) -> None:
        """Moves a process, which must still be waiting for its start, into every folder."""
        for folder in self.folders:
            try:
                (folder / "cgroup.procs").write_text(str(pid))
            except OSError as error:
                self.missing.append(f"{folder}: {error.strerror}")

    def pids(self) -> set[int]:
        found: set[int] = set()
        for folder in self.folders:
            with contextlib.suppress(OSError):
                found.update(int(line) for line in (folder / "cgroup.procs").read_text().split())
        return found

    def kill(self, seconds: float = 5.0) -> bool:
        """SIGKILL for everything inside, again and again until nothing is left. False if something survived `seconds`."""
        until = time.monotonic() + seconds
        while True:
            for folder in self.folders:
                with contextlib.suppress(OSError):
                    (folder / "cgroup.kill").write_text("1")
            left = self.pids()
            if not left:
                return True
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > until:
                return False
            time.sleep(0.005)

    def usage(self) -> Usage:
        user = system = peak = None
        for folder in self.folders:
            numbers = _pairs(folder / "cpu.stat") | _pairs(folder / "cpuacct.stat")
            tick = 1_000_000 // os.sysconf("SC_CLK_TCK")
            if "user_usec" in numbers:
                user, system = numbers["user_usec"], numbers["system_usec"]
            elif "user" in numbers and user is None:
                user, system = numbers["user"] * tick, numbers["system"] * tick
            peak = _number(folder / "memory.peak") or _number(folder / "memory.max_usage_in_bytes") or peak
        return Usage(user, system, peak)

    def out_of_memory(self, limit: int | None) -> bool:
        """Whether the memory limit was reached. Of a process that died by SIGKILL it tells why."""
        counts = [_pairs(folder / name).get("oom_kill", 0) for folder in self.folders for name in ("memory.events", "memory.oom_control")]
        return any(counts) or (limit is not None and (self.usage().mem_peak or 0) >= limit - limit % os.sysconf("SC_PAGE_SIZE"))

    def remove(self) -> None:
        for folder in self.folders:
            for _ in range(100):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:  # a dying process may be counted for a moment
                    time.sleep(0.005)
                else:
                    break


class Cgroups:
    """Makes groups below the hierarchies of this machine. `owner` tells this runner's groups from those of another one."""

    def __init__(self, hierarchies: Iterable[Hierarchy], owner: str) -> None:
        self.hierarchies = list(hierarchies)
        self._owner = owner

    @classmethod
    def detect(cls, owner: str) -> "Cgroups":
        mounts = Path("/proc/self/mountinfo").read_text()
        own = Path("/proc/self/cgroup").read_text()
        found = find(mounts, own, root=os.geteuid() == 0)
        if os.geteuid() != 0:
            for hierarchy in found:
                make_way(hierarchy)
        return cls(found, owner)

    def create(self, name: str, limits: GroupLimits) -> Group:
        """A group for one run, with as many of the limits as possible."""
        group, done = Group([]), set[str]()
        for hierarchy in self.hierarchies:
            folder = hierarchy.base / f"{self._owner}-{name}"
            usable = _prepare(hierarchy)
            try:
                folder.mkdir()
            except OSError:
                continue
            done |= {kind for kind in usable if _apply(hierarchy.version, folder, kind, limits)}
            if hierarchy.version == 1 and "cpuset" in usable and "cpuset" not in done and not _inherit_cpuset(folder):
                folder.rmdir()  # a version 1 cpuset without cpus takes no process
                continue
            group.folders.append(folder)
        wanted = {"cpuset": limits.cpus, "memory": limits.memory, "pids": limits.pids}
        group.missing = [f"{kind} limit cannot be set" for kind in _WANTED if wanted[kind] is not None and kind not in done]
        return group

    def close(self) -> None:
        """Removes `bencher/` where no group is left in it."""
        for hierarchy in self.hierarchies:
            with contextlib.suppress(OSError):
                hierarchy.base.rmdir()

    def sweep(self) -> list[str]:
        """Kills and removes what a killed predecessor left. Names of the groups."""
        names = []
        for hierarchy in self.hierarchies:
            for folder in sorted(hierarchy.base.glob(f"{self._owner}-*")):
                group = Group([folder])
                group.kill()
                group.remove()
                names.append(str(folder))
        return names


def find(mountinfo: str, own: str, *, root: bool) -> list[Hierarchy]:
    """The hierarchies named by /proc/self/mountinfo and /proc/self/cgroup in which groups can be made."""
    homes = {}
    for line in own.splitlines():
        _, names, path = line.split(":", 2)
        homes.update(dict.fromkeys(names.split(",") if names else [""], path))
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        mount_root, mount = before.split()[3:5]
        kind, _, options = after.split(None, 2)
        if kind == "cgroup2":
            home = _home(mount, mount_root, homes.get("", "/"))
            base = Path(mount, FOLDER) if root else home / FOLDER
            found.append(Hierarchy(2, base, _controllers(base.parent)))
        elif kind == "cgroup":
            controllers = frozenset(options.split(",")) & {*_WANTED, "cpuacct"}
            if controllers:
                path = homes.get(min(controllers), "/")
                found.append(Hierarchy(1, _home(mount, mount_root, path) / FOLDER, controllers))
    return found


def make_way(hierarchy: Hierarchy) -> None:
    """In a delegated group of version 2 (systemd: `Delegate=yes`) only leaves may hold processes: its processes, ours too, move into `runner/`."""
    home = hierarchy.base.parent
    if hierarchy.version != 2 or not hierarchy.controllers or not os.access(home / "cgroup.procs", os.W_OK):
        return
    with contextlib.suppress(OSError):
        (home / "runner").mkdir(exist_ok=True)
        for pid in (home / "cgroup.procs").read_text().split():
            (home / "runner" / "cgroup.procs").write_text(pid)


def _home(mount: str, mount_root: str, path: str) -> Path:
    inside = path.removeprefix(mount_root.rstrip("/")) if path.startswith(mount_root) else "/"
    return Path(mount + inside.rstrip("/"))


def _controllers(folder: Path) -> frozenset[str]:
    try:
        return frozenset((folder / "cgroup.controllers").read_text().split())
    except OSError:
        return frozenset()


def _prepare(hierarchy: Hierarchy) -> set[str]:
    """Makes `bencher/` and hands its controllers down to the groups below. Returns those that arrived."""
    with contextlib.suppress(OSError):
        hierarchy.base.mkdir(exist_ok=True)
    if hierarchy.version == 1:
        if "cpuset" in hierarchy.controllers:
            _inherit_cpuset(hierarchy.base)
        return set(hierarchy.controllers)
    for folder in (hierarchy.base.parent, hierarchy.base):
        for kind in _WANTED:
            with contextlib.suppress(OSError):
                (folder / "cgroup.subtree_control").write_text(f"+{kind}")
    with contextlib.suppress(OSError):
        return set((hierarchy.base / "cgroup.subtree_control").read_text().split())
    return set()


def _inherit_cpuset(folder: Path) -> bool:
    try:
        for name in ("cpuset.cpus", "cpuset.mems"):
            if not (folder / name).read_text().strip():
                (folder / name).write_text((folder.parent / name).read_text())
    except OSError:
        return False
    return True


def _apply(version: int, folder: Path, kind: str, limits: GroupLimits) -> bool:
    settings = (_version_2 if version == 2 else _version_1)(folder, kind, limits)
    if not settings:
        return False
    try:
        for name, value in settings:
            (folder / name).write_text(value)
    except OSError:
        return False
    if kind == "memory":
        with contextlib.suppress(OSError):  # no swap beside it; not every kernel counts swap
            name, value = ("memory.swap.max", "0") if version == 2 else ("memory.memsw.limit_in_bytes", str(limits.memory))
            (folder / name).write_text(value)
    return True


def _version_2(folder: Path, kind: str, limits: GroupLimits) -> list[tuple[str, str]]:
    if kind == "cpuset" and limits.cpus:
        mems = (folder.parent / "cpuset.mems.effective").read_text().strip() or "0"
        return [("cpuset.cpus", format_list(limits.cpus)), ("cpuset.mems", mems)]
    if kind == "memory" and limits.memory:
        return [("memory.max", str(limits.memory))]
    return [("pids.max", str(limits.pids))] if kind == "pids" and limits.pids else []


def _version_1(folder: Path, kind: str, limits: GroupLimits) -> list[tuple[str, str]]:
    if kind == "cpuset" and limits.cpus:
        return [("cpuset.cpus", format_list(limits.cpus)), ("cpuset.mems", (folder.parent / "cpuset.mems").read_text())]
    if kind == "memory" and limits.memory:
        return [("memory.limit_in_bytes", str(limits.memory))]
    return [("pids.max", str(limits.pids))] if kind == "pids" and limits.pids else []


def _pairs(path: Path) -> dict[str, int]:
    try:
        return {key: int(value) for key, value in (line.split() for line in path.read_text().splitlines())}
    except (OSError, ValueError):
        return {}


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0
