"""Hashes of uploads between two requests, so that closing one need not read it again. This process's memory only: a hint.

An entry counts for exactly the size at which it was put away; whoever finds none reads the stored bytes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from uuid import UUID

from outputs.registry.digest import DEFAULT_ALGORITHM, Hash, new_hash

_CAPACITY = 1024


class Running:
    """A hash and what it is."""

    def __init__(self, algorithm: str, known: Hash | None = None) -> None:
        self.algorithm = algorithm
        self._hash: Hash = known or new_hash(algorithm)

    def copy(self) -> Running:
        return Running(self.algorithm, self._hash.copy())

    def update(self, data: bytes) -> None:
        self._hash.update(data)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


_known: OrderedDict[UUID, tuple[int, Running]] = OrderedDict()
_lock = threading.Lock()


def resume(upload: UUID, size: int, algorithm: str | None = None) -> Running | None:
    """The hash of the upload's first ``size`` bytes; None = not known here."""
    if size == 0:
        return Running(algorithm or DEFAULT_ALGORITHM)
    with _lock:
        known = _known.get(upload)
        return known[1].copy() if known and known[0] == size else None


def forget(upload: UUID) -> None:
    with _lock:
        _known.pop(upload, None)


def remember(upload: UUID, size: int, running: Running | None) -> None:
    if running is None:
        return
    with _lock:
        _known[upload] = (size, running)
        _known.move_to_end(upload)
        while len(_known) > _CAPACITY:
            _known.popitem(last=False)
