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


def kill_marked(marks: set[str], seconds: float = 5.0) -> set[int]:
    """SIGKILL for every process that carries one of `marks` (names of run folders) in its mounts, arguments, program or folder. Their ids."""
    found: set[int] = set()
    until = time.monotonic() + seconds
    while marks and time.monotonic() < until:
        left = {int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal() and _carries(entry, marks)} - {os.getpid()}
        if not left:
            break
        for pid in left:
            _kill(pid)
        found |= left
        time.sleep(0.01)
    return found


def _carries(entry: Path, marks: set[str]) -> bool:
    texts = []
    for name in ("mountinfo", "cmdline"):
        with contextlib.suppress(OSError):
            texts.append((entry / name).read_bytes().decode(errors="replace"))
    for name in ("exe", "cwd", "root"):
        with contextlib.suppress(OSError):
            texts.append(os.readlink(entry / name))
    return any(mark in text for mark in marks for text in texts)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
