"""WebSockets on the wire: close codes and reasons, limits, back-pressure, refusals before the upgrade."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.acceptance.bencher.wire import MIB, Running, get

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket]
HANDSHAKE = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")


@contextmanager
def opened(running: Running, path: str, **options: Any) -> Iterator[ClientConnection]:
    options = {"compression": None, "max_size": None, "ping_interval": None, "close_timeout": 3, **options}
    with connect(running.url.replace("http", "ws", 1) + path, **options) as channel:
        yield channel


def end_of(channel: ClientConnection, timeout: float = 5) -> tuple[int | None, str]:
    """Code and reason of the server's close frame."""
    with pytest.raises(ConnectionClosed) as closed:
        channel.recv(timeout)
    return (closed.value.rcvd.code, closed.value.rcvd.reason) if closed.value.rcvd else (None, "")


def refused(running: Running, path: str) -> Any:
    with pytest.raises(InvalidStatus) as refusal, opened(running, path):
        pass
    return refusal.value.response


# -- closing ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (1000, '"superseded"'),
        (1000, ""),
        (1001, "server shutting down"),
        (1007, "not JSON"),
        (1008, "poll_timeout: 0"),
        (1009, "big"),
        (1011, "x"),
        (1013, "later"),
        (4001, "own"),
    ],
)
def test_code_and_reason_reach_the_wire(running: Running, code: int, reason: str) -> None:
    with opened(running, f"/close?code={code}&reason={quote(reason)}") as channel:
        assert end_of(channel) == (code, reason)
    running.wait_for_log("ClientDisconnected", f"disconnect {code}")


def test_a_long_reason_is_cut_between_characters(running: Running) -> None:
    with opened(running, f"/close?code=1008&reason={quote('ä' * 100)}") as channel:
        assert end_of(channel) == (1008, "ä" * 61)


def test_the_server_does_not_wait_for_an_answer_to_its_close(running: Running) -> None:
    """A peer that never answers: our side ends at once, the connection soon."""
    with running.connect() as wire:
        wire.send(get("/close?code=1000&reason=bye", *HANDSHAKE)).until(b"\r\n\r\n")
        started = time.monotonic()
        assert wire.expect_end() == b"\x88\x05\x03\xe8bye"
        assert time.monotonic() - started < 1
        with pytest.raises(OSError, match=r"reset|Broken pipe"):  # noqa: PT012
            while time.monotonic() - started < 20:
                time.sleep(2)  # silence: what arrives would be read for a few rounds more
                wire.socket.send(b"\x89\x80" + bytes(4))


def test_the_clients_code_reaches_the_application(running: Running) -> None:
    with opened(running, "/echo") as channel:
        channel.close(4002, "enough")
    running.wait_for_log("disconnect 4002 after 0")
    with opened(running, "/echo") as channel:
        channel.socket.shutdown(socket.SHUT_RDWR)
    running.wait_for_log("disconnect 1006 after 0")


def test_a_failed_application_closes_with_1011(running: Running) -> None:
    for path in ("/boom?accept=1", "/return"):
        with opened(running, path) as channel:
            assert end_of(channel) == (1011, "internal server error")


# -- messages --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 4 * MIB])
def test_messages_of_every_size(running: Running, size: int) -> None:
    with opened(running, "/echo") as channel:
        for message in ("x" * size, b"\xff" * size):
            channel.send(message)
            assert channel.recv(10) == message


@pytest.mark.parametrize("fragmented", [False, True])
@pytest.mark.parametrize("over", [1, 20 * MIB])
def test_a_message_over_the_limit_is_closed_with_1009(running: Running, fragmented: bool, over: int) -> None:
    text = "x" * (4 * MIB + over)
    message = iter([text[at : at + 65536] for at in range(0, len(text), 65536)]) if fragmented else text
    with opened(running, "/echo") as channel:
        with suppress(ConnectionClosed):
            channel.send(message)
        assert end_of(channel)[0] == 1009


def test_a_fragmented_message_at_the_limit(running: Running) -> None:
    with opened(running, "/echo") as channel:
        channel.send("x" * MIB for _ in range(4))
        assert len(channel.recv(10)) == 4 * MIB


@pytest.mark.parametrize("sent", [0, 1000, 3 * MIB])
def test_an_announced_monster_is_refused_at_once(running: Running, sent: int) -> None:
    with running.connect() as wire:
        wire.send(get("/echo", *HANDSHAKE)).until(b"\r\n\r\n")
        wire.send(b"\x81\xff" + (1 << 40).to_bytes(8, "big") + bytes(4) + bytes(sent))
        assert wire.expect_end(5)[2:4] == (1009).to_bytes(2, "big")


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\xed\xa0\x80", b"\xc3"], ids=["ff", "surrogate", "cut"])
def test_invalid_utf8_is_closed_with_1007(running: Running, data: bytes) -> None:
    with opened(running, "/echo") as channel:
        channel.send(data, text=True)
        assert end_of(channel)[0] == 1007


