"""Bodies as they arrive: pieces, limits, silence, broken connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from outputs.registry.body import DRAIN, PIECE, Body, Disconnected
from outputs.registry.errors import SizeInvalid, TimedOut

GONE = {"type": "http.disconnect"}


def part(data: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


def arriving(*messages: dict[str, Any]) -> Callable[[], Awaitable[Any]]:
    left = list(messages)

    async def receive() -> Any:
        return left.pop(0)

    return receive


async def silent() -> Any:
    await asyncio.Event().wait()


async def pieces(*messages: dict[str, Any]) -> list[bytes]:
    return [piece async for piece in Body(arriving(*messages)).pieces()]


async def test_small_parts_are_gathered() -> None:
    assert await pieces(part(b"a"), part(b""), part(b"b"), part(b"c", more=False)) == [b"abc"]
    assert await pieces(part(b"", more=False)) == []
    assert await pieces({"type": "http.request"}) == []


async def test_large_ones_are_handed_on() -> None:
    found = await pieces(part(b"a" * PIECE), part(b"b" * 10), part(b"c" * PIECE), part(b"d", more=False))
    assert [len(piece) for piece in found] == [PIECE, PIECE + 10, 1]


async def test_read() -> None:
    assert await Body(arriving(part(b"ab"), part(b"c", more=False))).read(3) == b"abc"
    with pytest.raises(SizeInvalid):
        await Body(arriving(part(b"ab"), part(b"c", more=False))).read(2)


async def test_a_broken_connection() -> None:
    with pytest.raises(Disconnected):
        await pieces(part(b"a"), GONE)


async def test_silence() -> None:
    with pytest.raises(TimedOut):
        await Body(silent, patience=0.01).read(10)


async def test_drain() -> None:
    """Little is read to its end, much is not, and trouble is no trouble."""
    left = [part(b"a"), part(b"b", more=False)]
    await Body(arriving(*left)).drain()
    endless = 0

    async def receive() -> Any:
        nonlocal endless
        endless += 1
        return part(b"x" * (DRAIN // 4))

    await Body(receive).drain()
    assert endless == 4
    await Body(arriving(GONE)).drain()
    await Body(silent, patience=0.01).drain()
