"""Servers for these tests: one with short times shared by a module, and fresh ones to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.acceptance.bencher.wire import Running

SHORT = {
    "body": 4 << 20,
    "registry_body": 64 << 20,
    "idle": 2,
    "stall": 1,
    "linger": 1,
    "close": 1.5,
    "ping": 1,
    "pong": 1,
    "accept": 1,
    "abandon": 0.5,
    "drain": 2,
}


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """A server with short times, for every test of the module."""
    server = Running(**SHORT)
    yield server
    code, errors = server.stop()
    assert code == 0, errors
    assert "event loop" not in errors, errors


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """``start(stall=5)``: a server of the test's own."""
    servers: list[Running] = []

    def begin(**limits: float) -> Running:
        servers.append(Running(**{**SHORT, **limits}))
        return servers[-1]

    yield begin
    for server in servers:
        server.close()
