"""Rate limits by setting (rest.md 1.7). Unset, they cost nothing.

``BENCHER_RATE_LIMITS`` is ``reference`` (the table of rest.md 1.7), or entries separated by ``;``: ``WHO.WHAT=COUNT/PERIOD,COUNT/PERIOD``, with PERIOD
``minute``, ``hour`` or ``day``. What counts is kept in Redis when there is one (one round trip a check), else in this process. A Redis that is away
limits nobody.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from django.conf import settings

from bencher.core.errors import TooMany

logger = logging.getLogger("bencher.api")
PERIODS = {"minute": 60, "hour": 3600, "day": 86400}
WHO = ("anonymous", "user", "project", "runner", "unclaimed", "claimed")
WHAT = ("requests", "attempts", "runs", "credentials", "organizations", "invites", "creations")
REFERENCE = (
    "anonymous.requests=1024/minute,4096/hour,8192/day; anonymous.attempts=32/minute,64/hour,128/day; anonymous.runs=64/minute,128/hour,256/day;"
    "user.requests=2048/minute,8192/hour,16384/day; user.attempts=2/minute,4/hour,8/day; user.credentials=4/minute,8/hour,16/day;"
    "user.organizations=2/minute,4/hour,8/day; user.invites=8/minute,16/hour,32/day; user.runs=64/minute,1024/hour,4096/day;"
    "project.requests=2048/minute,8192/hour,16384/day; project.runs=64/minute,1024/hour,4096/day; runner.requests=16/minute,256/hour,4096/day;"
    "unclaimed.creations=255/day; claimed.creations=65535/day"
)
Limit = tuple[int, int]
"""(count, seconds)."""


class BadLimits(ValueError):
    """The setting is malformed; the text says where."""


def parse(text: str) -> dict[str, tuple[Limit, ...]]:
    """``{"user.runs": ((64, 60), (1024, 3600))}``; raises BadLimits."""
    if text.strip() == "reference":
        text = REFERENCE
    limits: dict[str, tuple[Limit, ...]] = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        name, _, values = (part.strip() for part in entry.partition("="))
        who, _, what = name.partition(".")
        if who not in WHO or what not in WHAT:
            raise BadLimits(f"{name!r}: expected one of {', '.join(WHO)}, a dot, and one of {', '.join(WHAT)}")
        limits[name] = tuple(_limit(name, value) for value in values.split(","))
    return limits


def _limit(name: str, value: str) -> Limit:
    count, _, period = (part.strip() for part in value.partition("/"))
    if not (count.isascii() and count.isdigit() and int(count) > 0) or period not in PERIODS:
        raise BadLimits(f"{name}: {value.strip()!r} is not COUNT/PERIOD with a period of {', '.join(PERIODS)}")
    return int(count), PERIODS[period]


class Counters(Protocol):
    def add(self, windows: Sequence[tuple[str, int]], number: int = 1) -> list[int]:
        """Count ``number`` more in each window ``(name, seconds it may live)``; the counts so far, these included."""


class MemoryCounters:
    """Counts of this process. Windows that are over are thrown away when there are many."""

    MANY = 100_000

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, windows: Sequence[tuple[str, int]], number: int = 1) -> list[int]:
        with self._lock:
            if len(self._counts) > self.MANY:
                self._counts = {name: self._counts[name] for name, _ in windows if name in self._counts}
            for name, _ in windows:
                self._counts[name] = self._counts.get(name, 0) + number
            return [self._counts[name] for name, _ in windows]


class RedisCounters:
    """Counts that all processes share."""

    def __init__(self, url: str, prefix: str) -> None:
        import redis

        self._redis = redis.Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5)
        self._errors = (redis.RedisError, OSError)
        self._prefix = prefix

    def add(self, windows: Sequence[tuple[str, int]], number: int = 1) -> list[int]:
        try:
            with self._redis.pipeline(transaction=False) as pipe:
                for name, seconds in windows:
                    key = f"{self._prefix}.rate.{name}"
                    pipe.incrby(key, number)
                    pipe.expire(key, seconds)
                return [int(count) for count in pipe.execute()[::2]]
        except self._errors as fault:
            logger.warning("rate limits are not enforced: Redis: %s", type(fault).__name__)
            return [0] * len(windows)


@functools.cache
def _counters(url: str, prefix: str) -> Counters:
    return RedisCounters(url, prefix) if url else MemoryCounters()


@functools.cache
def _limits(text: str) -> Mapping[str, tuple[Limit, ...]]:
    return parse(text)


def limited(who: str, what: str) -> bool:
    """Is there a limit of that? For callers whose key costs something to find out."""
    return bool(settings.BENCHER_RATE_LIMITS) and f"{who}.{what}" in _limits(settings.BENCHER_RATE_LIMITS)


def count(who: str, what: str, key: Any, *, now: datetime, number: int = 1) -> None:
    """Count one ``what`` of ``who`` (``key`` tells callers apart); raises TooMany, with the seconds to wait, beyond a limit.

    Of ``number`` at once all or none are let through, and those that are not do not count.
    """
    if not settings.BENCHER_RATE_LIMITS:
        return
    limits = _limits(settings.BENCHER_RATE_LIMITS).get(f"{who}.{what}")
    if not limits:
        return
    second = int(now.timestamp())
    windows = [(f"{who}.{what}.{seconds}.{second // seconds}.{key}", seconds) for _, seconds in limits]
    counters = _counters(settings.REDIS_URL, settings.BENCHER_REDIS_PREFIX)
    counts = counters.add(windows, number)
    waits = [seconds - second % seconds for (most, seconds), found in zip(limits, counts, strict=True) if found > most]
    if waits:
        if number > 1:
            counters.add(windows, -number)
        raise TooMany(f"too many {what}: wait {max(waits)} seconds", retry_after=max(waits))
