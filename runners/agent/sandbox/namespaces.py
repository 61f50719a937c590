"""What stands around a benchmark's launcher: a mount namespace for its root, a process namespace that dies with the runner.

The launcher says `ready` only as the first process of that namespace, tied to the runner's life by PR_SET_PDEATHSIG on every link of the
chain. Whenever the runner dies, before or after, the kernel kills everything inside; there is no moment in between.

When the runner is root, the benchmark is nobody: files of images belong to a user id that no account has, and the launcher becomes that user
before it makes the sandbox. Root inside a sandbox that is root outside could write to /proc/sys, whatever its capabilities are.
"""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runners.agent.rooted import remove_tree

OWNER = 1_999_999_999
"""In the range that no distribution, container engine or systemd gives away."""

TOOLS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
"""Environment of the tools that set a sandbox up: nothing of the runner's own, nothing of the job's."""

_MOUNTS = ("--mount", "--propagation", "private")
_PROCESSES = ("--pid", "--fork", "--kill-child", "--mount-proc")
_PLACES = ("/mnt", "/srv", "/media", "/opt")


@dataclass(frozen=True, slots=True)
class Namespaces:
    """`prelude` is the command that the launcher is started by. `contained`: killing its only child kills everything that came of it."""

    prelude: tuple[str, ...]
    contained: bool = False
    overlays: bool = False
    owner: tuple[int, int] | None = None
    """User and group that files of images belong to on this machine; None: the runner's own."""
    inside: tuple[int, int] = (0, 0)
    """The same two as the launcher sees them."""
    place: Path | None = None
    """A folder that everybody can reach, to mount roots on; None: a root stays in its run's folder."""
    drop: tuple[str, ...] = ()
    """The command that turns the launcher into `owner`."""


@cache
def plain() -> Namespaces:
    """No namespace, only the tie to the runner's life."""
    setpriv = shutil.which("setpriv")
    return Namespaces((setpriv, "--pdeathsig", "KILL") if setpriv else (), inside=(os.geteuid(), os.getegid()))


def detect(folder: Path) -> Namespaces:
    """The best of this machine, by trying. `folder` is where the folders of runs will be."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return plain()
    tie = plain().prelude
    user = () if os.geteuid() == 0 else (unshare, "--user", "--map-root-user", *_MOUNTS)
    inner = (unshare, *_MOUNTS) if os.geteuid() == 0 else (unshare, "--mount")
    for prelude, contained in (((*user, *tie, *inner, *_PROCESSES), True), ((*user, *tie, *inner), False)):
        if not _works((*prelude, "true"), folder):
            continue
        found = Namespaces(prelude, contained, overlays=_overlays(prelude, folder))
        return found if os.geteuid() else _as_nobody(found, folder, unshare)
    return plain()


def _as_nobody(found: Namespaces, folder: Path, unshare: str) -> Namespaces:
    """The same with a user that is nobody, if there can be one here."""
    setpriv = shutil.which("setpriv")
    places = [Path(place) for place in _PLACES if Path(place).is_dir() and Path(place) not in folder.resolve().parents]
    if setpriv is None or not places or not _can_own(folder):
        return found
    drop = (setpriv, f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups", "--inh-caps=-all", "--pdeathsig", "KILL")
    if not _works((*found.prelude, *drop, unshare, "--user", "--map-root-user", "true"), folder):
        return found
    ids = (OWNER, OWNER)
    return Namespaces(found.prelude, found.contained, found.overlays, owner=ids, inside=ids, place=places[0], drop=drop)


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


def _can_own(folder: Path) -> bool:
    """Whether files can be given to that user: not in a container that has few user ids."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            os.chown(probe.fileno(), OWNER, OWNER)
    except OSError:
        return False
    return True


def _works(command: tuple[str, ...], folder: Path) -> bool:
    try:
        return subprocess.run(command, cwd=folder, env=TOOLS, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
