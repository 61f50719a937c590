"""Paths inside a foreign root, walked by directory descriptor so that no link leads out of it.

Absolute paths and link targets start at the root, `..` stops there: what the kernel does in a chroot, done from outside of it.
"""

import os
import shutil
import stat
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EINVAL, ELOOP
from typing import TypeVar

T = TypeVar("T")
DEFAULT_MAX_SYMLINKS = 40
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TooManyLinks(OSError):
    """A path led through more symbolic links than allowed."""


def parts(path: str) -> list[str]:
    """The names in `path`, without empty ones and `.`; `..` is kept."""
    return [name for name in path.split("/") if name not in {"", "."}]


@dataclass(slots=True)
class Rooted:
    """A directory tree known by the descriptor of its root. Owns the descriptor."""

    fd: int
    max_symlinks: int = DEFAULT_MAX_SYMLINKS
    owner: tuple[int, int] | None = None
    """User and group of folders that are made on the way; None: the runner's own."""

    @classmethod
    def at(
        cls, path: str | os.PathLike[str], *, max_symlinks: int = DEFAULT_MAX_SYMLINKS, owner: tuple[int, int] | None = None
    ) -> "Rooted":
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), max_symlinks, owner)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> "Rooted":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def parent(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Descriptor of the directory that holds the last name of `path` (links on the way followed), and that name.

        The name is `""` when the path is the root itself. FileNotFoundError, NotADirectoryError or TooManyLinks otherwise.
        """
        names = parts(path)
        last = names.pop() if names and names[-1] != ".." else ""
        descriptor = self.directory("/".join(names), create=create)
        try:
            yield descriptor, last
        finally:
            os.close(descriptor)

    def directory(self, path: str, *, create: bool = False) -> int:
        """A new descriptor of the directory `path`, which the caller closes."""
        trail = [os.dup(self.fd)]
        try:
            self._walk(trail, deque(parts(path)), create=create)
            return trail.pop()
        finally:
            for descriptor in trail:
                os.close(descriptor)

    def _walk(self, trail: list[int], names: deque[str], *, create: bool) -> None:
        links = 0
        while names:
            name = names.popleft()
            if name == "..":
                if len(trail) > 1:
                    os.close(trail.pop())
                continue
            target = _readlink(name, trail[-1])
            if target is None:
                trail.append(self._enter(name, trail[-1], create=create))
                continue
            links += 1
            if links > self.max_symlinks:
                raise TooManyLinks(ELOOP, f"more than {self.max_symlinks} symbolic links", name)
            if target.startswith("/"):
                while len(trail) > 1:
                    os.close(trail.pop())
            names.extendleft(reversed(parts(target)))

    def _enter(self, name: str, directory: int, *, create: bool) -> int:
        try:
            return os.open(name, DIRECTORY, dir_fd=directory)
        except FileNotFoundError:
            if not create:
                raise
        os.mkdir(name, 0o755, dir_fd=directory)
        if self.owner:
            os.chown(name, *self.owner, dir_fd=directory, follow_symlinks=False)
        return os.open(name, DIRECTORY, dir_fd=directory)

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        """Opens an existing file, the last name's links followed too. Never blocks on a FIFO, never becomes a terminal's owner."""
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        return self._final(path, lambda name, directory: os.open(name, flags, dir_fd=directory))

    def stat(self, path: str) -> os.stat_result:
        """Status of what `path` leads to."""
        return self._final(path, lambda name, directory: os.stat(name or ".", dir_fd=directory, follow_symlinks=False))

    def _final(self, path: str, action: Callable[[str, int], T]) -> T:
        for _ in range(self.max_symlinks + 1):
            with self.parent(path) as (directory, name):
                target = _readlink(name, directory) if name else None
                if target is None:
                    return action(name or ".", directory)
                base = "" if target.startswith("/") else path.rstrip("/").rpartition("/")[0]
                path = f"{base}/{target}"
        raise TooManyLinks(ELOOP, f"more than {self.max_symlinks} symbolic links", path)

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes of a regular file."""
        descriptor = self.open(path)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(EINVAL, "not a regular file", path)
            return file.read(limit)


def _readlink(name: str, directory: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == EINVAL:  # not a link
            return None
        raise


def remove(name: str, directory: int) -> None:
    """Removes a file or a whole tree, whatever its modes are; absence is fine. Links are removed, not followed."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=directory)
        return
    inner = _open_anyway(name, directory)
    try:
        for child in os.listdir(inner):
            remove(child, inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=directory)


def _open_anyway(name: str, directory: int) -> int:
    with suppress(OSError):
        handle = os.open(name, DIRECTORY, dir_fd=directory)
        if os.access(name, os.W_OK | os.X_OK, dir_fd=directory, effective_ids=True):
            return handle
        os.close(handle)
    os.chmod(name, 0o700, dir_fd=directory)
    return os.open(name, DIRECTORY, dir_fd=directory)


def remove_tree(path: str | os.PathLike[str]) -> None:
    """Removes a tree of any depth below a path of the host; what a benchmark made unreadable is made readable first."""
    target = os.fspath(path)
    for _ in range(2):
        subprocess.run(["rm", "-rf", "--", target], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if not os.path.lexists(target):
            return
        subprocess.run(["chmod", "-R", "u+rwX", "--", target], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    shutil.rmtree(target, ignore_errors=True)
