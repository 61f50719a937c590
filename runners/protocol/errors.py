"""What may be wrong with a message, and how a channel says so when it ends."""

from __future__ import annotations

from enum import IntEnum

from runners.protocol.limits import MAX_CLOSE_REASON_BYTES


class CloseCode(IntEnum):
    """Codes of RFC 6455, section 7.4.1, that the channel uses."""

    NORMAL = 1000
    GOING_AWAY = 1001
    NOT_TEXT = 1007
    INVALID = 1008
    TOO_BIG = 1009


class CloseReason:
    """Reasons of protocol.md, section 2. Those of code 1000 are JSON strings, quotes included."""

    NONE = ""
    HEARTBEAT_TIMEOUT = '"heartbeat_timeout"'
    JOB_TIMEOUT_EXCEEDED = '"job_timeout_exceeded"'
    SUPERSEDED = '"superseded"'
    SHUTTING_DOWN = "server shutting down"


class ProtocolError(Exception):
    """A peer broke the protocol."""


class Undecodable(ProtocolError):
    """A text that is no message: not JSON (1007), or JSON of a wrong shape (1008).

    ``reason`` is short, plain and fits a close frame; it names the field where there is one, never a value.
    """

    def __init__(self, code: CloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = shorten(reason)


def shorten(reason: str) -> str:
    """``reason`` cut to what a close frame holds, at a character's boundary."""
    return reason.encode("utf-8", "replace")[:MAX_CLOSE_REASON_BYTES].decode("utf-8", "ignore")
