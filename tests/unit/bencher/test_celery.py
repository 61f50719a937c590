"""Messages are hints: publishing never fails; what the beat names exists."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from typing import Any

import pytest
from celery import Task, shared_task
from django.conf import settings
from kombu.exceptions import OperationalError

from bencher.celery import PAUSE, Hint, app
from jobs.services.reap import Sweep


@shared_task(name="tests.nothing")
def nothing() -> None:
    """Does nothing."""


@pytest.fixture
def publishing(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What happens when a task is published, one entry a call: an exception, or None for success."""
    outcomes: list[Any] = []

    def apply_async(self: Task, *args: Any, **options: Any) -> str:
        if outcome := outcomes.pop(0):
            raise outcome
        return "published"

    monkeypatch.setattr(Task, "apply_async", apply_async)
    monkeypatch.setattr(Hint, "_silent_until", 0.0)
    return outcomes


@pytest.mark.parametrize("error", [OperationalError("refused"), ConnectionRefusedError(), TimeoutError()])
def test_a_lost_broker_fails_nobody(publishing: list[Any], error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    publishing[:] = [error]
    with caplog.at_level(logging.WARNING):
        assert nothing.delay() is None
    assert "tests.nothing is left to the sweep" in caplog.text


def test_a_lost_broker_is_left_alone_for_a_moment(publishing: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Or every request would wait for the same time-out."""
    clock = [100.0]
    monkeypatch.setattr("bencher.celery.time.monotonic", lambda: clock[0])
    publishing[:] = [OperationalError(), None]
    assert nothing.delay() is None
    clock[0] += PAUSE / 2
    assert nothing.delay() is None
    assert publishing == [None]
    clock[0] += PAUSE
    assert nothing.delay() == "published"


def test_other_faults_are_not_hidden(publishing: list[Any]) -> None:
    publishing[:] = [TypeError("not serializable")]
    with pytest.raises(TypeError):
        nothing.delay()


def test_the_beat_names_tasks_that_exist() -> None:
    app.loader.import_default_modules()
    entries = app.conf.beat_schedule
    assert {entry["task"] for entry in entries.values()} <= set(app.tasks)
    assert entries["sweep"]["schedule"].seconds == settings.BENCHER_SWEEP_INTERVAL
    assert not any("expires" in entry.get("options", {}) for entry in entries.values())  # it would compare two machines' clocks
    assert not any(app.tasks[entry["task"]].expires for entry in entries.values())


def test_what_the_beat_sent_while_no_worker_was_there_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    app.loader.import_default_modules()
    clock, done = [1000.0], list[float]()
    monkeypatch.setattr("bencher.celery.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(Hint, "_begun", {})
    monkeypatch.setattr("jobs.recovery.patrol", lambda *, now: done.append(clock[0]) or Sweep())
    monkeypatch.setattr("jobs.tasks._alone", lambda: nullcontext(True))
    interval = settings.BENCHER_SWEEP_INTERVAL
    for passed in (0, 0, 0, interval / 4, interval, interval, 0):
        clock[0] += passed
        app.tasks["jobs.sweep"].apply(throw=True)
    assert done == [1000.0, 1000 + 1.25 * interval, 1000 + 2.25 * interval]
    for _ in range(2):
        assert nothing.apply().successful()  # not one of the beat's


def test_every_task_may_run_twice_and_none_is_lost_with_its_worker() -> None:
    app.loader.import_default_modules()
    ours = [task for name, task in app.tasks.items() if not name.startswith("celery.")]
    assert ours
    assert all(task.acks_late and task.reject_on_worker_lost for task in ours), [task.name for task in ours if not task.acks_late]
