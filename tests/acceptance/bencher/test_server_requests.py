"""Requests on the wire: limits while bytes arrive, errors as JSON, connections that stay usable."""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Callable

import pytest

from tests.acceptance.bencher.wire import MIB, Answer, Running, chunk, get, post

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket]


def assert_documented(answer: Answer, status: int, *, oci: str | None = None) -> None:
    """The body that rest.md 0.3 or the registry documents, and the end of the connection announced."""
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/json"
    if oci:
        assert answer.json()["errors"][0]["code"] == oci
        return
    body = answer.json()
    assert set(body) == {"request_id", "message"}
    assert body["message"]
    assert uuid.UUID(body["request_id"]) == uuid.UUID(answer.headers["x-request-id"])
    assert answer.headers["access-control-allow-origin"] == "*"


# -- size of the body ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path", "limit", "status", "oci"), [("/v0/count", 4 * MIB, 400, None), ("/v2/count", 64 * MIB, 413, "SIZE_INVALID")]
)
def test_announced_body_over_the_limit(running: Running, path: str, limit: int, status: int, oci: str | None) -> None:
    """Refused from the head alone, without a 100, and the connection ends in order."""
    with running.connect() as wire:
        answer = wire.send(get(path, f"Content-Length: {limit + 1}", "Expect: 100-continue", method="POST")).answer()
        assert_documented(answer, status, oci=oci)
        assert answer.headers["connection"] == "close"
        assert wire.expect_end() == b""


@pytest.mark.parametrize("size", [0, 1, 65536, MIB, MIB + 1, 4 * MIB])
def test_bodies_up_to_the_limit(running: Running, size: int) -> None:
    assert running.ask(post("/v0/count", bytes(size))).body == b"%d" % size


@pytest.mark.parametrize("size", [4 * MIB, 4 * MIB + 1])
def test_chunked_body_at_the_limit(running: Running, size: int) -> None:
    pieces = b"".join(chunk(bytes(min(60_000, size - at))) for at in range(0, size, 60_000))
    with running.connect() as wire:
        try:
            wire.send(get("/v0/count", "Transfer-Encoding: chunked", method="POST") + pieces + chunk(b""))
        except OSError:
            assert size > 4 * MIB
        answer = wire.answer()
    if size > 4 * MIB:
        assert_documented(answer, 400)
    else:
        assert answer.body == b"%d" % size


@pytest.mark.parametrize("size", [16 * MIB, 64 * MIB])
def test_a_client_that_sends_without_looking_sees_the_refusal(running: Running, size: int) -> None:
    with running.connect() as wire:
        wire.send(get("/v0/count", f"Content-Length: {size}", method="POST"))
        for _ in range(size // MIB):
            try:
                wire.send(bytes(MIB))
            except OSError:  # the server may stop listening after a while; its answer is readable all the same
                break
        assert_documented(wire.answer(), 400)


def test_an_endless_sender_is_refused_then_cut(running: Running) -> None:
    with running.connect() as wire:
        wire.send(get("/v0/count", "Transfer-Encoding: chunked", method="POST"))
        deadline = time.monotonic() + 10
        with pytest.raises(OSError, match=r"reset|Broken pipe"):  # noqa: PT012
            while time.monotonic() < deadline:
                wire.send(chunk(bytes(MIB)))
        assert wire.socket.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_forms_are_nobodys_business(running: Running) -> None:
    """Twisted would parse a form on the event loop; a body is only bytes here."""
    form = b"a=1&" * (MIB - 1)
    started = time.monotonic()
    answer = running.ask(post("/v0/count", form, "Content-Type: application/x-www-form-urlencoded"))
    assert answer.body == b"%d" % len(form)
    assert time.monotonic() - started < 2


# -- size and form of the head ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("length", [15 << 10, 16 << 10])
def test_long_targets_are_served(running: Running, length: int) -> None:
    assert running.ask(get("/count?" + "x" * (length - 7))).status == 200


@pytest.mark.parametrize("length", [17 << 10, 70 << 10, 5 * MIB])
def test_longer_targets_are_refused(running: Running, length: int) -> None:
    assert_documented(running.ask(get("/count?" + "x" * length)), 400)


@pytest.mark.parametrize("fields", [[f"X-A: {'x' * 60_000}"], [f"X-{n}: {'x' * 1000}" for n in range(55)]], ids=["one", "many"])
def test_large_heads_are_served(running: Running, fields: list[str]) -> None:
    assert running.ask(get("/count", *fields)).status == 200


@pytest.mark.parametrize(
    "fields",
    [[f"X-A: {'x' * 70_000}"], [f"X-A: {'x' * 3 * MIB}"], [f"X-{n}: {'x' * 1000}" for n in range(100)], [f"X-{n}: y" for n in range(600)]],
    ids=["70 KB", "3 MB", "100 of 1 KB", "600 fields"],
)
def test_larger_heads_are_refused(running: Running, fields: list[str]) -> None:
    assert_documented(running.ask(get("/v0/count", *fields)), 431)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET /x\r\n\r\n",
        b"GET /count HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /count HTTP/1.1\r\nX-A: a\x00b\r\n\r\n",
        b"POST /count HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /count HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /count HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /count HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabcd",
        b"POST /count HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
        b"POST /count HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET /c\xc3\xb6unt HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /count?\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /count HTTP/1.1\r\nX-A: a\x1cb\r\n\r\n",
    ],
    ids=lambda data: repr(data[:40]),
)
def test_malformed_requests(running: Running, request_bytes: bytes) -> None:
    assert_documented(running.ask(request_bytes), 400)