@pytest.mark.parametrize(
    "data",
    [
        b"\x81\x05hello",
        b"\xf1\x85" + bytes(4) + b"hello",
        b"\x83\x80" + bytes(4),
        b"\x80\x85" + bytes(4) + b"hello",
        b"\x89\xfe\x00\x80" + bytes(4) + b"p" * 128,
        b"\t\x80" + bytes(4),
        b"\x88\x81" + bytes(4) + b"\x03",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=["unmasked", "reserved bits", "reserved opcode", "stray continuation", "long ping", "fragmented ping", "short close", "http"],
)
def test_violations_are_closed_with_1002(running: Running, data: bytes) -> None:
    with running.connect() as wire:
        wire.send(get("/echo", *HANDSHAKE)).until(b"\r\n\r\n")
        assert wire.send(data).expect_end(5)[2:4] == (1002).to_bytes(2, "big")


def test_ping_is_answered(running: Running) -> None:
    with opened(running, "/echo") as channel:
        assert channel.ping(b"hello").wait(5)


def test_compression_is_not_negotiated(running: Running) -> None:
    """So no message can grow."""
    with opened(running, "/echo", compression="deflate") as channel:
        assert not channel.protocol.extensions
        channel.send("a" * MIB)
        assert len(channel.recv(10)) == MIB


# -- flow ------------------------------------------------------------------------------------------------------------
def test_a_flood_is_held_back(start: Callable[..., Running]) -> None:
    """More than a few messages ahead of the application, the connection is not read."""
    running = start(stall=60, ping=60)
    frame = b"\x81\xfe" + (1000).to_bytes(2, "big") + bytes(4) + b"x" * 1000
    with running.connect(1) as wire:
        wire.send(get("/swallow?pause=0.01", *HANDSHAKE)).until(b"\r\n\r\n")
        before, sent = running.memory(), 0
        with suppress(TimeoutError):
            while sent < 400_000:
                wire.send(frame * 100)
                sent += 100
        assert sent < 100_000
        assert running.memory() - before < 16 * MIB
        assert running.ask(get("/count")).status == 200


def test_messages_flow_on_after_a_pause(running: Running) -> None:
    with opened(running, "/echo?pause=0.001") as channel:
        for number in range(1000):
            channel.send(str(number))
        assert [channel.recv(10) for _ in range(1000)] == [str(number) for number in range(1000)]


def test_send_waits_for_the_peer(running: Running) -> None:
    """A peer that does not read holds up its own application, and is dropped after the stall time."""
    with running.connect() as wire:
        before = running.memory()
        wire.send(get("/push", *HANDSHAKE))
        time.sleep(0.4)
        (line,) = running.log()
        assert int(line.split()[1]) < 200  # of 64 KiB: the kernel's buffers
        assert running.memory() - before < 16 * MIB
        time.sleep(2.2)
        with pytest.raises(ConnectionResetError):  # noqa: PT012
            while wire.socket.recv(MIB):
                pass


def test_a_silent_peer_is_pinged_and_dropped(running: Running) -> None:
    """It answers no ping: the connection ends."""
    with running.connect() as wire:
        wire.send(get("/echo", *HANDSHAKE)).until(b"\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            wire.expect_end(8)
        assert wire.buffer[:1] == b"\x89"


def test_a_peer_that_speaks_is_not_pinged(running: Running) -> None:
    with running.connect() as wire:
        wire.send(get("/swallow?pause=0", *HANDSHAKE)).until(b"\r\n\r\n")
        wire.socket.settimeout(0.3)
        for number in range(12):
            wire.send(b"\x81\x81" + bytes(4) + b"x" if number % 2 else b"\x8a\x80" + bytes(4))
            with pytest.raises(TimeoutError):
                wire._more()


# -- before the upgrade ----------------------------------------------------------------------------------------------
def test_a_refusal_has_its_status_and_body(running: Running) -> None:
    response = refused(running, "/deny")
    assert (response.status_code, response.headers["x-why"], json.loads(response.body)) == (401, "key", {"message": "no"})


@pytest.mark.parametrize(("path", "status"), [("/reject", 403), ("/boom", 500), ("/mute", 503), ("/no-such", 500)])
def test_other_refusals_are_documented(running: Running, path: str, status: int) -> None:
    response = refused(running, path)
    assert response.status_code == status
    assert set(json.loads(response.body)) == {"request_id", "message"}
    assert b"secret" not in response.body


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (("Upgrade: websocket",), 400),
        (("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"), 400),
        (("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 99", HANDSHAKE[3]), 400),
        (("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: short"), 400),
    ],
)
def test_bad_handshakes(running: Running, fields: tuple[str, ...], status: int) -> None:
    answer = running.ask(get("/echo", *fields))
    assert answer.status == status
    assert set(answer.json()) == {"request_id", "message"}


def test_a_client_that_leaves_during_the_handshake(running: Running) -> None:
    with running.connect() as wire:
        wire.send(get("/mute", *HANDSHAKE))
        time.sleep(0.1)
        wire.reset()
    running.wait_for_log("websocket.disconnect")
