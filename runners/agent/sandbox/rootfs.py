"""A fresh, writable root for every iteration over one unpacked image: an overlay that nobody else sees, or else a copy.

The overlay is mounted in a mount namespace of the benchmark's own: it vanishes with the last process, however that one dies.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from runners.agent.errors import SandboxError
from runners.agent.rooted import Rooted, remove_tree
from runners.agent.sandbox.bubblewrap import TOOLS

_HOSTS = "127.0.0.1 localhost bench\n::1 localhost\n"


@dataclass(frozen=True, slots=True)
class View:
    """`prelude` starts the launcher in the right namespaces; `overlay` are mount options, `""` for none; `root` is where it will be."""

    folder: Path
    root: Path
    prelude: tuple[str, ...]
    overlay: str

    @property
    def uid(self) -> int:
        """Who the launcher is in there."""
        return 0 if self.prelude else os.geteuid()

    def open(self, pid: int) -> Rooted:
        """The root as the launcher `pid` sees it; stays readable after every process in it is gone."""
        return Rooted.at(f"/proc/{pid}/root{self.root}" if self.overlay else self.root)


class Roots:
    """Makes views. `overlays` is decided once, by trying."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._prelude = _namespaces()
        self.overlays = self._try()

    def make(self, run: str, image: Path, *, host_path: bool, network: bool) -> View:
        """The folder of one run with its root. `image` is never written to."""
        folder = self._runs / run
        folder.mkdir(mode=0o700)
        root = folder / "root"
        root.mkdir()
        if self.overlays and not host_path:
            view = self._overlay(folder, image)
            seed = folder / "upper"
        else:
            _copy(image, root)
            view = View(folder, root, (), "")
            seed = root
        if not host_path:
            _seed(seed, image, network=network)
        return view

    def _overlay(self, folder: Path, image: Path) -> View:
        for name in ("upper", "work"):
            (folder / name).mkdir(mode=0o700)
        os.chmod(folder / "upper", image.stat().st_mode & 0o7777)
        # relative names: a path with a comma or a colon could not be written into mount options
        options = f"lowerdir={os.path.relpath(image, folder)},upperdir=upper,workdir=work"
        if os.geteuid() != 0:
            options += ",userxattr"
        return View(folder, folder / "root", self._prelude, options)

    def _try(self) -> bool:
        if not self._prelude or not shutil.which("mount"):
            return False
        folder = self._runs / "probe-overlay"
        remove_tree(folder)
        try:
            for name in ("lower", "upper", "work", "root"):
                (folder / name).mkdir(parents=True, mode=0o700)
            command = [*self._prelude, "mount", "-t", "overlay", "overlay", "-o", self._overlay_options(), "root"]
            return subprocess.run(command, cwd=folder, env=TOOLS, capture_output=True, timeout=20, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False
        finally:
            remove_tree(folder)

    @staticmethod
    def _overlay_options() -> str:
        return "lowerdir=lower,upperdir=upper,workdir=work" + (",userxattr" if os.geteuid() else "")


def _namespaces() -> tuple[str, ...]:
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    return (unshare, *user, "--mount", "--propagation", "private")


def _copy(image: Path, root: Path) -> None:
    copied = subprocess.run(
        ["cp", "-a", "--reflink=auto", f"{image}/.", str(root)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if copied.returncode != 0:
        raise SandboxError(f"cannot copy the image: {copied.stderr.decode(errors='replace').strip()}")


def _seed(target: Path, image: Path, *, network: bool) -> None:
    """Puts in what a container runtime puts in: name resolution."""
    texts = {"hosts": _HOSTS}
    if network and (resolver := Path("/etc/resolv.conf")).exists():
        texts["resolv.conf"] = resolver.read_text()
    with Rooted.at(image) as lower, Rooted.at(target) as root:
        for name, text in texts.items():
            if name == "hosts" and _exists(lower, "etc/hosts"):
                continue
            with root.parent(f"etc/{name}", create=True) as (directory, _):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                _unlink(name, directory)
                with os.fdopen(os.open(name, flags, 0o644, dir_fd=directory), "w") as file:
                    file.write(text)


def _exists(root: Rooted, path: str) -> bool:
    try:
        root.stat(path)
    except OSError:
        return False
    return True


def _unlink(name: str, directory: int) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
