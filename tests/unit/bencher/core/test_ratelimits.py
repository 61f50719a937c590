"""BENCHER_RATE_LIMITS: its grammar, and windows that fill and pass."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bencher.core import ratelimits
from bencher.core.errors import TooMany
from bencher.core.ratelimits import WHAT, WHO, BadLimits, MemoryCounters, RedisCounters, count, limited, parse

NOW = datetime(2026, 1, 1, 12, 0, 15, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _own_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = MemoryCounters()
    monkeypatch.setattr(ratelimits, "_counters", lambda url, prefix: counters)


def test_grammar() -> None:
    assert parse("user.runs=64/minute, 1024/hour ; anonymous.requests=1/day;") == {
        "user.runs": ((64, 60), (1024, 3600)),
        "anonymous.requests": ((1, 86400),),
    }
    assert parse("") == {}


def test_reference_table() -> None:
    limits = parse("reference")
    assert (limits["unclaimed.creations"], limits["claimed.creations"]) == (((255, 86400),), ((65535, 86400),))
    assert limits["anonymous.requests"] == ((1024, 60), (4096, 3600), (8192, 86400))
    assert {name.split(".")[0] for name in limits} == set(WHO)
    assert {name.split(".")[1] for name in limits} == set(WHAT)


@pytest.mark.parametrize(
    "text",
    [
        "runs=1/minute",
        "user.flights=1/minute",
        "robot.runs=1/minute",
        "user.runs",
        "user.runs=0/minute",
        "user.runs=x/minute",
        "user.runs=1/week",
        "user.runs=-1/hour",
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(BadLimits):
        parse(text)


def test_window_fills_and_passes(settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "user.runs=2/minute"
    count("user", "runs", "me", now=NOW)
    count("user", "runs", "me", now=NOW)
    count("user", "runs", "you", now=NOW)
    count("user", "requests", "me", now=NOW)
    with pytest.raises(TooMany) as refused:
        count("user", "runs", "me", now=NOW)
    assert refused.value.headers == {"Retry-After": "45"}
    count("user", "runs", "me", now=NOW + timedelta(seconds=45))


def test_longest_wait_counts(settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "user.runs=1/minute,1/hour"
    count("user", "runs", "me", now=NOW)
    with pytest.raises(TooMany, match="3585 seconds"):
        count("user", "runs", "me", now=NOW)


def test_of_many_at_once_all_or_none_count(settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "claimed.creations=5/day"
    count("claimed", "creations", "x", now=NOW, number=3)
    with pytest.raises(TooMany):
        count("claimed", "creations", "x", now=NOW, number=3)
    count("claimed", "creations", "x", now=NOW, number=2)
    with pytest.raises(TooMany):
        count("claimed", "creations", "x", now=NOW)


def test_limited(settings: Any) -> None:
    assert not limited("claimed", "creations")
    settings.BENCHER_RATE_LIMITS = "claimed.creations=5/day"
    assert limited("claimed", "creations")
    assert not limited("unclaimed", "creations")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryCounters, "MANY", 10)
    counters = MemoryCounters()
    for number in range(100):
        counters.add([(f"window {number}", 60)])
    assert len(counters._counts) <= 12


def test_absent_redis_limits_nobody(caplog: pytest.LogCaptureFixture) -> None:
    counters = RedisCounters("redis://127.0.0.1:1/0", "tests")
    assert counters.add([("a", 60), ("b", 60)]) == [0, 0]
    assert "not enforced" in caplog.text
