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
from jobs.lifecycle import IN_FLIGHT, Status
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


def make_project(
    owner: User | None = None,
    *,
    private: bool = False,
    priority: int = 100,
    claimed: bool | None = None,
    organization: Organization | None = None,
    now: datetime = NOW,
) -> Project:
    """In an organization of its own unless one is given. That is claimed when there is an owner, or when ``claimed`` says so."""
    name = fresh("project")
    taken = owner is not None if claimed is None else claimed
    if organization is None:
        organization = Organization.objects.create(
            name=name, slug=name, claimed=now if taken else None, priority=priority if taken else 0, created=now, modified=now
        )
    if owner is not None:
        Membership.objects.create(organization=organization, user=owner, created=now, modified=now)
    visibility = "private" if private else "public"
    return Project.objects.create(organization=organization, name=name, slug=name, visibility=visibility, created=now, modified=now)


def make_spec(now: datetime = NOW, **values: Any) -> Spec:
    name = fresh("spec")
    hardware = {"os": "linux", "architecture": "x86_64", "cpu": 2, "memory": 4 << 30, "disk": 10 << 30}
    return Spec.objects.create(**{"name": name, "slug": name, **hardware, "created": now, "modified": now, **values})


def make_runner(*specs: Spec, now: datetime = NOW, key: str | None = None) -> Runner:
    name = fresh("runner")
    runner = Runner.objects.create(name=name, slug=name, key_hash=key_hash(key or name), created=now, modified=now)
    RunnerSpec.objects.bulk_create(RunnerSpec(runner=runner, spec=spec, created=now) for spec in specs)
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
    project: Project | None = None,
    spec: Spec | None = None,
    *,
    status: str = Status.PENDING,
    runner: Runner | None = None,
    timeout: int = 60,
    adapter: str = "magic",
    config: dict[str, Any] | str | None = None,
    now: datetime = NOW,
    **values: Any,
) -> Job:
    """A job in ``status``, with the stamps that belong to it. ``config``: the whole text, or what differs from the usual."""
    project = project or make_project(claimed=True, now=now)
    spec = spec or make_spec(now)
    job_id = uuid7()
    if not isinstance(config, str):
        usual = {"registry": "http://localhost:6610/", "project": str(project.pk), "digest": DIGEST, "timeout": timeout}
        config = json.dumps({**usual, **(config or {})})
    columns = {"priority": project.organization.priority, "source_ip": "127.0.0.1", "timeout": timeout, "created": now, "modified": now}
    return Job.objects.create(
        id=job_id,
        project=project,
        organization=project.organization,
        report=make_report(project, spec, adapter=adapter, job=job_id, now=now),
        spec=spec,
        status=status,
        config=config,
        **{**columns, **_stamps(status, runner, timeout, now), **values},
    )


def _stamps(status: str, runner: Runner | None, timeout: int, now: datetime) -> dict[str, Any]:
    stamps: dict[str, Any] = {}
    if status != Status.PENDING:
        stamps |= {"claimed": now, "liveness": now, "runner": runner}
    if status in (Status.RUNNING, Status.COMPLETED, Status.PROCESSED):
        stamps |= {"started": now, "due": now.replace(microsecond=0) + timedelta(seconds=timeout)}
    if status not in (*IN_FLIGHT, Status.PENDING):
        stamps |= {"completed": now}
    return stamps


def history(job: Job) -> list[tuple[str | None, str]]:
    """(from, to) of every entry of the job's history."""
    return list(job.events.order_by("id").values_list("source", "target"))


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
