"""The ledger of heartbeats in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs.lifecycle import Status
from jobs.liveness import RUNNER_EVERY, Batch, Beat, Ledger, Seen
from runners.protocol.signals import Verdict

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JOB, RUNNER = UUID(int=1), UUID(int=9)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.fixture
def ledger(settings: Any) -> Ledger:
    settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD = 10
    ledger = Ledger()
    ledger.hold(JOB, runner=RUNNER, channel="c", due=after(60), now=NOW)
    return ledger


def beat(ledger: Ledger, seconds: float = 1, channel: str = "c") -> Verdict:
    return ledger.beat(JOB, channel=channel, now=after(seconds))


def flushed(ledger: Ledger, seconds: float = 1) -> Batch:
    (batch,) = ledger.take(500, after(seconds))
    return batch


def test_many_beats_are_one_write(ledger: Ledger) -> None:
    assert [beat(ledger, at) for at in (0.1, 0.5, 0.9)] == [Verdict.ALIVE] * 3
    assert flushed(ledger) == Batch([Beat(JOB, "c", after(0.9))], [], [(RUNNER, after(0.9))], [])


def test_without_a_beat_it_is_only_looked_at(ledger: Ledger) -> None:
    flushed(ledger)
    assert flushed(ledger, 2) == Batch([], [(JOB, "c")], [], [])


def test_the_runners_own_column_is_written_seldom(ledger: Ledger) -> None:
    written = []
    for second in range(1, 31):
        beat(ledger, second)
        written += [second] if flushed(ledger, second).runners else []
    assert written == [1, 11, 21]
    assert timedelta(seconds=10) == RUNNER_EVERY


def test_over_the_limit(ledger: Ledger) -> None:
    assert beat(ledger, 70) is Verdict.ALIVE
    assert beat(ledger, 71) is Verdict.OVER
    ledger.started(JOB, channel="c", due=after(100))
    assert beat(ledger, 71) is Verdict.ALIVE


@pytest.mark.parametrize(
    ("status", "channel", "verdict"),
    [
        (Status.CANCELED, "c", Verdict.CANCELED),
        (Status.PROCESSED, "", Verdict.ENDED),
        (Status.PENDING, "", Verdict.ENDED),
        (Status.RUNNING, "d", Verdict.TAKEN),
        (Status.RUNNING, "c", Verdict.ALIVE),
        (Status.CLAIMED, "", Verdict.ALIVE),
    ],
)
def test_what_a_write_finds_out(ledger: Ledger, status: Status, channel: str, verdict: Verdict) -> None:
    batch = flushed(ledger)
    ledger.learn(batch, [Seen(JOB, status, channel)])
    assert beat(ledger) is verdict


def test_failed_although_it_beats(ledger: Ledger) -> None:
    """Perhaps nobody could see the beats: whoever asked finds out. Without a beat nothing is decided yet."""
    failed = [Seen(JOB, Status.FAILED, "")]
    assert [held.job for held in ledger.learn(flushed(ledger), failed)] == [JOB]
    assert ledger.learn(flushed(ledger, 2), failed) == []
    assert beat(ledger, 3) is Verdict.ALIVE
    assert [held.job for held in ledger.learn(flushed(ledger, 3), failed)] == [JOB]
    ledger.hold(JOB, runner=RUNNER, channel="d", due=None, now=after(4))
    assert ledger.learn(Batch([Beat(JOB, "c", after(3))]), failed) == []


def test_news_about_the_channel_before_are_none(ledger: Ledger) -> None:
    """The write was under way when another channel took the job up again."""
    batch = flushed(ledger)
    ledger.hold(JOB, runner=RUNNER, channel="d", due=None, now=after(1))
    ledger.learn(batch, [Seen(JOB, Status.FAILED, "")])
    assert beat(ledger, channel="d") is Verdict.ALIVE
    assert beat(ledger, channel="c") is Verdict.TAKEN


def test_what_has_ended_is_written_no_more(ledger: Ledger) -> None:
    ledger.judge(JOB, Verdict.CANCELED)
    assert beat(ledger) is Verdict.CANCELED
    assert ledger.take(500, NOW) == []


def test_dropped_and_released(ledger: Ledger) -> None:
    ledger.drop(JOB, channel="other")
    assert ledger
    ledger.release(JOB, channel="c")
    assert beat(ledger) is Verdict.TAKEN
    assert flushed(ledger) == Batch([], [], [], [(JOB, "c")])
    assert not ledger
    ledger.hold(JOB, runner=RUNNER, channel="c", due=None, now=NOW)
    ledger.drop(JOB, channel="c")
    assert not ledger


def test_a_failed_write_is_tried_again(ledger: Ledger) -> None:
    beat(ledger, 1)
    ledger.hold(UUID(int=2), runner=RUNNER, channel="d", due=None, now=NOW)
    ledger.release(UUID(int=2), channel="d")
    batch = flushed(ledger)
    ledger.give_back(batch)
    again = flushed(ledger)
    assert (again.beats, again.released) == (batch.beats, batch.released)
    batch = again
    beat(ledger, 2)
    ledger.give_back(batch)
    assert flushed(ledger, 2).beats == [Beat(JOB, "c", after(2))]


def test_slices(ledger: Ledger) -> None:
    for number in range(10, 1009):
        ledger.hold(UUID(int=number), runner=RUNNER, channel="c", due=None, now=NOW)
    batches = ledger.take(400, NOW)
    assert [len(batch.beats) for batch in batches] == [400, 400, 200]


def test_news_of_jobs_that_are_not_held_here(ledger: Ledger) -> None:
    ledger.judge(UUID(int=7), Verdict.CANCELED)
    ledger.started(UUID(int=7), channel="c", due=NOW)
    ledger.learn(Batch(), [Seen(UUID(int=7), Status.FAILED, "")])
    assert set(ledger.held) == {JOB}


def test_idle_runners_greet() -> None:
    ledger = Ledger()
    assert not ledger
    ledger.greet(RUNNER, now=NOW)
    ledger.greet(RUNNER, now=after(1))
    assert ledger
    batch = flushed(ledger)
    assert batch == Batch([], [], [(RUNNER, after(1))], [])
    assert batch
    assert not ledger
    ledger.give_back(batch)
    assert flushed(ledger, 2) == batch
