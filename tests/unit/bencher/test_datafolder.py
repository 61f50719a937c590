"""The data folder: private, and never with half a key."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bencher import datafolder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def an_open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_all_is_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "data"
    key = datafolder.prepare(folder)
    assert len(key) >= 50
    assert mode(folder) == 0o700
    with sqlite3.connect(folder / datafolder.DATABASE) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE x (y)")
        assert {path.name: mode(path) for path in folder.iterdir()} == dict.fromkeys(
            ["bencher.db", "bencher.db-shm", "bencher.db-wal", "secret_key"], 0o600
        )
    database.close()


def test_what_exists_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o750)
    (folder / "secret_key").write_text("mine\n")
    (folder / "bencher.db").write_bytes(b"rows")
    assert datafolder.prepare(folder) == datafolder.prepare(folder) == "mine"
    assert (folder / "bencher.db").read_bytes() == b"rows"
    assert mode(folder) == 0o750


def test_half_a_key_is_none(tmp_path: Path) -> None:
    """What a full disk or a kill at the first start left."""
    (tmp_path / "secret_key").write_text("")
    (tmp_path / "secret_key.new").write_text("ha")
    key = datafolder.prepare(tmp_path)
    assert len(key) >= 50
    assert (tmp_path / "secret_key").read_text() == key
    assert not (tmp_path / "secret_key.new").exists()


def test_all_who_start_at_once_get_the_same_key(tmp_path: Path) -> None:
    keys: list[str] = []
    threads = [threading.Thread(target=lambda: keys.append(datafolder.prepare(tmp_path / "data"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 16
    assert len(set(keys)) == 1
