"""Bytes in this process's memory: for tests."""

import io
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

from outputs.registry.storage.base import Appender, Entry, NotFound, Reader, State, Storage, UploadBusy, check_key


class MemoryStorage(Storage):
    def __init__(self) -> None:
        self._objects: dict[str, tuple[bytes, datetime]] = {}
        self._uploads: dict[str, tuple[bytes, datetime]] = {}
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def put(self, key: str, data: bytes | bytearray) -> None:
        with self._lock:
            self._objects[check_key(key)] = (bytes(data), datetime.now(UTC))

    def get(self, key: str) -> bytes:
        try:
            return self._objects[check_key(key)][0]
        except KeyError:
            raise NotFound(key) from None

    def size(self, key: str) -> int:
        return len(self.get(key))

    def delete(self, key: str) -> None:
        with self._lock:
            self._objects.pop(check_key(key), None)

    def copy(self, source: str, target: str) -> None:
        self.put(target, self.get(source))

    def open_read(self, key: str, start: int = 0, end: int | None = None) -> Reader:
        data = io.BytesIO(self.get(key)[start:end])
        return Reader(data.read, lambda: None, None)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        folder = f"{check_key(prefix)}/" if prefix else ""
        for key, (data, modified) in [*self._objects.items()]:
            if key.startswith(folder):
                yield Entry(key, len(data), modified)

    def check(self) -> None:
        pass

    def append(self, key: str, state: State, offset: int) -> Appender:
        with self._lock:
            found = self._uploads.get(check_key(key))
            data = found[0] if found else b""
            if len(data) < offset:
                raise NotFound(key)
            if key in self._busy:
                raise UploadBusy(key)
            self._busy.add(key)
        return _MemoryAppender(self, key, data[:offset])

    def abort(self, key: str) -> None:
        with self._lock:
            self._uploads.pop(check_key(key), None)

    def uploads(self) -> Iterator[Entry]:
        for key, (data, modified) in [*self._uploads.items()]:
            yield Entry(key, len(data), modified)


class _MemoryAppender(Appender):
    def __init__(self, storage: MemoryStorage, key: str, data: bytes) -> None:
        self._storage, self._key, self._data = storage, key, bytearray(data)

    def write(self, data: bytes) -> None:
        self._data += data

    def commit(self) -> State:
        self._storage._uploads[self._key] = (bytes(self._data), datetime.now(UTC))
        self.rollback()
        return {}

    def finish(self) -> None:
        self._storage.put(self._key, self._data)
        self._storage.abort(self._key)
        self.rollback()

    def rollback(self) -> None:
        self.ended = True
        self._storage._busy.discard(self._key)
