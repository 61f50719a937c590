"""Tasks are doors to the same services; two sweeps at once are one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs import tasks
from tests.jobs_world import make_job, make_runner, make_spec

pytestmark = pytest.mark.django_db


def silent(status: str = "claimed") -> Any:
    spec = make_spec()
    return make_job(spec=spec, status=status, runner=make_runner(spec), now=datetime.now(UTC) - timedelta(hours=9), timeout=10**6)


def test_check_job() -> None:
    job = silent()
    for _ in range(2):
        tasks.check_job(str(job.pk))
    job.refresh_from_db()
    assert (job.status, job.events.count()) == ("failed", 1)


def test_sweep() -> None:
    job = silent("running")
    tasks.sweep()
    job.refresh_from_db()
    assert (job.status, job.failure) == ("failed", "heartbeat_timeout")


def test_a_second_sweep_leaves_it_to_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """On SQLite by a lock of the process; on PostgreSQL the advisory lock is of the session, see tests/races."""
    from django.db import connection

    if connection.vendor == "postgresql":
        pytest.skip("one session may take its own advisory lock twice")
    job = silent()
    with tasks._alone() as alone:
        assert alone
        tasks.sweep()
        job.refresh_from_db()
        assert job.status == "claimed"
    tasks.sweep()
    job.refresh_from_db()
    assert job.status == "failed"


def test_process_job(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr("jobs.processing.process_job", lambda job_id, *, now: called.append((job_id, now.tzinfo)))
    job = silent("completed")
    tasks.process_job(str(job.pk))
    assert called == [(job.pk, UTC)]
