"""What one connection may cost: sizes in bytes, times in seconds."""

from __future__ import annotations

from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the web server; a test sets short ones."""

    body: int = 4 * MIB
    """Largest body of a request, and largest message and frame of a channel (protocol.md, `request_body_max_bytes`)."""
    registry_body: int = 1 << 30
    """Largest body of a request below ``/v2/``."""
    uri: int = 16 * KIB
    """Longest request target."""
    head: int = 64 * KIB
    """Request line and header fields together."""
    buffered: int = MIB
    """A body up to this size is read before the application starts; of a larger one this much is read ahead of the application."""
    queued: int = 32
    """Messages of a channel that may wait for the application before the connection is no longer read."""
    idle: float = 60
    """Silence after which a connection without a request is closed; also the time for a request's head."""
    stall: float = 30
    """A peer that takes not one byte of what waits for it is dropped after one to two times this."""
    linger: float = 5
    """How long input is dropped after a refusal, so that the refusal can be read."""
    close: float = 2
    """How long a peer that still sends has to answer a close frame."""
    ping: float = 40
    """Silence after which a channel is pinged: 20 s at least (protocol.md section 3), longer than a runner's usual poll, and before proxies end a silent
    connection after their usual 60 s."""
    pong: float = 30
    """Time for the answer to a ping."""
    accept: float = 20
    """Time for the application to accept or refuse a channel."""
    abandon: float = 10
    """How long an application may run on after its peer has gone."""
    drain: float = 5
    """How long requests in progress may take after the server was told to stop."""

    def of_body(self, target: bytes) -> int:
        """The limit for the body of a request to this target."""
        return self.registry_body if in_registry(target) else self.body


def in_registry(target: bytes) -> bool:
    """Is this a target of the OCI registry, whose sizes and error bodies are its own?"""
    return target.startswith(b"/v2/") or target.split(b"?", 1)[0] == b"/v2"
