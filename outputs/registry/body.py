"""A request's body as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from outputs.registry.errors import SizeInvalid, TimedOut

Receive = Callable[[], Awaitable[Any]]
PIECE = 1 << 20
"""Arriving bytes are handed on in pieces of about so many: one hop to a thread each."""

PATIENCE_S = 60.0
"""A sender that is silent for so long is given up."""

DRAIN = 1 << 20
"""Up to so many bytes of a refused body are read and dropped, so that the sender sees the answer and may use its connection again."""


DRAIN_S = 2.0


class Disconnected(Exception):
    """The client went away before its body was complete."""


class Body:
    """The pieces of one body, to be read once."""

    def __init__(self, receive: Receive, patience: float = PATIENCE_S) -> None:
        self._receive, self._patience = receive, patience
        self._complete = False

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises `Disconnected`, `TimedOut`."""
        gathered = bytearray()
        while not self._complete:
            gathered += await self._next()
            if len(gathered) >= PIECE:
                yield bytes(gathered)
                gathered.clear()
        if gathered:
            yield bytes(gathered)

    async def read(self, limit: int) -> bytes:
        """All of it. Raises `SizeInvalid`, `Disconnected`, `TimedOut`."""
        gathered = bytearray()
        while not self._complete:
            gathered += await self._next()
            if len(gathered) > limit:
                raise SizeInvalid(f"the body is larger than {limit} bytes")
        return bytes(gathered)

    async def drain(self) -> None:
        """Read what little is left of a refused body, within reason. Never raises."""
        dropped = 0
        try:
            async with asyncio.timeout(DRAIN_S):
                while not self._complete and dropped < DRAIN:
                    dropped += len(await self._next())
        except (Disconnected, TimedOut, TimeoutError):
            self._complete = True

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout(self._patience):
                message = await self._receive()
        except TimeoutError:
            raise TimedOut from None
        if message["type"] != "http.request":
            raise Disconnected
        self._complete = not message.get("more_body", False)
        data: bytes = message.get("body", b"")
        return data
