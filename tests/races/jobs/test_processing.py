"""Many workers on one output: the report is written once. PostgreSQL, threads."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs import actors
from jobs.leases import LENGTH
from jobs.models import Job, JobEvent
from jobs.processing import Outcome, process_job, reprocess_job
from jobs.services.cancel import cancel_job
from outputs.models import Metric
from tests.jobs_world import NOW, bmf, iteration, make_job, ran
from tests.races.jobs.at_once import at_once

CROWD = 8
AT = NOW + timedelta(minutes=5)
pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def needs_postgres(transactional_db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("threads share no in-memory SQLite database")


def check_once(job: Job, outcomes: list[Any]) -> None:
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert Counter(outcomes)[Outcome.PROCESSED] == 1
    assert Job.objects.get(pk=job.pk).status == "processed"
    assert Metric.objects.filter(report_id=job.report_id).count() == 2
    assert JobEvent.objects.filter(job=job, action="process").count() == 1


def test_of_many_workers_one_writes() -> None:
    job = ran(make_job(), iteration(bmf(a=1, b=2)))
    outcomes = at_once(*[lambda: process_job(job.pk, now=AT)] * CROWD)
    check_once(job, outcomes)
    assert Counter(outcomes)[Outcome.NOTHING] == CROWD - 1


def test_leases_that_run_out_all_at_once() -> None:
    """Every worker believes that the others are dead: their clocks differ by more than a lease."""
    job = ran(make_job(), iteration(bmf(a=1, b=2)))
    work = [lambda number=number: process_job(job.pk, now=AT + 2 * number * LENGTH) for number in range(CROWD)]
    outcomes = at_once(*work)
    processed = Counter(outcomes)[Outcome.PROCESSED]
    if not processed:  # all lost their lease to the next one; the last one's has run out by now
        outcomes.append(process_job(job.pk, now=AT + 4 * CROWD * LENGTH))
    check_once(job, outcomes)


def test_by_hand_and_by_itself() -> None:
    job = ran(make_job(), iteration(bmf(a=1, b=2)))
    outcomes = at_once(
        *[lambda: process_job(job.pk, now=AT)] * (CROWD - 1),
        lambda: reprocess_job(job_id=job.pk, actor=actors.SYSTEM, now=AT + timedelta(seconds=1)),
    )
    faults = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert all("processed" in str(fault) for fault in faults)  # it came too late
    check_once(job, [outcome for outcome in outcomes if not isinstance(outcome, Exception)])


def test_a_cancellation_comes_too_late() -> None:
    """A completed job cannot be canceled, whatever meets it: the results stay."""
    job = ran(make_job(), iteration(bmf(a=1, b=2)))
    user = actors.Actor("user")
    outcomes = at_once(lambda: process_job(job.pk, now=AT), *[lambda: cancel_job(job_id=job.pk, actor=user, now=AT)] * (CROWD - 1))
    assert all("cannot be canceled" in str(outcome) for outcome in outcomes[1:])
    check_once(job, outcomes[:1])
