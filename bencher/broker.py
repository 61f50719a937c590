"""Celery's Redis transport with one mend: a worker survives the loss of Redis while it holds messages.

When the connection is lost Celery closes the channel twice, the second time after the connection's own data are gone. Giving unacknowledged messages
back then raises an error that nobody expects, and the worker ends. A worker holds such messages whenever a job runs: the look at its hard limit is due
later. Whatever cannot be given back stays in Redis and is handed out again after the visibility time-out; by then the sweep has done that work.
"""

from __future__ import annotations

import logging
from typing import Any

from kombu.transport import redis

logger = logging.getLogger(__name__)


class Unacknowledged(redis.QoS):
    """What was delivered and not yet acknowledged."""

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Give all of it back, or forget it here when Redis cannot be reached."""
        try:
            super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]
        except Exception as fault:
            logger.warning("%d messages are left to the sweep: %s", len(self._delivered), type(fault).__name__)
            self._delivered.clear()


class Channel(redis.Channel):
    QoS = Unacknowledged


class Transport(redis.Transport):
    Channel = Channel
