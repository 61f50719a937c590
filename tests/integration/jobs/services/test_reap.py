"""Silence and hard limits, one job and all of them (protocol.md section 5, recovery.md section 2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bencher.projects.models import Project
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.services import reap
from jobs.services.reap import check, expire, overrun, sweep
from tests.jobs_world import NOW, history, make_job, make_project, make_runner, make_spec

pytestmark = pytest.mark.django_db
HT, GP = 5, 10


def after(seconds: float) -> Any:
    return NOW + timedelta(seconds=seconds)


@pytest.fixture(autouse=True)
def _times(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.BENCHER_HEARTBEAT_TIMEOUT, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD = HT, GP


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr("jobs.notify.process", found.append)
    return found


def held(status: str, **values: Any) -> Job:
    spec = make_spec()
    return make_job(spec=spec, status=status, runner=make_runner(spec), **{"channel": "c", **values})


# -- the read timer --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", ["claimed", "running"])
def test_expire(status: str) -> None:
    job = held(status)
    assert expire(job_id=job.pk, runner_id=job.runner_id, channel="c", now=after(HT)) == "heartbeat_timeout"
    job.refresh_from_db()
    assert (job.status, job.failure, job.completed, job.liveness) == ("failed", "heartbeat_timeout", after(HT), NOW)


def test_expire_over_the_limit() -> None:
    job = held("running", timeout=1)
    assert expire(job_id=job.pk, runner_id=job.runner_id, channel="c", now=after(1 + GP + 1)) == "job_timeout_exceeded"
    job.refresh_from_db()
    assert (job.status, job.failure) == ("canceled", "job_timeout_exceeded")


@pytest.mark.parametrize(
    ("status", "failure", "reason"),
    [
        ("canceled", "job_timeout_exceeded", "job_timeout_exceeded"),
        ("canceled", "", "heartbeat_timeout"),
        ("failed", "heartbeat_timeout", "heartbeat_timeout"),
        ("processed", "", "heartbeat_timeout"),
    ],
)
def test_expire_of_what_has_ended(status: str, failure: str, reason: str) -> None:
    job = held(status, failure=failure)
    assert expire(job_id=job.pk, runner_id=job.runner_id, channel="c", now=after(100)) == reason
    job.refresh_from_db()
    assert (job.status, history(job)) == (status, [])


def test_expire_of_what_another_channel_executes() -> None:
    """The silent channel was superseded: the job is none of its business."""
    job = held("running", channel="newer")
    assert expire(job_id=job.pk, runner_id=job.runner_id, channel="c", now=after(100)) == "heartbeat_timeout"
    job.refresh_from_db()
    assert job.status == "running"


# -- one job by its row --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", ["claimed", "running"])
@pytest.mark.parametrize(("seconds", "failed"), [(HT, False), (HT + 1, False), (HT + 2, True)])
def test_check_allows_for_the_coalesced_write(status: str, seconds: int, failed: bool) -> None:
    job = held(status, timeout=1000)
    assert (check(job_id=job.pk, now=after(seconds)) == "failed") is failed


@pytest.mark.parametrize(("values", "last"), [({"liveness": None}, "claimed"), ({"liveness": None, "claimed": None}, "created")])
def test_check_without_liveness(values: dict[str, None], last: str) -> None:
    job = held("claimed", **values)
    assert check(job_id=job.pk, now=after(HT + 1)) == "claimed"
    assert check(job_id=job.pk, now=after(HT + 2)) == "failed"


@pytest.mark.parametrize("status", ["pending", "completed", "processed", "failed", "canceled"])
def test_check_leaves_others_alone(status: str) -> None:
    job = held(status)
    assert check(job_id=job.pk, now=after(10_000)) == status
    assert history(job) == []


@pytest.mark.parametrize(("seconds", "status"), [(1 + GP, "running"), (1 + GP + 1, "canceled")])
def test_overrun_also_of_the_living(seconds: int, status: str) -> None:
    job = held("running", timeout=1, liveness=after(seconds))
    assert overrun(job_id=job.pk, now=after(seconds)) == status


def test_twice_is_once() -> None:
    job = held("running")
    for _ in range(2):
        check(job_id=job.pk, now=after(100))
    assert history(job) == [("running", "canceled")]


# -- all of them ---------------------------------------------------------------------------------------------------
def everything() -> dict[str, Job]:
    return {
        "silent claimed": held("claimed", liveness=after(-HT - 2)),
        "live claimed": held("claimed"),
        "silent running": held("running", timeout=1000, liveness=after(-HT - 2)),
        "live running": held("running", timeout=1000),
        "over, live": held("running", due=after(-GP - 1)),
        "over, silent": held("running", due=after(-GP - 1), liveness=after(-1000)),
        "pending": held("pending", created=after(-10_000)),
        "processed": held("processed", completed=after(-10_000)),
        "completed": held("completed", completed=after(-6)),
        "completed just now": held("completed", completed=after(-1)),
        "being processed": held("completed", completed=after(-60), processing_until=after(1)),
        "lease is over": held("completed", completed=after(-60), processing_until=after(-1)),
    }


EXPECTED = {
    "silent claimed": "failed",
    "silent running": "failed",
    "over, live": "canceled",
    "over, silent": "canceled",
}


@pytest.mark.parametrize("dry_run", [False, True])
def test_sweep(handed: list[Any], dry_run: bool) -> None:
    jobs = everything()
    names = {job.pk: name for name, job in jobs.items()}
    before = {name: job.status for name, job in jobs.items()}
    done = sweep(now=NOW, dry_run=dry_run)
    assert {names[pk] for pk in done.canceled} == {"over, live", "over, silent"}
    assert {names[pk] for pk in done.failed} == {"silent claimed", "silent running"}
    assert {names[pk] for pk in done.reprocessed} == {"completed", "lease is over"}
    assert (done.broken, done.total) == ([], 6)
    assert handed == ([] if dry_run else done.reprocessed)
    expected = before if dry_run else {**before, **EXPECTED}
    assert {names[pk]: status for pk, status in Job.objects.values_list("pk", "status")} == expected
    again = sweep(now=NOW, dry_run=dry_run)
    assert bool(again.canceled or again.failed) is dry_run


@pytest.mark.parametrize("status", [status.value for status in Status])
def test_jobs_of_a_deleted_project(handed: list[Any], status: str) -> None:
    """Nobody can see them or cancel them any more, so nobody has to run them; what has ended stays as it is."""
    job = held(status, project=make_project(claimed=True), timeout=1000)
    Project.objects.filter(pk=job.project_id).update(deleted=NOW)
    called_off = status in ("pending", "claimed", "running")
    assert sweep(now=NOW, dry_run=True).canceled == sweep(now=NOW).canceled == ([job.pk] if called_off else [])
    job.refresh_from_db()
    assert (job.status, job.failure) == ("canceled" if called_off else status, "")
    assert history(job) == ([(status, "canceled")] if called_off else [])


def test_one_bad_row_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = held("claimed", liveness=after(-HT - 3)), held("claimed", liveness=after(-HT - 2))
    check_one = reap.check

    def sometimes(*, job_id: Any, now: Any) -> Any:
        if job_id == bad.pk:
            raise ValueError("cannot be read")
        return check_one(job_id=job_id, now=now)

    monkeypatch.setattr(reap, "check", sometimes)
    done = sweep(now=NOW)
    assert (done.failed, done.broken) == ([good.pk], [bad.pk])


def test_nothing_to_do_is_three_queries(django_assert_num_queries: Any) -> None:
    for _ in range(3):
        held("running", timeout=1000)
        held("processed")
    with django_assert_num_queries(3):
        assert sweep(now=NOW).total == 0
