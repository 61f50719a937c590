"""The database's time, kept by a monotonic clock."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from bencher.core.clock import DatabaseClock

FAR = datetime(2030, 1, 1, tzinfo=UTC)


def test_it_follows_the_measured_clock() -> None:
    clock = DatabaseClock(lambda: FAR)
    assert timedelta(0) <= clock.now() - FAR < timedelta(seconds=5)


def test_it_measures_once_a_minute() -> None:
    calls: list[int] = []

    def measure() -> datetime:
        calls.append(1)
        return FAR

    clock = DatabaseClock(measure)
    for _ in range(100):
        clock.now()
    assert len(calls) == 1


def test_it_never_goes_back() -> None:
    clock = DatabaseClock(lambda: FAR)
    seen = [clock.now() for _ in range(1000)]
    assert seen == sorted(seen)


def test_a_failure_leaves_the_machines_time() -> None:
    def fail() -> datetime:
        raise OSError

    assert abs(DatabaseClock(fail).now() - datetime.now(UTC)) < timedelta(seconds=5)


def test_a_later_failure_keeps_the_last_measurement() -> None:
    answers = [FAR]
    clock = DatabaseClock(answers.pop)
    clock.measure()
    clock.measure()
    assert abs(clock.now() - FAR) < timedelta(seconds=5)


async def test_the_event_loop_never_waits() -> None:
    """A database that does not answer costs the loop nothing; its time is taken when it comes."""
    answered = threading.Event()

    def slow() -> datetime:
        answered.wait(10)
        return FAR

    clock = DatabaseClock(slow)
    started = asyncio.get_running_loop().time()
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
    assert asyncio.get_running_loop().time() - started < 1
    answered.set()
    await asyncio.to_thread(clock._measured.wait, 5)
    assert abs(clock.now() - FAR) < timedelta(seconds=5)


@pytest.mark.parametrize("delay", [timedelta(days=-2), timedelta(days=2)])
def test_a_wrong_clock_of_this_machine_does_not_matter(monkeypatch: pytest.MonkeyPatch, delay: timedelta) -> None:
    clock = DatabaseClock(lambda: FAR)
    clock.measure()

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return FAR + delay

    monkeypatch.setattr("bencher.core.clock.datetime", Wrong)
    assert abs(clock.now() - FAR) < timedelta(seconds=5)
