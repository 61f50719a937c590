"""From frames to rows: session, dispatch and services together (protocol.md sections 1 and 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError

from jobs import notify
from jobs.actors import SYSTEM
from jobs.models import Job
from jobs.services import claim, execute, terminal
from jobs.services.cancel import cancel_job
from outputs.registry.storage import StorageError
from runners.models import Runner
from runners.protocol import messages as m
from runners.protocol import signals
from runners.protocol.errors import CloseReason
from tests.channelsim import Clock, Line, Site, without_threads
from tests.jobs_world import make_job, make_runner, make_spec

pytestmark = pytest.mark.django_db
READY, RUNNING, HEARTBEAT = m.Ready(poll_timeout=30), m.Running(), m.Heartbeat()
ACK, CANCEL, NO_JOB = m.Ack(), m.Cancel(), m.NoJob()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, clock: Clock, settings: Any) -> Iterator[Site]:
    settings.BENCHER_HEARTBEAT_TIMEOUT, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD = 5, 10
    without_threads(monkeypatch, clock)
    site = Site(clock)
    yield site
    site.close()


@pytest.fixture
def runner() -> Runner:
    return make_runner(make_spec())


def pending(runner: Runner, **values: Any) -> Job:
    return make_job(spec=runner.specs.get(), **values)


def executing(site: Site, runner: Runner, **values: Any) -> tuple[Line, Job]:
    line, job = site.connect(runner), pending(runner, **values)
    (message,) = site.say(line, READY)
    assert isinstance(message, m.Job)
    assert site.say(line, RUNNING) == [ACK]
    return line, job


def status(job: Job) -> str:
    return Job.objects.get(pk=job.pk).status


def completed(job: Job) -> m.Completed:
    return m.Completed(job=job.pk, results=[m.IterationOutput(exit_code=0)])


# -- a life --------------------------------------------------------------------------------------------------------
def test_the_ordinary_life(site: Site, runner: Runner) -> None:
    line, job = executing(site, runner)
    assert status(job) == "running"
    assert site.say(line, HEARTBEAT) == [ACK]
    assert site.say(line, READY) == [ACK]
    assert site.say(line, completed(job)) == [m.Ack(job=job.pk)]
    assert status(job) == "completed"
    assert site.say(line, HEARTBEAT) == []
    assert site.say(line, READY) == []
    assert site.say(line, signals.Deadline()) == [NO_JOB]


def test_woken_by_a_submission(site: Site, runner: Runner) -> None:
    from jobs import notify

    first, second = site.connect(runner), site.connect(make_runner(*runner.specs.all()))
    for line in (first, second):
        assert site.say(line, READY) == []
    jobs = [pending(runner) for _ in range(2)]
    for job in jobs:
        notify.pending(job.spec_id)
    site.settle()
    assert {line.executing for line in (first, second)} == {job.pk for job in jobs}


def test_a_wake_up_that_nobody_needs_is_passed_on(site: Site, runner: Runner) -> None:
    """The channel that was woken has ended its poll in the same moment: another one gets the job."""
    from jobs import notify

    first, second = site.connect(runner), site.connect(make_runner(*runner.specs.all()))
    for line in (first, second):
        site.say(line, READY)
    job = pending(runner)
    first._inbox.append(signals.Deadline())
    notify.pending(job.spec_id)
    site.settle()
    assert (first.executing, second.executing) == (None, job.pk)


def test_a_lost_wake_up_is_made_good_by_the_poll(site: Site, runner: Runner) -> None:
    """One look of the process wakes as many as there are jobs."""
    lines = [site.connect(make_runner(*runner.specs.all())) for _ in range(3)]
    for line in lines:
        site.say(line, READY)
    jobs = [pending(runner) for _ in range(2)]
    site.run(site.node._look())
    site.settle()
    assert {line.executing for line in lines} == {*(job.pk for job in jobs), None}


def test_a_spec_attached_while_polling(site: Site) -> None:
    runner, spec = make_runner(), make_spec()
    line = site.connect(runner)
    site.say(line, READY)
    runner.runner_specs.create(spec=spec, created=site.clock.now())
    job = make_job(spec=spec)
    site.run(site.node._look())
    site.settle()
    assert line.executing == job.pk


def test_an_idle_poll_costs_no_query(site: Site, runner: Runner, django_assert_num_queries: Any) -> None:
    line = site.connect(runner)
    site.say(line, READY)
    with django_assert_num_queries(0):
        site.say(line, HEARTBEAT)
        site.say(line, signals.Garbage(1008, "x"))  # type: ignore[arg-type]
        site.settle()


def test_a_poll_right_after_another_looks_only_if_there_is_news(site: Site, runner: Runner, django_assert_num_queries: Any) -> None:
    """Of a thousand runners that poll again one a moment looks; what is submitted meanwhile wakes them."""
    lines = [site.connect(make_runner(*runner.specs.all())) for _ in range(2)]
    for line in lines:
        site.say(line, READY)
        site.say(line, signals.Deadline())  # type: ignore[arg-type]
    with django_assert_num_queries(0):
        for line in lines:
            site.say(line, READY)
    job = pending(runner)
    notify.pending(job.spec_id)
    site.settle()
    assert [line.executing for line in lines] == [job.pk, None]


def test_a_poll_looks_when_a_job_was_announced(site: Site, runner: Runner) -> None:
    line = site.connect(runner)
    site.say(line, READY)
    site.say(line, signals.Deadline())  # type: ignore[arg-type]
    job = pending(runner)
    notify.pending(job.spec_id)
    site.settle()
    site.say(line, READY)
    assert line.executing == job.pk


def test_heartbeats_cost_no_query_and_one_write_a_second(site: Site, runner: Runner, django_assert_num_queries: Any) -> None:
    line, job = executing(site, runner)
    site.flush()
    site.clock.forward(20)
    with django_assert_num_queries(0):
        for _ in range(50):
            assert site.say(line, HEARTBEAT) == [ACK]
    site.flush()
    job.refresh_from_db()
    runner.refresh_from_db()
    assert (job.liveness, runner.last_heartbeat) == (site.clock.now(), site.clock.now())


# -- canceled ------------------------------------------------------------------------------------------------------
def test_cancel_is_the_reply_to_the_next_heartbeat(site: Site, runner: Runner) -> None:
    line, job = executing(site, runner)
    cancel_job(job_id=job.pk, actor=SYSTEM, now=site.clock.now())
    site.settle()
    assert line.heard[-1] == ACK
    assert site.say(line, HEARTBEAT) == [CANCEL]
    assert site.say(line, HEARTBEAT) == []
    assert site.say(line, m.Canceled(job=job.pk)) == [m.Ack(job=job.pk)]


@pytest.mark.parametrize("beats", [True, False])
def test_cancel_is_heard_although_every_notification_is_lost(
    site: Site, runner: Runner, monkeypatch: pytest.MonkeyPatch, beats: bool
) -> None:
    """... by the write of the same second, whether the runner beat in it or not."""
    line, job = executing(site, runner)
    site.flush()
    monkeypatch.setattr("jobs.notify.publish", lambda message: None)
    cancel_job(job_id=job.pk, actor=SYSTEM, now=site.clock.now())
    if beats:
        assert site.say(line, HEARTBEAT) == [ACK]
    site.flush()
    assert site.say(line, HEARTBEAT) == [CANCEL]


def test_over_the_hard_limit(site: Site, runner: Runner) -> None:
    line, job = executing(site, runner, timeout=3)
    site.clock.forward(13)
    assert site.say(line, HEARTBEAT) == [ACK]
    site.clock.forward(1)
    assert site.say(line, RUNNING) == [CANCEL]
    job.refresh_from_db()
    assert (job.status, job.failure) == ("canceled", "job_timeout_exceeded")


def test_silence(site: Site, runner: Runner) -> None:
    line, job = executing(site, runner)
    site.clock.forward(5)
    site.say(line, signals.Silence())
    assert line.closed == signals.Close(reason=CloseReason.HEARTBEAT_TIMEOUT)
    assert status(job) == "failed"


# -- leaving and coming back -----------------------------------------------------------------------------------------
def test_left_and_resumed(site: Site, runner: Runner) -> None:
    line, job = executing(site, runner)
    site.leave(line)
    site.flush()
    assert (status(job), Job.objects.get().channel) == ("running", "")
    back = site.connect(runner)
    assert site.say(back, HEARTBEAT) == [m.Ack(job=job.pk)]
    assert site.say(back, HEARTBEAT) == [ACK]
    assert site.say(back, completed(job)) == [m.Ack(job=job.pk)]


def test_a_half_dead_channel_is_superseded(site: Site, runner: Runner) -> None:
    old, job = executing(site, runner)
    new = site.connect(runner)
    assert site.say(new, HEARTBEAT) == [m.Ack(job=job.pk)]
    assert old.closed == signals.Close(reason=CloseReason.SUPERSEDED)
    site.say(old, signals.Silence())
    assert (status(job), new.executing) == ("running", job.pk)


def test_a_superseded_channel_that_missed_the_message_learns_it_by_its_beat(site: Site, runner: Runner) -> None:
    """Of another process, and the message was lost: it keeps nothing alive, and ends."""
    old, job = executing(site, runner)
    Job.objects.filter(pk=job.pk).update(channel="elsewhere")
    assert site.say(old, HEARTBEAT) == [ACK]
    before = Job.objects.get().liveness
    site.clock.forward(2)
    site.say(old, HEARTBEAT)
    site.flush()
    assert Job.objects.get().liveness == before
    site.say(old, HEARTBEAT)
    assert old.closed == signals.Close(reason=CloseReason.SUPERSEDED)
    assert status(job) == "running"


@pytest.mark.parametrize("older", ["idle", "polling"])
def test_the_newest_active_channel_wins(site: Site, runner: Runner, older: str) -> None:
    first = site.connect(runner)
    site.clock.forward(1)
    second = site.connect(runner)
    if older == "polling":
        site.say(first, READY)
    assert first.closed is None
    site.say(second, READY)
    assert first.closed == signals.Close(reason=CloseReason.SUPERSEDED)
    assert first.dispatch not in site.node.waiting
    assert second.closed is None


def test_an_older_channel_supersedes_nobody(site: Site, runner: Runner) -> None:
    first = site.connect(runner)
    site.clock.forward(1)
    second = site.connect(runner)
    site.say(first, READY)
    assert second.closed is None


def test_an_executing_channel_is_left_alone(site: Site, runner: Runner) -> None:
    first, job = executing(site, runner)
    site.clock.forward(1)
    second = site.connect(runner)
    assert site.say(second, READY) == []
    assert first.closed is None
    assert site.say(first, completed(job)) == [m.Ack(job=job.pk)]


def test_messages_of_other_processes(site: Site, runner: Runner) -> None:
    first, job = executing(site, runner)
    idle = site.connect(runner)
    for message in (
        {"kind": "canceled", "job": str(job.pk)},
        {"kind": "active", "runner": str(runner.pk), "order": [site.clock.now().timestamp() + 1, "x"]},
        {"kind": "unheard-of"},
        {"kind": "pending", "spec": "not-a-uuid"},
        {},
    ):
        site.node.receive(message)
    site.settle()
    assert idle.closed == signals.Close(reason=CloseReason.SUPERSEDED)
    assert site.say(first, HEARTBEAT) == [CANCEL]


def test_taken_over_on_another_process(site: Site, runner: Runner) -> None:
    line, job = executing(site, runner)
    site.node.receive({"kind": "taken", "channel": line.dispatch.id, "job": str(job.pk)})
    site.settle()
    assert line.closed == signals.Close(reason=CloseReason.SUPERSEDED)


def test_a_claim_that_cannot_be_delivered_is_undone(site: Site, runner: Runner) -> None:
    line, job = site.connect(runner), pending(runner)
    line.gone = True
    site.say(line, READY)
    assert status(job) == "pending"
    assert site.say(site.connect(runner), READY)[0].uuid == job.pk  # type: ignore[union-attr]


def test_shutdown_keeps_jobs(site: Site, runner: Runner) -> None:
    line, job = executing(site, runner)
    site.say(line, signals.Shutdown())
    assert line.closed is not None
    assert (line.closed.code, status(job)) == (1001, "running")


# -- our own faults --------------------------------------------------------------------------------------------------
def broken(error: Exception) -> Any:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


@pytest.mark.parametrize("fault", [StorageError("full"), OperationalError("gone"), RuntimeError("a mistake")])
def test_no_ack_without_storing(site: Site, runner: Runner, monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    line, job = executing(site, runner)
    with monkeypatch.context() as patched:
        patched.setattr(terminal, "deliver", broken(fault))
        assert site.say(line, completed(job)) == []
    assert line.executing == job.pk
    assert site.say(line, HEARTBEAT) == [ACK]
    assert site.say(line, completed(job)) == [m.Ack(job=job.pk)]


def test_a_database_that_fails_during_running_is_asked_again(site: Site, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    line, job = site.connect(runner), pending(runner)
    site.say(line, READY)
    with monkeypatch.context() as patched:
        patched.setattr(execute, "start", broken(OperationalError("gone")))
        assert site.say(line, RUNNING) == [ACK]
        assert status(job) == "claimed"
        assert site.say(line, HEARTBEAT) == [ACK]
    assert site.say(line, HEARTBEAT) == [ACK]
    assert status(job) == "running"


def test_a_database_that_fails_during_the_claim_leaves_the_poll_open(site: Site, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    line, job = site.connect(runner), pending(runner)
    with monkeypatch.context() as patched:
        patched.setattr(claim, "claim", broken(OperationalError("gone")))
        assert site.say(line, READY) == []
    site.run(site.node._look())
    site.settle()
    assert line.executing == job.pk


def test_heartbeats_of_a_failed_write_are_kept(site: Site, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    line, job = executing(site, runner)
    site.clock.forward(3)
    site.say(line, HEARTBEAT)
    with monkeypatch.context() as patched:
        patched.setattr("jobs.liveness.write", broken(OperationalError("gone")))
        site.flush()
    site.flush()
    job.refresh_from_db()
    assert job.liveness == site.clock.now()
