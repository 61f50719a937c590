"""Large bodies pass through without resting in memory; slow peers are served, stopped ones dropped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.acceptance.bencher.wire import MIB, Running, get

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket]


@contextmanager
def memory_growth(running: Running) -> Iterator[list[int]]:
    """The most that the server's memory grew by, in bytes, once the block has ended."""
    before, growth, done = running.memory(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            growth[0] = max(growth[0], running.memory() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    yield growth
    done.set()
    thread.join()


@pytest.fixture(scope="module", autouse=True)
def _warm(running: Running) -> None:
    """The first large body makes the allocator's arenas."""
    with running.connect() as wire:
        wire.send(get("/v2/echo", f"Content-Length: {4 * MIB}", method="POST") + bytes(4 * MIB)).answer()


def test_upload_to_a_slow_application(running: Running) -> None:
    """The client is held back: the server buffers a mebibyte or so."""
    size = 48 * MIB
    with running.connect(60) as wire, memory_growth(running) as growth:
        wire.send(get("/v2/count?pause=0.02", f"Content-Length: {size}", method="POST"))
        for _ in range(48):
            wire.send(bytes(MIB))
        assert wire.answer().body == b"%d" % size
    assert growth[0] < 16 * MIB


def test_download_by_a_slow_reader(running: Running) -> None:
    """``send`` waits: the application runs no further ahead than the socket's buffers."""
    size = 64 * MIB
    with running.connect(60) as wire, memory_growth(running) as growth:
        wire.send(get(f"/download?size={size}"))
        wire.until(b"\r\n\r\n")
        time.sleep(0.3)
        assert int(running.log()[0].split()[1]) < 16 * MIB
        received = len(wire.buffer)
        while received < size:
            received += len(wire.socket.recv(MIB))
    assert received == size
    assert growth[0] < 16 * MIB


def test_echo_both_ways_at_once(running: Running) -> None:
    size = 48 * MIB
    with running.connect(60) as wire, memory_growth(running) as growth:
        wire.send(get("/v2/echo", f"Content-Length: {size}", method="POST"))

        def write() -> None:
            for _ in range(48):
                wire.send(bytes(MIB))

        thread = threading.Thread(target=write)
        thread.start()
        assert len(wire.answer().body) == size
        thread.join()
    assert growth[0] < 16 * MIB


def test_a_slow_reader_is_served_to_the_end(start: Callable[..., Running]) -> None:
    """Much slower than the idle and stall times, but never still."""
    running = start(idle=0.5, stall=0.5)
    size = 6 * MIB
    with running.connect() as wire:
        wire.send(get(f"/download?size={size}"))
        wire.until(b"\r\n\r\n")
        received, deadline = len(wire.buffer), time.monotonic() + 3
        while time.monotonic() < deadline:
            received += len(wire.socket.recv(100_000))
            time.sleep(0.1)
        while received < size:
            received += len(wire.socket.recv(MIB))
    assert received == size


def test_a_reader_that_stops_is_dropped(running: Running) -> None:
    """After one to two stall times; its application ends."""
    with running.connect() as wire:
        wire.send(get("/endless"))
        running.wait_for_log("cancelled")
        with pytest.raises(ConnectionResetError):  # noqa: PT012
            while wire.socket.recv(MIB):
                pass


def test_an_endless_response_lets_others_through(start: Callable[..., Running]) -> None:
    """Also after its client has gone: then it is cancelled."""
    running = start()
    with running.connect() as wire:
        wire.send(get("/endless"))
        wire.until(b"\r\n\r\n")
        assert running.ask(get("/count")).status == 200
        wire.reset()
    running.wait_for_log("cancelled", timeout=5)


def test_a_client_that_does_not_read_is_not_read(running: Running) -> None:
    """Pipelined requests whose answers nobody takes do not pile up."""
    with running.connect(1) as wire, memory_growth(running) as growth:
        with pytest.raises(OSError, match=r"timed out|reset|Broken pipe"):  # noqa: PT012
            for _ in range(20_000):
                wire.send(get(f"/download?size={MIB}") * 10)
        assert running.ask(get("/count")).status == 200
    assert growth[0] < 16 * MIB
