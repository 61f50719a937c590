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
    """`root` is where the launcher will have the root; `mount` how it gets there: overlay options (or `""` to bind), source, target."""

    folder: Path
    root: Path
    namespaces: Namespaces
    mount: tuple[str, str, str] | tuple[()] = ()

    def open(self, pid: int) -> Rooted:
        """The root as the launcher `pid` sees it; stays readable after every process in it is gone."""
        return Rooted.at(f"/proc/{pid}/root{self.root}" if self.mount else self.root, owner=self.namespaces.owner)


class Roots:
    """Makes views below `runs`, in whatever namespaces this machine allows."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self.namespaces = detect(runs)

    def folder(self, run: str) -> Path:
        return self._runs / run

    def make(self, run: str, image: Path, *, host_path: bool, network: bool) -> View:
        """The folder of one run with its root. `image` is never written to."""
        folder = self.folder(run)
        folder.mkdir(mode=0o700)
        root = folder / "root"
        root.mkdir()
        if host_path:
            _copy(image, root, "--no-preserve=ownership")
            return View(folder, root, plain())
        place = self.namespaces.place
        mount: tuple[str, str, str] | tuple[()]
        if self.namespaces.overlays:
            written, mount = folder / "upper", self._overlay(folder, image, place or Path("root"))
        else:
            _copy(image, root)
            written, mount = root, ("", "root", str(place)) if place else ()
        _seed(written, image, self.namespaces.owner, network=network)
        return View(folder, place or root, self.namespaces, mount)

    def _overlay(self, folder: Path, image: Path, target: Path) -> tuple[str, str, str]:
        for name in ("upper", "work"):
            (folder / name).mkdir(mode=0o700)
        if self.namespaces.owner:
            os.chown(folder / "upper", *self.namespaces.owner)
        os.chmod(folder / "upper", image.stat().st_mode & 0o7777)
        # the name is what a killed runner's processes are found by, see proc.kill_marked
        return overlay_options(os.path.relpath(image, folder)), f"bencher-{folder.name}", str(target)


def _copy(image: Path, root: Path, *options: str) -> None:
    command = ["cp", "-a", "--reflink=auto", *options, f"{image}/.", str(root)]
    copied = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if copied.returncode != 0:
        raise SandboxError(f"cannot copy the image: {copied.stderr.decode(errors='replace').strip()}")


def _seed(target: Path, image: Path, owner: tuple[int, int] | None, *, network: bool) -> None:
    """Puts in what a container runtime puts in: name resolution."""
    if (image / "etc").is_symlink():  # a folder of ours would hide where it leads
        return
    texts = {"hosts": _HOSTS}
    if network and (resolver := Path("/etc/resolv.conf")).exists():
        texts["resolv.conf"] = resolver.read_text()
    with Rooted.at(image) as lower, Rooted.at(target, owner=owner) as root:
        for name, text in texts.items():
            if name == "hosts" and _exists(lower, "etc/hosts"):
                continue
            with root.parent(f"etc/{name}", create=True) as (directory, _):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                _unlink(name, directory)
                with os.fdopen(os.open(name, flags, 0o644, dir_fd=directory), "w") as file:
                    file.write(text)
                    if owner:
                        os.fchown(file.fileno(), *owner)


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
