"""What a peer has not taken yet: senders wait for it, and a peer that takes nothing is dropped."""

from __future__ import annotations

import asyncio
import fcntl
import struct
import termios
from typing import Any

import daphne.server  # noqa: F401  (installs the reactor: before any other import of Twisted)
from twisted.internet import reactor
from twisted.protocols.policies import ProtocolWrapper


class Outflow:
    """The outgoing side of one connection.

    Its protocol calls ``pause`` when the transport holds more than 64 KiB and ``resume`` when it holds nothing.
    """

    def __init__(self, stall: float) -> None:
        self._stall = stall
        self._drained: asyncio.Future[None] | None = None
        self._watch: Any = None

    def pause(self, transport: Any) -> None:
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_future()
            self._look(transport, None)

    def resume(self) -> None:
        """The transport is empty, or gone: nobody has to wait any longer."""
        if self._watch is not None:
            self._watch.cancel()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = self._watch = None

    async def wait(self) -> None:
        """Return when more may be written. Yields at least once: a sender without end must not starve the others."""
        if self._drained is not None:
            await asyncio.shield(self._drained)
        else:
            await asyncio.sleep(0)

    def _look(self, transport: Any, before: int | None) -> None:
        """Drop the peer unless it has taken something since the last look.

        Twisted resumes only when its buffer is empty, so a slow reader is told from a stopped one by the bytes outstanding, the kernel's included.
        """
        self._watch = None
        now = backlog(transport)
        if before is not None and now >= before:
            transport.abortConnection()
        else:
            self._watch = reactor.callLater(self._stall, self._look, transport, now)


def backlog(transport: Any) -> int:
    """Bytes that the peer's kernel has not acknowledged."""
    while isinstance(transport, ProtocolWrapper):  # TLS
        transport = transport.transport
    kernel: int = struct.unpack("i", fcntl.ioctl(transport.fileno(), termios.TIOCOUTQ, bytes(4)))[0]
    unsent: int = len(transport.dataBuffer) - transport.offset + transport._tempDataLen
    return unsent + kernel
