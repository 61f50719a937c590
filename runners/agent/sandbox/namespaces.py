"""What stands around a benchmark's launcher: a mount namespace for its root, a process namespace that dies with the runner.

The launcher says `ready` only as the first process of that namespace, tied to the runner's life by PR_SET_PDEATHSIG on every link of the
chain. Whenever the runner dies, before or after, the kernel kills everything inside; there is no moment in between.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runners.agent.rooted import remove_tree

TOOLS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
"""Environment of the tools that set a sandbox up: nothing of the runner's own, nothing of the job's."""

_MOUNTS = ("--mount", "--propagation", "private")
_PROCESSES = ("--pid", "--fork", "--kill-child", "--mount-proc")


@dataclass(frozen=True, slots=True)
class Namespaces:
    """`prelude` is the command that the launcher is started by. `contained`: killing its only child kills everything that came of it."""

    prelude: tuple[str, ...]
    contained: bool = False
    overlays: bool = False
    uid: int = 0
    """Who the launcher is inside."""


@cache
def plain() -> Namespaces:
    """No namespace, only the tie to the runner's life."""
    setpriv = shutil.which("setpriv")
    return Namespaces((setpriv, "--pdeathsig", "KILL") if setpriv else (), uid=os.geteuid())


def detect(folder: Path) -> Namespaces:
    """The best of this machine, by trying. `folder` is where roots will be."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return plain()
    tie = plain().prelude
    user = () if os.geteuid() == 0 else (unshare, "--user", "--map-root-user", *_MOUNTS)
    inner = (unshare, *_MOUNTS) if os.geteuid() == 0 else (unshare, "--mount")
    for prelude, contained in (((*user, *tie, *inner, *_PROCESSES), True), ((*user, *tie, *inner), False)):
        if _works((*prelude, "true"), folder):
            return Namespaces(prelude, contained, overlays=_overlays(prelude, folder))
    return plain()


def overlay_options(lower: str) -> str:
    """Mount options with relative names: a path with a comma or a colon could not be written into them."""
    return f"lowerdir={lower},upperdir=upper,workdir=work" + (",userxattr" if os.geteuid() else "")


def _overlays(prelude: tuple[str, ...], folder: Path) -> bool:
    probe = folder / "probe-overlay"
    remove_tree(probe)
    try:
        for name in ("lower", "upper", "work", "root"):
            (probe / name).mkdir(parents=True, mode=0o700)
        return _works((*prelude, "mount", "-t", "overlay", "probe", "-o", overlay_options("lower"), "root"), probe)
    finally:
        remove_tree(probe)


def _works(command: tuple[str, ...], folder: Path) -> bool:
    try:
        return subprocess.run(command, cwd=folder, env=TOOLS, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
