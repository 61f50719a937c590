"""``bencher/core/sqlite``: one writer of this process at a time, and no turn is ever kept."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler

pytestmark = pytest.mark.django_db  # opens connections of its own, which is not allowed otherwise


def connect(path: Path, timeout: float = 0.05) -> Any:
    options = {"transaction_mode": "IMMEDIATE", "timeout": timeout, "check_same_thread": False}
    return ConnectionHandler({"default": {"ENGINE": "bencher.core.sqlite", "NAME": str(path), "OPTIONS": options}})["default"]


def begin(connection: Any) -> None:
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def end(connection: Any) -> None:
    connection.commit()
    connection.set_autocommit(True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "database"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
    made.close()
    return path


@pytest.fixture
def one(path: Path) -> Iterator[Any]:
    connection = connect(path)
    yield connection
    connection.close()


@pytest.fixture
def other(path: Path) -> Iterator[Any]:
    connection = connect(path)
    yield connection
    connection.close()


def test_the_second_waits_without_asking_the_database(one: Any, other: Any) -> None:
    begin(one)
    with pytest.raises(OperationalError, match="of this process"):
        begin(other)
    end(one)
    begin(other)
    end(other)


def test_different_files_do_not_wait_for_each_other(one: Any, tmp_path: Path) -> None:
    begin(one)
    apart = connect(tmp_path / "another")
    begin(apart)
    end(apart)
    apart.close()
    end(one)


def rolled_back(connection: Any) -> None:
    connection.rollback()


def closed(connection: Any) -> None:
    connection.close()


def committed(connection: Any) -> None:
    connection.commit()


def left_open(connection: Any) -> None:
    connection.set_autocommit(True)


@pytest.mark.parametrize("ending", [rolled_back, closed, committed, left_open])
def test_every_end_gives_the_turn_back(ending: Callable[[Any], None], one: Any, other: Any) -> None:
    for _ in range(2):
        begin(one)
        ending(one)
        one.set_autocommit(True)
        begin(other)
        end(other)


def test_a_begin_that_fails_gives_the_turn_back(one: Any, other: Any, path: Path) -> None:
    stranger = sqlite3.connect(path)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(OperationalError, match=r"database is locked$"):
        begin(one)
    stranger.rollback()
    stranger.close()
    begin(other)
    end(other)


def test_a_commit_that_fails_gives_the_turn_back(one: Any, other: Any) -> None:
    with one.cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("CREATE TABLE parts (number INTEGER REFERENCES numbers DEFERRABLE INITIALLY DEFERRED)")
    begin(one)
    with one.cursor() as cursor:
        cursor.execute("INSERT INTO parts VALUES (7)")
    with pytest.raises(Exception, match="FOREIGN KEY"):
        one.commit()
    one.rollback()
    one.set_autocommit(True)
    begin(other)
    end(other)


def test_many_writers_lose_nothing(path: Path) -> None:
    def write(first: int) -> None:
        connection = connect(path, timeout=30)
        for number in range(first, first + 50):
            begin(connection)
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM numbers")
                cursor.execute("INSERT INTO numbers VALUES (%s)", [number])
            end(connection)
        connection.close()

    threads = [threading.Thread(target=write, args=(first * 1000,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with sqlite3.connect(path) as read:
        assert read.execute("SELECT count(*) FROM numbers").fetchone() == (400,)
    read.close()


@pytest.mark.parametrize(
    ("stored", "moment"),
    [
        ("2026-03-01 12:00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01 12:00:00.000125", datetime(2026, 3, 1, 12, 0, 0, 125, tzinfo=UTC)),
        ("2026-03-01T12:00:00+00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),  # not as Django writes it
        ("never", None),
    ],
)
def test_moments_are_read_as_utc(stored: str, moment: datetime | None, one: Any) -> None:
    with one.cursor() as cursor:
        cursor.execute("CREATE TABLE moments (moment datetime)")
        cursor.execute("INSERT INTO moments VALUES (%s)", [stored])
        cursor.execute("SELECT moment FROM moments")
        assert cursor.fetchone() == (moment,)
