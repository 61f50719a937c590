"""Rows that tests about jobs need, made directly: organization, project, spec, runner, job."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from bencher.core import ids
from bencher.projects.models import Organization, Project
from bencher.specs.models import Spec
from jobs.lifecycle import IN_FLIGHT, Status
from jobs.models import Job
from outputs.models import Branch, Head, HeadVersion, Report, Testbed, Version
from runners.models import Runner, RunnerSpec

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DIGEST = "sha256:" + "0" * 64
_numbers = count(1)


def _named(prefix: str, now: datetime) -> dict[str, Any]:
    name = f"{prefix}-{next(_numbers)}-{uuid4().hex[:6]}"
    return {"name": name, "slug": name, "created": now, "modified": now}


def make_spec(now: datetime = NOW, **values: Any) -> Spec:
    hardware: dict[str, Any] = {"os": "linux", "architecture": "x86_64", "cpu": 2, "memory": 4 << 30, "disk": 10 << 30}
    return Spec.objects.create(**_named("spec", now), **{**hardware, **values})


def make_runner(*specs: Spec, now: datetime = NOW, key: str | None = None) -> Runner:
    runner = Runner.objects.create(**_named("runner", now), key_hash=ids.key_hash(key or ids.new_key("bencher_runner_")))
    for spec in specs:
        RunnerSpec.objects.create(runner=runner, spec=spec, created=now)
    return runner


def make_project(now: datetime = NOW, *, organization: Organization | None = None, priority: int = 100, claimed: bool = True) -> Project:
    if organization is None:
        organization = Organization.objects.create(
            **_named("org", now), priority=priority if claimed else 0, claimed=now if claimed else None
        )
    return Project.objects.create(**_named("project", now), organization=organization)


def make_report(project: Project, job_id: UUID, now: datetime = NOW) -> Report:
    branch = Branch.objects.create(project=project, **_named("branch", now), head=None)
    head = Head.objects.create(branch=branch, created=now)
    Branch.objects.filter(pk=branch.pk).update(head=head)
    version = Version.objects.create(project=project)
    HeadVersion.objects.create(head=head, version=version, number=0)
    testbed = Testbed.objects.create(project=project, **_named("testbed", now))
    return Report.objects.create(
        project=project, head=head, version=version, testbed=testbed, adapter="magic", start_time=now, end_time=now, created=now, job=job_id
    )


def make_job(
    spec: Spec,
    *,
    project: Project | None = None,
    status: str = Status.PENDING,
    runner: Runner | None = None,
    now: datetime = NOW,
    timeout: int = 60,
    config: str | None = None,
    **values: Any,
) -> Job:
    """A job in ``status``, with the stamps that belong to it."""
    project = project or make_project(now)
    job_id = ids.uuid7()
    stamps: dict[str, Any] = {}
    if status != Status.PENDING:
        stamps |= {"claimed": now, "liveness": now, "runner": runner}
    if status in (Status.RUNNING, Status.COMPLETED, Status.PROCESSED):
        stamps |= {"started": now, "due": now.replace(microsecond=0) + timedelta(seconds=timeout)}
    if status not in (*IN_FLIGHT, Status.PENDING):
        stamps |= {"completed": now}
    text = config or json.dumps({"registry": "http://localhost/", "project": str(project.pk), "digest": DIGEST, "timeout": timeout})
    fields: dict[str, Any] = {
        "priority": project.organization.priority, "source_ip": "127.0.0.1", "created": now, "modified": now, "timeout": timeout, **stamps, **values,
    }  # fmt: skip
    return Job.objects.create(
        id=job_id,
        project=project,
        organization=project.organization,
        report=make_report(project, job_id, now),
        spec=spec,
        status=status,
        config=text,
        **fields,
    )


def history(job: Job) -> list[tuple[str | None, str]]:
    """(from, to) of every entry of the job's history."""
    return list(job.events.order_by("id").values_list("source", "target"))
