"""``recover`` and ``cancel_job``: what they do and what they print."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from jobs.models import Job
from tests.jobs_world import make_job, make_runner, make_spec

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def jobs() -> dict[str, Job]:
    now, spec = datetime.now(UTC), make_spec()
    runner = make_runner(spec)
    past = now - timedelta(hours=9)
    return {
        "failed": make_job(spec=spec, status="claimed", runner=runner, now=past),
        "canceled": make_job(spec=spec, status="running", runner=runner, now=past),
        "reprocessed": make_job(spec=spec, status="completed", runner=runner, now=past),
        "live": make_job(spec=spec, status="claimed", runner=runner, now=now),
    }


@pytest.mark.parametrize("dry_run", [True, False])
def test_recover(jobs: dict[str, Job], dry_run: bool) -> None:
    answer = json.loads(run("recover", "--json", *(["--dry-run"] if dry_run else [])))
    assert answer == {"dry_run": dry_run, **{rule: [str(jobs[rule].pk)] for rule in ("canceled", "failed", "reprocessed")}, "broken": []}
    statuses = {name: Job.objects.get(pk=job.pk).status for name, job in jobs.items()}
    expected = {"failed": "failed", "canceled": "canceled", "reprocessed": "failed", "live": "claimed"}  # no output is stored: lost
    assert statuses == ({name: job.status for name, job in jobs.items()} if dry_run else expected)


def test_recover_says_what_it_did(jobs: dict[str, Job]) -> None:
    out = run("recover")
    assert f"job {jobs['failed'].pk}: runner silent" in out
    assert out.endswith("3 jobs\n")
    assert run("recover") == "nothing to recover\n"


def test_recover_hands_results_to_the_workers(jobs: dict[str, Job], settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[Any] = []
    settings.REDIS_URL = "redis://unused"
    monkeypatch.setattr("jobs.notify.process", handed.append)
    monkeypatch.setattr("jobs.notify.publish", lambda message: None)
    run("recover")
    assert handed == [jobs["reprocessed"].pk]


def test_cancel_job() -> None:
    job = make_job(spec=make_spec())
    assert json.loads(run("cancel_job", str(job.pk), "--json")) == {"job": str(job.pk), "status": "canceled"}
    job.refresh_from_db()
    assert (job.status, job.events.get().actor_name) == ("canceled", "cancel_job")
    for wrong in (str(job.pk), str(uuid4())):
        with pytest.raises(CommandError):
            run("cancel_job", wrong)
