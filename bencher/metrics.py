"""Numbers for Prometheus: requests and channels of this process, and the queue. Each web process has a port, so each is asked for itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

from django.db.models import Count
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from jobs.models import Job

logger = logging.getLogger(__name__)
REQUESTS = Counter("bencher_http_requests", "Answered requests", ["method", "status"])
SECONDS = Histogram(
    "bencher_http_seconds", "Time to the first byte of an answer", ["area"], buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 1, 2.5, 10, 60)
)
CHANNELS = Gauge("bencher_channels", "Open runner channels")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
WAITING = ("pending", "claimed", "running", "completed")
"""Statuses whose rows are few: the ended ones are never counted here."""


class Measured:
    """ASGI wrapper that counts."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await self._channel(scope, receive, send)
        else:
            await self._request(scope, receive, send)

    async def _request(self, scope: Any, receive: Any, send: Any) -> None:
        started = time.perf_counter()

        async def watch(message: Any) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in METHODS else "other"
                REQUESTS.labels(method, str(message["status"])).inc()
                SECONDS.labels(area_of(scope["path"])).observe(time.perf_counter() - started)
            await send(message)

        await self.application(scope, receive, watch)

    async def _channel(self, scope: Any, receive: Any, send: Any) -> None:
        opened = False

        async def watch(message: Any) -> None:
            nonlocal opened
            if message["type"] == "websocket.accept":
                opened = True
                CHANNELS.inc()
            await send(message)

        try:
            await self.application(scope, receive, watch)
        finally:
            if opened:
                CHANNELS.dec()


def area_of(path: str) -> str:
    """Few values: a label for each path would grow without end."""
    for area in ("v0", "v2", "admin"):
        if path.startswith(f"/{area}/"):
            return area
    return "pages"


class QueueCollector(Collector):
    """Jobs that have not ended, by status; asked of the database at each scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily("bencher_jobs", "Jobs that have not ended", labels=["status"])
        counts = dict.fromkeys(WAITING, 0)
        try:
            counts |= dict(Job.objects.filter(status__in=WAITING).order_by().values_list("status").annotate(Count("id")))
        except Exception as error:
            logger.warning("metrics: the queue cannot be counted: %s", type(error).__name__)
            return
        for status, count in counts.items():
            family.add_metric([status], count)
        yield family
