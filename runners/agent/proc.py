"""Process trees by /proc, for what control groups and namespaces do not cover."""

import contextlib
import ctypes
import os
import select
import signal
import time
from pathlib import Path

_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36
_subreaper = False


def children(pid: int) -> set[int]:
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found.update(int(word) for word in Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def descendants(pid: int) -> set[int]:
    """Children, their children and so on; not `pid` itself."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        new = children(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def session(leader: int) -> set[int]:
    """Processes of the session that `leader` opened, wherever in the tree they hang by now."""
    found = set()
    for entry in _PROC.iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            if entry.name.isdecimal() and int(_stat(entry)[3]) == leader:
                found.add(int(entry.name))
    return found


def become_subreaper() -> bool:
    """From now on orphans of the benchmark become this process's children, so that even a daemon is found."""
    global _subreaper
    libc = ctypes.CDLL(None, use_errno=True)
    _subreaper = bool(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    return _subreaper


def kill_tree(pid: int, seconds: float) -> None:
    """SIGKILL for all that came from `pid`, which must not have been waited for: its descendants, its session, adopted orphans."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        family = descendants(pid) | session(pid)
        if _subreaper:
            family |= {orphan for adopted in children(os.getpid()) - {pid} for orphan in ({adopted} | descendants(adopted))}
        left = {child for child in family - {pid} if not is_zombie(child)}
        for child in left:
            _kill(child)
        if not left:
            break
        time.sleep(0.005)
    if _subreaper:
        for adopted in children(os.getpid()) - {pid}:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(adopted, os.WNOHANG)


def _stat(entry: Path) -> list[str]:
    """Fields of /proc/PID/stat from the state on."""
    return (entry / "stat").read_text().rpartition(")")[2].split()


def is_zombie(pid: int) -> bool:
    try:
        return _stat(_PROC / str(pid))[0] in {"Z", "X"}
    except (OSError, IndexError):
        return True


def kill_and_wait(handle: int, seconds: float) -> bool:
    """SIGKILL by pidfd, then waits for the death. For the first process of a PID namespace that means: everything in it is dead."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    return bool(select.select([handle], [], [], seconds)[0])


def kill_below(folder: Path) -> list[int]:
    """SIGKILL for every process that runs a program below `folder`, stands in it, or was told of it in its arguments. Their ids."""
    prefix = f"{folder}/"
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid() and _belongs(entry, prefix):
            _kill(int(entry.name))
            found.append(int(entry.name))
    return found


def _belongs(entry: Path, prefix: str) -> bool:
    with contextlib.suppress(OSError):
        if entry.stat().st_uid not in {os.geteuid(), 0}:
            return False
        for link in ("exe", "cwd", "root"):
            with contextlib.suppress(OSError):
                if os.readlink(entry / link).startswith(prefix):
                    return True
        return any(word.startswith(prefix) for word in (entry / "cmdline").read_bytes().decode(errors="replace").split("\0"))
    return False


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
