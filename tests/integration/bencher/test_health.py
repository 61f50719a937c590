"""Ready means: database, storage, migrations. All else is degraded at the most."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bencher import health
from bencher.core import clock
from bencher.health import HealthApplication, Readiness
from bencher.models import Pulse

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _just_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canary is given a minute after the start; this process may have run for longer."""
    monkeypatch.setattr(health, "STARTED", health.time.monotonic())


def broken() -> None:
    raise OSError("a detail that nobody outside needs")


async def ask(application: HealthApplication, path: str, method: str = "GET") -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application({"type": "http", "method": method, "path": path}, None, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


async def test_all_is_well() -> None:
    status, headers, body = await ask(HealthApplication(), "/readyz")
    assert (status, json.loads(body)["status"]) == (200, "ok")
    assert set(json.loads(body)["checks"].values()) == {"ok"}
    assert headers[b"cache-control"] == b"no-store"


@pytest.mark.parametrize("name", ["database", "migrations", "storage"])
async def test_without_these_it_is_not_ready(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(health.NEEDED, name, broken)
    status, _, body = await ask(HealthApplication(), "/readyz")
    report = json.loads(body)
    assert (status, report["status"]) == (503, "unavailable")
    assert report["checks"][name] != "ok"
    assert [fault for fault in report["checks"].values() if fault != "ok"] == [report["checks"][name]]
    assert (await ask(HealthApplication(), "/healthz"))[0] == 200


@pytest.mark.parametrize("name", ["broker", "beat"])
async def test_without_these_it_is_degraded(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Still 200: losing them must not take every runner out of the proxy."""
    monkeypatch.setitem(health.WANTED, name, broken)
    status, _, body = await ask(HealthApplication(), "/readyz")
    assert (status, json.loads(body)["status"]) == (200, "degraded")


@pytest.mark.parametrize(
    ("age", "since_start", "well"), [(5, 1000, True), (59, 1000, True), (61, 1000, False), (None, 30, True), (None, 61, False)]
)
def test_the_canary(monkeypatch: pytest.MonkeyPatch, age: int | None, since_start: int, well: bool) -> None:
    """A minute without a sign of life, counted from the start when there never was one."""
    if age is not None:
        Pulse.beat("canary", now=clock.now() - timedelta(seconds=age))
    monkeypatch.setattr(health, "STARTED", health.time.monotonic() - since_start)
    if well:
        health.check_canary()
    else:
        with pytest.raises(RuntimeError, match="sign of life"):
            health.check_canary()


def test_a_redis_that_is_away(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    with pytest.raises(Exception, match=r"refused|connecting"):
        health.check_broker()


def test_missing_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db.migrations.executor import MigrationExecutor

    health.check_migrations()
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: [1, 2])
    with pytest.raises(RuntimeError, match=r"2 migrations are not applied: run `manage.py migrate`"):
        health.check_migrations()


async def test_questions_at_once_are_one_check(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setitem(health.WANTED, "beat", lambda: calls.append(1))
    readiness = Readiness()
    await asyncio.gather(*(readiness.result() for _ in range(50)))
    await readiness.result()
    assert len(calls) == 1


async def test_a_check_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer comes in time, and says so."""
    hanging = threading.Event()
    monkeypatch.setattr(health, "TIMEOUT", 0.05)
    monkeypatch.setitem(health.NEEDED, "database", lambda: hanging.wait(30))
    readiness = Readiness()
    ready, report = await readiness.result()
    assert (ready, report["status"]) == (False, "unavailable")
    hanging.set()
    await asyncio.wait_for(asyncio.shield(readiness._running or asyncio.sleep(0)), 10)  # type: ignore[arg-type]


async def test_the_log_tells_changes(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    check: list[Callable[[], None]] = [broken]
    monkeypatch.setattr(health, "CACHED", -1)
    monkeypatch.setitem(health.WANTED, "broker", lambda: check[0]())
    readiness = Readiness()
    with caplog.at_level(logging.INFO, "bencher.health"):
        for state in (broken, broken, lambda: None, lambda: None):
            check[0] = state
            await readiness.result()
    assert [record.getMessage() for record in caplog.records if record.name == "bencher.health"] == [
        "broker: OSError",
        "broker: well again",
    ]


async def test_metrics() -> None:
    status, headers, body = await ask(HealthApplication(), "/metrics")
    assert status == 200
    assert headers[b"content-type"].startswith(b"text/plain")
    for line in (b'bencher_jobs{status="pending"} 0.0', b"bencher_channels ", b"process_resident_memory_bytes"):
        assert line in body


@pytest.mark.parametrize("path", HealthApplication.paths)
async def test_only_questions(path: str) -> None:
    assert (await ask(HealthApplication(), path, "POST"))[0] == 405
