"""The beat goes on when the machine's clock is set."""

from __future__ import annotations

import pickle
import time
from datetime import datetime, timedelta

import pytest
import time_machine
from celery import Celery
from celery.beat import Scheduler

from bencher import rhythm
from bencher.rhythm import Beat, Every, steady

DAYS = timedelta(days=2)


class Sent(Scheduler):
    """What is due is only written down."""

    def apply_entry(self, entry: object, producer: object = None) -> None:
        self.sent.append(entry.name)  # type: ignore[attr-defined]

    producer = None

    def __init__(self, schedules: dict[str, Every]) -> None:
        self.sent: list[str] = []
        app = Celery(broker="memory://", set_as_current=False)
        super().__init__(app)
        self.update_from_dict({name: {"task": name, "schedule": schedule} for name, schedule in schedules.items()})

    def run(self, seconds: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Time passes, a second at a time; what was sent."""
        self.sent.clear()
        for _ in range(seconds):
            now = time.monotonic() + 1
            monkeypatch.setattr(rhythm.time, "monotonic", lambda now=now: now)
            while self.tick() == 0:
                pass
        return sorted(self.sent)


@pytest.mark.parametrize("jump", [-DAYS, DAYS])
def test_a_running_beat(jump: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
    beat = Sent({"sweep": Every(2.0), "canary": Every(10.0)})
    expected = ["canary"] * 2 + ["sweep"] * 10
    assert len(beat.run(21, monkeypatch)) in (11, 12, 13)
    with time_machine.travel(datetime.now().astimezone() + jump, tick=True):
        assert beat.run(20, monkeypatch) == expected


def test_a_beat_that_starts_after_the_clock_was_set_back() -> None:
    every = Every(2.0)
    assert every.is_due(steady() + DAYS) == (True, 2.0)
    assert every.is_due(steady() - timedelta(seconds=3)) == (True, 2.0)
    due, after = every.is_due(steady())
    assert not due
    assert 1.9 < after <= 2


def test_it_is_kept_on_disk() -> None:
    """Celery's beat writes its entries down; one that differs from the settings is replaced."""
    every = Every(2.0)
    assert pickle.loads(pickle.dumps(every)) == every
    assert every != Every(3.0)


def test_the_embedded_beat_wakes_when_something_is_due_and_not_before() -> None:
    beat = Beat(Celery(broker="memory://", set_as_current=False))
    beat.update_from_dict({"sweep": {"task": "sweep", "schedule": Every(2.0)}})
    beat.apply_entry = lambda entry, producer=None: None
    waits = [beat.tick()]
    while waits[-1] == 0:
        waits.append(beat.tick())
    assert 1.9 < waits[-1] <= 2.0
