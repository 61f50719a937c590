"""What tests of jobs need to exist, made with the ORM: people, projects, specs, runners, jobs in any state."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.test import Client

from bencher.core.ids import key_hash, new_key, uuid7
from bencher.projects.models import Membership, Organization, Project, ProjectKey, User, UserKey
from bencher.specs.models import Spec
from jobs.models import Job
from jobs.output import encode
from outputs.models import Report
from outputs.registry.storage import put_job_output
from outputs.services.reports import create_report
from runners.models import Runner, RunnerSpec
from runners.protocol.messages import IterationOutput

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=3650)
DIGEST = "sha256:" + "0" * 64
_numbers = itertools.count(1)
_CLIENT = Client()
"""One for all: each loads the whole middleware, a tenth of a second."""


def fresh(prefix: str) -> str:
    return f"{prefix}-{next(_numbers)}"


def make_user(*, admin: bool = False, now: datetime = NOW) -> User:
    name = fresh("user")
    return User.objects.create(name=name, slug=name, email=f"{name}@example.com", admin=admin, created=now, modified=now)


def user_key(user: User) -> str:
    key = new_key("bencher_user_")
    UserKey.objects.create(user=user, name="key", hash=key_hash(key), creation=NOW, expiration=LATER)
    return key


def project_key(project: Project) -> str:
    key = new_key("bencher_run_")
    ProjectKey.objects.create(project=project, name="key", hash=key_hash(key), creation=NOW, expiration=LATER)
    return key


def make_project(owner: User | None = None, *, private: bool = False, priority: int = 100) -> Project:
    """In an organization of its own; unclaimed without an owner."""
    name = fresh("project")
    claimed = None if owner is None else NOW
    organization = Organization.objects.create(
        name=name, slug=name, claimed=claimed, priority=priority if claimed else 0, created=NOW, modified=NOW
    )
    if owner is not None:
        Membership.objects.create(organization=organization, user=owner, created=NOW, modified=NOW)
    visibility = "private" if private else "public"
    return Project.objects.create(organization=organization, name=name, slug=name, visibility=visibility, created=NOW, modified=NOW)


def make_spec(**values: Any) -> Spec:
    name = fresh("spec")
    hardware = {"os": "linux", "architecture": "x86_64", "cpu": 2, "memory": 4 << 30, "disk": 10 << 30}
    return Spec.objects.create(**{"name": name, "slug": name, **hardware, "created": NOW, "modified": NOW, **values})


def make_runner(*specs: Spec) -> Runner:
    name = fresh("runner")
    runner = Runner.objects.create(name=name, slug=name, key_hash=key_hash(name), created=NOW, modified=NOW)
    RunnerSpec.objects.bulk_create(RunnerSpec(runner=runner, spec=spec, created=NOW) for spec in specs)
    return runner


def make_report(
    project: Project, spec: Spec | None = None, *, adapter: str = "magic", job: UUID | None = None, now: datetime = NOW
) -> Report:
    return create_report(
        project=project,
        user=None,
        branch="main",
        hash=None,
        start_point=None,
        testbed="bench",
        spec=spec,
        thresholds=None,
        start_time=now,
        end_time=now,
        adapter=adapter,
        job=job,
        now=now,
    )


def make_job(
    project: Project | None = None, spec: Spec | None = None, *, adapter: str = "magic", config: dict[str, Any] | None = None, **values: Any
) -> Job:
    """A pending job, or whatever ``values`` say."""
    project = project or make_project(make_user())
    spec = spec or make_spec()
    job_id = uuid7()
    report = make_report(project, spec, adapter=adapter, job=job_id)
    text = json.dumps({"registry": "http://localhost:6610/", "project": str(project.pk), "digest": DIGEST, "timeout": 60, **(config or {})})
    defaults = {"timeout": 60, "priority": 100, "created": NOW, "modified": NOW}
    return Job.objects.create(
        id=job_id, project=project, organization=project.organization, report=report, spec=spec, config=text, **{**defaults, **values}
    )


def ran(job: Job, *results: IterationOutput, error: str | None = None, seconds: int = 90, status: str = "completed", **values: Any) -> Job:
    """The job as its runner leaves it: started, and ended ``seconds`` later, with its output stored."""
    runner = make_runner(job.spec)
    output = put_job_output(job.project_id, job.pk, encode(list(results), error))
    started, ended = NOW + timedelta(seconds=10), NOW + timedelta(seconds=10 + seconds)
    columns = {"runner": runner, "claimed": NOW, "started": started, "completed": ended, "output": output, "modified": ended, **values}
    Job.objects.filter(pk=job.pk).update(**{"status": status}, **columns)
    return Job.objects.get(pk=job.pk)


def bmf(**benchmarks: float) -> str:
    return json.dumps({name: {"latency": {"value": value}} for name, value in benchmarks.items()})


def iteration(stdout: str | None = None, **values: Any) -> IterationOutput:
    return IterationOutput(exit_code=values.pop("exit_code", 0), stdout=stdout, **values)


@dataclass
class Api:
    """A REST caller."""

    key: str | None = None

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        data = b"" if body is None else json.dumps(body).encode()
        return _CLIENT.generic(method, path, data, content_type="application/json", headers=headers)

    def ok(self, method: str, path: str, body: Any = None, status: int | None = None, **headers: str) -> Any:
        response = self.send(method, path, body, **headers)
        assert response.status_code == (status or {"POST": 201}.get(method, 200)), (response.status_code, response.content[:500])
        return response.json()

    def refused(self, method: str, path: str, status: int, body: Any = None, **headers: str) -> str:
        response = self.send(method, path, body, **headers)
        assert response.status_code == status, (response.status_code, response.content[:500])
        return str(response.json()["message"])
