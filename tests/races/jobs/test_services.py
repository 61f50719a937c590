"""Services that race, on real connections. SQLite serialises its writers, PostgreSQL locks rows: both must come to the same."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections

from jobs.actors import SYSTEM
from jobs.lifecycle import RULES, Action, Status
from jobs.liveness import Batch, Beat, write
from jobs.models import Job
from jobs.services.cancel import cancel_job
from jobs.services.claim import claim, undo
from jobs.services.execute import WasCanceled, resume, start
from jobs.services.reap import expire, sweep
from jobs.services.terminal import deliver
from runners.protocol.messages import Canceled, Completed, Failed, IterationOutput
from tests.jobs_world import NOW, make_job, make_project, make_runner, make_spec

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def _real_database() -> None:
    if connection.vendor == "sqlite":
        pytest.skip(
            "SQLite's test database is shared memory, which knows no waiting; its races are run against files by the acceptance tests"
        )


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Every work in a thread and on a connection of its own, started together; results, or the exceptions."""
    barrier, results = threading.Barrier(len(works)), [None] * len(works)

    def run(number: int) -> None:
        try:
            barrier.wait(30)
            results[number] = works[number]()
        except Exception as fault:
            results[number] = fault  # type: ignore[call-overload]
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def assert_sound(job_id: UUID) -> Job:
    """The history is an unbroken chain of legal transitions that ends at the row's status."""
    job = Job.objects.get(pk=job_id)
    now = Status.PENDING.value
    for event in job.events.order_by("id"):
        assert event.source == now
        assert now in RULES[Action(event.action)].sources
        now = event.target
    assert job.status == now
    return job


def claimed(runner: Any, channel: str) -> UUID | None:
    message = claim(runner_id=runner.pk, channel=channel, now=NOW).message
    return message.uuid if message else None


def test_n_runners_n_jobs_n_starts() -> None:
    """Sixteen runners, sixteen jobs, all at once: no job twice, no runner empty."""
    spec, project = make_spec(), make_project(claimed=True)
    runners = [make_runner(spec) for _ in range(16)]
    jobs = [make_job(spec=spec, project=project) for _ in range(16)]
    found = at_once(*((lambda runner=runner: claimed(runner, "c")) for runner in runners))
    assert sorted(map(str, found)) == sorted(str(job.pk) for job in jobs)


def test_more_runners_than_jobs() -> None:
    spec = make_spec()
    runners = [make_runner(spec) for _ in range(12)]
    jobs = [make_job(spec=spec) for _ in range(5)]
    found = [pk for pk in at_once(*((lambda runner=runner: claimed(runner, "c")) for runner in runners)) if pk]
    assert sorted(found) == sorted(job.pk for job in jobs)


def test_one_runner_on_many_channels() -> None:
    spec = make_spec()
    runner, job = make_runner(spec), make_job(spec=spec)
    found = at_once(*((lambda number=number: claimed(runner, f"c{number}")) for number in range(8)))
    assert [pk for pk in found if pk] == [job.pk]


@pytest.mark.parametrize("setting", ["tier", "project"])
def test_limits_hold_under_a_race(settings: Any, setting: str) -> None:
    """Of two jobs that share one place, one starts, whoever asks how often."""
    settings.BENCHER_TIER_LIMITS, settings.BENCHER_PROJECT_CONCURRENCY = setting == "tier", int(setting == "project")
    for _ in range(5):
        spec, project = make_spec(), make_project(claimed=True)
        runners = [make_runner(spec) for _ in range(6)]
        for _ in range(3):
            make_job(spec=spec, project=project)
        found = at_once(*((lambda runner=runner: claimed(runner, "c")) for runner in runners))
        assert sum(isinstance(pk, UUID) for pk in found) == 1, found


def terminal(job: Job, runner: Any, kind: str, text: str) -> Callable[[], None]:
    results = [IterationOutput(exit_code=0, stdout=text)]
    message: Any = {
        "completed": lambda: Completed(job=job.pk, results=results),
        "failed": lambda: Failed(job=job.pk, results=results, error=text),
        "canceled": lambda: Canceled(job=job.pk),
    }[kind]()
    return lambda: deliver(message=message, runner_id=runner.pk, now=NOW)


@pytest.mark.parametrize("status", ["claimed", "running", "failed"])
def test_terminal_messages_race(status: str) -> None:
    """Two ``completed`` with different outputs, ``failed`` and ``canceled`` together: one legal history, one output that is there."""
    for _ in range(6):
        spec = make_spec()
        runner = make_runner(spec)
        job = make_job(spec=spec)
        assert claimed(runner, "c") == job.pk
        if status != "claimed":
            start(job_id=job.pk, runner_id=runner.pk, channel="c", now=NOW)
        if status == "failed":
            expire(job_id=job.pk, runner_id=runner.pk, channel="c", now=NOW)
        works = [
            terminal(job, runner, kind, f"{kind}-{number}") for number, kind in enumerate(["completed", "completed", "failed", "canceled"])
        ]
        assert at_once(*works) == [None] * 4
        after = assert_sound(job.pk)
        if after.status == "completed":
            assert after.output


