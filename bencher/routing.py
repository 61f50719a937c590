"""Who answers what.

| what | who |
|---|---|
| ``/healthz``, ``/readyz``, ``/metrics`` | ``bencher/health.py``, without Django's handler: they answer when everything else is busy |
| ``/v2`` | the registry's own ASGI application: blobs stream |
| ``/v0`` | ``bencher/api_handler.py``: a few long-lived threads |
| ``/v0/runners/{runner}/channel`` | the runner consumer |
| all else | Django: pages, admin, static files |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.urls import re_path

from bencher.api_handler import ApiHandler
from bencher.core.logs import AccessLog
from bencher.health import HealthApplication
from bencher.metrics import Measured
from bencher.serving.admission import Slots, WholeBody, target_of
from bencher.serving.limits import Limits, in_registry
from bencher.serving.refusals import refusal
from jobs.dispatch import ChannelDispatch
from outputs.registry.asgi import registry_application
from runners.consumers import RunnerConsumer

SLOTS = 16
"""Requests for pages that are answered at once; each has a thread and a database connection of its own."""


def configured_limits() -> Limits:
    return Limits(body=settings.BENCHER_REQUEST_BODY_MAX_BYTES, registry_body=settings.BENCHER_REGISTRY_MAX_BODY_BYTES)


async def no_channel(scope: Any, receive: Any, send: Any) -> None:
    """A WebSocket where there is none."""
    await refuse(scope, send, 404, "not found: no such channel", {})


async def refuse(scope: Any, send: Any, status: int, message: str, headers: Mapping[str, str]) -> None:
    """No upgrade, but the documented error."""
    refused = refusal(target_of(scope), status, message, headers)
    await send({"type": "websocket.http.response.start", "status": refused.status, "headers": refused.headers})
    await send({"type": "websocket.http.response.body", "body": refused.body})


class Site:
    """HTTP by path. Empty parts of an API path are passed over: a base address may end in a slash (rest.md 0.1)."""

    def __init__(self, limits: Limits) -> None:
        self.health = HealthApplication()
        self.api = WholeBody(ApiHandler(), limits)
        self.pages = WholeBody(Slots(ASGIHandler(), SLOTS), limits)
        self.registry = registry_application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path: str = scope["path"]
        if path in self.health.paths:
            application: Any = self.health
        elif in_registry(path.encode(errors="surrogateescape")):
            application = self.registry
        elif (parts := [part for part in path.split("/") if part])[:1] == ["v0"]:
            application = self.api
            scope = {**scope, "path": "/" + "/".join(parts)}
        else:
            application = self.pages
        await application(scope, receive, send)


def channels() -> list[Any]:
    consumer = RunnerConsumer.as_asgi(open_dispatch=ChannelDispatch, refuse=refuse)  # runners know no jobs and no site: they meet here
    return [re_path(r"^/*v0/+runners/+(?P<runner>[^/]+)/+channel/*$", consumer), re_path(r"", no_channel)]  # type: ignore[arg-type]


def site() -> AccessLog:
    return AccessLog(Measured(ProtocolTypeRouter({"http": Site(configured_limits()), "websocket": URLRouter(channels())})))
