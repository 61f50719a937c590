"""Who goes first, who has to wait, and when time is up (protocol.md, head and section 8). Pure: whoever asks brings the time."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

UNCLAIMED, FREE, PLUS = 0, 100, 200
"""The stock server's three priorities."""

MAX_PRIORITY = 1000

WRITE_MARGIN = timedelta(seconds=1)
"""Heartbeats are written once a second: whoever judges by the stored time allows for it."""

SETTLING = timedelta(seconds=5)
"""From the end of a gap until every process has a connection again and has written what it heard."""

_SECOND = timedelta(seconds=1)


# -- order ---------------------------------------------------------------------------------------------------------
class Limit(StrEnum):
    """What a job shares its one place with, when the tier limits are on."""

    NONE = "none"
    ORGANIZATION = "organization"
    ADDRESS = "source address"


def job_priority(*, organization: int, claimed: bool, asked: int | None = None) -> int:
    """A job's priority: its organization's, nothing while that is nobody's; ``asked`` is what a server admin demands."""
    if asked is not None:
        return asked
    return organization if claimed else UNCLAIMED


def limit_of(*, organization: int, claimed: bool) -> Limit:
    """One job in flight per source address for nobody's organizations, one per organization below ``PLUS``, above it no limit."""
    priority = organization if claimed else UNCLAIMED
    if priority < FREE:
        return Limit.ADDRESS
    return Limit.ORGANIZATION if priority < PLUS else Limit.NONE


# -- time: whole seconds, strictly greater ---------------------------------------------------------------------------
def whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def elapsed(since: datetime, now: datetime) -> int:
    """Whole seconds from ``since`` to ``now``; a negative age is none."""
    return max(0, int((whole(now) - whole(since)).total_seconds()))


def is_silent(last: datetime, now: datetime, heartbeat_timeout: int) -> bool:
    """Has a runner been silent for longer than the heartbeat timeout (seconds)?"""
    return elapsed(last, now) > heartbeat_timeout


def silent_before(now: datetime, heartbeat_timeout: int) -> datetime:
    """Liveness before this moment is silence: the same rule for a query."""
    return whole(now) - timedelta(seconds=heartbeat_timeout)


def gap_before(now: datetime, heartbeat_timeout: int, interval: int) -> datetime:
    """If nobody has looked since this moment, live runners may seem silent. A shorter absence of the database makes nobody silent."""
    return now - max(timedelta(seconds=heartbeat_timeout / 2), timedelta(seconds=2 * interval + 1), 2 * SETTLING)


def is_settled(since: datetime, now: datetime) -> bool:
    """Has every process had the time to write its heartbeats since then?"""
    return now - since >= SETTLING


def due(started: datetime, timeout: int) -> datetime:
    """When a job's own ``timeout`` (seconds) is over; the grace period comes on top."""
    return whole(started) + timedelta(seconds=timeout)


def is_over(due_at: datetime | None, now: datetime, grace_period: int) -> bool:
    """Is a job over its hard limit: timeout and grace period (seconds)? Never before it has started."""
    return due_at is not None and due_at <= over_until(now, grace_period)


def over_until(now: datetime, grace_period: int) -> datetime:
    """A job that was due at this moment or before is over its hard limit: the same rule for a query."""
    return whole(now) - timedelta(seconds=grace_period) - _SECOND


def over_at(due_at: datetime, grace_period: int) -> datetime:
    """The first moment at which :func:`is_over` holds."""
    return due_at + timedelta(seconds=grace_period) + _SECOND
