"""The data folder of an installation with SQLite: for its user alone, and with a secret key that is whole or not there.

Sessions, addresses and the environment of jobs are in the database, so a folder that is made here has mode 0700, the database file 0600
(SQLite gives its ``-wal`` and ``-shm`` the same). What exists keeps the mode that its owner gave it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path

DATABASE = "bencher.db"
KEY = "secret_key"


def make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def prepare(folder: Path) -> str:
    """Makes the folder, the key and an empty database file where they are missing; the key. Any number of processes may do so at once.

    An empty key file, which a full disk may have left, counts as missing. :raises OSError: the folder cannot be used.
    """
    make(folder)
    path = folder / KEY
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not (key := _read(path)):
            key = secrets.token_urlsafe(48)
            _write(path, key)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.close(os.open(folder / DATABASE, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return key


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def _write(path: Path, key: str) -> None:
    """At its place when it is complete and on disk."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
