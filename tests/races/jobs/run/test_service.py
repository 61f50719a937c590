"""Many repeats of one run: one report, one job, and a right answer for everybody. PostgreSQL, threads."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
import pytest
from django.db import connection

from bencher.core.errors import Busy
from bencher.core.newtypes import dec_hook
from bencher.projects.authentication import Caller
from bencher.projects.models import Organization, Project
from jobs.models import Job
from jobs.run.request import RunRequest
from jobs.run.service import run
from outputs.models import HeadVersion, Report
from tests.jobs_world import DIGEST, NOW, bmf, make_project, make_spec, make_user
from tests.races.jobs.at_once import at_once

CROWD = 12
pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def needs_postgres(transactional_db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("threads share no in-memory SQLite database")


def request_of(**values: Any) -> RunRequest:
    body = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:00Z", "results": [], "branch": "main", "testbed": "bench"}
    return msgspec.convert({**body, **values}, type=RunRequest, dec_hook=dec_hook)


def crowd(caller: Caller, request: RunRequest) -> list[Any]:
    return at_once(*[lambda: run(caller=caller, request=request, source_ip="192.0.2.1", now=NOW)] * CROWD)


def reports(outcomes: list[Any]) -> list[Report]:
    """Those that were answered; the others were told to come again."""
    assert all(isinstance(outcome, Report | Busy) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Report)]


@pytest.mark.parametrize("remote", [True, False], ids=["job", "local"])
def test_one_idempotency_key(remote: bool) -> None:
    user = make_user()
    project, spec = make_project(user), make_spec()
    job = {"job": {"image": f"x@{DIGEST}", "spec": spec.slug}} if remote else {"results": [bmf(a=1)]}
    outcomes = crowd(Caller("user", user), request_of(project=project.slug, idempotency_key=str(uuid.uuid4()), **job))
    assert len({report.pk for report in reports(outcomes)}) == 1
    assert (Report.objects.count(), Job.objects.count()) == (1, int(remote))


def test_first_jobs_on_a_new_branch() -> None:
    user = make_user()
    project, spec = make_project(user), make_spec()
    outcomes = crowd(Caller("user", user), request_of(project=project.slug, job={"image": f"x@{DIGEST}", "spec": spec.slug}))
    assert len(reports(outcomes)) == Job.objects.filter(status="pending").count() == CROWD
    assert sorted(HeadVersion.objects.values_list("number", flat=True)) == list(range(CROWD))


def test_nobodys_first_jobs_make_one_project() -> None:
    spec = make_spec()
    context = {"bencher.dev/v0/repo/name": "brand new"}
    outcomes = crowd(Caller("anonymous"), request_of(context=context, job={"image": f"a/b@{DIGEST}", "spec": spec.slug}))
    assert len(reports(outcomes)) == Job.objects.filter(priority=0).count() == CROWD
    assert (Project.objects.count(), Organization.objects.count()) == (1, 1)
