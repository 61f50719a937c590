"""jobs/leases.py: taken by one, renewed while the work goes on, lost for good."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest
from django.db import OperationalError

from jobs import leases
from jobs.leases import LENGTH, PAUSE, Lease, forget_all
from jobs.models import Job
from tests.jobs_world import NOW, make_job, ran

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job() -> Job:
    return ran(make_job())


def held_until(job: Job) -> datetime | None:
    return Job.objects.get(pk=job.pk).processing_until


def test_one_takes_it_until_it_runs_out(job: Job) -> None:
    assert Lease(job.pk, NOW).take()
    assert not Lease(job.pk, NOW).take()
    assert not Lease(job.pk, NOW + LENGTH - timedelta(seconds=1)).take()
    assert Lease(job.pk, NOW + LENGTH).take()


@pytest.mark.parametrize("status", ["pending", "running", "processed", "failed", "canceled"])
def test_there_is_none_for_other_statuses(status: str) -> None:
    assert not Lease(ran(make_job(), status=status).pk, NOW).take()


def test_renewal_counts_the_time_that_passed(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(job.pk, NOW)
    lease.take()
    begun = time.monotonic()
    monkeypatch.setattr(leases.time, "monotonic", lambda: begun + 100)
    lease.renew()
    until = held_until(job)
    assert until == lease.until
    assert timedelta(seconds=99) < lease.until - NOW - LENGTH < timedelta(seconds=101)


def test_what_was_lost_stays_lost(job: Job) -> None:
    lost, taken = Lease(job.pk, NOW), Lease(job.pk, NOW + LENGTH)
    assert lost.take()
    assert taken.take()
    lost.renew()
    lost.put_off()
    assert held_until(job) == taken.until


def test_put_off(job: Job) -> None:
    lease = Lease(job.pk, NOW)
    lease.take()
    lease.put_off()
    assert held_until(job) == NOW + PAUSE
    assert not Lease(job.pk, NOW).take()
    assert Lease(job.pk, NOW + PAUSE).take()


def test_kept_while_it_lasts(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the background, also after a renewal that failed."""
    monkeypatch.setattr(leases, "RENEWAL", timedelta(milliseconds=1))
    lease, calls = Lease(job.pk, NOW), []

    def renew() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OperationalError("gone")

    monkeypatch.setattr(lease, "renew", renew)
    with lease.kept():
        deadline = time.monotonic() + 20
        while len(calls) < 3 and time.monotonic() < deadline:
            time.sleep(0.001)
    count = len(calls)
    assert count >= 3
    time.sleep(0.01)
    assert len(calls) == count


def test_a_new_server_knows_that_the_old_one_is_dead(job: Job) -> None:
    other = ran(make_job(), status="processed", processing_until=NOW)
    Lease(job.pk, NOW).take()
    assert forget_all() == 1
    assert held_until(job) is None
    assert held_until(other) == NOW
