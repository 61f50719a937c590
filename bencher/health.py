"""``/healthz``: the process answers. ``/readyz``: it can serve. ``/metrics``: numbers for Prometheus.

Ready means database, storage and migrations: without them 503. Broker, channel layer and the beat (the canary: beat -> broker -> worker -> database)
are reported as ``degraded`` with 200, since losing them must not take the fleet out of the proxy.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from django.db import connection, connections
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest

from bencher.metrics import QueueCollector
from bencher.models import Pulse

QUEUE = CollectorRegistry()
QUEUE.register(QueueCollector())
logger = logging.getLogger(__name__)
CACHED = 1.0
"""Seconds for which a result is given again."""
CANARY_SILENT = 60.0
"""Seconds without a canary after which the beat or the worker counts as lost."""
STARTED = time.monotonic()
TIMEOUT = 5.0
"""Seconds for all checks together."""


def check_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def check_migrations() -> None:
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if missing := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise RuntimeError(f"{len(missing)} migrations are not applied: run `manage.py migrate`")


def check_storage() -> None:
    from outputs.registry.storage import get_storage

    get_storage().check()


def check_broker() -> None:
    if settings.REDIS_URL:
        import redis

        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1) as client:
            client.ping()


def check_canary() -> None:
    age = Pulse.age("canary")
    silent = time.monotonic() - STARTED if age is None else age
    if silent > CANARY_SILENT:
        raise RuntimeError("no sign of life" if age is None else f"last sign of life {age:.0f} s ago")


NEEDED = {"database": check_database, "migrations": check_migrations, "storage": check_storage}
WANTED = {"broker": check_broker, "beat": check_canary}


class Readiness:
    """Runs the checks in a thread of their own, at most once a second."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, "health")
        self._running: asyncio.Future[tuple[bool, dict[str, Any]]] | None = None
        self._ended = 0.0
        self._migrated = False
        self._known: dict[str, str] = {}

    async def result(self) -> tuple[bool, dict[str, Any]]:
        """``(ready, report)``."""
        if self._running is None or (self._running.done() and time.monotonic() - self._ended > CACHED):
            self._running = asyncio.get_running_loop().run_in_executor(self.thread, self._check)
        try:
            return await asyncio.wait_for(asyncio.shield(self._running), TIMEOUT)
        except TimeoutError:
            return False, {"status": "unavailable", "checks": {"database": f"no answer within {TIMEOUT:.0f} s"}}

    def _check(self) -> tuple[bool, dict[str, Any]]:
        try:
            faults = {name: fault for name, check in {**NEEDED, **WANTED}.items() if (fault := self._fault(name, check))}
        finally:
            connections.close_all()
            self._ended = time.monotonic()
        self._tell(faults)
        ready = not faults.keys() & NEEDED.keys()
        self._migrated = self._migrated or "migrations" not in faults
        status = "ok" if not faults else "degraded" if ready else "unavailable"
        return ready, {"status": status, "checks": {name: faults.get(name, "ok") for name in (*NEEDED, *WANTED)}}

    def _fault(self, name: str, check: Any) -> str | None:
        if name == "migrations" and self._migrated:
            return None  # a migrated database stays so
        try:
            check()
        except Exception as error:
            return str(error) if name in ("migrations", "beat") else type(error).__name__
        return None

    def _tell(self, faults: dict[str, str]) -> None:
        """A line in the log when something changes, not at every question."""
        for name in sorted(faults.keys() - self._known.keys()):
            logger.warning("%s: %s", name, faults[name])
        for name in sorted(self._known.keys() - faults.keys()):
            logger.info("%s: well again", name)
        self._known = faults


class HealthApplication:
    """The three routes as one ASGI application."""

    paths = ("/healthz", "/readyz", "/metrics")

    def __init__(self) -> None:
        self._readiness = Readiness()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        status, kind, body = await self._answer(scope["path"])
        if scope["method"] not in ("GET", "HEAD"):
            status, kind, body = 405, "text/plain", b""
        headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body)), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, path: str) -> tuple[int, str, bytes]:
        if path == "/healthz":
            return 200, "application/json", b'{"status": "ok"}'
        if path == "/readyz":
            ready, report = await self._readiness.result()
            return 200 if ready else 503, "application/json", json.dumps(report).encode()
        body = await asyncio.get_running_loop().run_in_executor(self._readiness.thread, metrics_text)
        return 200, CONTENT_TYPE_LATEST, body


def metrics_text() -> bytes:
    try:
        return generate_latest(REGISTRY) + generate_latest(QUEUE)
    finally:
        connections.close_all()
