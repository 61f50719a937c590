"""Bytes in a folder. Every object is written under a temporary name, synced and renamed; then its folder is synced.

Several processes, and several hosts with a shared file system that has working locks, may use the folder at once.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from outputs.registry.storage.base import (
    UPLOADS,
    Appender,
    Entry,
    NotFound,
    Reader,
    State,
    Storage,
    StorageError,
    StorageFull,
    UploadBusy,
    check_key,
)

TEMPORARY = "_temporary"
"""Below this name a whole object rests while it is written."""

RESERVE = 64 << 20
"""Bytes that uploads leave free on the disk, so that small writes (job outputs, the database) go on when it fills up."""

_STEP = 16 << 20  # look at the free space once in so many bytes of an upload


@contextlib.contextmanager
def _faults(key: str) -> Iterator[None]:
    """The system's errors as ours."""
    try:
        yield
    except FileNotFoundError as problem:
        raise NotFound(key) from problem
    except OSError as problem:
        kind = StorageFull if problem.errno in (errno.ENOSPC, errno.EDQUOT) else StorageError
        raise kind(f"{key}: {problem.strerror or problem}") from problem


class FilesystemStorage(Storage):
    def __init__(self, root: Path) -> None:
        self.root = root

    # -- whole objects -----------------------------------------------------------------------------------------------
    def put(self, key: str, data: bytes | bytearray) -> None:
        target = self._path(key)
        with _faults(key):
            folder = _make_folder(self.root / TEMPORARY)
            descriptor, name = tempfile.mkstemp(dir=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(descriptor)
                _rename(Path(name), target)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    def get(self, key: str) -> bytes:
        with _faults(key):
            return self._path(key).read_bytes()

    def size(self, key: str) -> int:
        with _faults(key):
            return self._path(key).stat().st_size

    def delete(self, key: str) -> None:
        path = self._path(key)
        with _faults(key):
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # not empty: others are there
                path.parent.rmdir()

    def copy(self, source: str, target: str) -> None:
        """A second name for the same bytes, where the file system has such: objects are replaced, never changed."""
        origin, path = self._path(source), self._path(target)
        with _faults(source):
            temporary = _make_folder(self.root / TEMPORARY) / uuid.uuid4().hex
            try:
                os.link(origin, temporary)
            except FileNotFoundError:
                raise
            except OSError:
                shutil.copyfile(origin, temporary)
                _sync(temporary)
            os.utime(temporary)  # the age by which the garbage collection judges what no row covers
            _rename(temporary, path)

    def open_read(self, key: str, start: int = 0, end: int | None = None) -> Reader:
        with _faults(key):
            file = self._path(key).open("rb", buffering=0)
            file.seek(start)

        def read(size: int) -> bytes:
            with _faults(key):
                return file.read(size)

        return Reader(read, file.close, None if end is None else end - start)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        top = self._path(prefix) if prefix else self.root
        for folder, folders, files in os.walk(top):
            if Path(folder) == self.root:
                folders[:] = [name for name in folders if name not in (UPLOADS, TEMPORARY)]
            for name in files:
                path = Path(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    yield _entry(path.relative_to(self.root).as_posix(), path)

    def check(self) -> None:
        with _faults("storage folder"):
            folder = _make_folder(self.root / TEMPORARY)
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(b"probe")
                probe.flush()

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    # -- uploads -----------------------------------------------------------------------------------------------------
    def append(self, key: str, state: State, offset: int) -> Appender:
        path = self._upload_path(key)
        with _faults(key):
            _make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (0 if offset else os.O_CREAT), 0o640)
        try:
            return _FileAppender(path, self._path(key), descriptor, offset)
        except BaseException:
            os.close(descriptor)
            raise

    def abort(self, key: str) -> None:
        with _faults(key):
            self._upload_path(key).unlink(missing_ok=True)

    def uploads(self) -> Iterator[Entry]:
        for path in (self.root / UPLOADS).glob("*"):
            with contextlib.suppress(FileNotFoundError):
                yield _entry(path.name.replace("+", "/"), path)

    def clean(self, before: datetime) -> int:
        removed = 0
        for path in (self.root / TEMPORARY).glob("*"):
            with contextlib.suppress(FileNotFoundError):
                if _entry(path.name, path).modified < before:
                    path.unlink()
                    removed += 1
        return removed

    def _upload_path(self, key: str) -> Path:
        return self.root / UPLOADS / check_key(key).replace("/", "+")  # no key contains a plus


class _FileAppender(Appender):
    """Holds the lock of the upload's file; a writer that a pause has outlived its lease cannot disturb the next one."""

    def __init__(self, path: Path, target: Path, descriptor: int, offset: int) -> None:
        self._path, self._target, self._descriptor, self._offset = path, target, descriptor, offset
        self._end, self._checked = offset, -_STEP
        with _faults(path.name):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UploadBusy(path.name) from None
            if os.fstat(descriptor).st_size < offset:
                raise NotFound(path.name)
            os.ftruncate(descriptor, offset)

    def write(self, data: bytes) -> None:
        with _faults(self._path.name):
            self._make_sure_of_room(len(data))
            view = memoryview(data)
            while view:
                written = os.pwrite(self._descriptor, view, self._end)
                self._end += written
                view = view[written:]

    def _make_sure_of_room(self, size: int) -> None:
        if self._end - self._checked < _STEP:
            return
        self._checked = self._end
        found = os.fstatvfs(self._descriptor)
        if found.f_bavail * found.f_frsize < RESERVE + size:
            raise StorageFull("the disk of the storage is full")

    def commit(self) -> State:
        self._close()
        return {}

    def finish(self) -> None:
        with _faults(self._path.name):
            os.utime(self._descriptor)
            os.fsync(self._descriptor)
            _rename(self._path, self._target)
        self._close()

    def rollback(self) -> None:
        with contextlib.suppress(OSError):  # what is too much is cut off by the next appender
            os.ftruncate(self._descriptor, self._offset)
        self._close()

    def _close(self) -> None:
        if not self.ended:
            self.ended = True
            os.close(self._descriptor)


def _entry(key: str, path: Path) -> Entry:
    found = path.stat()
    return Entry(key, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))


def _make_folder(folder: Path) -> Path:
    """New folders are synced into their parents: a file in a folder that a crash forgets is lost."""
    if not folder.is_dir():
        missing = [folder, *(parent for parent in folder.parents if not parent.is_dir())]
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        for made in missing:
            _sync(made.parent)
    return folder


def _rename(source: Path, target: Path) -> None:
    """Durably. The target's folder may be removed, being empty, between its making and the rename: then once more."""
    for attempt in range(5):
        _make_folder(target.parent)
        try:
            os.replace(source, target)
            break
        except FileNotFoundError:
            if attempt == 4 or not source.exists():
                raise
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