def test_registry_errors_have_the_registrys_shape(running: Running) -> None:
    assert_documented(running.ask(get("/v2/boom")), 500, oci="UNKNOWN")


# -- connections that stay -------------------------------------------------------------------------------------------
def test_keep_alive(running: Running) -> None:
    with running.connect() as wire:
        for body in (b"a", b"b" * 100, b"c" * 70_000):
            assert wire.send(post("/count", body)).answer().body == b"%d" % len(body)
        assert wire.send(post("/v2/count", bytes(5 * MIB))).answer().body == b"%d" % (5 * MIB)
        assert wire.send(get("/count", "Transfer-Encoding: chunked", method="POST") + chunk(b"abc") + chunk(b"")).answer().body == b"3"
        assert wire.send(get("/count")).answer().body == b"0"


def test_pipelining(running: Running) -> None:
    with running.connect() as wire:
        wire.send(get("/count") * 20 + post("/count", bytes(2 * MIB)) + get("/pieces"))
        assert [wire.answer().body for _ in range(21)] == [b"0"] * 20 + [b"%d" % (2 * MIB)]
        assert wire.answer().body.startswith(b"piece 0")


def test_expect_continue(running: Running) -> None:
    """100 comes when the application reads; not when it refuses before."""
    size = 2 * MIB
    with running.connect() as wire:
        wire.send(get("/count", f"Content-Length: {size}", "Expect: 100-continue", method="POST"))
        assert wire.answer().status == 100
        assert wire.send(bytes(size)).answer().body == b"%d" % size
    with running.connect() as wire:
        answer = wire.send(get("/early", f"Content-Length: {size}", "Expect: 100-continue", method="POST")).answer()
        assert (answer.status, answer.body) == (401, b"no, thanks")


def test_an_early_answer_ends_the_connection(running: Running) -> None:
    """The rest of the body is never taken for a request."""
    smuggled = get("/log")
    with running.connect() as wire:
        wire.send(get("/v2/early", f"Content-Length: {30 * MIB}", method="POST") + smuggled)
        for _ in range(29):
            wire.send(bytes(MIB))
        answer = wire.answer()
        assert (answer.status, answer.headers["connection"]) == (401, "close")
        assert wire.expect_end() == b""


def test_http_1_0(running: Running) -> None:
    with running.connect() as wire:
        data = wire.send(b"GET /pieces HTTP/1.0\r\n\r\n").expect_end()
    assert data.startswith(b"HTTP/1.")
    assert data.endswith(b"piece 4\n")


@pytest.mark.parametrize("path", ["/pieces", "/count", "/pieces?status=404"])
def test_head_has_no_body(running: Running, path: str) -> None:
    with running.connect() as wire:
        wire.send(get(path, method="HEAD"))
        wire.answer(head=True)
        assert wire.send(get("/count")).answer().body == b"0"


