"""Counting without labels that grow."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import REGISTRY

from bencher.metrics import Measured, area_of


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("/v0/run", "v0"),
        ("/v2/", "v2"),
        ("/admin/login/", "admin"),
        ("/", "pages"),
        ("/v0x", "pages"),
        ("/perf/a/b", "pages"),
        ("", "pages"),
    ],
)
def test_areas(path: str, area: str) -> None:
    assert area_of(path) == area


def requests(method: str, status: int) -> float:
    return REGISTRY.get_sample_value("bencher_http_requests_total", {"method": method, "status": str(status)}) or 0


@pytest.mark.parametrize(("method", "label"), [("GET", "GET"), ("PATCH", "PATCH"), ("BREW", "other"), ("x" * 100, "other")])
async def test_requests_are_counted(method: str, label: str) -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 207})
        await send({"type": "http.response.body"})

    async def send(message: Any) -> None:
        """Nobody listens."""

    before = requests(label, 207)
    await Measured(application)({"type": "http", "method": method, "path": "/v0/x"}, None, send)
    assert requests(label, 207) == before + 1


@pytest.mark.parametrize("accepted", [True, False])
@pytest.mark.parametrize("failed", [True, False])
async def test_open_channels_are_counted(accepted: bool, failed: bool) -> None:
    def open_channels() -> float:
        return REGISTRY.get_sample_value("bencher_channels") or 0

    before = open_channels()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if accepted:
            await send({"type": "websocket.accept"})
        assert open_channels() == before + accepted
        if failed:
            raise ValueError

    async def send(message: Any) -> None:
        """Nobody listens."""

    run = Measured(application)({"type": "websocket", "path": "/v0/runners/x/channel"}, None, send)
    if failed:
        with pytest.raises(ValueError):
            await run
    else:
        await run
    assert open_channels() == before
