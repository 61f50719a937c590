"""The beat's intervals: kept by the monotonic clock, so that nothing stands still when a machine's clock is set back (recovery.md section 5)."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from celery.beat import Scheduler
from celery.schedules import schedstate, schedule

_BEGAN, _MONOTONIC = datetime.now(UTC), time.monotonic()


def steady() -> datetime:
    """The time at this process's start and what has passed since. Only good for intervals."""
    return _BEGAN + timedelta(seconds=time.monotonic() - _MONOTONIC)


class Every(schedule):  # type: ignore[misc]
    """Due every so many seconds. Celery's own asks the machine's clock, and waits for two days when that was set back by two days."""

    def __init__(self, run_every: float | timedelta, relative: bool = False, nowfun: object = None, app: object = None) -> None:
        super().__init__(run_every, relative=relative, nowfun=steady, app=app)

    def is_due(self, last_run_at: datetime) -> schedstate:
        """A last run that lies ahead was written before the clock was set back and the beat started anew: it says nothing."""
        if self.maybe_make_aware(last_run_at) > self.now():
            return schedstate(is_due=True, next=self.seconds)
        return super().is_due(last_run_at)


class Beat(Scheduler):  # type: ignore[misc]
    """The embedded server's beat. Celery's wakes a moment before something is due, and then once or twice more until it is."""

    def adjust(self, n: float | None, drift: float = 0.0) -> float | None:
        """Seconds to wait: all of them."""
        return n
