"""Starting, and taking an earlier job up again (protocol.md section 3)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Job
from jobs.services.execute import Resumption, WasCanceled, resume, revive, start
from runners.models import Runner
from tests.jobs_world import NOW, history, make_job, make_runner, make_spec

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(seconds=10)
LOST = {"failure": "heartbeat_timeout"}


@pytest.fixture
def runner() -> Runner:
    return make_runner(make_spec())


def job_of(runner: Runner, status: str, **values: Any) -> Job:
    spec = runner.specs.first()
    assert spec is not None
    return make_job(spec=spec, status=status, runner=runner, **values)


def take_up(runner: Runner, *, named: UUID | None = None, running: bool = False, channel: str = "new", now: Any = LATER) -> UUID | None:
    found = resume(runner_id=runner.pk, channel=channel, named=named, running=running, now=now)
    return found.job if found else None


# -- running -------------------------------------------------------------------------------------------------------
def test_start(runner: Runner) -> None:
    job = job_of(runner, "claimed", channel="c", timeout=60)
    standing = start(job_id=job.pk, runner_id=runner.pk, channel="c", now=LATER)
    job.refresh_from_db()
    assert standing is not None
    assert (standing.status, standing.held, standing.due) == ("running", True, LATER + timedelta(seconds=60))
    assert (job.status, job.started, job.liveness, job.due) == ("running", LATER, LATER, standing.due)
    assert history(job) == [("claimed", "running")]


@pytest.mark.parametrize("status", ["running", "completed", "processed", "failed", "canceled"])
def test_start_changes_nothing_else(runner: Runner, status: str) -> None:
    job = job_of(runner, status, channel="c")
    before = Job.objects.filter(pk=job.pk).values().get()
    standing = start(job_id=job.pk, runner_id=runner.pk, channel="c", now=LATER)
    assert standing is not None
    assert standing.status == status
    assert Job.objects.filter(pk=job.pk).values().get() == before


def test_start_of_what_another_channel_executes(runner: Runner) -> None:
    job = job_of(runner, "claimed", channel="newer")
    standing = start(job_id=job.pk, runner_id=runner.pk, channel="older", now=LATER)
    assert standing is not None
    assert not standing.held
    assert standing.status == "claimed"


def test_start_of_another_runners_job(runner: Runner) -> None:
    job = job_of(runner, "claimed")
    assert start(job_id=job.pk, runner_id=make_runner().pk, channel="", now=LATER) is None


# -- what is taken up ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", ["claimed", "running"])
@pytest.mark.parametrize("running", [False, True])
def test_in_flight(runner: Runner, status: str, running: bool) -> None:
    job = job_of(runner, status)
    assert take_up(runner, running=running) == job.pk
    job.refresh_from_db()
    assert (job.channel, job.liveness) == ("new", LATER)
    assert job.status == ("running" if running else status)
    assert job.started == (NOW if status == "running" else LATER if running else None)


def test_a_half_dead_channel_is_named(runner: Runner) -> None:
    job = job_of(runner, "running", channel="old")
    assert resume(runner_id=runner.pk, channel="new", named=None, running=False, now=LATER) == Resumption(job.pk, job.due, "old")


def test_what_no_channel_executes_goes_first(runner: Runner) -> None:
    job_of(runner, "running", channel="old")
    free = job_of(runner, "running")
    assert take_up(runner) == free.pk


@pytest.mark.parametrize("channel", ["", "old"])
def test_several_are_ambiguous(runner: Runner, channel: str) -> None:
    jobs = [job_of(runner, "running", channel=channel) for _ in range(2)]
    assert take_up(runner) is None
    assert set(Job.objects.values_list("channel", flat=True)) == {channel}
    assert take_up(runner, named=jobs[1].pk) == jobs[1].pk


@pytest.mark.parametrize(("values", "resumed"), [(LOST, True), ({}, False), ({"failure": "unparsable"}, False)])
def test_failed(runner: Runner, values: dict[str, str], resumed: bool) -> None:
    """Only what failed by silence; it is running again, without its end."""
    job = job_of(runner, "failed", started=NOW, due=NOW + timedelta(seconds=60), **values)
    assert take_up(runner) == (job.pk if resumed else None)
    job.refresh_from_db()
    assert job.status == ("running" if resumed else "failed")
    if resumed:
        assert (job.completed, job.failure, job.started, job.liveness, job.channel) == (None, "", NOW, LATER, "new")
        assert history(job) == [("failed", "running")]


def test_failed_before_it_started(runner: Runner) -> None:
    job = job_of(runner, "failed", **LOST)
    assert take_up(runner) == job.pk
    job.refresh_from_db()
    assert (job.started, job.due) == (LATER, LATER + timedelta(seconds=60))


def test_failed_and_over_its_limit(runner: Runner, settings: Any) -> None:
    settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD = 1
    job_of(runner, "failed", started=NOW, due=NOW, **LOST)
    assert take_up(runner) is None


def test_only_the_newest(runner: Runner) -> None:
    old = job_of(runner, "failed", **LOST)
    job_of(runner, "processed", now=NOW + timedelta(seconds=1))
    assert take_up(runner) is None
    assert take_up(runner, named=old.pk) == old.pk


def test_canceled_meanwhile(runner: Runner) -> None:
    job = job_of(runner, "canceled")
    for named in (None, job.pk):
        with pytest.raises(WasCanceled):
            take_up(runner, named=named)
    assert history(job) == []


@pytest.mark.parametrize("status", ["claimed", "running"])
def test_over_the_limit_is_canceled(runner: Runner, settings: Any, status: str) -> None:
    settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD = 1
    job = job_of(runner, status, started=NOW, due=NOW)
    with pytest.raises(WasCanceled):
        take_up(runner)
    job.refresh_from_db()
    assert (job.status, job.failure) == ("canceled", "job_timeout_exceeded")


@pytest.mark.parametrize("status", ["pending", "completed", "processed", "failed"])
def test_nothing(runner: Runner, status: str) -> None:
    job = job_of(runner, status)
    before = Job.objects.filter(pk=job.pk).values().get()
    assert take_up(runner) is None
    assert take_up(runner, named=job.pk) is None
    assert Job.objects.filter(pk=job.pk).values().get() == before


def test_never_another_runners(runner: Runner) -> None:
    job = job_of(runner, "running")
    other = make_runner(*runner.specs.all())
    assert take_up(other) is None
    assert take_up(other, named=job.pk) is None


# -- given up while it was executed ------------------------------------------------------------------------------------
def test_revive(runner: Runner) -> None:
    job = job_of(runner, "failed", started=NOW, due=NOW + timedelta(seconds=60), **LOST)
    assert revive(job_id=job.pk, runner_id=runner.pk, channel="c", now=LATER) == job.due
    assert revive(job_id=job.pk, runner_id=runner.pk, channel="c", now=LATER) is None  # it runs already
    job.refresh_from_db()
    assert (job.status, job.failure, job.completed, job.channel, job.liveness) == ("running", "", None, "c", LATER)
    assert history(job) == [("failed", "running")]


@pytest.mark.parametrize(
    ("status", "values"),
    [
        ("failed", {}),
        ("failed", {"failure": "unparsable"}),
        ("failed", {**LOST, "due": NOW - timedelta(days=1)}),
        ("canceled", {}),
        ("completed", {}),
        ("processed", {}),
    ],
)
def test_no_revival(runner: Runner, status: str, values: dict[str, Any]) -> None:
    job = job_of(runner, status, **values)
    assert revive(job_id=job.pk, runner_id=runner.pk, channel="c", now=LATER) is None
    job.refresh_from_db()
    assert (job.status, job.channel) == (status, "")


def test_only_the_newest_job_of_a_runner_is_revived(runner: Runner) -> None:
    job = job_of(runner, "failed", **LOST)
    job_of(runner, "running", claimed=LATER)
    assert revive(job_id=job.pk, runner_id=runner.pk, channel="c", now=LATER) is None
    assert revive(job_id=job.pk, runner_id=make_runner(make_spec()).pk, channel="c", now=LATER) is None
    assert history(job) == []
