"""What both ends of one connection understand beyond the stock protocol (typed-results.md, D2 and D8), from the server's side. Pure.

A runner that offers nothing hears nothing of this: its frames are the stock server's, byte for byte.
"""

from __future__ import annotations

from typing import Any

import msgspec

from runners.protocol import messages
from runners.protocol.limits import DEFAULT_MAX_MESSAGE_BYTES
from runners.protocol.signals import Effect, Send

VERSION = 1
FEATURES = ("re", "resume")
"""What this server does: name the message that an ack is for, and let a runner take its job up again."""

MAX_ID_LENGTH = 64


class Terms:
    """Agreed anew with each ``ready``. Nothing is kept from one connection to the next."""

    def __init__(self, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES) -> None:
        self._max_message_bytes = max_message_bytes
        self._accepted: dict[str, Any] | None = None
        self._re: int | str | None = None

    def hear(self, message: Any) -> None:
        """Of every message of the runner, before it is handled."""
        ext = messages.ext_of(message)
        if isinstance(message, messages.Ready):
            self._accepted = self._accept(ext)
        self._re = _id(ext) if self._accepted and "re" in self._accepted["features"] else None

    def say(self, effect: Effect) -> Effect:
        """The effect with what was agreed in its message."""
        if not isinstance(effect, Send) or self._accepted is None:
            return effect
        match effect.message:
            case messages.Job() | messages.NoJob():
                return _extended(effect, self._accepted)
            case messages.Ack() if self._re is not None:
                return _extended(effect, {"v": VERSION, "re": self._re})
        return effect

    def _accept(self, offer: dict[str, Any]) -> dict[str, Any] | None:
        offered = offer.get("features")
        if not isinstance(offered, list):
            return None
        features = [feature for feature in FEATURES if feature in offered]
        return {"v": VERSION, "features": features, "max_message_bytes": self._max_message_bytes}


def _id(ext: dict[str, Any]) -> int | str | None:
    found = ext.get("id")
    if isinstance(found, str):
        return found if len(found) <= MAX_ID_LENGTH else None
    return found if type(found) is int and abs(found) < 2**53 else None


def _extended(effect: Send, ext: dict[str, Any]) -> Send:
    return Send(msgspec.structs.replace(effect.message, ext=messages.raw_ext(ext)))
