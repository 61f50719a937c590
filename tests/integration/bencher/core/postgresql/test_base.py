"""A restarted database costs nobody a request: dead connections are not handed out."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg_pool import ConnectionPool

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def ask(_: int = 0) -> int:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return int(cursor.fetchone()[0])
    finally:
        connection.close()


@pytest.fixture
def pool() -> Any:
    """With a few connections, all of them idle."""
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL")
    connection.close()  # the test's own goes back, too
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: (ask(), time.sleep(0.05)), range(16)))
    return connection.pool


def kill_all() -> int:
    """What a restart does to the connections of this process."""
    settings = connection.settings_dict
    url = {"host": settings["HOST"], "port": settings["PORT"], "user": settings["USER"], "password": settings["PASSWORD"]}
    with psycopg.connect(dbname=settings["NAME"], autocommit=True, **url) as other:
        query = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
        return int(other.execute(query, [settings["NAME"]]).fetchone()[0])  # type: ignore[index]


def test_nobody_gets_a_dead_connection(pool: Any) -> None:
    assert kill_all() >= 2
    began = time.monotonic()
    assert len({ask(number) for number in range(20)}) >= 1
    assert time.monotonic() - began < 3


def test_a_living_one_is_not_asked(pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(ConnectionPool, "check_connection", staticmethod(asked.append))
    for _ in range(5):
        ask()
    assert asked == []


def test_a_notice_is_no_death(pool: Any) -> None:
    with pool.connection() as one:
        one.execute("LISTEN news")
        pid = one.info.backend_pid
    ask()
    with psycopg.connect(
        dbname=connection.settings_dict["NAME"], host=connection.settings_dict["HOST"], port=connection.settings_dict["PORT"],
        user=connection.settings_dict["USER"], password=connection.settings_dict["PASSWORD"], autocommit=True,
    ) as other:  # fmt: skip
        other.execute("NOTIFY news")
    time.sleep(0.05)
    pids = set()
    for _ in range(8):
        pids.add(ask())
    assert pid in pids
