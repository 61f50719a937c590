"""The channel layer of the embedded server: one process, in memory."""

from __future__ import annotations

import time
from typing import Any

from channels.layers import InMemoryChannelLayer


class MemoryLayer(InMemoryChannelLayer):
    """Channels' own layer looks through every group at every receive: with N sockets that is O(N^2). Once in five seconds is enough."""

    _next_cleaning = 0.0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"expiry": 60, "group_expiry": 10 * 365 * 86400, "capacity": 10_000, **kwargs})

    def _clean_expired(self) -> None:
        if (moment := time.monotonic()) >= self._next_cleaning:
            self._next_cleaning = moment + 5
            super()._clean_expired()
