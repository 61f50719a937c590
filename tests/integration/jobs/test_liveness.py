"""The write of a second's heartbeats, and what it finds out; the same on both databases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs.lifecycle import IN_FLIGHT, Status
from jobs.liveness import Batch, Beat, Seen, write
from jobs.models import Job
from tests.jobs_world import NOW, make_job, make_project, make_runner, make_spec

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(seconds=7, microseconds=123456)


def held(status: str = "running", **values: Any) -> Job:
    spec = make_spec()
    return make_job(spec=spec, status=status, runner=make_runner(spec), **{"channel": "c", **values})


@pytest.mark.parametrize("status", sorted(IN_FLIGHT))
def test_liveness_is_written_and_nothing_else(status: str) -> None:
    job = held(status)
    before = Job.objects.filter(pk=job.pk).values().get()
    seen = write(Batch(beats=[Beat(job.pk, "c", LATER)]))
    assert Job.objects.filter(pk=job.pk).values().get() == {**before, "liveness": LATER}
    assert seen in ([], [Seen(job.pk, Status(status), "c")])


def test_it_never_goes_back() -> None:
    job = held(liveness=LATER)
    write(Batch(beats=[Beat(job.pk, "c", NOW)]))
    job.refresh_from_db()
    assert job.liveness == LATER


def test_a_first_beat() -> None:
    job = held(liveness=None)
    write(Batch(beats=[Beat(job.pk, "c", NOW)]))
    job.refresh_from_db()
    assert job.liveness == NOW


@pytest.mark.parametrize("status", [status for status in Status if status not in IN_FLIGHT])
@pytest.mark.parametrize("beaten", [True, False])
def test_what_is_not_in_flight_is_reported_and_left_alone(status: Status, beaten: bool) -> None:
    job = held(status)
    before = Job.objects.filter(pk=job.pk).values().get()
    batch = Batch(beats=[Beat(job.pk, "c", LATER)]) if beaten else Batch(quiet=[(job.pk, "c")])
    assert write(batch) == [Seen(job.pk, status, "c")]
    assert Job.objects.filter(pk=job.pk).values().get() == before


@pytest.mark.parametrize("beaten", [True, False])
def test_a_job_that_was_erased_is_canceled(beaten: bool) -> None:
    """With its project: its runner has to hear that it may stop."""
    job, other = held(), held()
    Job.objects.filter(pk=job.pk).delete()
    beats = [(job.pk, "c"), (other.pk, "c")]
    batch = Batch(beats=[Beat(*beat, LATER) for beat in beats]) if beaten else Batch(quiet=beats)
    assert [seen for seen in write(batch) if seen.job != other.pk] == [Seen(job.pk, Status.CANCELED, "")]


def test_only_for_the_channel_that_holds_it() -> None:
    job = held(channel="newer")
    assert write(Batch(beats=[Beat(job.pk, "c", LATER)])) == [Seen(job.pk, Status.RUNNING, "newer")]
    job.refresh_from_db()
    assert job.liveness == NOW


def test_released() -> None:
    mine, taken = held(), held(channel="newer")
    assert write(Batch(released=[(mine.pk, "c"), (taken.pk, "c")])) == []
    assert dict(Job.objects.values_list("pk", "channel")) == {mine.pk: "", taken.pk: "newer"}


def test_runners() -> None:
    job = held()
    write(Batch(beats=[Beat(job.pk, "c", LATER)], runners=[(job.runner_id, LATER)]))
    assert job.runner is not None
    job.runner.refresh_from_db()
    assert (job.runner.last_heartbeat, job.runner.modified) == (LATER, NOW)


def test_many_jobs_cost_as_many_statements_as_one(django_assert_max_num_queries: Any) -> None:
    project, spec = make_project(claimed=True), make_spec()
    runner = make_runner(spec)
    jobs = [make_job(spec=spec, project=project, status="running", runner=runner, channel="c") for _ in range(40)]
    with django_assert_max_num_queries(5):
        write(Batch(beats=[Beat(job.pk, "c", LATER) for job in jobs], runners=[(runner.pk, LATER)]))
    assert set(Job.objects.values_list("liveness", flat=True)) == {LATER}
