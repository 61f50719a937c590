"""What was changed on this machine, on disk before it is changed, so that the next start can undo it after a crash."""

import os
from pathlib import Path

import msgspec


class Change(msgspec.Struct, frozen=True):
    """`path` had `old`, and has `new` since the runner wrote it."""

    path: str
    old: str
    new: str


class Journal:
    """Changes in the order they were made. In /run by default: a reboot undoes them by itself."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changes: list[Change] = []

    def load(self) -> list[Change]:
        """What a predecessor left; nothing if it is unreadable."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[Change])
        except (OSError, msgspec.DecodeError):
            return []

    def record(self, change: Change) -> None:
        """Durable when it returns. Call before writing the change."""
        self._changes.append(change)
        temporary = self._path.with_suffix(".new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(self._changes))
            file.flush()
            os.fsync(descriptor)
        os.rename(temporary, self._path)

    def clear(self) -> None:
        self._changes.clear()
        self._path.unlink(missing_ok=True)
