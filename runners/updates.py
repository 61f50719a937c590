"""Is a runner program outdated, and what should it be (protocol.md section 6)? Off unless ``BENCHER_UPDATE_BASE_URL`` is set."""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import ssl
import time

import httpx
from django.conf import settings

from runners.protocol.messages import RunnerInfo, Update

logger = logging.getLogger(__name__)

TIMEOUT_S = 5.0
"""For one checksum, all in all."""

MAX_BYTES = 1024
CANARY_CACHE_S = 120.0

ARCHITECTURES = {"x86_64": "x86-64", "aarch64": "arm-64"}
"""Name in the protocol -> name in a release's file."""

_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_canary: dict[str, tuple[float, str]] = {}
_fetching: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[str | None]] = {}


async def offer(runner: RunnerInfo) -> Update | None:
    """The program that the runner should become, or None: it is up to date, or nobody knows better."""
    base = settings.BENCHER_UPDATE_BASE_URL
    if not base or runner.os != "linux":
        return None
    root, arch = base.rstrip("/"), ARCHITECTURES[runner.arch]
    if runner.channel == "canary":
        if runner.checksum is None:
            return None
        url = f"{root}/canary/runner-canary-linux-{arch}"
        checksum = await _canary_checksum(url)
        return None if checksum in (None, runner.checksum) else Update(version="canary", url=url, checksum=checksum or "")
    version = settings.BENCHER_API_VERSION
    if runner.version == version:
        return None
    url = f"{root}/v{version}/runner-v{version}-linux-{arch}"
    checksum = await _checksum(url)
    return None if checksum is None else Update(version=version, url=url, checksum=checksum)


async def _canary_checksum(url: str) -> str | None:
    """Remembered for two minutes, but only a success."""
    fetched, checksum = _canary.get(url, (0.0, ""))
    if checksum and time.monotonic() - fetched < CANARY_CACHE_S:
        return checksum
    found = await _checksum(url)
    if found is not None:
        _canary[url] = time.monotonic(), found
    return found


async def _checksum(url: str) -> str | None:
    """The published checksum; many who ask at once share one request."""
    key = (asyncio.get_running_loop(), url)
    if (running := _fetching.get(key)) is None:
        running = _fetching[key] = asyncio.ensure_future(_fetch(url))
        running.add_done_callback(lambda _: _fetching.pop(key, None))
    return await asyncio.shield(running)


@functools.cache
def _trust() -> ssl.SSLContext:
    """Read once, and not on the event loop: it takes long."""
    return httpx.create_ssl_context()


async def _fetch(url: str) -> str | None:
    try:
        trust = await asyncio.to_thread(_trust)
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx.AsyncClient(verify=trust, follow_redirects=True, timeout=TIMEOUT_S) as client,
            client.stream("GET", f"{url}.sha256") as response,
        ):
            response.raise_for_status()
            body = b""
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise ValueError(f"more than {MAX_BYTES} bytes")
        words = body.decode("utf-8").split()
        if not words or _SHA256.fullmatch(words[0].lower()) is None:
            raise ValueError("no SHA-256")
        return words[0].lower()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TimeoutError, OSError) as fault:
        logger.warning("%s.sha256: no checksum, the runner is taken to be up to date: %s %s", url, type(fault).__name__, fault)
        return None
