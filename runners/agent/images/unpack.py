"""Layers onto a root (OCI image spec, "Image Layer Filesystem Changeset"), by directory descriptor and with limits.

A layer is hostile input: nothing in it may write, link or look outside the root, make a device, or fill the disk.
Everything belongs to the runner's user afterwards; set-user-id bits and foreign extended attributes are dropped.
"""

import contextlib
import os
import stat
import tarfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, BinaryIO

from runners.agent.errors import BadLayer
from runners.agent.rooted import DIRECTORY, Rooted, TooManyLinks, parts, remove

WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
MAX_DEPTH = 255
_CHUNK = 1 << 18
_MODE = 0o1777
_XATTR = "SCHILY.xattr."
_OPEN_PARENTS = 64


@dataclass(slots=True)
class Budget:
    """What all layers of an image may still use: bytes of file content, holes included, and entries."""

    bytes: int
    entries: int

    def take(self, size: int) -> None:
        self.entries -= 1
        self.bytes -= max(size, 0)
        if self.entries < 0:
            raise BadLayer("the image has more files than this runner accepts (--max-image-entries)")
        if self.bytes < 0:
            raise BadLayer("the unpacked image is larger than this runner accepts (--max-image-size)")


class LayerWriter:
    """Applies one layer. `apply` once per layer; directory modes and hard links come last."""

    def __init__(self, root: Rooted, budget: Budget, check: Callable[[], None]) -> None:
        self._root = root
        self._budget = budget
        self._check = check
        self._parents: OrderedDict[str, int] = OrderedDict()
        self._written: set[str] = set()
        self._modes: dict[str, tuple[int, float]] = {}
        self._links: list[tuple[str, str]] = []

    def apply(self, stream: BinaryIO) -> None:
        """Reads an uncompressed tar archive. Raises BadLayer, or what `check` raises."""
        try:
            with tarfile.open(fileobj=stream, mode="r|", errorlevel=2, encoding="utf-8", errors="surrogateescape") as archive:
                for member in archive:
                    self._check()
                    self._entry(archive, member)
                    archive.members = []  # type: ignore[attr-defined]  # the archive would remember every entry
            self._finish()
        except tarfile.TarError as error:
            raise BadLayer(f"layer is not a readable tar archive: {error}") from None
        except TooManyLinks as error:
            raise BadLayer(f"{error.filename!r}: {error.strerror}") from None
        except OSError as error:
            raise BadLayer(f"cannot unpack {error.filename!r}: {error.strerror}") from error
        except (ValueError, OverflowError) as error:
            raise BadLayer(f"layer has an impossible entry: {error}") from None
        finally:
            self._forget_parents()

    def _entry(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        path = safe_path(member.name)
        self._budget.take(member.size if member.isreg() else 0)
        if not path:
            if member.isdir():
                self._modes[""] = (member.mode & _MODE, times(member)[0])
            return
        directory, _, name = path.rpartition("/")
        if name == OPAQUE:
            self._empty(directory)
        elif name.startswith(WHITEOUT):
            self._whiteout(directory, name.removeprefix(WHITEOUT))
        else:
            self._create(archive, member, path, directory, name)

    def _create(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, directory: str, name: str) -> None:
        parent = self._parent(directory)
        self._mark(path)
        if member.isdir():
            self._make_directory(parent, path, name, member)
            return
        if member.islnk():
            self._links.append((path, safe_path(member.linkname)))
            return
        self._modes.pop(path, None)
        self._clear(name, parent)
        if member.isreg():
            self._write_file(archive, member, parent, name)
        elif member.issym():
            check_link(path, member.linkname)
            os.symlink(member.linkname, name, dir_fd=parent)
            os.utime(name, times(member), dir_fd=parent, follow_symlinks=False)
        elif member.isfifo():
            os.mkfifo(name, member.mode & _MODE, dir_fd=parent)
        elif member.ischr() or member.isblk():
            raise BadLayer(f"{path!r} is a device node; device nodes are refused")
        else:
            raise BadLayer(f"{path!r} is of the unknown type {member.type!r}")

    def _mark(self, path: str) -> None:
        """Remembers that this layer wrote `path`, and hence the directories above it."""
        while path and path not in self._written:
            self._written.add(path)
            path = path.rpartition("/")[0]

    def _make_directory(self, parent: int, path: str, name: str, member: tarfile.TarInfo) -> None:
        status = _lstat(name, parent)
        if status is not None and not _is_directory(status):
            self._clear(name, parent)
            status = None
        if status is None:
            os.mkdir(name, 0o755, dir_fd=parent)
        self._modes[path] = (member.mode & _MODE, times(member)[0])

    def _write_file(self, archive: tarfile.TarFile, member: tarfile.TarInfo, parent: int, name: str) -> None:
        source = archive.extractfile(member)
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent)
        with os.fdopen(descriptor, "wb", buffering=0) as target:
            if source is not None:
                self._copy(source, target, member.size)
            os.fchmod(descriptor, member.mode & _MODE)
            _set_attributes(descriptor, member.pax_headers)
            os.utime(descriptor, times(member))

    def _copy(self, source: IO[bytes], target: BinaryIO, size: int) -> None:
        """Chunks of zeros become holes: a sparse file stays as small on the disk as it was in the archive."""
        left = size
        while left > 0:
            self._check()
            chunk = source.read(min(_CHUNK, left))
            if not chunk:
                raise BadLayer("layer ends in the middle of a file")
            left -= len(chunk)
            if len(chunk) == _CHUNK and not any(chunk[:64]) and chunk.count(0) == _CHUNK:
                target.seek(_CHUNK, os.SEEK_CUR)
            else:
                target.write(chunk)
        target.truncate(size)

    def _clear(self, name: str, parent: int) -> None:
        status = _lstat(name, parent)
        if status is None:
            return
        if _is_directory(status) or stat.S_ISLNK(status.st_mode):
            self._forget_parents_but(parent)
        remove(name, parent)

    def _whiteout(self, directory: str, name: str) -> None:
        if name in {"", ".", ".."}:
            raise BadLayer(f"whiteout of {directory!r} names no file")
        path = f"{directory}/{name}" if directory else name
        if path in self._written:
            self._empty(path)
            return
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._existing(directory) as parent:
            self._clear(name, parent)

    def _empty(self, directory: str) -> None:
        """An opaque directory hides what lower layers put there, wherever in the archive its marker stands."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._existing(directory) as descriptor:
            self._forget_parents()
            self._remove_lower(directory, descriptor)

    def _remove_lower(self, directory: str, descriptor: int) -> None:
        for name in os.listdir(descriptor):
            path = f"{directory}/{name}" if directory else name
            if path not in self._written:
                remove(name, descriptor)
            elif _is_directory(os.stat(name, dir_fd=descriptor, follow_symlinks=False)):
                inner = os.open(name, DIRECTORY, dir_fd=descriptor)
                try:
                    self._remove_lower(path, inner)
                finally:
                    os.close(inner)

    def _finish(self) -> None:
        for path, target in self._links:
            self._check()
            self._hard_link(path, target)
        for path, (mode, mtime) in sorted(self._modes.items(), key=lambda item: -item[0].count("/")):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._existing(path) as descriptor:
                # the runner's user must always be able to enter and clear what it unpacked
                os.fchmod(descriptor, mode | 0o700)
                os.utime(descriptor, (mtime, mtime))

    def _hard_link(self, path: str, target: str) -> None:
        if not target:
            raise BadLayer(f"hard link {path!r} points at the root")
        source_directory, _, source = target.rpartition("/")
        directory, _, name = path.rpartition("/")
        try:
            origin = self._root.directory(source_directory)
        except OSError:
            raise BadLayer(f"hard link {path!r} points at {target!r}, which is not there") from None
        try:
            status = _lstat(source, origin)
            if status is None or _is_directory(status):
                raise BadLayer(f"hard link {path!r} points at {target!r}, which is no file")
            parent = self._parent(directory)
            existing = _lstat(name, parent)
            if existing is not None and (existing.st_dev, existing.st_ino) == (status.st_dev, status.st_ino):
                return
            self._clear(name, parent)
            os.link(source, name, src_dir_fd=origin, dst_dir_fd=parent, follow_symlinks=False)
        finally:
            os.close(origin)

    # Entries of one directory follow one another: its descriptor is kept, until something on its way may have changed.
    def _parent(self, directory: str) -> int:
        known = self._parents.get(directory)
        if known is None:
            known = self._parents[directory] = self._root.directory(directory, create=True)
            if len(self._parents) > _OPEN_PARENTS:
                os.close(self._parents.popitem(last=False)[1])
        return known

    @contextmanager
    def _existing(self, directory: str) -> Iterator[int]:
        descriptor = self._root.directory(directory)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _forget_parents(self) -> None:
        self._forget_parents_but(-1)

    def _forget_parents_but(self, kept: int) -> None:
        for path, descriptor in list(self._parents.items()):
            if descriptor != kept:
                os.close(self._parents.pop(path))


def safe_path(name: str) -> str:
    """An entry's name relative to the root, `""` for the root. A leading `/` means the root; `..` is refused, never clamped."""
    names = parts(name)
    if ".." in names:
        raise BadLayer(f"{name!r} leads out of the image")
    if len(names) > MAX_DEPTH:
        raise BadLayer(f"{name[:64]!r}… is nested deeper than {MAX_DEPTH} directories")
    return "/".join(names)


def check_link(path: str, target: str) -> None:
    """Refuses a relative link that leads above the root. An absolute one starts at the image's root, as in the running sandbox."""
    if target.startswith("/"):
        return
    depth = path.count("/")
    for name in parts(target):
        depth += -1 if name == ".." else 1
        if depth < 0:
            raise BadLayer(f"symbolic link {path!r} -> {target!r} leads out of the image")


def times(member: tarfile.TarInfo) -> tuple[float, float]:
    """Access and modification time that every file system can hold."""
    moment = min(max(float(member.mtime), 0.0), 2.0**32)
    return moment, moment


def _set_attributes(descriptor: int, headers: Mapping[str, str]) -> None:
    """Keeps `user.*` attributes, except those that an overlay file system would obey. Not every file system has them."""
    for key, value in headers.items():
        name = key.removeprefix(_XATTR)
        if name != key and name.startswith("user.") and not name.startswith("user.overlay."):
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, name, value.encode("utf-8", "surrogateescape"))


def _lstat(name: str, directory: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_directory(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode)
