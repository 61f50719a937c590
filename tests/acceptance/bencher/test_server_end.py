"""The end of the server: 1001 to every channel, requests finished, exit code 0, in time."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.acceptance.bencher.wire import Running, Wire, get

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket]
HANDSHAKE = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
GOING_AWAY = b"\x88\x16\x03\xe9server shutting down"


def farewell(wire: Wire) -> bytes:
    """All that came before the end of the connection."""
    with wire:
        return wire.expect_end()


def channel(running: Running, path: str = "/echo") -> Wire:
    wire = running.connect()
    wire.send(get(path, *HANDSHAKE)).until(b"\r\n\r\n")
    return wire


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("count", [0, 1, 150])
def test_every_channel_is_told(start: Callable[..., Running], number: int, count: int) -> None:
    """Though none of them answers the close frame, or a ping."""
    running = start(ping=60)
    channels = [channel(running) for _ in range(count)]
    started = time.monotonic()
    code, errors = running.stop(number)
    assert (code, errors) == (0, "")
    assert time.monotonic() - started < 5
    assert [farewell(wire) for wire in channels] == [GOING_AWAY] * count


def test_five_hundred_channels(start: Callable[..., Running]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        running = start(drain=5, close=2, ping=60)
        channels = [channel(running) for _ in range(500)]
        started = time.monotonic()
        assert running.stop() == (0, "")
        assert time.monotonic() - started < 10
        assert [farewell(wire) for wire in channels] == [GOING_AWAY] * 500
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_client_that_answers(start: Callable[..., Running]) -> None:
    running = start()
    with connect(running.url.replace("http", "ws", 1) + "/echo", ping_interval=None) as client:
        running.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(5)
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "server shutting down")
    assert running.process.wait(5) == 0


def test_a_channel_opened_a_moment_before(start: Callable[..., Running]) -> None:
    """The entry of the request that became a channel must not disturb the end."""
    for _ in range(3):
        running = start()
        wire = channel(running)
        assert running.stop() == (0, "")
        assert farewell(wire) == GOING_AWAY


def test_a_request_in_progress_is_finished(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as wire:
        wire.send(get("/sleep?for=1"))
        time.sleep(0.1)
        running.process.send_signal(signal.SIGTERM)
        answer = wire.answer()
        assert (answer.body, answer.headers["connection"]) == (b"slept", "close")
        assert wire.expect_end() == b""
    assert running.process.wait(5) == 0


def test_a_request_without_end_is_not_waited_for(start: Callable[..., Running]) -> None:
    running = start(drain=0.5)
    with running.connect() as wire:
        wire.send(get("/sleep?for=60"))
        time.sleep(0.1)
        started = time.monotonic()
        assert running.stop() == (0, "")
        assert time.monotonic() - started < 5


def test_a_handshake_in_progress_is_refused(start: Callable[..., Running]) -> None:
    running = start(accept=60)
    with running.connect() as wire:
        wire.send(get("/mute", *HANDSHAKE))
        time.sleep(0.2)
        running.process.send_signal(signal.SIGTERM)
        answer = wire.answer()
        assert (answer.status, answer.json()["message"]) == (503, "server shutting down")
    assert running.process.wait(5) == 0


def test_no_new_connections_while_stopping(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as wire:
        wire.send(get("/sleep?for=1"))
        time.sleep(0.1)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.stdout.readline() == "stopping\n"
        time.sleep(0.1)
        with pytest.raises(ConnectionRefusedError):
            running.connect()
        assert wire.answer().body == b"slept"
    assert running.process.wait(5) == 0


def test_a_second_signal_changes_nothing(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as wire:
        wire.send(get("/sleep?for=1"))
        time.sleep(0.1)
        running.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        running.process.send_signal(signal.SIGTERM)
        assert wire.answer().body == b"slept"
    assert running.process.wait(5) == 0


def test_an_address_in_use(start: Callable[..., Running]) -> None:
    """A sentence, not a traceback of Twisted."""
    program = f"from bencher.server import Server\nServer(None, port={start().address[1]}).run()"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("OSError: cannot listen on 127.0.0.1:")
