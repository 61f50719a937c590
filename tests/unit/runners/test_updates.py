"""Self-update offers against a release server of the test's own (protocol.md section 6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from runners import updates
from runners.protocol.messages import RunnerInfo, Update

SHA, OTHER = "0123456789abcdef" * 4, "fedcba9876543210" * 4
VERSION = "0.6.12"
STABLE, CANARY = f"/dl/v{VERSION}/runner-v{VERSION}-linux-x86-64", "/dl/canary/runner-canary-linux-x86-64"


class Releases:
    """Answers every request with ``body`` after ``delay`` seconds; remembers what was asked for."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        self.status, self.body, self.delay, self.location = 200, f"{SHA}  runner\n".encode(), 0.0, ""
        self.url = ""
        self.open: set[asyncio.Task[Any] | None] = set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(task := asyncio.current_task())
        try:
            await self._answer(reader, writer)
        except OSError:
            pass  # the client gave up
        finally:
            writer.close()
            self.open.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        self.hits.append(request.split()[1].decode())
        await asyncio.sleep(self.delay)
        location, self.location = self.location, ""
        head = f"HTTP/1.1 302 Found\r\nLocation: {location}" if location else f"HTTP/1.1 {self.status} X"
        body = b"" if location else self.body
        writer.write(f"{head}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()


@pytest.fixture
async def releases(settings: Any) -> AsyncIterator[Releases]:
    releases = Releases()
    server = await asyncio.start_server(releases.answer, "127.0.0.1", 0)
    releases.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    settings.BENCHER_UPDATE_BASE_URL, settings.BENCHER_API_VERSION = f"{releases.url}/dl/", VERSION
    updates._canary.clear()
    yield releases
    server.close()
    await server.wait_closed()
    for _ in range(100):
        if releases.open:
            await asyncio.sleep(0.02)


def runner(**values: Any) -> RunnerInfo:
    return RunnerInfo(**{"os": "linux", "arch": "x86_64", "version": "0.0.0", **values})


@pytest.mark.parametrize(
    "info",
    [
        runner(os="macos"),
        runner(os="windows"),
        runner(version=VERSION),
        runner(version=VERSION, channel="stable"),
        runner(version=VERSION, checksum=OTHER),
        runner(channel="canary"),
    ],
)
async def test_nothing_to_ask_for(releases: Releases, info: RunnerInfo) -> None:
    assert await updates.offer(info) is None
    assert releases.hits == []


async def test_off_without_an_address(releases: Releases, settings: Any) -> None:
    settings.BENCHER_UPDATE_BASE_URL = ""
    assert await updates.offer(runner()) is None
    assert releases.hits == []


@pytest.mark.parametrize(("arch", "name"), [("x86_64", "x86-64"), ("aarch64", "arm-64")])
@pytest.mark.parametrize("slash", ["", "/"])
async def test_stable(releases: Releases, settings: Any, arch: str, name: str, slash: str) -> None:
    settings.BENCHER_UPDATE_BASE_URL = f"{releases.url}/dl{slash}"
    url = f"{releases.url}/dl/v{VERSION}/runner-v{VERSION}-linux-{name}"
    assert await updates.offer(runner(arch=arch)) == Update(version=VERSION, url=url, checksum=SHA)
    assert releases.hits == [f"/dl/v{VERSION}/runner-v{VERSION}-linux-{name}.sha256"]


async def test_redirects_are_followed(releases: Releases) -> None:
    releases.location = "/elsewhere"
    assert await updates.offer(runner()) is not None
    assert releases.hits == [f"{STABLE}.sha256", "/elsewhere"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b""),
        (500, SHA.encode()),
        (200, b""),
        (200, b"not a checksum"),
        (200, SHA[:-1].encode()),
        (200, b"\xff" + SHA.encode()),
        (200, (SHA + " " * 2000).encode()),
    ],
)
async def test_no_usable_checksum(releases: Releases, status: int, body: bytes) -> None:
    releases.status, releases.body = status, body
    assert await updates.offer(runner()) is None
    assert len(releases.hits) == 1


@pytest.mark.parametrize("body", [SHA, f"{SHA}\n", f"{SHA} *runner\r\n{OTHER}  other\n"])
async def test_the_first_word_counts(releases: Releases, body: str) -> None:
    releases.body = body.encode()
    offered = await updates.offer(runner())
    assert offered is not None
    assert offered.checksum == SHA


async def test_canary(releases: Releases) -> None:
    """Fetched once for everybody, whatever their versions."""
    for _ in range(3):
        assert await updates.offer(runner(channel="canary", checksum=SHA)) is None
    assert await updates.offer(runner(channel="canary", checksum=OTHER)) == Update(
        version="canary", url=f"{releases.url}{CANARY}", checksum=SHA
    )
    assert releases.hits == [f"{CANARY}.sha256"]


async def test_canary_is_remembered_for_two_minutes(releases: Releases, monkeypatch: pytest.MonkeyPatch) -> None:
    await updates.offer(runner(channel="canary", checksum=SHA))
    monkeypatch.setattr(updates, "CANARY_CACHE_S", -1.0)
    await updates.offer(runner(channel="canary", checksum=SHA))
    assert len(releases.hits) == 2


async def test_a_failure_is_not_remembered(releases: Releases) -> None:
    releases.status = 404
    assert await updates.offer(runner(channel="canary", checksum=OTHER)) is None
    releases.status = 200
    assert await updates.offer(runner(channel="canary", checksum=OTHER)) is not None


async def test_many_at_once_share_one_request(releases: Releases) -> None:
    releases.delay = 0.05
    offers = await asyncio.gather(*(updates.offer(runner()) for _ in range(20)))
    assert all(offers)
    assert len(releases.hits) == 1


async def test_a_server_that_hangs_is_given_up(releases: Releases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "TIMEOUT_S", 0.1)
    releases.delay = 0.4
    assert await updates.offer(runner()) is None


async def test_a_server_that_is_not_there(releases: Releases, settings: Any) -> None:
    for base in ("http://127.0.0.1:1/", "nonsense", "http://[", "ftp://x/"):
        settings.BENCHER_UPDATE_BASE_URL = base
        assert await updates.offer(runner()) is None
