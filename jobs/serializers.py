"""What REST takes and shows of jobs: exact shapes (rest.md sections 2.1 and 3)."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from bencher.core.api import Page, ts, ts_or_none
from bencher.core.newtypes import Moment
from bencher.specs.serializers import JsonSpec, spec_json
from jobs.models import Job, JobEvent
from jobs.output import JobOutput
from jobs.run.request import JobPriority

JobStatus = Literal["pending", "claimed", "running", "completed", "processed", "failed", "canceled"]


# -- taken ---------------------------------------------------------------------------------------------------------
class JobsQuery(Page, kw_only=True):
    status: JobStatus | None = None
    sort: Literal["created"] = "created"


class EventsQuery(Page, kw_only=True):
    """Oldest first unless told otherwise."""


class JsonUpdateJob(msgspec.Struct):
    """Users change one thing of a job: they cancel it."""

    status: Literal["canceled"]


class JsonResubmitJob(msgspec.Struct):
    priority: JobPriority | None = None
    """For server administrators."""


# -- shown ---------------------------------------------------------------------------------------------------------
class JsonIterationOutput(msgspec.Struct):
    """One run of the benchmark; ``output`` maps the path of a collected file to its text."""

    exit_code: int
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    output: dict[str, str] | UnsetType = UNSET


class JsonJobOutput(msgspec.Struct):
    """What the job delivered; ``error`` is what the runner said went wrong."""

    results: list[JsonIterationOutput]
    error: str | UnsetType = UNSET


class JsonJob(msgspec.Struct):
    uuid: UUID
    status: JobStatus
    spec: JsonSpec
    runner: UUID | None
    claimed: Moment | None
    started: Moment | None
    completed: Moment | None
    created: Moment
    modified: Moment
    priority: int
    """An extension: higher ones are claimed first."""
    output: JsonJobOutput | UnsetType = UNSET


class JsonActor(msgspec.Struct):
    kind: Literal["runner", "user", "system"]
    uuid: UUID | UnsetType = UNSET
    name: str | UnsetType = UNSET


class JsonJobEvent(msgspec.Struct):
    """One entry of a job's history: an extension."""

    action: str
    from_: str | None = msgspec.field(name="from")
    to: str
    actor: JsonActor
    created: Moment
    reason: str | UnsetType = UNSET


def output_json(output: JobOutput) -> JsonJobOutput:
    """The stored output as REST shows it."""
    results = [JsonIterationOutput(one.exit_code, *map(_or_unset, (one.stdout, one.stderr, one.output))) for one in output.results]
    return JsonJobOutput(results, _or_unset(output.error))


def _or_unset(value: Any) -> Any:
    return UNSET if value is None else value


def job_json(row: Job, output: JobOutput | None = None) -> JsonJob:
    """``row.spec`` is loaded."""
    status: Any = row.status
    return JsonJob(
        row.id,
        status,
        spec_json(row.spec),
        row.runner_id,
        ts_or_none(row.claimed),
        ts_or_none(row.started),
        ts_or_none(row.completed),
        ts(row.created),
        ts(row.modified),
        row.priority,
        UNSET if output is None else output_json(output),
    )


def event_json(row: JobEvent) -> JsonJobEvent:
    kind: Any = row.actor_kind
    actor = JsonActor(kind, row.actor_id or UNSET, row.actor_name or UNSET)
    return JsonJobEvent(row.action, row.source, row.target, actor, ts(row.created), row.reason or UNSET)
