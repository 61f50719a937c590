"""A fresh, writable root for every iteration over one unpacked image: an overlay that nobody else sees, or else a copy.

The overlay is mounted in a mount namespace of the benchmark's own: it vanishes with the last process, however that one dies.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from runners.agent.errors import SandboxError
from runners.agent.rooted import Rooted
from runners.agent.sandbox.namespaces import Namespaces, detect, overlay_options, plain

_HOSTS = "127.0.0.1 localhost bench\n::1 localhost\n"


@dataclass(frozen=True, slots=True)
class View:
    """`root` is where the root will be, `overlay` the options and the name it is mounted with; no options, no mount."""

    folder: Path
    root: Path
    namespaces: Namespaces
    overlay: tuple[str, str] = ("", "")

    def open(self, pid: int) -> Rooted:
        """The root as the launcher `pid` sees it; stays readable after every process in it is gone."""
        return Rooted.at(f"/proc/{pid}/root{self.root}" if self.overlay[0] else self.root)


class Roots:
    """Makes views below `runs`, in whatever namespaces this machine allows."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self.namespaces = detect(runs)

    def make(self, run: str, image: Path, *, host_path: bool, network: bool) -> View:
        """The folder of one run with its root. `image` is never written to."""
        folder = self._runs / run
        folder.mkdir(mode=0o700)
        root = folder / "root"
        root.mkdir()
        if host_path or not self.namespaces.overlays:
            _copy(image, root)
            view, seed = View(folder, root, plain() if host_path else self.namespaces), root
        else:
            view, seed = self._overlay(folder, image), folder / "upper"
        if not host_path:
            _seed(seed, image, network=network)
        return view

    def _overlay(self, folder: Path, image: Path) -> View:
        for name in ("upper", "work"):
            (folder / name).mkdir(mode=0o700)
        os.chmod(folder / "upper", image.stat().st_mode & 0o7777)
        # the name is what a killed runner's processes are found by, see proc.kill_marked
        overlay = (overlay_options(os.path.relpath(image, folder)), f"bencher-{folder.name}")
        return View(folder, folder / "root", self.namespaces, overlay)


def _copy(image: Path, root: Path) -> None:
    copied = subprocess.run(
        ["cp", "-a", "--reflink=auto", f"{image}/.", str(root)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if copied.returncode != 0:
        raise SandboxError(f"cannot copy the image: {copied.stderr.decode(errors='replace').strip()}")


def _seed(target: Path, image: Path, *, network: bool) -> None:
    """Puts in what a container runtime puts in: name resolution."""
    if (image / "etc").is_symlink():  # a folder of ours would hide where it leads
        return
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
