"""What every place for bytes can do.

A key is a path of ``/``-separated names below the storage's root. Every write of a key is atomic: readers see the old bytes or the new
ones, never a part, also after a crash. Bytes that arrive piece by piece, over several requests and at several processes, are an *upload*
to a key: invisible until `Appender.finish`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Self

PIECE = 256 * 1024
"""Bytes of one piece that a reader gets."""

UPLOADS = "_uploads"
"""Below this name uploads rest until they are finished."""

State = dict[str, Any]
"""What a backend must remember of an upload between two requests: JSON, kept by the caller."""

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*", re.ASCII)
_KEY_LENGTH = 512


class StorageError(Exception):
    """The storage failed: our fault, the same request may succeed later."""


class StorageFull(StorageError):
    """There is no room for the bytes."""


class UploadBusy(StorageError):
    """Another request is writing to the upload."""


class NotFound(Exception):
    """There is nothing under this key."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored object: ``size`` in bytes, ``modified`` aware."""

    key: str
    size: int
    modified: datetime


def check_key(key: str) -> str:
    """Keys are made by us; a wrong one is a programming error, and this the last wall against a path from outside."""
    if len(key) > _KEY_LENGTH or _KEY.fullmatch(key) is None:
        raise ValueError(f"not a storage key: {key[:100]!r}")
    return key


class Reader(Iterator[bytes]):
    """Pieces of an open object. Closes itself at the end; whoever stops before must close it."""

    def __init__(self, read: Callable[[int], bytes], close: Callable[[], object], length: int | None) -> None:
        self._read, self._close, self._left = read, close, length

    def __next__(self) -> bytes:
        wanted = PIECE if self._left is None else min(PIECE, self._left)
        try:
            data = self._read(wanted) if wanted else b""
        except BaseException:
            self.close()
            raise
        if not data:
            self.close()
            raise StopIteration
        if self._left is not None:
            self._left -= len(data)
        return data

    def close(self) -> None:
        self._close()


class Appender(ABC):
    """Writes at the end of one upload, alone. Ends with exactly one of `commit`, `finish`, `rollback`; leaving a ``with`` block
    rolls back what was not ended."""

    ended = False

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Raises `StorageFull`, `StorageError`."""

    @abstractmethod
    def commit(self) -> State:
        """Keep what was written; the state to remember for the next appender."""

    @abstractmethod
    def finish(self) -> None:
        """Make all bytes of the upload the content of its key, durably; the upload is no more."""

    @abstractmethod
    def rollback(self) -> None:
        """The upload is what it was before this appender."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if not self.ended:
            self.rollback()


class Storage(ABC):
    """Bytes under keys. Safe to use from many threads and processes."""

    # -- whole objects -----------------------------------------------------------------------------------------------
    @abstractmethod
    def put(self, key: str, data: bytes | bytearray) -> None:
        """Store durably, replacing what was there. Raises `StorageError`."""

    @abstractmethod
    def get(self, key: str) -> bytes:
        """Raises `NotFound`, `StorageError`."""

    @abstractmethod
    def size(self, key: str) -> int:
        """Raises `NotFound`, `StorageError`."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """An absent key is fine. Raises `StorageError`."""

    @abstractmethod
    def copy(self, source: str, target: str) -> None:
        """``target`` must be new. Raises `NotFound`, `StorageError`."""

    @abstractmethod
    def open_read(self, key: str, start: int = 0, end: int | None = None) -> Reader:
        """The bytes from ``start`` up to and without ``end``, in pieces. Raises `NotFound` at the call, not later; `StorageError`."""

    @abstractmethod
    def list(self, prefix: str = "") -> Iterator[Entry]:
        """All objects below ``prefix`` (a folder without a slash at its end; "" = all), in no order; uploads are not objects."""

    @abstractmethod
    def check(self) -> None:
        """Can it be read and written now? Raises `StorageError`."""

    def exists(self, key: str) -> bool:
        try:
            self.size(key)
        except NotFound:
            return False
        return True

    def missing(self, keys: Iterable[str]) -> set[str]:
        """Those of ``keys`` that are not there."""
        return {key for key in keys if not self.exists(key)}

    # -- uploads -----------------------------------------------------------------------------------------------------
    @abstractmethod
    def append(self, key: str, state: State, offset: int) -> Appender:
        """Write on at ``offset``, which is what was committed before; a new upload starts with ``{}`` and 0.

        Raises `NotFound` (fewer bytes are there than were committed), `UploadBusy`, `StorageError`.
        """

    @abstractmethod
    def abort(self, key: str) -> None:
        """Forget the upload to ``key``. An absent one is fine. Raises `StorageError`."""

    @abstractmethod
    def uploads(self) -> Iterator[Entry]:
        """Uploads of which something is stored; ``modified`` is the last write."""

    def clean(self, before: datetime) -> int:
        """Remove what crashes before that moment left of objects being written; how many there were."""
        return 0