@pytest.mark.parametrize(
    "target", ["http://bench.example/count", "HTTP://bench.example:80/count?x=http://other/", "https://bench.example/count"]
)
def test_the_absolute_form(running: Running, target: str) -> None:
    """Every server has to accept it (RFC 9112 section 3.2.2)."""
    with running.connect() as wire:
        assert wire.send(get(target)).answer().body == b"0"
        assert wire.send(get("/count")).answer().body == b"0"


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_a_body(running: Running, status: int) -> None:
    with running.connect() as wire:
        assert wire.send(get(f"/pieces?status={status}")).answer().status == status
        assert wire.send(get("/count")).answer().body == b"0"


# -- failures --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/boom", "/silent"])
def test_a_failed_application_is_500(running: Running, path: str) -> None:
    """At once, without a detail of the failure, and the connection stays."""
    with running.connect() as wire:
        for _ in range(2):
            answer = wire.send(get(path)).answer()
            assert_documented(answer, 500)
            assert b"secret" not in answer.body
        assert wire.send(get("/count")).answer().body == b"0"


def test_a_failure_in_the_middle_breaks_the_connection(running: Running) -> None:
    with running.connect() as wire, pytest.raises(ConnectionResetError):
        wire.send(get("/boom_late")).expect_end()
    assert running.ask(get("/boom")).status == 500


def test_client_gone_after_the_body(running: Running) -> None:
    with running.connect() as wire:
        wire.send(post("/wait", b"abc"))
        time.sleep(0.1)
    running.wait_for_log("http.disconnect")


def test_client_gone_in_the_body(running: Running) -> None:
    with running.connect() as wire:
        wire.send(get("/v2/count", f"Content-Length: {20 * MIB}", method="POST") + bytes(3 * MIB))
        time.sleep(0.1)
        wire.reset()
    running.wait_for_log("disconnected")


# -- time ------------------------------------------------------------------------------------------------------------
def test_an_idle_connection_is_closed(running: Running) -> None:
    with running.connect() as wire:
        wire.send(get("/count")).answer()
        assert wire.expect_end(timeout=6) == b""


def test_a_head_that_trickles_is_not_waited_for(start: Callable[..., Running]) -> None:
    """One byte now and then does not hold a connection for ever."""
    with start(idle=1).connect() as wire:
        wire.send(b"GET /count HTTP/1.1\r\n")
        deadline = time.monotonic() + 5
        with pytest.raises((OSError, EOFError)):  # noqa: PT012
            while time.monotonic() < deadline:
                wire.send(b"X-A: b\r\n")
                wire.socket.settimeout(0.2)
                try:
                    wire._more()
                except TimeoutError:
                    continue
    assert time.monotonic() < deadline


def test_a_client_that_stops_in_the_body_is_dropped(running: Running) -> None:
    with running.connect() as wire:
        wire.send(get("/v2/count", f"Content-Length: {20 * MIB}", method="POST") + bytes(1000))
        assert wire.expect_end(timeout=6) == b""


def test_a_slow_application_keeps_its_client(running: Running) -> None:
    """It is the server that does not read: the idle timer rests."""
    with running.connect() as wire:
        wire.send(post("/v2/count?pause=2.5", bytes(4 * MIB)))
        assert wire.answer().body == b"%d" % (4 * MIB)


def test_other_requests_are_served_during_an_upload(running: Running) -> None:
    with running.connect() as wire:
        wire.send(get("/v2/count", f"Content-Length: {60 * MIB}", method="POST"))
        slowest = 0.0
        for _ in range(60):
            wire.send(bytes(MIB))
            started = time.monotonic()
            assert running.ask(get("/count")).status == 200
            slowest = max(slowest, time.monotonic() - started)
        assert wire.answer().body == b"%d" % (60 * MIB)
    assert slowest < 1


def test_websocket_upgrade_of_a_closed_socket(running: Running) -> None:
    """Half a handshake, then nothing: no trace."""
    with running.connect() as wire:
        wire.send(
            get(
                "/echo",
                "Upgrade: websocket",
                "Connection: Upgrade",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            )
        )
        wire.socket.shutdown(socket.SHUT_RDWR)
    assert running.ask(get("/count")).status == 200


def test_a_tls_client_is_told_at_once(running: Running) -> None:
    """Registry clients try TLS first; without an answer they would wait for their own time-out."""
    with running.connect() as wire:
        assert wire.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)).answer().status == 400
        wire.expect_end()
