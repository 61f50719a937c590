"""At least one row of every model, and more of the same: what tests of the admin look at."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from bencher.core.ids import uuid7
from bencher.models import Pulse
from bencher.projects.models import ApiToken, Invitation, Membership, Organization, Project, ProjectKey, ProjectRole, User, UserKey
from bencher.specs.models import Spec
from jobs.models import Job, JobEvent, Watch
from outputs.models import (
    Alert,
    Benchmark,
    Blob,
    Branch,
    ChangePoint,
    HeadVersion,
    Manifest,
    ManifestReference,
    Measure,
    Metric,
    Plot,
    Report,
    Repository,
    Tag,
    Testbed,
    Threshold,
    ThresholdModel,
    Upload,
)
from runners.models import Runner, RunnerSpec
from tests.jobs_world import NOW, iteration, make_job, make_project, make_user, project_key, ran, user_key

STAMPS = {"created": NOW, "modified": NOW}


def make_everything(admin: User) -> Job:
    """One row of every model, at least; the job, which has run."""
    project = make_project(make_user())
    people(admin, project)
    job = ran(make_job(project), iteration("hello"), status="processed")
    JobEvent.objects.create(job=job, action="submit", target="pending", actor_kind="user", created=NOW)
    results(Report.objects.select_related("head").get(pk=job.report_id))
    images(project)
    Pulse.objects.create(name="beat", at=NOW)
    Watch.objects.create(looked=NOW, since=NOW)
    kind = ContentType.objects.get_for_model(Project)
    LogEntry.objects.create(
        user=admin, content_type=kind, object_id=str(project.pk), object_repr="it", action_flag=2, change_message="changed"
    )
    return job


def people(admin: User, project: Project) -> None:
    user_key(admin)
    project_key(project)
    ApiToken.objects.create(user=admin, name="old", hash="0" * 64, token="secret-token", creation=NOW, expiration=NOW)
    ProjectRole.objects.create(project=project, user=admin, **STAMPS)
    Invitation.objects.create(organization=project.organization, email="guest@example.com", created=NOW)


def results(report: Report) -> None:
    project = report.project
    branch, testbed = report.head.branch, report.testbed
    benchmark = Benchmark.objects.create(project=project, name="sort", slug="sort", **STAMPS)
    measure = Measure.objects.create(project=project, name="Latency", slug="latency", units="ns", **STAMPS)
    threshold = Threshold.objects.create(project=project, branch=branch, testbed=testbed, measure=measure, **STAMPS)
    model = ThresholdModel.objects.create(threshold=threshold, test="t_test", upper_boundary=0.9, created=NOW)
    Threshold.objects.update(model=model)
    metric = Metric.objects.create(
        report=report, iteration=0, benchmark=benchmark, measure=measure, value=7, model=model, baseline=5, upper_limit=6
    )
    Alert.objects.create(project=project, report=report, metric=metric, limit="upper", modified=NOW)
    ChangePoint.objects.create(threshold=threshold, metric=metric, report=report, before=5, after=7, p_value=0.01, created=NOW)
    bounds = dict.fromkeys(("lower_value", "upper_value", "lower_boundary", "upper_boundary"), False)
    Plot.objects.create(project=project, rank=0, title="Speed", x_axis="date_time", window=60, **bounds, **STAMPS)


def images(project: Project) -> None:
    digest = "sha256:" + "1" * 64
    manifest = Manifest.objects.create(project=project, digest=digest, media_type="application/json", size=5, key="m", created=NOW)
    Blob.objects.create(project=project, digest=digest, size=5, key="b", created=NOW, touched=NOW)
    ManifestReference.objects.create(manifest=manifest, project=project, digest=digest)
    Tag.objects.create(project=project, name="v1", manifest=manifest, **STAMPS)
    Upload.objects.create(project=project, key="u", created=NOW, touched=NOW)


# -- more of the same ------------------------------------------------------------------------------------------------
def _named(row: Any, number: int) -> None:
    row.name, row.slug = f"many {number}", f"many-{number}"


def _user(row: Any, number: int) -> None:
    _named(row, number)
    row.email = f"many-{number}@example.com"


def _of_new(field: str) -> Callable[[Any, int], None]:
    """The row refers to a copy of what it refers to."""

    def change(row: Any, number: int) -> None:
        (other,) = more(getattr(row, field), range(number, number + 1))
        setattr(row, field, other)

    return change


def _set(field: str, text: str = "{}") -> Callable[[Any, int], None]:
    def change(row: Any, number: int) -> None:
        setattr(row, field, text.format(number) if text != "{}" else number)

    return change


CHANGES: dict[type[Model], Callable[[Any, int], None]] = {
    User: _user,
    **dict.fromkeys((Organization, Project, Repository, Spec, Branch, Testbed, Benchmark, Measure), _named),
    **dict.fromkeys((UserKey, ProjectKey, ApiToken), _set("hash", "many {}")),
    Membership: _of_new("user"),
    ProjectRole: _of_new("user"),
    Runner: lambda row, number: (_named(row, number), setattr(row, "key_hash", f"many {number}")),  # type: ignore[dict-item,return-value]
    RunnerSpec: _of_new("spec"),
    HeadVersion: _of_new("version"),
    Report: lambda row, number: setattr(row, "idempotency_key", uuid4()),
    Metric: _set("iteration"),
    Alert: _of_new("metric"),
    ChangePoint: _of_new("metric"),
    Threshold: _of_new("testbed"),
    Job: _of_new("report"),
    **dict.fromkeys((Manifest, Blob, ManifestReference), _set("digest", "sha256:{:064}")),
    Tag: _set("name", "v{}-more"),
    Pulse: _set("name", "part {}"),
}


def more(row: Any, numbers: range) -> list[Any]:
    """Copies of the row that differ in what has to be unique."""
    made = []
    for number in numbers:
        twin = copy.copy(row)
        twin._state = copy.copy(row._state)
        twin._state.adding = True
        twin._state.fields_cache = {}
        twin.pk = uuid7() if type(row)._meta.pk.get_internal_type() == "UUIDField" else None
        CHANGES.get(type(row), lambda row, number: None)(twin, number + 10)
        made.append(twin)
    type(row)._default_manager.bulk_create(made)
    return made


MOMENT = datetime(2026, 5, 6, tzinfo=UTC)
