"""After a time in which nobody could write heartbeats, silence is judged only when they had the time to be written (recovery.md section 2)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from jobs import scheduling, tasks
from jobs.leases import Lease
from jobs.models import Job, Watch
from jobs.recovery import examine, patrol, recover, recover_alone, recover_beside
from jobs.services import watch
from tests.jobs_world import NOW, history, make_job, make_runner, make_spec

pytestmark = pytest.mark.django_db
HT = 90
SETTLING = scheduling.SETTLING.total_seconds()


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.fixture(autouse=True)
def _times(settings: Any) -> None:
    settings.BENCHER_HEARTBEAT_TIMEOUT, settings.BENCHER_SWEEP_INTERVAL = HT, 2


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    monkeypatch.setattr("jobs.notify.watch", lambda job_id, later: found.append((job_id, later)))
    return found


def running(timeout: int = 10_000) -> Job:
    spec = make_spec()
    return make_job(spec=spec, status="running", runner=make_runner(spec), channel="c", timeout=timeout)


def swept(*seconds: float) -> None:
    for at in seconds:
        patrol(now=after(at))


def status(job: Job) -> str:
    job.refresh_from_db()
    return job.status


def test_the_database_was_away() -> None:
    """The live job's beats are written a moment after the sweep found the database back; the silent one fails then."""
    live, silent = running(), running()
    swept(2, 4, 6)
    swept(200)
    assert [status(live), status(silent)] == ["running", "running"]
    Job.objects.filter(pk=live.pk).update(liveness=after(201))
    swept(202, 204)
    assert [status(live), status(silent)] == ["running", "running"]
    swept(200 + SETTLING)
    assert [status(live), status(silent)] == ["running", "failed"]
    assert history(silent) == [("running", "failed")]


def test_without_a_gap_silence_is_judged_at_once() -> None:
    job = running()
    swept(*range(2, HT, 40), HT + 1)
    assert status(job) == "running"
    swept(HT + 2)
    assert status(job) == "failed"


def test_a_short_absence_is_no_gap() -> None:
    job = running()
    swept(HT - 30, HT + 2)
    assert status(job) == "failed"


def test_hard_limits_wait_for_nothing() -> None:
    job = running(timeout=10)
    swept(1, 300)
    assert status(job) == "canceled"


def test_a_site_that_was_never_looked_after() -> None:
    job = running()
    swept(300)
    assert status(job) == "failed"


def test_again_and_again_away() -> None:
    """Judged only when it stays."""
    job = running()
    swept(1, 100, 102, 200, 202, 300, 302)
    assert status(job) == "running"
    swept(300 + SETTLING)
    assert status(job) == "failed"


def test_one_job_alone(watched: list[Any]) -> None:
    """A task with a due time judges no sooner, and comes again: perhaps nobody sweeps."""
    job = running()
    swept(1)
    assert examine(job_id=job.pk, now=after(200)) == "running"
    assert watched == [(job.pk, scheduling.SETTLING + scheduling.WRITE_MARGIN)]
    assert examine(job_id=job.pk, now=after(200) + watched[0][1]) == "failed"
    assert len(watched) == 1


def test_one_job_over_its_limit(watched: list[Any]) -> None:
    job = running(timeout=10)
    swept(1)
    assert examine(job_id=job.pk, now=after(200)) == "canceled"
    assert watched == []


def test_looking_never_goes_back() -> None:
    assert watch.look(now=after(100))
    watch.look(now=after(50))
    assert Watch.objects.get().looked == after(100)


def test_recovery_of_the_only_server_waits_for_nothing() -> None:
    job, completed = running(), make_job(spec=make_spec(), status="completed")
    swept(1)
    Lease(completed.pk, after(199)).take()
    recover_alone(now=after(200))
    completed.refresh_from_db()
    assert completed.processing_until is None
    assert status(job) == "failed"
    other = running()
    swept(202)
    assert status(other) == "failed"


def test_recovery_beside_others_leaves_them_what_is_theirs() -> None:
    job, completed = running(), make_job(spec=make_spec(), status="completed")
    swept(1)
    Lease(completed.pk, after(199)).take()
    recover_beside(now=after(200))
    completed.refresh_from_db()
    assert completed.processing_until is not None
    assert status(job) == "running"


def test_recovery_by_hand_judges_at_once() -> None:
    job = running()
    swept(1)
    assert recover(now=after(200), dry_run=True).failed == [job.pk]
    assert Watch.objects.get().looked == after(1)
    assert recover(now=after(200)).failed == [job.pk]


def test_the_task_looks() -> None:
    tasks.sweep()
    assert Watch.objects.count() == 1


def test_looking_costs_two_statements(django_assert_num_queries: Any) -> None:
    watch.look(now=NOW)
    with django_assert_num_queries(2):
        watch.look(now=after(2))