def test_cancel_races_with_everything() -> None:
    """A committed ``canceled`` is never overwritten, whatever else happens in the same moment."""
    for _ in range(8):
        spec = make_spec()
        runner, job = make_runner(spec), make_job(spec=spec)
        claimed(runner, "c")

        def cancel(job: Job = job) -> Any:
            return cancel_job(job_id=job.pk, actor=SYSTEM, now=NOW)

        works = [
            cancel,
            lambda job=job, runner=runner: start(job_id=job.pk, runner_id=runner.pk, channel="c", now=NOW),
            terminal(job, runner, "completed", "late"),
            lambda job=job, runner=runner: undo(job_id=job.pk, runner_id=runner.pk, channel="c", now=NOW),
            lambda: sweep(now=NOW + timedelta(days=1), process=lambda pk: None),
        ]
        outcomes = at_once(*works)
        after = assert_sound(job.pk)
        if not isinstance(outcomes[0], Exception):
            assert after.status == "canceled"
        assert not [outcome for outcome in outcomes[1:] if isinstance(outcome, Exception)]


def test_two_channels_resume_one_job() -> None:
    """Both are told they have it; the row names one, and only that one keeps it alive."""
    spec = make_spec()
    runner, job = make_runner(spec), make_job(spec=spec)
    claimed(runner, "old")

    def take(channel: str) -> Any:
        return resume(runner_id=runner.pk, channel=channel, named=job.pk, running=True, now=NOW)

    outcomes = at_once(*((lambda number=number: take(f"c{number}")) for number in range(4)))
    assert {outcome.job for outcome in outcomes} == {job.pk}
    holder = assert_sound(job.pk).channel
    later = NOW + timedelta(seconds=9)
    seen = write(Batch(beats=[Beat(job.pk, channel, later) for channel in ("c0", "c1", "c2", "c3") if channel != holder]))
    assert Job.objects.get(pk=job.pk).liveness == NOW
    assert {row.channel for row in seen} == {holder}
    assert write(Batch(beats=[Beat(job.pk, holder, later)])) == []
    assert Job.objects.get(pk=job.pk).liveness == later


def test_resume_races_with_cancel_and_reaper() -> None:
    for _ in range(6):
        spec = make_spec()
        runner, job = make_runner(spec), make_job(spec=spec)
        claimed(runner, "old")
        outcomes = at_once(
            lambda job=job, runner=runner: resume(runner_id=runner.pk, channel="new", named=None, running=True, now=NOW),
            lambda job=job: cancel_job(job_id=job.pk, actor=SYSTEM, now=NOW),
            lambda: sweep(now=NOW + timedelta(seconds=400), process=lambda pk: None),
        )
        after = assert_sound(job.pk)
        if not isinstance(outcomes[1], Exception):
            assert after.status == "canceled"
        assert outcomes[0] is None or isinstance(outcomes[0], WasCanceled) or outcomes[0].job == job.pk


def test_heartbeats_race_with_transitions() -> None:
    """Many processes write overlapping heartbeats while jobs end: no deadlock reaches anybody, no ended job is touched."""
    spec, project = make_spec(), make_project(claimed=True)
    runner = make_runner(spec)
    jobs = [make_job(spec=spec, project=project) for _ in range(20)]
    for _ in jobs:
        claimed(runner, "c")
    later = NOW + timedelta(seconds=5)
    orders = [jobs, jobs[::-1], jobs[::2] + jobs[1::2]]
    works: list[Callable[[], Any]] = [
        (lambda order=order: [write(Batch(beats=[Beat(job.pk, "c", later) for job in order])) for _ in range(5)]) for order in orders
    ]
    works += [(lambda part=part: [terminal(job, runner, "failed", "x")() for job in part]) for part in (jobs[:10], jobs[10:])]
    outcomes = at_once(*works)
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)], outcomes
    assert Counter(Job.objects.values_list("status", flat=True)) == {"failed": 20}
    for job in jobs:
        assert_sound(job.pk)


def deadlocks() -> int:
    """Of this database, since its statistics began."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot(), deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[1])


def test_overlapping_heartbeats_wait_for_one_another_and_not_in_a_circle() -> None:
    """A deadlock costs a second until the database sees it, for every channel of the process."""
    spec, project, runner = make_spec(), make_project(claimed=True), make_runner()
    jobs = [make_job(spec=spec, project=project, status="running", runner=runner, channel="c") for _ in range(20)]
    before = deadlocks()

    def beat(order: list[Job], start: int) -> None:
        for second in range(start, 60, 4):
            at = NOW + timedelta(seconds=second)
            write(Batch(beats=[Beat(job.pk, "c", at) for job in order], runners=[(runner.pk, at)]))

    orders = [jobs, jobs[::-1], jobs[::2] + jobs[1::2], jobs[10:] + jobs[:10]]
    outcomes = at_once(*[lambda order=order, start=start: beat(order, start) for start, order in enumerate(orders)])
    assert outcomes == [None] * 4
    assert deadlocks() == before
    assert {job.liveness for job in Job.objects.all()} == {NOW + timedelta(seconds=59)}


def test_two_sweepers() -> None:
    spec = make_spec()
    runner = make_runner(spec)
    jobs = [make_job(spec=spec) for _ in range(10)]
    for _ in jobs:
        claimed(runner, "c")
    late = NOW + timedelta(days=1)
    done = at_once(*[lambda: sweep(now=late, process=lambda pk: None)] * 4)
    assert not [one for one in done if isinstance(one, Exception)], done
    for job in jobs:
        assert assert_sound(job.pk).status == "failed"
        assert job.events.count() == 2
