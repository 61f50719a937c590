"""jobs/selectors.py and the hooks that jobs fills."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bencher.core import hooks
from jobs.models import Job
from jobs.processing import process_job
from outputs.models import Report
from tests.jobs_world import NOW, bmf, iteration, make_job, make_project, make_spec, make_user, ran

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("seconds", "minutes"),
    [
        pytest.param([], 0, id="rm-none"),
        pytest.param([60], 1, id="rm-60"),
        pytest.param([61], 2, id="rm-61"),
        pytest.param([1], 1, id="rm-1"),
        pytest.param([0], 0, id="rm-0"),
        pytest.param([61, 1, 3600], 63, id="each-by-itself"),
    ],
)
def test_runner_minutes(seconds: list[int], minutes: int) -> None:
    project = make_project(make_user())
    for length in seconds:
        job = ran(make_job(project), iteration(bmf(a=1)), seconds=length)
        process_job(job.pk, now=NOW + timedelta(days=1))
    ran(make_job(project), seconds=600, status="failed")
    ran(make_job(), seconds=600, status="processed")
    until = NOW + timedelta(days=1)
    assert hooks.runner_minutes(organization_id=project.organization_id, since=NOW, until=until) == minutes


@pytest.mark.parametrize(("since", "until", "minutes"), [(0, 0, 2), (-1, 0, 2), (0, 1, 2), (1, 2, 0), (-2, -1, 0)], ids=str)
def test_what_counts_is_when_the_report_ended(since: int, until: int, minutes: int) -> None:
    """rm-outside: both ends of the range belong to it."""
    job = ran(make_job(), iteration(bmf(a=1)), seconds=120)
    process_job(job.pk, now=NOW + timedelta(days=1))
    end = Report.objects.get(pk=job.report_id).end_time
    window = {"since": end + timedelta(seconds=since), "until": end + timedelta(seconds=until)}
    assert hooks.runner_minutes(organization_id=job.organization_id, **window) == minutes


def test_projects_that_were_deleted_count() -> None:
    job = ran(make_job(), iteration(bmf(a=1)), seconds=60)
    process_job(job.pk, now=NOW + timedelta(days=1))
    project = job.project
    project.deleted = NOW
    project.save()
    assert hooks.runner_minutes(organization_id=job.organization_id, since=NOW, until=NOW + timedelta(days=1)) == 1


def test_waiting_jobs_follow_their_organizations_priority() -> None:
    """org-claim-upgrades: pending ones, and no other organization's."""
    project, spec = make_project(make_user()), make_spec()
    waiting, other = make_job(project, spec, priority=0), make_job(spec=spec, priority=0)
    taken = [ran(make_job(project, spec, priority=0), status=status) for status in ("claimed", "running", "processed")]
    hooks.priority_changed(organization_id=project.organization_id, priority=100, now=NOW)
    assert Job.objects.get(pk=waiting.pk).priority == 100
    assert [Job.objects.get(pk=job.pk).priority for job in (other, *taken)] == [0] * 4


def test_a_spec_with_jobs_is_in_use() -> None:
    used: Any = make_job().spec_id
    assert hooks.spec_has_jobs(spec_id=used)
    assert not hooks.spec_has_jobs(spec_id=make_spec().pk)
