"""Hints: they never block, never raise, and what cannot be sent is forgotten."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs import notify, tasks
from jobs.notify import _Outbox

JOB = UUID(int=5)


def test_listeners_of_this_process_hear_at_once() -> None:
    heard: list[Any] = []
    stop = notify.subscribe(heard.append)
    notify.publish({"kind": "poll"})
    stop()
    notify.publish({"kind": "poll"})
    assert heard == [{"kind": "poll"}]


def test_other_processes_hear_through_the_layer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    class Layer:
        async def group_send(self, group: str, event: dict[str, Any]) -> None:
            sent.append((group, event))

    settings.REDIS_URL = "redis://x"
    monkeypatch.setattr(notify, "get_channel_layer", Layer)
    notify.publish({"kind": "poll"})
    notify.flush()
    assert sent == [("nodes", {"type": "node.message", "message": {"kind": "poll", "from": notify.PROCESS}})]


def test_a_layer_that_fails_disturbs_nobody(settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    class Layer:
        async def group_send(self, group: str, event: dict[str, Any]) -> None:
            raise ConnectionError("refused")

    settings.REDIS_URL = "redis://x"
    monkeypatch.setattr(notify, "get_channel_layer", Layer)
    with caplog.at_level(logging.WARNING):
        notify.publish({"kind": "poll"})
        notify.flush()
    assert "ConnectionError" in caplog.text


def test_tasks_leave_in_a_thread_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(
        tasks.process_job, "apply_async", lambda *args, **options: sent.append((threading.current_thread().name, args, options))
    )
    notify.process(JOB)
    notify.flush()
    assert sent == [("broker-outbox", ((str(JOB),),), {"retry": False})]


@pytest.mark.parametrize(("after", "sent"), [(timedelta(seconds=30), 1), (timedelta(minutes=15), 1), (timedelta(hours=2), 0)])
def test_only_the_near_future_is_watched(monkeypatch: pytest.MonkeyPatch, after: timedelta, sent: int) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(tasks.check_job, "apply_async", lambda *args, **options: calls.append(options["countdown"]))
    notify.watch(JOB, after)
    notify.flush()
    assert calls == [after.total_seconds()] * sent


def test_a_full_outbox_drops(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(_Outbox, "SIZE", 2)
    outbox, gate, begun, done = _Outbox("test-outbox"), threading.Event(), threading.Event(), []

    def held() -> None:
        begun.set()
        gate.wait(10)

    outbox.put(held)
    assert begun.wait(10)
    with caplog.at_level(logging.WARNING):
        for number in range(4):
            outbox.put(lambda number=number: done.append(number))
    gate.set()
    outbox.flush()
    assert done == [0, 1]
    assert caplog.text.count("one is dropped") == 2


def test_what_fails_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    outbox, done = _Outbox("test-outbox"), []

    def broken() -> None:
        raise OSError("no broker")

    with caplog.at_level(logging.WARNING):
        outbox.put(broken)
        outbox.put(lambda: done.append(1))
        outbox.flush()
    assert done == [1]
    assert "no broker" in caplog.text
